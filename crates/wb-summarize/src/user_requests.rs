//! The user's requests as entries of a digest: word for word if they fit, else the ones that hold
//! the most.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::take;

use wb_digest::labels::{ANSWER, EARLIER, LATEST, TO, repeated_label, updated_mark};
use wb_digest::{OmittedRequests, quote_behind_label};
use wb_facts::names::names;
use wb_facts::{Facts, Turn};
use wb_language::constraints::constraints;
use wb_language::plain_words;
use wb_language::short_answers::is_answer;
use wb_language::user_text::is_acknowledgement;
use wb_message::text::{clip_words, tidy_into};

/// Bytes of a user's request that are kept verbatim.
pub const REQUEST_BYTES: usize = wb_language::UTTERANCE_BYTES;
/// The longest request that is counted with others of its form, in bytes.
const FORM_BYTES: usize = 48;
/// The part of the room that a long request takes before others had their turn.
const LONG_PART: usize = 8;
/// The least bytes of such a part that say something.
const LEAST_PART_BYTES: usize = 200;
/// Bytes of the latest request that a digest quotes if it can.
const LEAST_LATEST_BYTES: usize = 80;

/// Words that bind what is asked to a case or a time, or correct what was said before.
const CONDITIONS: [&str; 24] = [
    "if", "when", "whenever", "unless", "until", "before", "after", "once", "while", "from", "except",
    "first", "instead", "rather", "actually", "final", "decided", "forget", "scrap", "reset", "ignore",
    "wrong", "must", "only",
];

/// A request, or several of one form, with the newest turn.
struct Request<'f> {
    turn: &'f Turn,
    times: u32,
}

/// The entries for requests, newest first, and what has no room.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) list: Vec<String>,
    /// True if no request is omitted or shortened.
    pub(crate) are_whole: bool,
    /// The omitted ones: the number of requests of one form, and the number of the newest message.
    pub(crate) omitted: Vec<(u32, Option<u32>)>,
}

/// Renders turns, newest first, in at most `max_chars`; `latest` is the number of the latest
/// request, which is first to be quoted.
pub(crate) fn entries<'f>(
    facts: &Facts,
    turns: impl Iterator<Item = &'f Turn>,
    latest: Option<u32>,
    max_chars: usize,
) -> Entries {
    let is_latest = |turn: &Turn| Some(turn.number) == latest;
    let turns: Vec<&Turn> = turns.collect();
    let mut requests = by_form(&turns, is_latest, text_of);
    let n_chars: usize = requests.iter().map(|request| request.n_chars(is_latest(request.turn))).sum();
    if n_chars <= max_chars {
        // The context of older answers gives way to the user's words.
        let mut left = max_chars - n_chars;
        let whole = |request: &Request<'_>| request.entry(is_latest(request.turn), usize::MAX, &mut left);
        return Entries { list: requests.iter().map(whole).collect(), are_whole: true, omitted: Vec::new() };
    }
    requests = by_form(&turns, is_latest, form);
    let mut entries = Entries::default();
    for (request, entry) in requests.iter().zip(choose(&requests, is_latest, max_chars)) {
        match entry {
            Some(entry) => entries.list.push(entry),
            None => entries.omitted.push((request.times + 1, facts.message_of(request.turn))),
        }
    }
    entries
}

impl Request<'_> {
    /// Returns the characters of the entry without a question.
    fn n_chars(&self, is_latest: bool) -> usize {
        // Further lines are indented.
        let n_lines = self.turn.asked.bytes().filter(|byte| *byte == b'\n').count();
        let n_frame = self.label(is_latest).len() + updated_mark(self.turn.is_updated).len() + 2;
        n_frame + self.turn.asked.chars().count() + 2 * n_lines
    }

    fn label(&self, is_latest: bool) -> Cow<'static, str> {
        match self.times {
            0 if is_answer(&self.turn.asked) => Cow::Borrowed(ANSWER),
            0 if is_latest => Cow::Borrowed(LATEST),
            0 => Cow::Borrowed(EARLIER),
            times => Cow::Owned(repeated_label(times + 1)),
        }
    }

    /// Returns the entry with at most `max_bytes` of the user's words; an answer gets its question
    /// if that is left.
    fn entry(&self, is_latest: bool, max_bytes: usize, left: &mut usize) -> String {
        let mut words = request_words(&self.label(is_latest), self.turn, max_bytes);
        let to = &self.turn.to;
        let with_question = to.inspect().len() + TO.len();
        if to.is_empty() || with_question > *left || !words.starts_with(ANSWER) {
            return words;
        }
        *left -= with_question;
        words.push_str(TO);
        quote_behind_label(&mut words, to);
        words
    }
}

