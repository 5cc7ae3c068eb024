//! The combined signs of all lines of an output.

use wb_message::text::{head, lines, tail};

use crate::kind::is_complaint;
use crate::outcome::lines::{bare, sign};
use crate::outcome::sign_words::{COUNTED, Sign};

/// Bytes that are read at each end of an output.
const READ_BYTES: usize = 16 * 1024;
/// The number of lines that explain a failure.
pub(crate) const N_WHY: usize = 3;
const LINE_BYTES: usize = 1_000;

/// The signs in the lines of an output.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate sign")]
pub(crate) struct Reading<'a> {
    pub(crate) n_lines: usize,
    pub(crate) n_missing: usize,
    pub(crate) n_empty: usize,
    /// A line reports a failure.
    has_failed: bool,
    /// A line counts failures, or is the verdict of a run.
    pub(crate) is_verdict: bool,
    /// A line counts zero failures.
    pub(crate) is_clean: bool,
    /// A line after the last result may report a failure.
    maybe: bool,
    /// A line counts successes.
    pub(crate) has_passed: bool,
    /// A shell did not find a program.
    pub(crate) is_unknown_program: bool,
    /// A shell did not find the folder of a `cd`.
    pub(crate) has_no_folder: bool,
    /// The most informative lines so far, best first.
    best: [Option<(u8, &'a str)>; N_WHY],
    /// The highest rank of the others.
    left_out: Option<u8>,
    pub(crate) shown: Option<(u8, &'a str)>,
    /// The number of lines that are error messages of viewers and shells.
    pub(crate) n_complaints: usize,
    /// The first of them, each once.
    pub(crate) complaints: [Option<&'a str>; N_WHY],
}

/// The lowest rank of a result that reports on tests.
pub(crate) const TESTED: u8 = 4;

impl<'a> Reading<'a> {
    pub(crate) fn new(body: &'a str) -> Self {
        let mut reading = Self::default();
        let (start, end) = ends(body);
        lines(start).chain(lines(end)).for_each(|line| reading.add(line));
        reading
    }

    fn add(&mut self, line: &'a str) {
        let line = bare(line);
        if line.is_empty() {
            return;
        }
        self.n_lines += 1;
        match sign(line) {
            Sign::Nothing => {}
            Sign::Failed(rank) => {
                self.has_failed = true;
                self.keep(rank, line);
            }
            Sign::Verdict(rank) => {
                self.is_verdict = true;
                self.keep(rank, line);
            }
            Sign::Detail(rank) => self.keep(rank, line),
            Sign::Clean => {
                self.is_clean = true;
                // The successes are counted on another line.
                self.pass(COUNTED - u8::from(line.starts_with('0')), line);
            }
            Sign::Maybe(rank) => {
                self.maybe = true;
                self.keep(rank, line);
            }
            Sign::Missing => {
                self.n_missing += 1;
                self.keep(2, line);
            }
            Sign::Passed(rank) => self.pass(rank, line),
            Sign::Empty => self.n_empty += 1,
        }
        if is_complaint(line) {
            self.n_complaints += 1;
            self.add_complaint(line);
        }
    }

    fn pass(&mut self, rank: u8, line: &'a str) {
        self.has_passed |= rank >= COUNTED;
        if rank >= 3 {
            self.maybe = false;
        }
        if self.shown.is_none_or(|(best, _)| rank >= best) {
            self.shown = Some((rank, line));
        }
    }

    fn add_complaint(&mut self, line: &'a str) {
        const SHELLS: [&str; 6] = ["bash: ", "sh: ", "zsh:", "/bin/", "(eval):", "/usr/bin/bash:"];
        if !self.complaints.contains(&Some(line))
            && let Some(free) = self.complaints.iter_mut().find(|slot| slot.is_none())
        {
            *free = Some(line);
        }
        if SHELLS.iter().any(|shell| line.starts_with(shell)) {
            self.is_unknown_program |= line.contains("command not found") || line.ends_with(": not found");
            self.has_no_folder |= line.contains("cd:");
        }
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.is_verdict || (!self.is_clean && (self.has_failed || (self.maybe && !self.has_passed)))
    }

    /// Keeps a line if it is more informative than one of the kept; of equal ones, the first.
    fn keep(&mut self, rank: u8, line: &'a str) {
        if self.best.iter().flatten().any(|(_, known)| *known == line) {
            return;
        }
        let Some(at) = self.best.iter().position(|slot| slot.is_none_or(|(known, _)| known < rank)) else {
            self.left_out = self.left_out.max(Some(rank));
            return;
        };
        self.left_out = self.left_out.max(self.best[N_WHY - 1].map(|(rank, _)| rank));
        self.best[at..].rotate_right(1);
        self.best[at] = Some((rank, line));
    }

    /// Returns whether there are more lines that are as informative as [`Self::why`].
    pub(crate) fn has_more(&self) -> bool {
        let best = self.best[0].map_or(0, |(rank, _)| rank);
        self.left_out.is_some_and(|rank| rank >= best)
    }

    /// Returns the most informative lines in their order, or else the last line.
    pub(crate) fn why(&self, body: &'a str) -> Vec<&'a str> {
        let best = self.best[0].map_or(0, |(rank, _)| rank);
        // A verdict adds nothing to a cause.
        let is_informative = |rank: u8| rank + 1 >= best;
        let lines = self.best.iter().flatten().filter(|(rank, _)| is_informative(*rank));
        let mut lines: Vec<&str> = lines.map(|(_, line)| *line).collect();
        lines.sort_by_key(|line| line.as_ptr());
        if lines.is_empty() {
            lines.extend(
                tail(body, READ_BYTES)
                    .lines()
                    .map(bare)
                    .rfind(|line| !line.is_empty() && !line.starts_with("> ")),
            );
        }
        lines.into_iter().map(cut).collect()
    }
}

/// Shortens a line for a verdict.
pub(crate) fn cut(line: &str) -> &str {
    head(line, LINE_BYTES)
}

/// Returns the whole lines at both ends of a text, or all of a short one.
fn ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * READ_BYTES {
        return (text, "");
    }
    let (start, end) = (head(text, READ_BYTES), tail(text, READ_BYTES));
    let start = start.rsplit_once('\n').map_or(start, |(whole, _)| whole);
    (start, end.split_once('\n').map_or(end, |(_, whole)| whole))
}
