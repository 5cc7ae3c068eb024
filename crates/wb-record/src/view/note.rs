//! Notes on records that were skipped or changed while a session was read.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};

/// A record that was skipped or changed while reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The last line was cut off while it was written, and was skipped.
    TruncatedLastLine {
        /// Its line.
        line: usize,
    },
    /// Records that are not JSON, or are nested too deeply, are left unchanged.
    UnreadableRecords {
        /// The number of records.
        n: usize,
        /// The line of the first, counted from 1.
        line: usize,
    },
    /// Lines with a raw U+2028 or U+2029, at which their agent splits them and reads neither part.
    LineSeparators {
        /// The number of lines.
        n: usize,
        /// The first, counted from 1.
        line: usize,
    },
    /// The provider answered that it cannot decrypt a compaction, whose text nobody else can read.
    UndecryptableCompaction {
        /// The line of the answer, counted from 1.
        line: usize,
    },
    /// Messages without a role were left out.
    MissingRoles {
        /// The number of messages.
        n: usize,
        /// The line of the first, counted from 1.
        line: usize,
    },
    /// Lines of an unknown kind, or without the fields that their kind requires, were skipped.
    IgnoredLines {
        /// The number of lines.
        n: usize,
        /// The line of the first, counted from 1; nothing if it is not known.
        line: Option<NonZeroUsize>,
    },
    /// Lines that are in the file twice were read once.
    RepeatedLines {
        /// The number of lines.
        n: usize,
    },
    /// Further results of a call that was answered already were skipped.
    RepeatedResults {
        /// The number of results.
        n: usize,
    },
    /// Results without their call, which providers refuse, were left out.
    OrphanResults {
        /// The number of results.
        n: usize,
    },
    /// Calls that will never be answered, which providers refuse, were left out.
    UnansweredCalls {
        /// The number of calls.
        n: usize,
    },
    /// A line of the conversation follows one that is not in the file. The lines before it are not
    /// sent by pi (observed with 0.73.1 and 1.5.2); Claude Code (2.1.328) continues with the line
    /// before, but not with the first of all.
    LostParent {
        /// The line, counted from 1.
        line: usize,
    },
    /// A line of the conversation follows a copy of one from before a compaction, as Claude Code
    /// wrote them (2.1.237 to 2.1.260), so that the compaction and the lines after it are not sent.
    CopiedParent {
        /// The line, counted from 1.
        line: usize,
        /// The last line before the copies, counted from 1.
        behind: usize,
        /// The number of messages before the line, which the compaction summarizes.
        n_summarized: usize,
    },
    /// Lines of subagents do not belong to the conversation.
    SidechainLines {
        /// The number of lines.
        n: usize,
    },
    /// The file is the transcript of a subagent.
    SubagentTranscript,
    /// Lines of the conversation before a rewind no longer belong to it.
    AbandonedLines {
        /// The number of lines.
        n: usize,
    },
    /// Prompts that the user queued while the model worked are in no message, so that no request
    /// repeats them.
    QueuedPrompts {
        /// The number of prompts.
        n: usize,
        /// The line of the first, counted from 1.
        line: usize,
    },
    /// Messages that only report a failed request were left out; no model sees them.
    FailureMessages {
        /// The number of messages.
        n: usize,
        /// The offset in bytes of the last one, if it is known and no answer follows; never 0.
        last: Option<NonZeroU64>,
    },
    /// The agent has compacted the conversation; the messages begin with what stayed.
    CompactionApplied {
        /// The tokens that the conversation had before, if that is known.
        tokens_before: Option<NonZeroU64>,
    },
    /// The agent has cleared old tool results and left the placeholder.
    ClearedResults {
        /// The number of results.
        n: usize,
    },
    /// The request may also be one of another provider.
    FitsOtherFormat {
        /// The name of the other format.
        name: &'static str,
    },
    /// The file has a newer layout than the supported ones; it was read anyway.
    NewerVersion {
        /// The version in the file.
        version: u64,
    },
}

impl Note {
    /// Notes a compaction with the tokens that the conversation had before, as recorded in
    /// sessions: 0 is none.
    pub fn compaction(tokens_before: u64) -> Self {
        Self::CompactionApplied { tokens_before: NonZeroU64::new(tokens_before) }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedLastLine { line } => write!(f, "truncated last line skipped: line {line}"),
            Self::UnreadableRecords { n, line } => {
                write!(f, "unreadable lines left as they are: {n}, the first is line {line}")
            }
            Self::LineSeparators { n, line } => {
                write!(f, "lines that their agent splits at a raw U+2028: {n}, the first is line {line}")
            }
            Self::UndecryptableCompaction { line } => {
                write!(f, "the provider cannot decrypt the last compaction: line {line}")
            }
            Self::MissingRoles { n, line } => {
                write!(f, "messages without a role left out: {n}, the first is line {line}")
            }
            Self::IgnoredLines { n, line: None } => write!(f, "lines ignored: {n}"),
            Self::IgnoredLines { n, line: Some(line) } => {
                write!(f, "lines ignored: {n}, the first is line {line}")
            }
            Self::RepeatedLines { n } => write!(f, "repeated lines skipped: {n}"),
            Self::RepeatedResults { n } => write!(f, "repeated tool results skipped: {n}"),
            Self::OrphanResults { n } => write!(f, "tool results without their call left out: {n}"),
            Self::UnansweredCalls { n } => write!(f, "tool calls without a result left out: {n}"),
            Self::LostParent { line } => {
                write!(
                    f,
                    "line {line} follows a line that is not in the file: the agent may see nothing before it"
                )
            }
            Self::CopiedParent { line, behind, .. } => write!(
                f,
                "line {line} follows a copy of a line that was summarized: the agent sees no summary, and \
                 nothing that followed it up to line {behind}"
            ),
            Self::SidechainLines { n } => write!(f, "sidechain lines skipped: {n}"),
            Self::SubagentTranscript => write!(f, "transcript of a subagent"),
            Self::AbandonedLines { n } => write!(f, "lines of abandoned branches skipped: {n}"),
            Self::QueuedPrompts { n, line } => write!(
                f,
                "prompts that were queued and are in no message: {n}, the first is line {line}; the next digest \
                 quotes them"
            ),
            Self::FailureMessages { n, .. } => write!(f, "messages about failed requests left out: {n}"),
            Self::CompactionApplied { tokens_before: None } => write!(f, "compacted or repaired earlier"),
            Self::CompactionApplied { tokens_before: Some(tokens_before) } => {
                write!(f, "compacted earlier: {tokens_before} tokens before")
            }
            Self::ClearedResults { n } => write!(f, "tool results cleared by micro-compaction: {n}"),
            Self::FitsOtherFormat { name } => {
                write!(f, "the request fits {name} too: --format names the one to read")
            }
            Self::NewerVersion { version } => write!(f, "newer layout than known: version {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_before_a_compaction_are_noted_if_known() {
        assert_eq!(Note::compaction(955).to_string(), "compacted earlier: 955 tokens before");
        assert_eq!(Note::compaction(0), Note::CompactionApplied { tokens_before: None });
        assert_eq!(Note::compaction(0).to_string(), "compacted or repaired earlier");
    }
}
