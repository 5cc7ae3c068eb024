//! The supported formats: one row each, with the facts that the crate needs outside of a format's
//! file.

use std::fmt::Write as _;

use wb_dialect::{Dialect, VerbatimParts};
use wb_record::Format;

use crate::agents::claude_code::ClaudeCode;
use crate::agents::cline::Cline;
use crate::agents::codex::Codex;
use crate::agents::copilot_cli::CopilotCli;
use crate::agents::droid::Droid;
use crate::agents::gemini_cli::GeminiCli;
use crate::agents::goose::Goose;
use crate::agents::kimi_cli::KimiCli;
use crate::agents::kimi_code::KimiCode;
use crate::agents::opencode::Opencode;
use crate::agents::openhands_events::OpenhandsEvents;
use crate::agents::pi::Pi;
use crate::agents::qwen_code::QwenCode;
use crate::logs::atif::Atif;
use crate::logs::inspect_ai::InspectAi;
use crate::logs::mini_swe_agent::MiniSweAgent;
use crate::logs::openhands_completions::OpenhandsCompletions;
use crate::logs::sharegpt::Sharegpt;
use crate::logs::sts::Sts;
use crate::logs::swe_agent::SweAgent;
use crate::logs::tau_bench::TauBench;
use crate::requests::ai_sdk::AiSdk;
use crate::requests::anthropic_messages::AnthropicMessages;
use crate::requests::gemini_contents::GeminiContents;
use crate::requests::langchain::Langchain;
use crate::requests::native::Native;
use crate::requests::openai_chat::OpenaiChat;
use crate::requests::openai_responses::OpenaiResponses;
use crate::requests::pydantic_ai::PydanticAi;
use crate::traces::langfuse_langsmith::{LANGFUSE, LANGSMITH};
use crate::traces::openinference::OPENINFERENCE;
use crate::traces::otel_genai::OtelGenai;

const ANTHROPIC: &[Dialect] = &[Dialect::Anthropic];
const CHAT: &[Dialect] = &[Dialect::OpenaiChat];
const RESPONSES: &[Dialect] = &[Dialect::OpenaiResponses];
const GEMINI: &[Dialect] = &[Dialect::Gemini];

/// A format and its properties.
#[derive(Debug)]
pub struct FormatRow {
    /// The format.
    pub format: &'static dyn Format,
    /// The files that it reads.
    pub files: &'static str,
    /// The effect of compactions on the messages.
    pub compactions: &'static str,
    /// The usage that it reports.
    pub usage: &'static str,
    /// The newest version of its agent whose sessions were read, and the date; none if it is not
    /// known.
    pub newest: Option<&'static str>,
    /// The dialects in which its sessions are sent, whatever the model; empty if several providers
    /// take them.
    pub(crate) dialects: &'static [Dialect],
    /// The calls that its agent answers.
    pub(crate) answered_calls: AnsweredCalls,
    /// The parts of a request that its agent sends verbatim.
    pub(crate) verbatim: VerbatimParts,
    /// The members of a request with the system text; `None` if the format is no request.
    pub(crate) system_keys: Option<&'static [&'static str]>,
}

/// The calls without a result that an agent answers when it resumes, so that they are not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredCalls {
    /// No call.
    None,
    /// The calls of the last message, which is the answer to a logged request.
    LastMessage,
    /// Every call.
    All,
}

