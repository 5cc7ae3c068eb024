//! The start and the end of a text that is too long, cut between its lines or its words.

use std::borrow::Cow;

use wb_message::markers::CLIP_MARK;
use wb_message::text::{head, tail};

/// Keeps the start (two thirds) and the end of a text with a mark on a line between them, at most `max_bytes` bytes in
/// all; a text that fits comes back as it is.
///
/// Either part is cut between lines where that leaves three quarters of it, else between words where that does.
pub(crate) fn excerpt(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_bytes.checked_sub(CLIP_MARK.len()) else {
        return Cow::Borrowed(head(text, max_bytes));
    };
    let (start, end) = (head(text, room - room / 3), tail(text, room / 3));
    let least = start.len() - start.len() / 4;
    let is_late = |at: &usize| *at >= least;
    let at = start.rfind('\n').filter(is_late).or_else(|| start.rfind(' ').filter(is_late));
    let start = &start[..at.unwrap_or(start.len())];
    let most = end.len() / 4;
    let is_early = |at: &usize| *at <= most;
    let at = end.find('\n').filter(is_early).or_else(|| end.find(' ').filter(is_early));
    let end = &end[at.map_or(0, |at| at + 1)..];
    Cow::Owned([start.trim_end(), CLIP_MARK, end.trim_start_matches('\n')].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_lines_else_between_words_and_never_grows() {
        let lines = "| 1 | first row |\n".repeat(40);
        let cut = excerpt(&lines, 200);
        assert!(cut.lines().all(|line| line == "| 1 | first row |" || line == CLIP_MARK.trim()), "{cut}");
        let words = "some words ".repeat(40);
        let cut = excerpt(&words, 200);
        assert!(cut.split_whitespace().all(|word| CLIP_MARK.contains(word) || words.contains(word)), "{cut}");
        assert!(
            cut.split_once(CLIP_MARK).is_some_and(|(start, end)| start.len() > 60 && end.len() > 30),
            "{cut}"
        );
        for text in [lines.as_str(), words.as_str(), &"é".repeat(300)] {
            for max_bytes in [0, 5, 40, 100, 299] {
                let cut = excerpt(text, max_bytes);
                assert!(cut.len() <= max_bytes && cut.len() * 3 + CLIP_MARK.len() * 3 > max_bytes, "{cut}");
            }
            assert_eq!(excerpt(text, text.len()), text);
        }
    }
}
