//! Text that users paste, such as code, logs and tables.

use wb_message::bytes::begins_with;

/// Returns whether a text contains the closing tag of a name.
pub(crate) fn closes(text: &str, name: &str) -> bool {
    let is_end = |rest: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['>', ' ', '\n']));
    text.match_indices("</").any(|(at, _)| is_end(&text[at + 2..]))
}

/// Returns whether a line is a label of a template for agents: `INSTRUCTIONS:`.
pub(crate) fn is_label(line: &str) -> bool {
    line.strip_suffix(':')
        .is_some_and(|label| label.len() > 3 && label.bytes().all(|b| b.is_ascii_uppercase() || b == b' '))
}

/// Returns the name of the tag at the start of a line, if it opens a pasted text.
pub(crate) fn data_tag(line: &str) -> Option<&str> {
    const WORDS: [&str; 20] = [
        "description",
        "document",
        "example",
        "file",
        "output",
        "log",
        "error",
        "code",
        "context",
        "diff",
        "path",
        "content",
        "result",
        "stdout",
        "stderr",
        "history",
        "conversation",
        "issue",
        "snippet",
        "data",
    ];
    let rest = line.strip_prefix('<')?;
    let name = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')?];
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)).then_some(name)
}

/// Returns whether a line is code, a log, a heading, a quote or a row of a table.
pub(crate) fn is_data(line: &str) -> bool {
    const STARTS: [&str; 40] = [
        "|",
        ">",
        "{",
        "}",
        "[{",
        "</",
        "#",
        "@@",
        "+++",
        "---",
        "===",
        "***",
        "diff --git",
        "index ",
        "$ ",
        "❯",
        "➜",
        "=> ",
        "//",
        "/*",
        "*/",
        "!!",
        "Traceback",
        "Caused by",
        "at async ",
        "npm ",
        "ERROR",
        "WARN",
        "INFO",
        "DEBUG",
        "FAIL",
        "error:",
        "error[",
        "warning:",
        "Error:",
        "fatal:",
        "thread '",
        "File \"",
        "stack ",
        "   Compiling",
    ];
    let words = line.trim();
    words.is_empty()
        || begins_with(words, &STARTS)
        || words.ends_with(['{', '}', ';'])
        || words.contains('"') && words.contains("\":")
        || is_frame(line)
        || is_padded(line)
        || is_code(words)
        || is_stamped(words)
        || is_dense(words)
}

/// Returns whether a line begins like an error of a program.
pub(crate) fn is_error(line: &str) -> bool {
    begins_with(line, &["Error", "ERROR", "error", "fatal:", "Traceback"])
}

/// Returns whether a line is a frame of a stack trace.
fn is_frame(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with("at ") && line.contains(['(', ':'])
}

/// Returns whether a line fills the width of a terminal with blanks. Two blanks at an end are a
/// line break of Markdown.
fn is_padded(line: &str) -> bool {
    const LEAST_WIDTH: usize = 60;
    line.len() >= LEAST_WIDTH && line.trim_end_matches(['\r', '\n']).ends_with("   ")
}

/// Returns whether a line begins like a statement of a programming language.
fn is_code(line: &str) -> bool {
    const STARTS: [&str; 12] = [
        "import ",
        "const ",
        "let ",
        "var ",
        "def ",
        "return ",
        "func ",
        "fn ",
        "function ",
        "class ",
        "export ",
        "pub ",
    ];
    begins_with(line, &STARTS) && line.contains(['=', '(', '{', '"', ':'])
}

/// Returns whether a line begins with a time or a progress count.
fn is_stamped(line: &str) -> bool {
    let bytes = line.trim_start_matches('[').as_bytes();
    let is_date =
        bytes.len() > 10 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-' && bytes[7] == b'-';
    let is_time =
        bytes.len() > 8 && bytes[2] == b':' && bytes[5] == b':' && bytes[..2].iter().all(u8::is_ascii_digit);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < line.len() && number.starts_with([':', '→', '|']);
    is_date || is_time || is_numbered || line.starts_with("[+]") || is_added(line)
}

/// Returns whether a line is one that a diff with line numbers adds: `+ 13 let a = 1`.
fn is_added(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("+ ").map(str::trim_start) else { return false };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && (after.is_empty() || after.starts_with(' '))
}

/// Returns whether a line has more signs than prose.
fn is_dense(line: &str) -> bool {
    const SIGNS: [bool; 256] = byte_set(b"{}[]<>=|\\;$&~^%_@#+");
    let n_signs = line.bytes().filter(|byte| SIGNS[usize::from(*byte)]).count();
    n_signs > 3 && n_signs * 8 > line.len()
}

/// Returns a table that marks the bytes of a list.
pub(crate) const fn byte_set(bytes: &[u8]) -> [bool; 256] {
    let (mut set, mut at) = ([false; 256], 0);
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_terminal_shows_are_pasted() {
        assert!(is_data("+ 13 - **Text**: the component redraws on each change of the theme"));
        assert!(is_data(&format!(
            "{:<80}",
            "title and output (`toolOutput`), in place of the unused token."
        )));
        assert!(!is_data("Begin each paragraph of the guide with a verb, and end it so.  "));
    }
}
