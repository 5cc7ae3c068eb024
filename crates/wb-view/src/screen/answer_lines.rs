//! The answer of a search as lines with their sources.

use wb_recall::Answer;

use crate::context::DigestLine;

/// Splits an answer into lines; each has the message that it quotes as its source.
pub fn found_lines(answer: &Answer) -> Vec<DigestLine> {
    let mut source = None;
    let line = |text: &str| {
        // A quoted line begins with its number and a bar.
        if let Some(rest) = text.strip_prefix('#') {
            source = rest.split(' ').next().and_then(|number| number.parse().ok());
        } else if text.is_empty() {
            source = None;
        }
        DigestLine { text: text.to_owned(), source }
    };
    answer.to_string().lines().map(line).collect()
}
