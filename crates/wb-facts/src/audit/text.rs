//! Reads a summary: its lines with what they are about, and the words of a sentence.

use std::ops::Range;

use wb_message::markers::CLIP_MARK;

use wb_digest::labels::{
    ACTIVE, ANSWER, CALLED, EARLIER, EXCERPTS, FIRST, LATEST, MODIFIED, NAMES, RECALL_SUBJECTS, RECALL_TOOL,
    SEEN, STATUS, TICKED, TURN, UNRESOLVED,
};
use wb_digest::{Heading, Section};
use wb_language::sentences::{fence, is_fence_end};

/// The subject of a line, given by the heading above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Findings and work that was done.
    Reported,
    /// Work that remains.
    Ahead,
    /// Finished work.
    Done,
    /// Files that were changed.
    Changed,
    /// The user's wishes, in the words of the summary's author.
    Wanted,
    /// The user's words, verbatim.
    Quoted,
    /// Output of tools and content of files, verbatim.
    Shown,
}

/// A line of a summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummaryLine<'a> {
    /// The line without the blanks around it.
    pub(super) text: &'a str,
    /// Its number, from 1 on.
    pub(super) number: u32,
    pub(super) topic: Topic,
    /// True inside a block of code.
    pub(super) is_code: bool,
    /// True where a text was cut at the start or the end of the line.
    is_cut: [bool; 2],
}

impl<'a> SummaryLine<'a> {
    /// Reports whether the piece at a place may be the rest of a cut name.
    pub(super) fn may_be_cut(&self, at: Range<usize>) -> bool {
        let rest = self.text.get(at.end..).unwrap_or_default();
        let is_last = rest.trim_end_matches(['.', '-', '/', '+']).is_empty();
        (self.is_cut[0] && at.start == 0) || (self.is_cut[1] && is_last)
    }

    /// Returns the line without the mark of a list item and without emphasis at its start.
    pub(super) fn body(&self) -> &'a str {
        let text = self.text.trim_start_matches(['-', '*', '•', '+', '>']).trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &text[digits..];
        if digits > 0 && rest.starts_with(['.', ')']) { rest[1..].trim_start() } else { text }
    }

    /// Returns the text after a label that marks work that remains: `Next step: add a test`.
    pub(super) fn after_label(&self) -> Option<&'a str> {
        let (label, text) = self.body().split_once(": ")?;
        let is_ahead = label.len() <= LABEL_BYTES && topic_of(&label.to_lowercase()) == Some(Topic::Ahead);
        is_ahead.then(|| text.trim_start_matches('*').trim())
    }

    /// Reports whether the line says what was found and done.
    pub(super) fn is_report(&self) -> bool {
        !self.is_code && matches!(self.topic, Topic::Reported | Topic::Done | Topic::Changed)
    }
}

