//! The turns of a session: what was asked, done, shown and concluded in each.

mod changed_file;

use serde::{Deserialize, Serialize};
use wb_message::Untrusted;
use wb_message::markers::has_line_end;
use wb_message::text::{clip, clip_lines, clip_words, head, one_line};

pub use self::changed_file::ChangedFile;
use super::edited_definitions::Definitions;
use crate::facts::Noted;
use wb_digest::labels::{FILES, REFUSED};
use wb_language::decisions::is_guess;
use wb_language::progress_notes::progress_note;
use wb_language::short_answers::answered_question;
use wb_language::superseded_statements::{Update, topics};
use wb_language::user_text::is_bare_command;
use wb_message::excerpt::excerpt;
use wb_shell::without_file_bodies;

/// Bytes of a request that are kept.
const ASKED_BYTES: usize = 8_000;
/// Characters of a request that its turn is named by.
pub const ASKED_CHARS: usize = 80;
/// Bytes of what the agent said, of a command, and of a line that a tool showed.
const SAID_BYTES: usize = 4_000;
const COMMAND_BYTES: usize = 300;
const LINE_BYTES: usize = 240;
/// Commands, progress notes, files and answers that are kept of a turn.
const MOST_RUNS: usize = 12;
const MOST_NOTES: usize = 24;
const MOST_FILES: usize = 30;
const MOST_ANSWERS: usize = 12;
/// The newest requests that an update is compared with.
const MOST_COMPARED: usize = 500;
/// Bytes that all turns may take; of a long session, as a part of what was read.
const LEAST_BYTES: u64 = 64 << 10;
const PART_OF_READ: u64 = 24;
/// Bytes that the requests of all turns may take in addition.
const MOST_ASKED_BYTES: u64 = 256 << 10;
/// Turns that are kept whole however long they are.
const WHOLE_TURNS: usize = 4;
/// Bytes of a conclusion that are kept of an old turn, and of its request if all are too long.
const SHORT_BYTES: usize = 320;
/// If that is not enough, one in this number of the short turns is dropped, the oldest first.
const DROPPED_PART: usize = 4;

/// A command and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The command.
    pub command: Untrusted,
    /// The key of the same command when it is run again.
    pub subject: u64,
    /// The outcome, as a digest words it.
    pub outcome: String,
    /// The lines that say why it failed, or what came out.
    pub lines: Vec<Untrusted>,
    /// The number of the message that shows the end.
    pub at: u32,
    /// True if it did more than show something.
    #[serde(rename = "tells")]
    pub is_notable: bool,
}

/// One turn: a request of the user and all until the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the request, from 1 on; 0 for messages before the first.
    pub number: u32,
    /// The number of the message that it begins with.
    pub start: u32,
    /// The user's own words.
    pub asked: String,
    /// Files that were changed.
    pub changed: Vec<ChangedFile>,
    /// The last commands.
    pub runs: Vec<Run>,
    /// The agent's remarks between its calls that describe the state of things.
    #[serde(default)]
    pub notes: Vec<Noted>,
    /// The last meaningful words of the agent.
    pub said: Untrusted,
    /// The number of the message that it was said in.
    pub said_at: u32,
    /// Questions with their answers, approvals and refusals.
    pub answers: Vec<String>,
    /// The text about the turn in an earlier digest, as lines of an entry.
    #[serde(rename = "told")]
    pub restored: String,
    /// The question or statement that the user's words answer, if they merely answer.
    #[serde(default)]
    pub to: Untrusted,
    /// The number of further requests that an earlier digest counts with this one.
    #[serde(default)]
    pub times: u32,
    /// The text that the request was read in.
    #[serde(default)]
    pub source: RequestSource,
    /// True if the user gave another value later.
    #[serde(default)]
    pub is_updated: bool,
    /// The topics of the user's statements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    topics: Vec<u64>,
}

/// The text that a request was read in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestSource {
    /// In its message.
    #[default]
    Message,
    /// In an earlier digest that quotes it.
    Digest,
    /// In an earlier digest that names a turn by its start and quotes it no more.
    Name,
}

