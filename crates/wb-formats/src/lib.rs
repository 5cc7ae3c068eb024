//! Transcripts of other agents: their session files read into messages and real usage.
//!
//! [`open`] looks at the start of a session, detects its [`Format`] and returns a [`Document`]. Its
//! [`View`] contains the messages that the next request would send, the usage that the provider
//! reported for earlier ones, the model, and [`Note`]s about what was skipped. [`segments`] returns
//! every segment of a session, including those before its compactions, for measurements.
//!
//! Nothing panics, whatever a file contains: records that cannot be read are [`Note`]s with the
//! line of the first, and a file of which nothing can be read is a [`FormatError`] with a hint. To
//! add a format, write one file, its line in `mod.rs` and its row in [`FORMATS`].
//!
//! ```
//! use wb_message::outline::outline;
//!
//! let file = r#"
//! {"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"list"}}
//! {"type":"assistant","uuid":"2","parentUuid":"1",
//! "message":{"id":"m","model":"claude-x","content":[
//! {"type":"tool_use","id":"t","name":"LS","input":{"path":"src"}}],
//! "usage":{"input_tokens":900,"output_tokens":9}}}
//! {"type":"user","uuid":"3","parentUuid":"2","message":{"content":[
//! {"type":"tool_result","tool_use_id":"t","content":"a.rs"}]}}
//! "#.replace("[\n", "[").replace(",\n", ",");
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

mod kit;
mod shapes;
mod requests;
mod logs;
mod traces;
mod agents;
mod formats;
mod created;
mod detect;
#[cfg(any(unix, windows))]
mod open_path;
mod server_pairs;
mod dialects;
mod system_and_tools;
mod repair;
mod table;

pub use agents::{codex, opencode};
pub use created::Agent;
pub use detect::{detect, newest, open, open_as, read, segments};
pub use dialects::{SentAs, format_of};
pub use formats::{FORMATS, FormatRow};
#[cfg(any(unix, windows))]
pub use open_path::{open_path, open_path_as};
pub use repair::{SessionRepair, lone_surrogates, repair, repair_checked};
pub use requests::anthropic_messages::has_anthropic_part;
pub use requests::native::{Native, write_jsonl};
pub use system_and_tools::SystemAndTools;
pub use table::formats_table;
pub use wb_message::{Block, Message, json, outline::outline};
pub use wb_record::{Document, Format, FormatError, Note, Segment, UsageAt, View};