/// Words of a heading, and the subject of the lines below it.
const HEADINGS: [(&str, Topic); 38] = [
    ("user message", Topic::Quoted),
    ("user's message", Topic::Quoted),
    ("guardrails", Topic::Quoted),
    ("objective", Topic::Quoted),
    ("next step", Topic::Ahead),
    ("next action", Topic::Ahead),
    ("pending", Topic::Ahead),
    ("remaining", Topic::Ahead),
    ("to do", Topic::Ahead),
    ("todo", Topic::Ahead),
    ("not yet", Topic::Ahead),
    ("outstanding", Topic::Ahead),
    ("not done", Topic::Ahead),
    ("still open", Topic::Ahead),
    ("upcoming", Topic::Ahead),
    ("plan", Topic::Ahead),
    ("in progress", Topic::Reported),
    ("intent", Topic::Wanted),
    ("request", Topic::Wanted),
    ("constraint", Topic::Wanted),
    ("preference", Topic::Wanted),
    ("requirement", Topic::Wanted),
    ("instruction", Topic::Wanted),
    ("goal", Topic::Wanted),
    ("criteria", Topic::Wanted),
    ("decision", Topic::Wanted),
    ("structure", Topic::Wanted),
    ("files modified", Topic::Changed),
    ("files changed", Topic::Changed),
    ("files created", Topic::Changed),
    ("files edited", Topic::Changed),
    ("modified files", Topic::Changed),
    ("changed files", Topic::Changed),
    ("created files", Topic::Changed),
    ("completed", Topic::Done),
    ("accomplished", Topic::Done),
    ("finished", Topic::Done),
    ("done", Topic::Done),
];
/// Longer lines are no headings, in bytes.
const HEADING_BYTES: usize = 70;
/// Longer words before a colon are no label, in bytes.
const LABEL_BYTES: usize = 30;
/// Beginnings of entries in our digests, and their subject.
const ENTRIES: [(&str, Topic); 14] = [
    (CALLED, Topic::Shown),
    (EXCERPTS, Topic::Shown),
    (SEEN, Topic::Shown),
    (NAMES, Topic::Shown),
    (STATUS, Topic::Shown),
    (FIRST, Topic::Quoted),
    (LATEST, Topic::Quoted),
    (EARLIER, Topic::Quoted),
    (ANSWER, Topic::Quoted),
    (TICKED, Topic::Reported),
    (TURN, Topic::Reported),
    (ACTIVE, Topic::Reported),
    (MODIFIED, Topic::Reported),
    (UNRESOLVED, Topic::Reported),
];

/// Beginnings of lines that a host puts around a summary.
const HOST_STARTS: [&str; 5] = [
    "This session is being continued from a previous conversation",
    "If you need specific details from before compaction",
    "Please continue the conversation from where we left",
    "Continue the conversation from where it left off",
    "[session digest ",
];

/// Returns the lines of a summary that are not blank.
pub(super) fn lines(summary: &str) -> Vec<SummaryLine<'_>> {
    let (mut topic, mut entry, mut code) = (Topic::Reported, None, None);
    let mut out = Vec::new();
    let all: Vec<&str> = summary.lines().collect();
    let mark = CLIP_MARK.trim();
    for (at, line) in all.iter().enumerate() {
        let text = line.trim();
        if begins_part(line) {
            // A quote in an entry may be cut inside a block of code.
            code = None;
        }
        if code.is_some_and(|mark| is_fence_end(text, mark)) {
            code = None;
            continue;
        }
        if let Some(mark) = fence(text).filter(|_| code.is_none()) {
            code = Some(mark).filter(|mark| is_closed(&all[at + 1..], mark));
            continue;
        }
        let is_of_host = HOST_STARTS.iter().any(|start| text.starts_with(start));
        if text.is_empty() || is_of_host || names_recall_tool(line) {
            continue;
        }
        let is_quoting = entry.is_some() && !line.starts_with("# ");
        if code.is_none()
            && !is_quoting
            && let Some(new) = heading(line)
        {
            (topic, entry) = (new, None);
        } else if line.starts_with("- ") {
            entry = ENTRIES.iter().find(|(start, _)| line.starts_with(start)).map(|(_, topic)| *topic);
        }
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let is_mark = |at: Option<usize>| at.and_then(|at| all.get(at)).is_some_and(|it| it.trim() == mark);
        let is_cut = [is_mark(at.checked_sub(1)), is_mark(at.checked_add(1))];
        out.push(SummaryLine {
            text,
            number,
            topic: entry.unwrap_or(topic),
            is_code: code.is_some(),
            is_cut,
        });
    }
    out
}

/// Reports whether a line of a digest names the tool for looking up what it folds.
fn names_recall_tool(line: &str) -> bool {
    let tool = line.strip_prefix(RECALL_TOOL).and_then(|rest| rest.strip_suffix(RECALL_SUBJECTS));
    tool.is_some_and(|tool| !tool.contains(char::is_whitespace))
}

/// Reports whether a line begins an entry or a section of our digests.
fn begins_part(line: &str) -> bool {
    let is_section = || line.starts_with("# ") && Section::from_heading(line).is_some();
    ENTRIES.iter().any(|(start, _)| line.starts_with(start)) || is_section()
}

