//! The start and the end of a text that is too long, cut between its lines, its sentences or its
//! words.

use std::borrow::Cow;

use crate::markers::CLIP_MARK;
use crate::text::{head, one_line, tail};

/// Marks a gap between two pieces of a text.
pub const GAP: &str = "…";
/// Characters below which a line has no room for a start and an end.
const LEAST_ENDS_CHARS: usize = 40;

/// Keeps the start (two thirds) and the end of a text with a mark on a line between them, at most
/// `max_bytes` bytes in all; a text that fits comes back as it is.
///
/// Either part is cut between lines where that leaves three quarters of it, else between words
/// where that does.
pub fn excerpt(text: &str, max_bytes: usize) -> Cow<'_, str> {
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

/// Returns a text on one line of at most `max_chars` characters: its start and its end with a mark
/// between them. The last sentence is kept if it takes at most two thirds.
pub fn both_ends(text: &str, max_chars: usize) -> String {
    let line = one_line(text, usize::MAX);
    if line.chars().count() <= max_chars || max_chars < LEAST_ENDS_CHARS {
        return one_line(&line, max_chars);
    }
    // In a text that was cut before, the parts next to the mark are neither its start nor its end.
    let mark = CLIP_MARK.trim();
    let before = line.split_once(mark).map_or(line.as_str(), |(before, _)| before.trim_end());
    let after = line.rsplit_once(mark).map_or(line.as_str(), |(_, after)| after.trim_start());
    let last = after.len() - sentence_starts(after).last().unwrap_or(0);
    let most = (max_chars / 2).max(Some(last).filter(|last| *last <= max_chars / 3 * 2).unwrap_or(0));
    let end = ending(after, most);
    let is_inside = after[..after.len() - end.len()].ends_with(|c: char| c.is_ascii() && c != ' ');
    if is_inside && !end.contains(' ') {
        // A fragment of a word would be misread.
        return one_line(&line, max_chars);
    }
    let start = beginning(before, max_chars - end.chars().count() - GAP.chars().count() - 2);
    [start, GAP, end].join(" ")
}

/// Returns at most the first characters of a line, cut between words where it has some.
fn beginning(line: &str, max_chars: usize) -> &str {
    let Some((end, next)) = line.char_indices().nth(max_chars) else { return line };
    let start = &line[..end];
    if next == ' ' {
        return start;
    }
    start.rfind(' ').map_or(start, |at| &start[..at])
}

/// Returns at most the last characters of a line, from the start of a sentence where that leaves a
/// third of them, else from that of a word.
pub fn ending(line: &str, max_chars: usize) -> &str {
    let n_chars = line.chars().count();
    let Some(from) = n_chars.checked_sub(max_chars).filter(|n| *n > 0) else { return line };
    let from = line.char_indices().nth(from).map_or(line.len(), |(at, _)| at);
    let latest = line.len() - (line.len() - from) / 3;
    let sentence = sentence_starts(line).find(|at| *at >= from).filter(|at| *at <= latest);
    let word = || {
        let is_start = line[..from].ends_with(' ');
        let next = line[from..].find(' ').map(|at| from + at + 1);
        if is_start { from } else { next.filter(|at| *at <= latest).unwrap_or(from) }
    };
    &line[sentence.unwrap_or_else(word)..]
}

/// Visits where the sentences of a line begin behind the first one.
pub fn sentence_starts(line: &str) -> impl Iterator<Item = usize> {
    let ends = line.match_indices(['.', '!', '?', '…', '。', '！', '？']);
    ends.filter_map(|(at, sign)| {
        let after = &line[at + sign.len()..];
        let rest = after.trim_start_matches(['*', '"', '”', ')', '`']);
        let next = rest.trim_start();
        let is_end = rest.len() > next.len() || !sign.is_ascii() && sign != "…";
        (is_end && !next.is_empty()).then_some(line.len() - next.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_little_room_keeps_its_start_and_its_last_sentence() {
        let check = |text: &str, max_chars, expected: &str| {
            let line = both_ends(text, max_chars);
            assert_eq!(line, expected);
            assert!(line.chars().count() <= max_chars, "{line}");
        };
        let text = "The importer skips blank lines now and all tests pass.\n\nIt was the reader that counted \
                    them twice. Still open: the writer keeps a stale lock.";
        check(text, 200, &text.replace("\n\n", " "));
        check(text, 80, "The importer skips blank lines now … Still open: the writer keeps a stale lock.");
        check(text, 64, "The importer skips … Still open: the writer keeps a stale lock.");
        check(text, 45, "The importer skips … keeps a stale lock.");
        check(text, 30, "The importer skips blank line…");
        let path =
            ["- Removed the hook", &" and the runner".repeat(3), ". - Untouched: ", &"a/".repeat(40), "b.rs"]
                .concat();
        check(&path, 60, "- Removed the hook and the runner and the runner and the ru…");
        let short = ["All of it is done, as you wanted it. ".repeat(4).as_str(), "Push?"].concat();
        check(&short, 60, "All of it is done, as you … done, as you wanted it. Push?");
        let cut = format!("The first half. {}{CLIP_MARK}{}Next: c.", "a ".repeat(30), "b ".repeat(30));
        check(&cut, 60, "The first half. a a a a a a … b b b b b b b b b b b Next: c.");
        check(
            &"不要改。".repeat(20),
            43,
            "不要改。不要改。不要改。不要改。不要改。 … 不要改。不要改。不要改。不要改。不要改。",
        );
    }

    #[test]
    fn a_line_of_any_script_and_any_size_never_grows() {
        for text in ["é".repeat(300), "é b. ".repeat(60), ". . ? ".repeat(60), "a".repeat(300)] {
            for max_chars in 0..120 {
                let n_chars = both_ends(&text, max_chars).chars().count();
                assert!(
                    n_chars <= max_chars && n_chars + max_chars / 2 >= max_chars,
                    "{max_chars}: {n_chars}"
                );
            }
        }
    }

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
