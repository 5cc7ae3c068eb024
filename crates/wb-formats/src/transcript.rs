//! What a file gives: messages, what providers counted, and what was passed over.

use std::fmt;

use wb_budget::Usage;
use wb_message::{Message, ToolVocabulary};

/// A transcript that was read from a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transcript {
    /// The name of the format.
    pub format: &'static str,
    /// The messages that the next request would send, without the system prompt and the tools, which files do
    /// not hold.
    pub messages: Vec<Message>,
    /// What providers counted for requests that sent a beginning of `messages`, in order.
    pub usage: Vec<UsageAt>,
    /// The model that the session goes on with, if the file tells it.
    pub model: Option<String>,
    /// The context window of the model in tokens, if the file tells it.
    pub context_window: Option<u64>,
    /// What was passed over or changed while reading.
    pub notes: Vec<Note>,
    /// How the agent calls its tools and their arguments.
    pub vocabulary: ToolVocabulary,
}

/// What a provider counted for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageAt {
    /// The index of the assistant message that answers the request; its prompt was every message before, plus
    /// the system prompt and the tools, which files do not hold.
    pub at: usize,
    /// The tokens.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
}

/// Something that was passed over or changed while reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The last line was cut off while it was written, and was skipped.
    TruncatedLastLine {
        /// Its line.
        line: usize,
    },
    /// Lines of no known kind, or without what their kind needs, were skipped.
    IgnoredLines {
        /// How many.
        n: usize,
    },
    /// Lines that stand in the file twice were read once.
    RepeatedLines {
        /// How many.
        n: usize,
    },
    /// Further results of a tool call that was answered before were skipped.
    RepeatedResults {
        /// How many.
        n: usize,
    },
    /// Lines of subagents do not belong to the conversation.
    SidechainLines {
        /// How many.
        n: usize,
    },
    /// The file is the transcript of a subagent.
    SubagentTranscript,
    /// Lines of the conversation before the user went back do not belong to it any more.
    AbandonedLines {
        /// How many.
        n: usize,
    },
    /// Messages that only say that a request failed were left out; no model sees them.
    FailureMessages {
        /// How many.
        n: usize,
    },
    /// The agent has compacted the conversation; the messages begin with what stayed.
    CompactionApplied {
        /// The tokens that the conversation had before.
        tokens_before: u64,
    },
    /// The agent has cleared old tool results; the placeholder stands for them.
    ClearedResults {
        /// How many.
        n: usize,
    },
    /// The file says that it has a newer layout than is known; it was read anyway.
    NewerVersion {
        /// The version that the file tells.
        version: u64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedLastLine { line } => write!(f, "truncated last line skipped: line {line}"),
            Self::IgnoredLines { n } => write!(f, "lines ignored: {n}"),
            Self::RepeatedLines { n } => write!(f, "repeated lines skipped: {n}"),
            Self::RepeatedResults { n } => write!(f, "repeated tool results skipped: {n}"),
            Self::SidechainLines { n } => write!(f, "sidechain lines left apart: {n}"),
            Self::SubagentTranscript => write!(f, "transcript of a subagent"),
            Self::AbandonedLines { n } => write!(f, "lines of abandoned branches left apart: {n}"),
            Self::FailureMessages { n } => write!(f, "messages about failed requests left out: {n}"),
            Self::CompactionApplied { tokens_before } => {
                write!(f, "native compaction applied: {tokens_before} tokens before")
            }
            Self::ClearedResults { n } => write!(f, "tool results cleared by micro-compaction: {n}"),
            Self::NewerVersion { version } => write!(f, "newer layout than known: version {version}"),
        }
    }
}

/// One segment of a session in which the context only grew: from the start or from a compaction to the next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Segment {
    /// The messages that the model saw, as they were at the end of the segment.
    pub messages: Vec<Message>,
    /// What providers counted in this segment; empty if no request was made in it.
    pub usage: Vec<UsageAt>,
}

/// The segments of a session in order; each is built when it is asked for.
pub struct Segments(Box<dyn Iterator<Item = Segment> + Send>);

impl Segments {
    pub(crate) fn new(each: impl Iterator<Item = Segment> + Send + 'static) -> Self {
        Self(Box::new(each))
    }
}

impl Iterator for Segments {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        self.0.next()
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").finish_non_exhaustive()
    }
}
