//! Transcripts of other agents: their session files read into messages and real usage.
//!
//! [`open`] looks at the start of a session, tells its [`Format`] and gives a [`Document`]. Its [`View`] is the messages that
//! the next request would send, what the provider counted for earlier ones, the model, and [`Note`]s about what was
//! passed over. [`segments`] gives every segment of a session, those before its compactions too, for whoever wants to
//! measure.
//!
//! | format | files | what becomes of compactions | usage |
//! |---|---|---|---|
//! | [`ClaudeCode`] | session JSONL, web export | digest, preserved lines, cleared results | per answer |
//! | [`Codex`] | rollout JSONL of all versions | replacement history, or the user's messages and a digest | per answer |
//! | [`Pi`] | session JSONL, versions 1 to 3 | digest and kept entries, branch digests | per answer |
//! | [`Opencode`] | `SQLite` database, export | digest and kept tail, cleared results | per answer |
//! | [`GeminiCli`] | session JSONL, or one object | replaced lists; what the user went back over is left out | per answer |
//! | [`CopilotCli`] | `events.jsonl` | summary | none |
//! | [`Goose`] | session JSONL until 1.9 | what the model does not see any more is left out | none |
//! | [`GeminiContents`] | request body, list of contents | as they stand | none |
//! | [`QwenCode`] | session JSONL | contents that stand for older ones | per answer |
//! | [`OpenaiResponses`] | request body, list of items | an encrypted summary is pinned | none |
//! | [`MiniSweAgent`] | trajectory of version 1.1 | none | per answer |
//! | [`OpenhandsCompletions`] | log of one request and its answer | none | of the answer |
//! | [`OpenhandsEvents`] | list of events, runs with a `history` | summary, forgotten events | per answer |
//! | [`Cline`] | `messages.json` of its SDK | digest | per answer |
//! | [`Droid`] | session JSONL | not known | none |
//! | [`KimiCli`] | `context.jsonl` | as they stand | per answer |
//! | [`KimiCode`] | wire log | summary with what it kept | per answer |
//! | [`SweAgent`] | trajectory | none | none |
//! | [`TauBench`] | results of tau-bench and tau2-bench | none | per answer in tau2-bench |
//! | [`InspectAi`] | evaluation log | none | per answer |
//! | [`AiSdk`] | list of `ModelMessage`s | as they stand | none |
//! | [`PydanticAi`] | list of messages | as they stand | per answer |
//! | [`OpenaiChat`] | request body, list of messages | as they stand | none |
//! | [`AnthropicMessages`] | request body, list of messages | the provider's own summary hides what is before | none |
//! | [`Native`] | our messages as JSON or JSON lines | as they stand | none |
//!
//! Nothing panics, whatever is in a file: what cannot be read is a [`FormatError`] with the line and a hint; only the
//! last line of a log may be cut off. To add a format, write one file and name it in [`FORMATS`].
//!
//! ```
//! use wb_message::outline::outline;
//!
//! let file = r#"
//! {"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"list"}}
//! {"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","model":"claude-x","content":[
//! {"type":"tool_use","id":"t","name":"LS","input":{"path":"src"}}],"usage":{"input_tokens":900,"output_tokens":9}}}
//! {"type":"user","uuid":"3","parentUuid":"2","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a.rs"}]}}
//! "#.replace("[\n", "[");
//! let opened = wb_formats::read(&mut file.as_bytes())?;
//! assert_eq!(opened.format, "claude-code");
//! assert_eq!(outline(&opened.messages), "\
//! \u{20}  0 user      \"list\"
//! \u{20}  1 assistant LS(src)
//! \u{20}  2 result    LS \"a.rs\"
//! ");
//! assert_eq!((opened.usage[0].at, opened.usage[0].usage.prompt_tokens()), (1, 900));
//! # Ok::<(), wb_formats::FormatError>(())
//! ```

mod error;
mod kit;
mod shapes;
mod requests;
mod logs;
mod agents;
mod created;
pub mod detect;
mod dialects;
mod system_and_tools;
mod repair;
mod table;

pub use agents::claude_code::ClaudeCode;
pub use agents::cline::Cline;
pub use agents::codex::{self, Codex};
pub use agents::copilot_cli::CopilotCli;
pub use agents::droid::Droid;
pub use agents::gemini_cli::GeminiCli;
pub use agents::goose::Goose;
pub use agents::kimi_cli::KimiCli;
pub use agents::kimi_code::KimiCode;
pub use agents::opencode::{self, Opencode};
pub use agents::openhands_events::OpenhandsEvents;
pub use agents::pi::Pi;
pub use agents::qwen_code::QwenCode;
pub use created::Agent;
pub use detect::{FORMATS, detect, newest, open, open_path, read, segments};
pub use dialects::{SentAs, format_of};
pub use logs::inspect_ai::InspectAi;
pub use logs::mini_swe_agent::MiniSweAgent;
pub use logs::openhands_completions::OpenhandsCompletions;
pub use logs::swe_agent::SweAgent;
pub use logs::tau_bench::TauBench;
pub use repair::{SessionRepair, lone_surrogates, repair};
pub use requests::ai_sdk::AiSdk;
pub use requests::anthropic_messages::AnthropicMessages;
pub use requests::gemini_contents::GeminiContents;
pub use requests::native::{Native, write_jsonl};
pub use requests::openai_chat::OpenaiChat;
pub use requests::openai_responses::OpenaiResponses;
pub use requests::pydantic_ai::PydanticAi;
pub use system_and_tools::SystemAndTools;
pub use table::formats_table;
pub use wb_record::{Document, Format, FormatError, Note, Segment, UsageAt, View};
