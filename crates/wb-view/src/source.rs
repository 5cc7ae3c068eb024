//! The message behind each line of a digest, found by its words.
//!
//! A digest quotes, so a line has a source if a message has its words. A message is named only if
//! it has them: a line in other words has no source.

use std::collections::HashMap;

use wb_message::Message;
use wb_recall::{Answer, Question, Recall, Subject, body};

use crate::context::DigestLine;

/// The fewest characters of words that are looked up.
const LEAST_CHARS: usize = 8;
/// The most bytes of words that are looked up.
const MOST_BYTES: usize = 160;
/// The tokens of an answer; only the numbers in it count.
const ANSWER_TOKENS: u64 = 600;
/// The start of an entry about a turn; its number follows.
const TURN: &str = "- Turn ";
/// The start of a line with a command.
const COMMAND: &str = "$ ";
/// The start of a line with a call; its arguments are between commas.
const CALLED: &str = "Called: ";
/// The texts that a digest puts around quotes.
const MARKS: [&str; 13] = [
    " of this form: ",
    "[… clipped …]",
    "[… clipped…]",
    "…",
    "“",
    "”",
    " → ",
    " · ",
    " (updated later)",
    ", worked later",
    " ×",
    "First request: ",
    "Latest request: ",
];
/// The words that begin a line about a quote.
const LABELS: [&str; 10] = [
    COMMAND,
    CALLED,
    "Earlier request: ",
    "The user's answer: ",
    "Stuck? ",
    "Active: ",
    "agent: ",
    "noted: ",
    "to: ",
    "the user refused: ",
];
/// The starts of lines that list names of many messages.
const LISTS: [&str; 4] = ["- Files changed last:", "- read:", "- names:", "files:"];

/// Splits a digest into lines and finds the source of each.
pub fn digest_lines(digest: &str, log: &Recall<Message>) -> Vec<DigestLine> {
    let mut finder = Finder { log, entry: None, turn: None, known: HashMap::new() };
    digest.lines().map(|line| DigestLine { text: line.to_owned(), source: finder.source(line) }).collect()
}

/// The state of a search through the lines of a digest.
struct Finder<'r> {
    log: &'r Recall<Message>,
    /// The source of the last line.
    entry: Option<usize>,
    /// The turn that the lines are about.
    turn: Option<usize>,
    /// The tidied texts of messages.
    known: HashMap<usize, String>,
}

impl Finder<'_> {
    fn source(&mut self, line: &str) -> Option<usize> {
        if line.starts_with("# ") {
            (self.entry, self.turn) = (None, None);
        }
        if line.starts_with("# ") || line.trim().is_empty() {
            return None;
        }
        if !line.starts_with("  ") {
            self.entry = None;
            self.turn = turn_of(line);
        }
        if LISTS.iter().any(|list| line.trim_start().starts_with(list)) {
            return None;
        }
        if let (Some(turn), false) = (self.turn, line.starts_with("  ")) {
            self.entry = self.ask(Question::new(Subject::Turn(turn))).first().copied();
            return self.entry;
        }
        let words = words_of(line)?;
        if let Some(entry) = self.entry.filter(|at| self.has(*at, &words)) {
            return Some(entry);
        }
        let found = self.look_up(line, &words);
        self.entry = found.or(self.entry);
        found
    }

    /// Finds the message with the words: in the turn, or else the newest; the first one for the
    /// first request.
    fn look_up(&mut self, line: &str, words: &str) -> Option<usize> {
        if line.trim_start().starts_with(COMMAND) {
            let run = self.ask(Question::new(Subject::Command(words.to_owned())));
            if let Some(run) = run.first().filter(|_| self.turn.is_none()) {
                return Some(*run);
            }
        }
        let answer = self.log.answer(&Question::words(words).max_tokens(ANSWER_TOKENS));
        let turn = self.turn;
        let in_turn =
            |number: usize| answer.excerpts.iter().any(|it| it.message == number && Some(it.turn) == turn);
        let mut found: Vec<usize> = numbers(&answer).into_iter().filter(|at| self.has(*at, words)).collect();
        if line.starts_with("- First request") {
            found.sort_unstable();
        }
        found.iter().find(|at| in_turn(**at)).or_else(|| found.first()).copied()
    }

    fn ask(&self, question: Question) -> Vec<usize> {
        numbers(&self.log.answer(&question.max_tokens(ANSWER_TOKENS)))
    }

    fn has(&mut self, number: usize, words: &str) -> bool {
        let log = self.log;
        let text = self.known.entry(number).or_insert_with(|| {
            log.messages().get(number).map_or_else(String::new, |message| tidied(&body(message)))
        });
        text.contains(words)
    }
}

/// Returns the numbers of an answer, best first.
fn numbers(answer: &Answer) -> Vec<usize> {
    let excerpts =
        answer.excerpts.iter().flat_map(|it| std::iter::once(it.message).chain(it.same.iter().copied()));
    excerpts.chain(answer.others.iter().copied()).collect()
}

/// Returns the turn that an entry is about.
fn turn_of(line: &str) -> Option<usize> {
    let rest = line.strip_prefix(TURN)?;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

/// Returns the longest run of quoted words in a line, tidied; of a command or a call the first one.
fn words_of(line: &str) -> Option<String> {
    let text = line.trim_start_matches([' ', '-', '>']).trim();
    let labeled = LABELS.iter().find_map(|label| text.strip_prefix(label));
    let quote = labeled.or_else(|| bracketed(text)).unwrap_or(text);
    // The name of a tool is on a line of its own.
    let quote = if text.starts_with(CALLED) { quote.split_once(' ')?.1 } else { quote };
    let mut pieces = vec![quote];
    for mark in MARKS.iter().chain(text.starts_with(CALLED).then_some(&", ")) {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(mark)).collect();
    }
    let leads = text.starts_with(COMMAND) || text.starts_with(CALLED);
    let first = pieces.first().copied().filter(|_| leads);
    let words = tidied(first.or_else(|| pieces.into_iter().max_by_key(|piece| piece.len()))?);
    let words = words[..words.floor_char_boundary(MOST_BYTES)].trim_end();
    (words.chars().count() >= LEAST_CHARS).then(|| words.to_owned())
}

/// Returns the words behind the state of a task or the number of a turn.
fn bracketed(text: &str) -> Option<&str> {
    let (start, rest) = text.split_once([']', ')'])?;
    let is_mark = start.len() < 20 && (start.starts_with('[') || start.starts_with("(turn "));
    is_mark.then(|| rest.trim_start())
}

/// Folds runs of blanks.
fn tidied(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