impl Turn {
    /// Returns the bytes of all but the user's words.
    fn body_bytes(&self) -> u64 {
        let runs = self.runs.iter().map(|run| {
            size_of::<Run>()
                + run.command.inspect().len()
                + run.lines.iter().map(|line| line.inspect().len() + 24).sum::<usize>()
        });
        let notes = self.notes.iter().map(|note| size_of::<Noted>() + note.text.inspect().len());
        let changed = self.changed.iter().map(ChangedFile::bytes);
        let answers = self.answers.iter().map(|answer| answer.len() + 24);
        let lists = runs.chain(notes).chain(changed).chain(answers).sum::<usize>();
        (self.said.inspect().len() + self.restored.len() + lists) as u64
    }

    fn asked_bytes(&self) -> u64 {
        (size_of::<Self>() + self.asked.len() + self.to.inspect().len()) as u64
    }

    fn shorten(&mut self) {
        (self.runs, self.notes) = (Vec::new(), Vec::new());
        self.answers.truncate(2);
        self.changed.truncate(8);
        self.said = self.said.map(|said| excerpt(said, SHORT_BYTES).into_owned());
        self.restored = clip_lines(std::mem::take(&mut self.restored), SHORT_BYTES);
    }

    /// Drops all but the user's words.
    fn strip(&mut self) {
        let Self { number, start, asked, to, times, source, is_updated, .. } = std::mem::take(self);
        *self = Self { number, start, asked, to, times, source, is_updated, ..Self::default() };
    }

    fn shorten_asked(&mut self) {
        self.asked = clip_words(&self.asked, SHORT_BYTES).into_owned();
    }
}

/// The turns of a session, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    kept: Vec<Turn>,
    n_requests: u32,
    /// The number of the oldest turns, except the first, that are short already.
    n_short: usize,
    /// Of those, the number that are stripped, and of all turns that whose requests are short.
    #[serde(default)]
    n_stripped: usize,
    #[serde(default)]
    n_asked_short: usize,
    /// The bytes of all turns but the last, without the user's words and of these.
    n_bytes: u64,
    #[serde(default)]
    n_asked_bytes: u64,
}

