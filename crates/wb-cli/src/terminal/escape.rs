//! Text of a transcript as a terminal and a shell may see it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::ser::Formatter;

pub(crate) use wb_message::text::escape_controls as escaped;
use wb_message::text::is_control;

/// Writes JSON on one line in which nothing drives a terminal: what JSON itself does not escape is
/// written as `\u….`
#[derive(Clone, Copy, Debug)]
pub(crate) struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_control(*c)) {
            // All of them are of the basic plane, so that four digits are enough.
            write!(out, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

/// Quotes a word unless a shell accepts it unchanged.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The shorter names of this run's files.
static WORDS: Mutex<Vec<(PathBuf, PathBuf)>> = Mutex::new(Vec::new());

/// Remembers a shorter name of a file, such as the id of a session.
pub(crate) fn remember_word(path: &Path, word: &Path) {
    if let Ok(mut words) = WORDS.lock() {
        words.push((path.to_owned(), word.to_owned()));
    }
}

/// Returns the word that names a file on a command line: the shorter one that is known, or a link's
/// target, since nothing is written through a link, and never an option.
pub(crate) fn file_word(path: &Path) -> String {
    let known = WORDS.lock().ok();
    let known = known.and_then(|words| words.iter().find(|(it, _)| it == path).map(|(_, word)| word.clone()));
    let path = known.as_deref().unwrap_or(path);
    let real = if path.is_symlink() { path.canonicalize().ok() } else { None };
    let name = real.as_deref().unwrap_or(path).display().to_string();
    let is_option = name.starts_with('-') && name != "-";
    shell_word(&if is_option { format!("./{name}") } else { name })
}

/// Names a file where a text says `FILE`.
pub(crate) fn with_file(text: &str, file: &Path) -> String {
    text.replace(" FILE", &format!(" {}", file_word(file)))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde::Serialize;

    use super::*;

    #[test]
    fn what_drives_a_terminal_is_spelled_out_and_all_else_stays() {
        assert_eq!(escaped("\u{1b}[2J a\tb\r\u{7f}\u{9b}"), "\\u{1b}[2J a\tb\\r\\u{7f}\\u{9b}");
        assert_eq!(escaped("x\u{202e}y\u{2066}z\u{2028}"), "x\\u{202e}y\\u{2066}z\\u{2028}");
        assert!(matches!(escaped("Grüße, 世界 👩\u{200d}💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_without_what_drives_a_terminal() {
        let text = "a\u{9b}31m \u{1b}[2J \u{202e}x\u{7f} Grüße\t\"世界\"";
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, SafeJson)).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert!(!written.contains(is_control), "{written}");
        assert!(written.contains(r"a\u009b31m") && written.contains("Grüße"), "{written}");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn names_are_quoted_where_a_shell_would_not_take_them_as_they_are() {
        for (name, word) in [
            ("a/b_c-1.jsonl", "a/b_c-1.jsonl"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
        ] {
            assert_eq!(shell_word(name), word);
        }
        for (name, word) in [("-a", "./-a"), ("-", "-"), ("a b", "'a b'"), ("-it's", r"'./-it'\''s'")] {
            assert_eq!(file_word(Path::new(name)), word);
        }
    }
}
