//! Kinds of what fills a window.

/// A kind of message, or what is sent outside of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The results of tools.
    ToolResults,
    /// The agent's texts, reasoning and calls.
    Assistant,
    /// The user's words.
    User,
    /// Commands that the user ran.
    Shell,
    /// Notes of the agent's program.
    Custom,
    /// Digests and restored files.
    Digest,
    /// The system prompt and the tools.
    Unseen,
}

/// A kind with its name in JSON, in words, the cell of a bar, and the letter of a narrow one.
struct Row {
    kind: Kind,
    name: &'static str,
    words: &'static str,
    cell: char,
}

const fn row(kind: Kind, name: &'static str, words: &'static str, cell: char) -> Row {
    Row { kind, name, words, cell }
}

const ROWS: [Row; 7] = [
    row(Kind::ToolResults, "tool_results", "tool results", '█'),
    row(Kind::Assistant, "assistant", "assistant", '▓'),
    row(Kind::User, "user", "user", '▚'),
    row(Kind::Shell, "shell", "shell", '$'),
    row(Kind::Custom, "custom", "notes", '+'),
    row(Kind::Digest, "digests_and_restored_files", "digest and files", '='),
    row(Kind::Unseen, "system_prompt_and_tools", "system and tools", '▒'),
];

impl Kind {
    /// All kinds, in the order of a legend.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.kind)
    }

    /// Finds a kind by its name in the JSON of `wb weigh`.
    pub fn parse(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// Returns the kind in words.
    pub fn words(self) -> &'static str {
        self.row().words
    }

    /// Returns the character that fills a bar.
    pub(crate) fn cell(self) -> char {
        self.row().cell
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_kinds() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!((row.kind as usize, Kind::parse(row.name)), (at, Some(row.kind)));
        }
    }
}