impl Turns {
    /// Returns the turns, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Turn> + ExactSizeIterator {
        self.kept.iter()
    }

    /// Returns the first turn that begins with a request.
    pub(crate) fn of_request(&self, request: &str) -> Option<&Turn> {
        let asked = clip_words(request, ASKED_BYTES);
        self.kept.iter().find(|turn| turn.asked == asked)
    }

    /// Forgets what the user refused of a tool whose call was then approved.
    pub(super) fn approved(&mut self, tool: &str) {
        let is_refused =
            |answer: &String| answer.strip_prefix(REFUSED).is_some_and(|what| what.starts_with(tool));
        self.kept.iter_mut().for_each(|turn| turn.answers.retain(|answer| !is_refused(answer)));
        self.count();
    }

    fn count(&mut self) {
        let before = || self.kept.iter().rev().skip(1);
        let (n_bytes, n_asked_bytes) =
            (before().map(Turn::body_bytes).sum(), before().map(Turn::asked_bytes).sum());
        (self.n_bytes, self.n_asked_bytes) = (n_bytes, n_asked_bytes);
    }

    /// Begins a turn with what the user said.
    pub(crate) fn begin(&mut self, asked: &str, at: u32, n_read: u64) {
        // A digest does not quote a request that is still there; all that it says of its turn
        // follows again.
        let is_named = self.kept.last().is_some_and(|last| last.is_name_of(asked));
        let is_there = is_named && !self.kept.iter().any(|turn| turn.quotes(asked));
        if self.kept.pop_if(|last| last.is_void() || is_there).is_some() {
            self.n_requests -= 1;
        }
        if let Some(last) = self.kept.last() {
            self.n_bytes += last.body_bytes();
            self.n_asked_bytes += last.asked_bytes();
        }
        self.n_requests += 1;
        let to = self
            .kept
            .last()
            .and_then(|before| answered_question(asked, before.said.inspect()))
            .unwrap_or_default();
        let asked = clip_words(asked, ASKED_BYTES).into_owned();
        let topics = topics(&asked);
        self.kept.push(Turn {
            number: self.n_requests,
            start: at,
            asked,
            to: Untrusted::new(to),
            topics,
            ..Turn::default()
        });
        self.shed(LEAST_BYTES.max(n_read / PART_OF_READ));
    }

    /// Marks the requests before the last one that an update supersedes; a mere correction concerns
    /// the one before alone.
    pub(super) fn update(&mut self, update: &Update) {
        let most = if update.is_correction() { 1 } else { usize::MAX };
        let earlier = self.kept.iter_mut().rev().skip(1).take(most);
        let compared = earlier.filter(|turn| !turn.is_updated && update.may_supersede(&turn.topics));
        compared.take(MOST_COMPARED).for_each(|turn| turn.is_updated = update.supersedes(&turn.asked));
    }

    /// Makes the oldest turns except the first shorter until the rest fits: first all but the
    /// user's words, then these.
    fn shed(&mut self, most: u64) {
        // Messages before the first request are a turn too.
        let first = 1 + usize::from(self.kept.first().is_some_and(|turn| turn.number == 0));
        let last = self.kept.len().saturating_sub(WHOLE_TURNS);
        while self.n_bytes > most && first + self.n_short < last {
            let at = first + self.n_short;
            self.n_short += 1;
            self.change(at, Turn::shorten);
        }
        while self.n_bytes > most && self.n_stripped < self.n_short {
            let at = first + self.n_stripped;
            self.n_stripped += 1;
            self.change(at, Turn::strip);
        }
        while self.n_asked_bytes > MOST_ASKED_BYTES && first + self.n_asked_short < last {
            let at = first + self.n_asked_short;
            self.n_asked_short += 1;
            self.change(at, Turn::shorten_asked);
        }
        if self.n_asked_bytes > MOST_ASKED_BYTES && self.n_asked_short >= DROPPED_PART {
            let n = self.n_asked_short / DROPPED_PART;
            self.kept.drain(first..first + n);
            for n_done in [&mut self.n_short, &mut self.n_stripped, &mut self.n_asked_short] {
                *n_done = n_done.saturating_sub(n);
            }
            self.count();
        }
    }

    fn change(&mut self, at: usize, change: fn(&mut Turn)) {
        let turn = &mut self.kept[at];
        let (body, asked) = (turn.body_bytes(), turn.asked_bytes());
        change(turn);
        self.n_bytes = self.n_bytes.saturating_sub(body - turn.body_bytes());
        self.n_asked_bytes = self.n_asked_bytes.saturating_sub(asked - turn.asked_bytes());
    }

    /// Restores a turn from an earlier digest, which names it by the start of its request, and
    /// returns it.
    pub(crate) fn restore(&mut self, number: u32, named: &str, body: &str) -> &mut Turn {
        let is_named = |turn: &Turn| turn.restored.is_empty() && is_name_of(named, &turn.asked);
        let at = self.kept.iter().position(is_named).unwrap_or_else(|| {
            // Only restored turns have their own number.
            let is_later = |turn: &Turn| !turn.restored.is_empty() && turn.number > number;
            let at = self.kept.iter().position(is_later).unwrap_or(self.kept.len());
            let (asked, source, topics) = (named.to_owned(), RequestSource::Name, topics(named));
            self.kept.insert(at, Turn { asked, source, topics, ..Turn::default() });
            at
        });
        (self.kept[at].number, self.kept[at].restored) = (number, body.to_owned());
        self.n_requests = self.n_requests.max(number);
        self.count();
        &mut self.kept[at]
    }

    /// Says of what failed in these messages that it worked later.
    pub(super) fn settled(&mut self, failed_at: &[u32]) {
        if failed_at.is_empty() {
            return;
        }
        let runs = self.kept.iter_mut().rev().take(WHOLE_TURNS).flat_map(|turn| &mut turn.runs);
        runs.filter(|run| failed_at.contains(&run.at)).for_each(Run::worked_later);
    }

    /// Returns the current turn, which has no request before the first one.
    pub(crate) fn current(&mut self) -> &mut Turn {
        if self.kept.is_empty() {
            self.kept.push(Turn::default());
        }
        let last = self.kept.len() - 1;
        &mut self.kept[last]
    }
}

