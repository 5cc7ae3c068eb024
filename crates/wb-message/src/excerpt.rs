//! The start and the end of a text that is too long, cut between its lines, its sentences or its
//! words.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::markers::CLIP_MARK;
use crate::text::{head, one_line, tail};

/// Marks a gap between two pieces of a text.
pub const GAP: &str = "…";
/// Characters below which a line has no room for a start and an end.
const LEAST_ENDS_CHARS: usize = 40;

/// The least bytes of an excerpt that shows lines of the middle.
const LEAST_MIDDLE_BYTES: usize = 240;
/// The longest piece of the middle, in bytes.
const PIECE_BYTES: usize = 240;
/// The number of pieces up to which all that have facts are shown if they fit.
const FEW_PIECES: usize = 12;
/// The most facts of a piece that count.
const MOST_FACTS: usize = 8;

/// Keeps the start (two thirds) and the end of a text with a mark on a line between them, at most
/// `max_bytes` bytes in all; a text that fits comes back as it is.
///
/// Either part is cut between lines where that leaves three quarters of it, else between words
/// where that does. Lines and sentences between them that have names, addresses, numbers or code
/// get half of the start's room, between two marks.
pub fn excerpt(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_bytes.checked_sub(CLIP_MARK.len()) else {
        return Cow::Borrowed(head(text, max_bytes));
    };
    if max_bytes >= LEAST_MIDDLE_BYTES
        && let Some(outline) = outline(text, room - CLIP_MARK.len())
    {
        return Cow::Owned(outline);
    }
    Cow::Owned(both_parts(text, room - room / 3, room / 3).join(CLIP_MARK))
}

/// Returns the start and the end of a text, at most `for_start` and `for_end` bytes.
fn both_parts(text: &str, for_start: usize, for_end: usize) -> [&str; 2] {
    let (start, end) = (head(text, for_start), tail(text, for_end));
    let least = start.len() - start.len() / 4;
    let is_late = |at: &usize| *at >= least;
    let at = start.rfind('\n').filter(is_late).or_else(|| start.rfind(' ').filter(is_late));
    let start = &start[..at.unwrap_or(start.len())];
    let most = end.len() / 4;
    let is_early = |at: &usize| *at <= most;
    let at = end.find('\n').filter(is_early).or_else(|| end.find(' ').filter(is_early));
    let end = &end[at.map_or(0, |at| at + 1)..];
    [start.trim_end(), end.trim_start_matches('\n')]
}

/// Returns the start, the pieces of the middle with more facts than others, and the end of a text;
/// `None` if there are none.
fn outline(text: &str, room: usize) -> Option<String> {
    let part = room / 3;
    let [start, end] = both_parts(text, part, part);
    let middle = &text[start.len()..text.len() - end.len()];
    let pieces = pieces(middle);
    // Where many are alike, as in a table, none says more than another.
    let sum: usize = pieces.iter().map(|piece| piece.n_facts).sum();
    let most_alike = if pieces.len() > FEW_PIECES { 3 * sum } else { 0 };
    let is_above = |at: &usize| 2 * pieces[*at].n_facts * pieces.len() > most_alike;
    let mut order: Vec<usize> = (0..pieces.len()).filter(is_above).collect();
    order.sort_by_key(|at| Reverse(pieces[*at].n_facts * 1_000 / (pieces[*at].text.len() + 40)));
    let mut left = part;
    order.retain(|at| {
        let rest = left.checked_sub(pieces[*at].n_bytes());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    order.sort_unstable();
    let lines: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(nth, at)| pieces[*at].line(nth > 0 && order[nth - 1] + 1 != *at))
        .collect();
    let lines = lines.join("\n");
    (!lines.is_empty()).then(|| [start, &lines, end].join(CLIP_MARK))
}

/// A line of a text, or a sentence of a long one.
struct Piece<'a> {
    indent: &'a str,
    text: &'a str,
    n_facts: usize,
}

impl Piece<'_> {
    fn n_bytes(&self) -> usize {
        self.indent.len() + GAP.len() + 1 + self.text.len() + 1
    }

    fn line(&self, has_gap: bool) -> String {
        let gap = if has_gap { [GAP, " "] } else { ["", ""] };
        [self.indent, gap[0], gap[1], self.text].concat()
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    for line in text.lines() {
        let words = line.trim();
        let indent = &line[..line.len() - line.trim_start().len()];
        let starts: Vec<usize> = if words.len() <= PIECE_BYTES {
            vec![0]
        } else {
            std::iter::once(0).chain(sentence_starts(words)).collect()
        };
        let ends = starts[1..].iter().copied().chain([words.len()]);
        for (start, end) in starts.iter().zip(ends) {
            let text = words[*start..end].trim_end();
            if text != CLIP_MARK.trim() && text.len() <= PIECE_BYTES {
                out.push(Piece { indent, text, n_facts: n_facts(text) });
            }
        }
    }
    // The first and the last one may be parts of a line.
    let n = out.len();
    out.into_iter().enumerate().filter(|(nth, _)| *nth > 0 && nth + 1 < n).map(|(_, piece)| piece).collect()
}

