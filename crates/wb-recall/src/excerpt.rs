//! The lines of a message that answer a question.

use memchr::memmem::Finder;
use wb_message::Untrusted;

use crate::word_hashes::each_word;

/// The bytes that a line takes in addition to its text: its number and the bar.
const FRAME_BYTES: usize = 9;
/// The lines around a wanted line that are shown if there is room.
const AROUND: usize = 3;
/// The most bytes of a line; a longer one is several.
const LINE_BYTES: usize = 400;

/// The words of a question with their weights, and its exact text.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'q> {
    pub(crate) words: &'q [u32],
    pub(crate) weights: &'q [f32],
    pub(crate) exact: Option<&'q Finder<'q>>,
}

/// Numbered lines, the first one has number 1.
pub(crate) type NumberedLines = Vec<(usize, Untrusted)>;

/// Returns the lines of a text; a long one is split, between words where it has some.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        let mut rest = Some(line.strip_suffix('\r').unwrap_or(line));
        std::iter::from_fn(move || {
            let line = rest?;
            let end = line.floor_char_boundary(LINE_BYTES);
            let end = match line[..end].rfind(' ') {
                _ if line.len() <= LINE_BYTES => line.len(),
                Some(blank) if blank >= LINE_BYTES / 2 => blank + 1,
                _ => end,
            };
            rest = Some(&line[end..]).filter(|rest| !rest.is_empty());
            Some(&line[..end])
        })
    })
}

/// Returns the bytes that quoted lines take.
pub(crate) fn n_bytes(lines: &NumberedLines) -> usize {
    lines.iter().map(|(_, line)| line.inspect().len() + FRAME_BYTES).sum()
}

/// Returns the number of lines of a text.
pub(crate) fn n_lines(text: &str) -> usize {
    lines(text).count()
}

/// Returns the lines of a text that a question wants, with those around them.
pub(crate) fn excerpt(text: &str, wanted: &Wanted<'_>, max_bytes: usize) -> NumberedLines {
    let lines: Vec<&str> = lines(text).collect();
    let longest = longest_line(max_bytes);
    if lines.iter().map(|line| cost(line, longest)).sum::<usize>() <= max_bytes {
        return lines.iter().enumerate().map(|(at, line)| (at + 1, piece(line, wanted, longest))).collect();
    }
    let mut room = Room { chosen: vec![false; lines.len()], left: max_bytes, lines: &lines, longest };
    for at in order(&lines, wanted) {
        if !room.take(at) {
            break;
        }
        for near in 1..=AROUND {
            let _ = room.take(at + near) && at.checked_sub(near).is_some_and(|before| room.take(before));
        }
    }
    let chosen = room.chosen;
    let shown = lines.iter().enumerate().filter(|(at, _)| chosen[*at]);
    shown.map(|(at, line)| (at + 1, piece(line, wanted, longest))).collect()
}

/// Returns the lines from one on, as far as there is room.
pub(crate) fn lines_from(text: &str, from_line: usize, max_bytes: usize) -> NumberedLines {
    let nothing = Wanted { words: &[], weights: &[], exact: None };
    let (mut left, longest) = (max_bytes, longest_line(max_bytes));
    let lines = lines(text).enumerate().skip(from_line - 1);
    let fits = |(_, line): &(usize, &str)| {
        let cost = cost(line, longest);
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    };
    lines.take_while(fits).map(|(at, line)| (at + 1, piece(line, &nothing, longest))).collect()
}

/// Returns the most bytes of a line that are shown.
fn longest_line(max_bytes: usize) -> usize {
    LINE_BYTES.min(max_bytes.saturating_sub(FRAME_BYTES))
}

fn cost(line: &str, longest: usize) -> usize {
    line.len().min(longest) + FRAME_BYTES
}

/// The lines that were chosen, and the bytes that are left.
struct Room<'l> {
    chosen: Vec<bool>,
    left: usize,
    lines: &'l [&'l str],
    longest: usize,
}

impl Room<'_> {
    /// Chooses a line; false if there is no room for it or no such line.
    fn take(&mut self, at: usize) -> bool {
        let Some(line) = self.lines.get(at) else { return false };
        if self.chosen[at] {
            return true;
        }
        let cost = cost(line, self.longest);
        if cost > self.left {
            return false;
        }
        self.left -= cost;
        self.chosen[at] = true;
        true
    }
}