impl Turn {
    /// Reports whether it is a host's command without effect: `/mo`.
    fn is_void(&self) -> bool {
        let is_quiet = self.said.is_empty() && self.runs.is_empty() && self.changed.is_empty();
        is_bare_command(&self.asked) && is_quiet && self.answers.is_empty() && self.restored.is_empty()
    }

    /// Reports whether it is known by name only, and a request has that name.
    fn is_name_of(&self, asked: &str) -> bool {
        self.source == RequestSource::Name && is_name_of(&self.asked, asked)
    }

    fn quotes(&self, asked: &str) -> bool {
        self.source != RequestSource::Name && self.asked == asked
    }

    /// Notes what the agent said; a word or two does not replace what says more.
    pub(crate) fn says(&mut self, text: &str, at: u32) {
        // A host writes this when it asked for no reply.
        const NO_REPLY: &str = "No response requested.";
        let says_something = text.split_whitespace().nth(2).is_some();
        if text.trim() == NO_REPLY {
            return;
        }
        if says_something || self.said.is_empty() {
            (self.said, self.said_at) = (Untrusted::new(excerpt(text.trim(), SAID_BYTES).into_owned()), at);
        }
    }

    /// Notes a remark between calls; if there are too many, the shortest of the older half is
    /// dropped.
    pub(super) fn notes_progress(&mut self, text: &str, at: u32) {
        let Some(text) = progress_note(text)
            .filter(|text| self.notes.iter().all(|known| known.text.inspect() != text.as_str()))
        else {
            return;
        };
        if self.notes.len() == MOST_NOTES {
            let older = self.notes[..MOST_NOTES / 2].iter().enumerate();
            let shortest = older.min_by_key(|(_, note)| note.text.inspect().len()).map_or(0, |(at, _)| at);
            self.notes.remove(shortest);
        }
        self.notes.push(Noted::new(text, at));
    }

    /// Forgets the remarks that guess at what is known now.
    pub(super) fn forget_guesses(&mut self) {
        self.notes.retain(|note| !is_guess(note.text.inspect()));
    }

    /// Reports whether a message after that one shows a change of a file.
    pub(super) fn has_changed_since(&self, message: u32) -> bool {
        self.changed.iter().flat_map(|changed| &changed.at).any(|at| *at > message)
    }

    /// Notes a command; of the same one the last end counts.
    pub(crate) fn ran(&mut self, run: Run) {
        self.forget_run(run.subject);
        if self.runs.len() == MOST_RUNS {
            let least = self.runs.iter().position(|known| !known.is_notable).unwrap_or(0);
            self.runs.remove(least);
        }
        self.runs.push(run);
    }

    /// Forgets how a command ended that ends otherwise.
    pub(crate) fn forget_run(&mut self, subject: u64) {
        self.runs.retain(|known| known.subject != subject);
    }

    /// Notes a change of a file.
    pub(crate) fn changes(&mut self, path: &str, how: &str, at: u32) {
        if has_line_end(path) || has_line_end(how) {
            return;
        }
        self.take_restored_files();
        // A file that took the place of a deleted one is there.
        if let Some(to) = how.strip_prefix("moved to ") {
            self.changed.retain(|known| known.how != "deleted" || !known.is_of(to));
        }
        if let Some(known) = self.changed.iter_mut().find(|known| known.is_of(path)) {
            path.clone_into(&mut known.path);
            known.changes(how, at);
        } else if self.changed.len() < MOST_FILES {
            let (path, how) = (path.to_owned(), how.to_owned());
            self.changed.push(ChangedFile { path, how, times: 0, at: vec![at], defined: Vec::new() });
        }
    }