/// Reports whether a block of code ends before the next part begins; otherwise the fence is prose.
fn is_closed(rest: &[&str], mark: &str) -> bool {
    let ends = |line: &&&str| is_fence_end(line, mark) || begins_part(line);
    rest.iter().find(ends).is_some_and(|line| is_fence_end(line, mark))
}

/// Returns the subject of the lines below a heading, if the line is one.
fn heading(line: &str) -> Option<Topic> {
    let is_number =
        line.trim_start().strip_prefix('#').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let heading = Heading::parse(line).filter(|heading| heading.is_title() && !is_number)?;
    if line.trim().len() > HEADING_BYTES {
        return None;
    }
    let lower = heading.words().to_lowercase();
    let found = topic_of(&lower);
    // A list that includes files that were read does not say which of them were changed.
    let is_mixed = ["examined", "read", "relevant", "code section"].iter().any(|word| lower.contains(word));
    Some(found.filter(|topic| *topic != Topic::Changed || !is_mixed).unwrap_or(Topic::Reported))
}

/// Returns what words in small letters announce.
fn topic_of(lower: &str) -> Option<Topic> {
    // An explanation is no plan.
    let is_start = |at: usize| !lower[..at].ends_with(char::is_alphanumeric);
    let has = |words: &str| lower.match_indices(words).any(|(at, _)| is_start(at));
    HEADINGS.iter().find(|(words, _)| has(words)).map(|(_, topic)| *topic)
}

/// A word of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// In small letters; of a piece of code the code.
    pub(super) text: String,
    /// The place in the sentence.
    pub(super) at: Range<usize>,
    pub(super) is_code: bool,
}

/// Visits the sentences of a line.
pub(super) fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let mut in_code = false;
        let mut end = rest.len();
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            in_code ^= c == '`';
            let is_blank = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
            if !in_code && (c == ';' || (matches!(c, '.' | '!' | '?') && is_blank)) {
                end = at + c.len_utf8();
                break;
            }
        }
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (end > 0).then(|| sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

/// Returns the words of a sentence; a piece between backticks is one.
pub(super) fn words(sentence: &str) -> Vec<Word> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < sentence.len() {
        let rest = &sentence[at..];
        if let Some(code) = rest.strip_prefix('`')
            && let Some(end) = code.find('`')
        {
            out.push(Word { text: code[..end].to_owned(), at: at..at + end + 2, is_code: true });
            at += end + 2;
            continue;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_' | '#');
        let n = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if n == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let text = rest[..n].trim_matches(['-', '\'']).to_lowercase().replace('’', "'");
        out.push(Word { text, at: at..at + n, is_code: false });
        at += n;
    }
    out.retain(|word| !word.text.is_empty());
    out
}

/// Words that make a sentence a statement about something not true, or not yet true.
const UNREAL: [&str; 60] = [
    "keep",
    "keeping",
    "get",
    "getting",
    "not",
    "no",
    "never",
    "without",
    "until",
    "unless",
    "should",
    "must",
    "need",
    "needs",
    "needed",
    "ensure",
    "ensures",
    "verify",
    "if",
    "when",
    "once",
    "will",
    "would",
    "can",
    "could",
    "cannot",
    "want",
    "wants",
    "wanted",
    "asked",
    "asks",
    "requested",
    "plan",
    "plans",
    "next",
    "pending",
    "todo",
    "remaining",
    "expected",
    "expect",
    "may",
    "might",
    "whether",
    "before",
    "needing",
    "nothing",
    "none",
    "neither",
    "yet",
    "let",
    "try",
    "instead",
    "almost",
    "goal",
    "required",
    "require",
    "requires",
    "check",
    "checks",
    "optional",
];

/// Reports whether a sentence may be about something not true, or not yet true.
pub(super) fn is_unreal(words: &[Word]) -> bool {
    words
        .iter()
        .any(|word| !word.is_code && (UNREAL.contains(&word.text.as_str()) || word.text.ends_with("n't")))
}