/// Joins requests of one form; each has the place of the newest.
fn by_form<'f>(
    turns: &[&'f Turn],
    is_latest: impl Fn(&Turn) -> bool,
    form: fn(&Turn) -> Cow<'_, str>,
) -> Vec<Request<'f>> {
    let mut forms: HashMap<Cow<'_, str>, u32> = HashMap::new();
    let counted = |turn: &&&Turn| !is_latest(turn);
    for turn in turns.iter().filter(counted) {
        *forms.entry(form(turn)).or_default() += turn.times + 1;
    }
    let mut out: Vec<Request<'f>> = Vec::with_capacity(turns.len());
    for turn in turns.iter().copied() {
        if is_latest(turn) {
            out.push(Request { turn, times: 0 });
            continue;
        }
        match forms.get_mut(&form(turn)) {
            Some(0) | None => {}
            // Nods say nothing without a question.
            Some(_) if is_nod(turn) => {}
            Some(times) => out.push(Request { turn, times: take(times) - 1 }),
        }
    }
    out
}

/// Returns what equal requests have in common.
fn text_of(turn: &Turn) -> Cow<'_, str> {
    let asked = turn.asked.trim();
    if turn.to.is_empty() {
        Cow::Borrowed(asked)
    } else {
        Cow::Owned([asked, "\n", turn.to.inspect()].concat())
    }
}

/// Returns what requests of one form have in common: their words without the numbers, or all of a
/// request that is more than a step.
fn form(turn: &Turn) -> Cow<'_, str> {
    let asked = turn.asked.trim();
    if !turn.to.is_empty() {
        return text_of(turn);
    }
    if asked.len() > FORM_BYTES || !has_number(turn) || !constraints(asked).is_empty() {
        return Cow::Borrowed(asked);
    }
    let mut out = String::with_capacity(asked.len());
    for part in asked.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let end = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(if end.len() < part.len() { "#" } else { "" });
        out.push_str(end);
    }
    Cow::Owned(out)
}

fn has_number(turn: &Turn) -> bool {
    turn.asked.contains(|c: char| c.is_ascii_digit())
}

/// Chooses the entries that fit: the latest request, then those that hold the most, newest first.
/// Long ones are shortened until all others had their turn.
fn choose(
    requests: &[Request<'_>],
    is_latest: impl Fn(&Turn) -> bool,
    max_chars: usize,
) -> Vec<Option<String>> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    let rank = |at: usize| if is_latest(requests[at].turn) { u32::MAX } else { weight(requests[at].turn) };
    order.sort_by_cached_key(|at| (Reverse(rank(*at)), *at));
    let mut chosen: Vec<Option<String>> = vec![None; requests.len()];
    let mut left = max_chars.saturating_sub(OmittedRequests::MOST_CHARS.min(max_chars / 8));
    let part = Some(max_chars / LONG_PART).filter(|part| *part >= LEAST_PART_BYTES);
    let part = part.map_or(REQUEST_BYTES, |part| part.min(REQUEST_BYTES));
    for most in [part, REQUEST_BYTES, usize::MAX] {
        for at in order.iter().copied() {
            let request = &requests[at];
            let is_latest = is_latest(request.turn);
            let for_latest = if request.n_chars(true) <= left { usize::MAX } else { left / 2 };
            let most = if is_latest { for_latest.max(LEAST_LATEST_BYTES) } else { most };
            let before = chosen[at].as_deref().map_or(0, size);
            if before > 0 && (is_latest || request.turn.asked.len() <= part) {
                continue;
            }
            let entry = request.entry(is_latest, most, &mut 0);
            let n_chars = size(&entry);
            if n_chars > before && n_chars <= left + before {
                left = left + before - n_chars;
                chosen[at] = Some(entry);
            }
        }
    }
    chosen
}

/// Returns how much a request holds that a later step may need: rules before names, numbers and
/// conditions, before anything else.
fn weight(turn: &Turn) -> u32 {
    let asked = turn.asked.as_str();
    let has_name = !names(asked).is_empty();
    let has_condition =
        plain_words(asked).any(|word| CONDITIONS.iter().any(|known| word.eq_ignore_ascii_case(known)));
    let is_answer = !turn.to.is_empty();
    let bits = [
        !constraints(asked).is_empty(),
        has_name,
        has_number(turn) || has_condition,
        is_answer,
        !is_nod(turn),
    ];
    // A rule outweighs all that follows it, and so on.
    bits.iter().fold(0, |sum, bit| sum * 2 + u32::from(*bit))
}

fn is_nod(turn: &Turn) -> bool {
    turn.to.is_empty() && is_acknowledgement(&turn.asked)
}

fn size(entry: &str) -> usize {
    entry.chars().count() + 1
}

/// Returns the words of a request behind a label, with further lines indented.
pub(crate) fn request_words(label: &str, turn: &Turn, max_bytes: usize) -> String {
    let words = clip_words(&turn.asked, max_bytes);
    let (words, mark) = (indented(&words), updated_mark(turn.is_updated));
    let mut out = String::with_capacity(label.len() + 1 + words.len() + mark.len());
    out.push_str(label);
    out.push(' ');
    tidy_into(&mut out, &words);
    out.push_str(mark);
    out
}

/// Indents all lines but the first and the empty ones.
pub(crate) fn indented(words: &str) -> Cow<'_, str> {
    if !words.contains('\n') {
        return Cow::Borrowed(words);
    }
    let mut out = String::with_capacity(words.len() + words.matches('\n').count() * 2);
    for (nth, line) in words.split('\n').enumerate() {
        if nth > 0 {
            out.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}