/// Returns the wanted lines, best first: the last one with the exact text, then those with the
/// most of the words.
fn order(lines: &[&str], wanted: &Wanted<'_>) -> Vec<usize> {
    let has_exact = |line: &str| wanted.exact.is_some_and(|exact| exact.find(line.as_bytes()).is_some());
    let last = lines.iter().rposition(|line| has_exact(line));
    let mut scored: Vec<(f32, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut seen = vec![false; wanted.words.len()];
        each_word(line, |word| {
            if let Some(nth) = wanted.words.iter().position(|wanted| *wanted == word) {
                seen[nth] = true;
            }
        });
        let weights = seen.iter().zip(wanted.weights).filter(|(seen, _)| **seen);
        let mut score: f32 = weights.map(|(_, weight)| *weight).sum();
        score *= if has_exact(line) { 2.0 } else { 1.0 };
        if score > 0.0 {
            scored.push((score, at));
        }
    }
    scored.sort_by(|(one, at), (two, other)| two.total_cmp(one).then(other.cmp(at)));
    last.into_iter().chain(scored.into_iter().map(|(_, at)| at)).collect()
}

/// The bytes of the marks of what is cut off a line.
const CUT_BYTES: usize = 6;

/// Returns a line, or of a long one the piece around the first wanted word.
fn piece(line: &str, wanted: &Wanted<'_>, longest: usize) -> Untrusted {
    if line.len() <= longest {
        return Untrusted::new(line.to_owned());
    }
    let at = wanted.exact.and_then(|exact| exact.find(line.as_bytes()));
    let at = at.or_else(|| first_word(line, wanted)).unwrap_or(0);
    let room = longest.saturating_sub(CUT_BYTES);
    // At the end of a line the piece is not shorter.
    let start = at.saturating_sub(room / 4).min(line.len() - room);
    let start = line.floor_char_boundary(start);
    let end = line.floor_char_boundary((start + room).min(line.len()));
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    Untrusted::new([before, &line[start..end], after].concat())
}

fn first_word(line: &str, wanted: &Wanted<'_>) -> Option<usize> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').find_map(|word| {
        let mut is_wanted = false;
        each_word(word, |word| is_wanted |= wanted.words.contains(&word));
        is_wanted.then(|| word.as_ptr().addr() - line.as_ptr().addr())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_hashes::words_of;

    fn shown_lines(text: &str, question: &str, max_bytes: usize) -> Vec<usize> {
        let (words, finder) = (words_of(question), Finder::new(question));
        let weights = vec![1.0; words.len()];
        let wanted = Wanted { words: &words, weights: &weights, exact: Some(&finder) };
        excerpt(text, &wanted, max_bytes).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn the_last_exact_line_is_shown_before_all_others() {
        let mut lines = vec!["nothing of interest is here"; 60];
        (lines[9], lines[30], lines[50]) = ("port: 8080", "a port", "port: 8080 again");
        let text = lines.join("\n");
        assert_eq!(shown_lines(&text, "port: 8080", 40), [51]);
        assert_eq!(shown_lines(&text, "port: 8080", 46), [10, 51]);
        assert_eq!(shown_lines("port: 8080\n\nend", "port: 8080", 400), [1, 2, 3]);
    }

    #[test]
    fn a_long_line_is_several_and_cut_around_the_word_where_room_is_short() {
        let line = format!("{} the Port {}", "é".repeat(2_000), "x".repeat(2_000));
        let words = words_of("port");
        let wanted = Wanted { words: &words, weights: &[1.0], exact: None };
        let shown = excerpt(&line, &wanted, 1_000);
        assert!(shown.iter().all(|(_, line)| line.inspect().len() <= LINE_BYTES));
        assert!(shown.iter().any(|(_, line)| line.inspect().contains("the Port")));
        assert_eq!(lines(&line).collect::<String>(), line);
        assert_eq!(lines("a\r\nb\r\n").collect::<Vec<_>>(), ["a", "b", ""]);
        let narrow = excerpt(&line, &wanted, 200);
        assert!(narrow[0].1.inspect().len() <= 200 && narrow[0].1.inspect().contains("the Port"));
    }

    #[test]
    fn lines_from_a_line_on_end_where_the_room_ends() {
        let lines = lines_from("a\nb\nc\nd", 2, 2 * (1 + FRAME_BYTES));
        assert_eq!(lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3]);
        assert!(lines_from("a", 9, 100).is_empty());
    }
}
