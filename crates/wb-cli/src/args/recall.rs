//! `wb recall`.

use clap::{ArgGroup, Args};
use wb_recall::{DEFAULT_TOKENS, Question, Subject};

/// The subject of a lookup, and the sessions to search.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("subject").args(["message", "file", "command", "turn"]))]
pub(crate) struct RecallArgs {
    /// Session, then words or a name as it was written
    ///
    /// A session is a file, an id or its start, or the folder of a project; without one, the newest
    /// session of this folder. Words are needed unless an option names the subject.
    #[arg(value_name = "SESSION|WORDS")]
    pub(crate) words: Vec<String>,
    /// Show the message of this number, such as 212
    #[arg(long, value_name = "N", value_parser = message_number)]
    pub(crate) message: Option<usize>,
    /// Show a file as it was last read or written
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
    /// Show the last run of a command with these words
    #[arg(long, value_name = "TEXT")]
    pub(crate) command: Option<String>,
    /// Show a request of the user, from 1, and what followed
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<usize>,
    /// First line to show, of a message, file or output
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) line: usize,
    /// Most tokens of the answer, from 160 to 20000
    #[arg(long, value_name = "TOKENS", default_value_t = DEFAULT_TOKENS, value_parser = clap::value_parser!(u64).range(160..=20_000))]
    pub(crate) tokens: u64,
    /// Search all sessions of the same project
    #[arg(long)]
    pub(crate) all: bool,
    /// Answer a call of the tool with these arguments, in JSON
    #[arg(long, value_name = "JSON", hide = true, conflicts_with_all = ["subject", "all", "no_redact"])]
    pub(crate) arguments: Option<String>,
    /// Show passwords, keys and tokens
    #[arg(long)]
    pub(crate) no_redact: bool,
}

/// Reads `212` or `#212`.
fn message_number(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix('#').unwrap_or(text).parse();
    number.map_err(|_| format!("`{text}` is no message number"))
}

impl RecallArgs {
    /// Returns whether an option names the subject, so that no words are due.
    pub(crate) fn has_subject(&self) -> bool {
        self.message.is_some() || self.file.is_some() || self.command.is_some() || self.turn.is_some()
    }

    /// Returns the question; the words are those that name no session.
    pub(crate) fn question(&self, words: &[String]) -> Option<Question> {
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let subjects = [
            self.message.map(Subject::Message),
            text(self.file.clone()).map(Subject::File),
            text(self.command.clone()).map(Subject::Command),
            self.turn.map(Subject::Turn),
            text(Some(words.join(" "))).map(Subject::Words),
        ];
        let about = subjects.into_iter().flatten().next()?;
        Some(Question::new(about).from_line(self.line).max_tokens(self.tokens))
    }
}