/// Counts the words with code, a path, an address, a name or a number.
fn n_facts(text: &str) -> usize {
    let is_fact = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '`' && c != '-');
        let has_inside = |sign: char| inner.trim_matches(sign).contains(sign);
        inner.starts_with(['`', '#']) && inner.len() > 2
            || inner.starts_with("--")
            || has_inside('/')
            || has_inside('_')
            || inner.len() > 1 && inner.bytes().any(|byte| byte.is_ascii_digit())
    };
    text.split_whitespace().filter(|word| is_fact(word)).count().min(MOST_FACTS)
}

/// Returns a text on one line of at most `max_chars` characters: its start and its end with a mark
/// between them. The last sentence is kept if it takes at most two thirds, else the start alone.
pub fn both_ends(text: &str, max_chars: usize) -> String {
    let line = one_line(text, usize::MAX);
    if line.chars().count() <= max_chars || max_chars < LEAST_ENDS_CHARS {
        return one_line(&line, max_chars);
    }
    // In a text that was cut before, the parts next to the mark are neither its start nor its end.
    let mark = CLIP_MARK.trim();
    let before = line.split_once(mark).map_or(line.as_str(), |(before, _)| before.trim_end());
    let after = line.rsplit_once(mark).map_or(line.as_str(), |(_, after)| after.trim_start());
    let last_start = sentence_starts(after).last().unwrap_or(0);
    let last = after.len() - last_start;
    if last_start > 0 && last > max_chars / 3 * 2 {
        // The end of another sentence would seem to end the first one.
        return one_line(&line, max_chars);
    }
    let end = ending(after, if last_start > 0 { last.max(max_chars / 2) } else { max_chars / 2 });
    let is_inside = after[..after.len() - end.len()].ends_with(|c: char| c.is_ascii() && c != ' ');
    if is_inside && !end.contains(' ') {
        // A fragment of a word would be misread.
        return one_line(&line, max_chars);
    }
    let start = beginning(before, max_chars - end.chars().count() - GAP.chars().count() - 2);
    [start, GAP, end].join(" ")
}

/// Returns at most the first characters of a line, up to the end of a sentence where that leaves
/// half of them, else cut between words where it has some.
fn beginning(line: &str, max_chars: usize) -> &str {
    let Some((end, next)) = line.char_indices().nth(max_chars) else { return line };
    let start = &line[..end];
    // Half a sentence before a gap would be read with what follows it.
    let starts = sentence_starts(line).take_while(|at| *at <= end);
    if let Some(at) = starts.last().filter(|at| *at >= end / 2) {
        return line[..at].trim_end();
    }
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
        check(text, 45, "The importer skips blank lines now and all t…");
        check(text, 30, "The importer skips blank line…");
        let path =
            ["- Removed the hook", &" and the runner".repeat(3), ". - Untouched: ", &"a/".repeat(40), "b.rs"]
                .concat();
        check(&path, 60, "- Removed the hook and the runner and the runner and the ru…");
        let short = ["All of it is done, as you wanted it. ".repeat(4).as_str(), "Push?"].concat();
        check(&short, 60, "All of it is done, as you … done, as you wanted it. Push?");
        let cut = format!("The first half. {}{CLIP_MARK}{}Next: c.", "a ".repeat(30), "b ".repeat(30));
        check(&cut, 60, "The first half. … b b b b b b b b b b b Next: c.");
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
    fn lines_of_the_middle_that_hold_facts_stay() {
        let filler = "It went well and nothing is left to be said about that part of the work.\n".repeat(8);
        let text = format!(
            "The importer is done.\n{filler}- Pushed as https://example.org/cart/pull/12\n- Set `max_rows` to 40\n\
             {filler}- Run `make check --all` first\n{filler}Still open: the stale lock."
        );
        let cut = excerpt(&text, 700);
        assert!(cut.len() <= 700, "{cut}");
        let middle = "\n[… clipped …]\n- Pushed as https://example.org/cart/pull/12\n- Set `max_rows` to 40\n… - Run `make check --all` first\n[… clipped …]\n";
        assert!(cut.contains(middle), "{cut}");
        assert!(cut.starts_with("The importer is done.\n") && cut.ends_with("the stale lock."), "{cut}");
        assert!(excerpt(&cut, 400).contains("pull/12"), "{}", excerpt(&cut, 400));
        let one_line = text.replace('\n', " ");
        assert!(excerpt(&one_line, 700).contains("pull/12"), "{}", excerpt(&one_line, 700));
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