    /// Notes what a change of a file defines.
    pub(super) fn defines(&mut self, path: &str, names: &Definitions) {
        if let Some(known) = self.changed.iter_mut().find(|known| known.is_of(path)) {
            known.defines(names);
        }
    }

    /// Takes the changed files out of the text of an earlier digest, so that they count with those
    /// that follow.
    fn take_restored_files(&mut self) {
        if !self.changed.is_empty() || !self.restored.contains(FILES) {
            return;
        }
        let listed = |line: &str| -> Option<Vec<ChangedFile>> {
            line.strip_prefix("  ")?.strip_prefix(FILES)?.split(", ").map(ChangedFile::parse).collect()
        };
        let mut rest = Vec::new();
        for line in self.restored.lines() {
            match listed(line) {
                Some(files) => self.changed.extend(files),
                None => rest.push(line),
            }
        }
        self.restored = rest.join("\n");
    }

    /// Returns what the user refused last.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.answers.last()?.strip_prefix(REFUSED)
    }

    /// Notes what the user answered, approved or refused.
    pub(crate) fn answered(&mut self, answer: String) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push(answer);
        }
    }
}

impl Run {
    /// Notes a command that was called.
    pub(crate) fn new(command: &str, subject: u64, at: u32) -> Self {
        let command = clip(without_file_bodies(command).trim(), COMMAND_BYTES).into_owned();
        Self {
            command: Untrusted::new(command),
            subject,
            outcome: String::new(),
            lines: Vec::new(),
            at,
            is_notable: false,
        }
    }

    /// Says that the user ran it.
    pub(super) fn is_of_user(&mut self) {
        self.outcome.push_str(", run by the user");
    }

    /// Says that it failed then, and does so no more.
    fn worked_later(&mut self) {
        self.outcome.push_str(", worked later");
        self.lines.clear();
    }

    /// Adds how the command ended and its last lines.
    #[must_use]
    pub(crate) fn ended<'a>(self, outcome: String, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let lines: Vec<_> = lines.into_iter().map(|line| head(line.trim(), LINE_BYTES).to_owned()).collect();
        Self { outcome, lines: lines.into_iter().map(Untrusted::new).collect(), ..self }
    }
}

/// Reports whether a turn is named by the start of a request; a name may be cut to save room.
fn is_name_of(named: &str, asked: &str) -> bool {
    let start = named.trim_end_matches('…').trim_end();
    !named.is_empty() && one_line(asked, ASKED_CHARS).starts_with(start)
}