/// Every format, the most specific first: of several that are equally sure of a file, the first one
/// reads it.
pub static FORMATS: &[FormatRow] = &[
    FormatRow {
        newest: Some("1.6.0, 2026-11-28"),
        answered_calls: AnsweredCalls::All, // seen in pi 0.73.1 and 1.5.2
        ..row(&Pi, "session JSONL, versions 1 to 3", "digest and kept entries, branch digests", "per answer")
    },
    FormatRow {
        newest: Some("2.1.332, 2026-11-28"),
        dialects: ANTHROPIC,
        ..row(
            &ClaudeCode,
            "session JSONL, or a web export with \"loglines\"",
            "digest, preserved lines, cleared results",
            "per answer",
        )
    },
    FormatRow {
        newest: Some("0.171.0, 2026-11-28"),
        dialects: RESPONSES,
        answered_calls: AnsweredCalls::All, // seen in Codex 0.169.0
        ..row(
            &Codex,
            "rollout JSONL of any version",
            "replacement history, or the user's messages and a digest",
            "per answer",
        )
    },
    FormatRow {
        newest: Some("1.18.33, 2026-11-26"),
        answered_calls: AnsweredCalls::All, // seen in opencode 1.18.33
        ..row(
            &Opencode,
            "its database, or the JSON of \"opencode export\"",
            "digest and kept tail, cleared results",
            "per answer",
        )
    },
    FormatRow {
        newest: Some("0.61.0, 2026-11-25"),
        dialects: GEMINI,
        ..row(
            &GeminiCli,
            "session JSONL or JSON",
            "replaced lists, without what the user rewound",
            "per answer",
        )
    },
    FormatRow {
        newest: Some("records of 1.0.95"),
        ..row(&CopilotCli, "events JSONL", "summary", "from 1.0.95 on")
    },
    FormatRow {
        // Goose replaces a refused name: seen in its version of July 2026.
        verbatim: VerbatimParts { names: false, ..VERBATIM_NAMES },
        ..row(&Goose, "session JSONL until 1.9", "without messages hidden from the model", "none")
    },
    row(&OtelGenai, "messages of OpenTelemetry, spans that hold them, or OTLP JSON", "none", "of the answer"),
    row(&LANGFUSE, "generations of Langfuse", "none", "of the answer"),
    row(&LANGSMITH, "runs of LangSmith", "none", "of the answer"),
    row(&OPENINFERENCE, "spans of OpenInference, or OTLP JSON with them", "none", "of the answer"),
    row(&Sts, "session trace (STS) of the Hugging Face Hub", "none", "none"),
    row(&Sharegpt, "rows of ShareGPT with \"conversations\", or one list of them", "none", "none"),
    FormatRow {
        dialects: GEMINI,
        system_keys: Some(&["systemInstruction", "system_instruction"]),
        ..row(&GeminiContents, "a request body with \"contents\", or the array of them", "unchanged", "none")
    },
    row(&QwenCode, "session JSONL", "contents that replace older ones", "per answer"),
    FormatRow {
        dialects: RESPONSES,
        system_keys: Some(&["instructions"]),
        ..row(
            &OpenaiResponses,
            "a request body with a list as its \"input\", or that list",
            "an encrypted summary is pinned",
            "none",
        )
    },
    FormatRow { dialects: CHAT, ..row(&MiniSweAgent, "trajectory of version 1.1", "none", "per answer") },
    FormatRow {
        dialects: CHAT,
        answered_calls: AnsweredCalls::LastMessage,
        ..row(&OpenhandsCompletions, "log of one request and its answer", "none", "of the answer")
    },
    FormatRow {
        dialects: CHAT,
        ..row(
            &OpenhandsEvents,
            "a list of events, or JSONL of runs with a \"history\"",
            "summary, forgotten events",
            "per answer",
        )
    },
    FormatRow { dialects: ANTHROPIC, ..row(&Cline, "messages.json", "digest", "per answer") },
    row(&Droid, "session JSONL", "not known", "none"),
    FormatRow {
        dialects: CHAT,
        // Each line is a message of the request: `chat_provider/kimi.py`.
        verbatim: VerbatimParts { empty_texts: true, order: true, ..VERBATIM_NAMES },
        ..row(&KimiCli, "context.jsonl", "unchanged", "per answer")
    },
    FormatRow { dialects: CHAT, ..row(&KimiCode, "wire.jsonl", "summary with what it kept", "per answer") },
    row(&SweAgent, "trajectory", "none", "none"),
    row(&TauBench, "results of tau-bench and tau2-bench", "none", "per answer in tau2-bench"),
    row(&InspectAi, "evaluation log", "none", "per answer"),
    row(&Atif, "trajectory of ATIF, such as Harbor writes", "none", "per answer"),
    row(&AiSdk, "list of `ModelMessage`s", "unchanged", "none"),
    row(&PydanticAi, "list of messages", "unchanged", "per answer"),
    row(
        &Langchain::DATA,
        "list of messages, as `messages_to_dict` writes it, flat, or as constructors",
        "unchanged",
        "per answer",
    ),
    FormatRow {
        dialects: ANTHROPIC,
        system_keys: Some(&["system"]),
        ..row(
            &AnthropicMessages,
            "a request body with \"messages\", or the array of them",
            "the provider's summary hides what is before it",
            "none",
        )
    },
    FormatRow {
        dialects: CHAT,
        verbatim: VerbatimParts { order: true, ..VERBATIM_NAMES },
        system_keys: Some(&[]),
        ..row(&OpenaiChat, "a request body with \"messages\", or the array of them", "unchanged", "none")
    },
    row(&Native, "messages as one JSON array, as {\"messages\":[…]} or as JSONL", "unchanged", "none"),
];

/// The parts that most agents send verbatim: the names of calls.
pub(crate) const VERBATIM_NAMES: VerbatimParts =
    VerbatimParts { empty_texts: false, names: true, order: false };

/// Returns the row of a format that is sent to several providers and answers no calls.
const fn row(
    format: &'static dyn Format,
    files: &'static str,
    compactions: &'static str,
    usage: &'static str,
) -> FormatRow {
    FormatRow {
        format,
        files,
        compactions,
        usage,
        newest: None,
        dialects: &[],
        answered_calls: AnsweredCalls::None,
        verbatim: VERBATIM_NAMES,
        system_keys: None,
    }
}

/// Returns the row of a format.
pub(crate) fn row_of(format: &str) -> Option<&'static FormatRow> {
    FORMATS.iter().find(|row| row.format.name() == format)
}

/// Lists the formats and their files, for a user whose file matches none.
pub(crate) fn known_formats() -> String {
    let mut list = String::from("formats that are read: ");
    for (n, row) in FORMATS.iter().enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        let _ = write!(list, "{separator}{} ({})", row.format.name(), row.files);
    }
    list
}