/// Returns the words of an entry without the blanks that continue it.
pub(super) fn unindented(entry: &str) -> String {
    let lines: Vec<&str> = entry.trim().lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::changed_file::short_path;
    use super::*;

    fn n_bytes(turns: &Turns) -> [u64; 2] {
        let sum = |bytes: fn(&Turn) -> u64| turns.kept.iter().map(bytes).sum();
        [sum(Turn::body_bytes), sum(Turn::asked_bytes)]
    }

    fn check_sizes(turns: &Turns) {
        let [body, asked] = n_bytes(turns);
        assert!(body < LEAST_BYTES * 2 && asked < MOST_ASKED_BYTES * 2, "{body}, {asked}");
    }

    #[test]
    fn a_long_session_keeps_its_first_request_and_last_turns() {
        let mut turns = Turns::default();
        for n in 0..2_000_u32 {
            turns.begin(&format!("Request {n}: {}", "do it ".repeat(200)), n, 0);
            turns.current().says(&format!("Answer {n}: {}", "done ".repeat(200)), n);
        }
        check_sizes(&turns);
        let kept: Vec<_> = turns.iter().collect();
        assert!(kept[0].asked.starts_with("Request 0:") && kept[0].asked.len() > 1_000);
        let last = kept[kept.len() - 1];
        assert!((last.number, last.said.inspect().len() > 900) == (2_000, true) && last.asked.len() > 1_000);
        assert!(turns.n_requests == 2_000 && kept.len() < 2_000, "{}", kept.len());
    }

    #[test]
    fn restored_turns_count_and_the_first_request_is_kept() {
        let mut turns = Turns::default();
        turns.restore(7, "", &"x".repeat(100_000));
        turns.current().says("Hi there, I am ready.", 0);
        for n in 0..300 {
            turns.begin(&"do it ".repeat(200), n, 0);
        }
        check_sizes(&turns);
        let mut turns = Turns::default();
        turns.current().says("Hi there, I am ready.", 0);
        for n in 0..300 {
            turns.begin(&"first ".repeat(if n == 0 { 900 } else { 200 }), n, 0);
        }
        let first = turns.iter().find(|turn| turn.number == 1).expect("it is kept");
        assert!(first.asked.len() > 5_000, "{}", first.asked.len());
    }

    #[test]
    fn a_request_that_a_digest_names_and_that_follows_is_one_turn() {
        let request = "Round the total to cents, and keep the tax as it is.";
        let mut turns = Turns::default();
        turns.begin("Add a tax.", 0, 0);
        turns.restore(2, "Round the total to cents, and keep…", "files: edited src/cart.rs");
        turns.begin(request, 1, 0);
        let all: Vec<_> = turns.iter().map(|turn| (turn.number, turn.asked.as_str())).collect();
        assert_eq!(all, [(1, "Add a tax."), (2, request)]);
        turns.restore(3, "Add a test.", "files: edited tests/cart.rs");
        turns.begin("Add a changelog entry.", 5, 0);
        assert_eq!(turns.iter().map(|turn| turn.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    #[test]
    fn files_of_an_earlier_digest_count_with_those_that_follow() {
        let long = format!("/srv/{}/cart.rs", "deep/".repeat(20));
        let mut turns = Turns::default();
        turns.begin("Port the cart.", 0, 0);
        let cut = short_path(&long);
        let body = format!(
            "  files: written src/a.rs ×2, edited {cut}, restored and edited src/d.rs (adds sum)\n  noted: It drops \
             blanks."
        );
        let turn = turns.restore(1, "Port the cart.", &body);
        turn.changes("src/a.rs", "edited", 1);
        turn.changes(&long, "edited", 2);
        turn.changes("src/c.rs", "edited", 3);
        let lines: Vec<String> = turn.changed.iter().filter_map(|it| it.line(|at| at == 3)).collect();
        let expected = [
            "written and edited src/a.rs ×3".to_owned(),
            format!("edited {cut} ×2"),
            "restored and edited src/d.rs (adds sum)".to_owned(),
        ];
        assert_eq!(lines, expected);
        assert_eq!(turn.restored, "  noted: It drops blanks.");
        let turn = turns.restore(2, "Add a tax.", "  files: edited src/a.rs, and 2 more");
        turn.changes("src/b.rs", "edited", 4);
        assert_eq!(turn.restored, "  files: edited src/a.rs, and 2 more");
    }

    #[test]
    fn of_too_many_progress_notes_the_newest_and_the_longest_stay() {
        let mut turn = Turn::default();
        for n in 0..60_u32 {
            let more = if n % 4 == 0 { ", and counts the empty ones twice" } else { "" };
            turn.notes_progress(&format!("The reader of part {n} drops blank lines{more}."), n);
            turn.notes_progress("Let me look at the next one.", n);
        }
        let at: Vec<u32> = turn.notes.iter().map(|note| note.at).collect();
        assert_eq!((at.len(), at.last()), (MOST_NOTES, Some(&59)));
        assert!(at[..MOST_NOTES / 2 - 1].iter().all(|at| at % 4 == 0), "{at:?}");
    }

    #[test]
    fn of_a_command_that_is_run_again_the_last_end_counts() {
        let mut turn = Turn::default();
        for n in 0..20 {
            turn.ran(Run::new(&format!("make {n}"), n, 0).ended("ok".to_owned(), []));
        }
        turn.ran(Run::new("make 12", 12, 1).ended("failed".to_owned(), ["error: a"]));
        assert_eq!(turn.runs.len(), MOST_RUNS);
        let last = &turn.runs[MOST_RUNS - 1];
        assert_eq!((last.outcome.as_str(), last.at), ("failed", 1));
    }
}
