//! The names of a transcript: who used each, how often, when last, and the last line that contains
//! it.
//!
//! Names and lines share one text that is cleaned up from time to time, so that a message needs no
//! allocation. The weight of a mention fades with its age; the most faded are dropped first.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_message::Untrusted;
use wb_message::pairing::{ByKey, id_key};
use wb_message::text::{head, line_of};

use crate::facts::defined_names::defined_name;
use crate::facts::lines::offset_of;
pub use crate::facts::mention_source::Source;
use crate::facts::names::{each_name, is_blob_line};
use wb_message::bytes::{trim_end, trim_start};

/// The share of a weight that remains after each message.
const FADES: f64 = 0.985;
/// Weights grow instead of fading; from here on they are all divided.
const MOST_WEIGHT: f64 = 1e100;
/// The weight of a mention that defines the name in the output of a tool; chosen by measurement
/// (docs/evaluation/retention.md).
const DEFINITION: f64 = 3.0;
/// Bytes of a line that are read.
const LINE_BYTES: usize = 2_000;
/// Longer lines are data: of these the name alone is kept.
pub(crate) const MOST_LINE_BYTES: usize = 240;
/// The overhead of a line in bytes: the break before it, and occasionally its label.
const LINE_FRAME: u16 = 20;
/// The number of names that are kept of a short transcript, and of any.
const LEAST_NAMES: usize = 512;
const MOST_NAMES: usize = 1_536;
/// Bytes of a transcript for each name that is kept.
const BYTES_PER_NAME: u64 = 2_000;
/// Bytes of the end of a line, with blanks and an empty line behind it.
const LINE_ENDS: usize = 4;
/// The number of names that are sorted together.
const RANKED_AT_ONCE: usize = 384;
/// The bytes of text per name above which the text is cleaned up.
const TEXT_PER_NAME: usize = 128;
/// The bytes of text that the lines of a message take; few take more.
const TEXT_OF_MESSAGE: usize = 12_000;

/// A piece of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span(pub(super) u32, pub(super) u16);

/// A name that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mention {
    name: Span,
    /// Empty where the line is too long.
    pub(super) line: Span,
    /// The last message that contains it, and the index of its source there.
    seen: u32,
    #[serde(default)]
    seen_source: u16,
    /// The message of the line, and the bytes from the line's start to the end of its text.
    pub(super) message: u32,
    from_end: u32,
    /// The index of the line's source, if the message has several.
    source: u16,
    /// Bytes of blanks that the line begins with.
    #[serde(default)]
    indent: u8,
    by: Source,
    /// The number of messages that contain it.
    count: u32,
    score: f64,
}

/// A mention for readers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The last line that contains it; none if that is too long.
    pub line: Option<Untrusted<&'a str>>,
    /// The number of the last message that contains it.
    pub message: u32,
    /// The source of its line among those of the message; 0 if there is only one.
    pub source: u16,
    /// The distance of the line's start from the end of its text, in bytes; 0 if the line is a
    /// call.
    pub from_end: u32,
    /// Bytes of blanks that the line begins with.
    pub indent: u8,
    /// Who used it last.
    pub by: Source,
    /// The number of messages that contain it.
    pub count: u32,
}

impl Mention {
    fn place(&self) -> (u32, u16) {
        (self.message, self.source)
    }

    /// Returns the cost of its line; a line that is too long costs as much as the longest kept one.
    fn line_bytes(&self) -> f64 {
        let n_bytes = if self.line.1 == 0 { length(MOST_LINE_BYTES) } else { self.line.1 };
        f64::from(n_bytes.saturating_add(LINE_FRAME))
    }

    /// Returns its worth compared with a line of `bytes_of_other`: its score over the root of its
    /// bytes, squared and multiplied out. The root was chosen by measurement
    /// (docs/evaluation/retention.md).
    fn worth(&self, bytes_of_other: f64) -> f64 {
        self.score * self.score * bytes_of_other
    }
}

impl Named<'_> {
    /// Returns the message and the source of the line.
    pub fn place(&self) -> (u32, u16) {
        (self.message, self.source)
    }

    /// Reports whether the line is a call as a whole.
    pub fn is_call(&self) -> bool {
        self.from_end == 0
    }

    /// Reports whether another line of the same source is the next one, except for empty ones.
    pub fn is_above(&self, next: &Self) -> bool {
        let own = usize::from(self.indent) + self.line.map_or(0, |line| line.inspect().len());
        self.from_end.saturating_sub(next.from_end) as usize <= own + LINE_ENDS
    }
}

/// The names of a transcript, collected message by message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Mentions {
    pub(super) kept: Vec<Mention>,
    pub(super) text: String,
    /// The labels of lines, by message and source, in order.
    labels: Vec<((u32, u16), Span)>,
    /// The current message and source, the weight of a mention in it, and the bytes read so far.
    message: u32,
    source: u16,
    weight: f64,
    n_bytes: u64,
    #[serde(skip)]
    pub(super) places: ByKey<u32>,
    #[serde(skip)]
    found: Vec<Range<usize>>,
}

impl Mentions {
    /// Begins to read the message with this number.
    pub(crate) fn begin(&mut self, message: u32) {
        self.begin_source(message, 0);
    }

    /// Begins to read the lines of one of several sources in a message; each counts as a separate
    /// message with the same number.
    pub(crate) fn begin_source(&mut self, message: u32, source: u16) {
        self.weight = if self.weight == 0.0 { 1.0 } else { self.weight / FADES };
        if self.weight > MOST_WEIGHT {
            self.kept.iter_mut().for_each(|mention| mention.score /= MOST_WEIGHT);
            self.weight /= MOST_WEIGHT;
        }
        (self.message, self.source) = (message, source);
        let n_most = self.n_most();
        if self.kept.len() > n_most * 2 || self.text.len() > n_most * TEXT_PER_NAME {
            self.clean_up(n_most);
        }
        if self.places.len() != self.kept.len() {
            self.index();
        }
    }

    /// Sets the source of the message's lines.
    pub(crate) fn label(&mut self, label: &str) {
        let label = self.keep(head(label, MOST_LINE_BYTES));
        let place = (self.message, self.source);
        match self.labels.last_mut().filter(|(known, _)| *known == place) {
            Some((_, known)) => *known = label,
            None => self.labels.push((place, label)),
        }
    }

    /// Reads a text of the message; the last line of a repeated name counts.
    pub(crate) fn read(&mut self, text: &str, by: Source) {
        self.n_bytes += text.len() as u64;
        let mut found = std::mem::take(&mut self.found);
        each_name(text, |at| found.push(at));
        let (mut start, mut line, mut is_blob, mut kept) = (text.len() + 1, TextLine::default(), false, None);
        for at in found.drain(..).rev() {
            if at.start < start {
                let whole = line_of(text, at.clone());
                let own = trim_start(&text[whole.clone()]);
                let indent = u8::try_from(whole.len() - own.len()).unwrap_or(u8::MAX);
                let from_end = count(text.len() - whole.start);
                start = whole.start;
                let text = trim_end(own);
                let defines = (by == Source::Tool).then(|| defined_name(text)).flatten().unwrap_or_default();
                (line, kept) = (TextLine { text, defines, from_end, indent }, None);
                is_blob = is_blob_line(text);
            }
            if at.start - start < LINE_BYTES && !is_blob {
                self.note(&text[at], line, &mut kept, by);
            }
        }
        self.found = found;
    }

    /// Reads an argument of a call, whose line is the call as a whole.
    pub(crate) fn read_argument(&mut self, text: &str, call: &str, kept: &mut Option<LineRef>) {
        self.n_bytes += text.len() as u64;
        each_name(text, |at| {
            self.note(&text[at], TextLine { text: call, ..TextLine::default() }, kept, Source::Call);
        });
    }

    /// Reads a text of the message whose lines are not kept: a name that has a line keeps that.
    pub(crate) fn read_names(&mut self, text: &str, by: Source) {
        self.n_bytes += text.len() as u64;
        each_name(text, |at| {
            self.note(&text[at], TextLine::default(), &mut Some(LineRef(Span::default())), by);
        });
    }

    fn note(&mut self, name: &str, line: TextLine<'_>, kept: &mut Option<LineRef>, by: Source) {
        let key = id_key(name);
        let known = self.places.get(&key).copied();
        let place = known.and_then(|at| self.kept.get(at as usize));
        let place_now = (self.message, self.source);
        if let Some(place) =
            place.filter(|place| (place.seen, place.seen_source) == place_now && place.count > 0)
        {
            // The last line of a message was read first; an argument weighs more than a word next
            // to it.
            let more = (by.weight() - place.by.weight()) * self.weight;
            if more > 0.0 {
                self.with(known, |mention| {
                    mention.score += more;
                    mention.by = by;
                });
            }
            return;
        }
        let weight = if name == line.defines { DEFINITION } else { by.weight() } * self.weight;
        let is_bare = kept.is_some_and(|kept| kept.0 == Span::default()) && line.text.is_empty();
        let line_at = kept.get_or_insert_with(|| self.keep_line(line.text)).0;
        let name_at = match (line_at.1 > 0).then(|| offset_of(name, line.text)).flatten() {
            Some(at) => Span(line_at.0 + count(at), length(name.len())),
            None => self.keep(name),
        };
        let new = Mention {
            name: name_at,
            line: line_at,
            seen: self.message,
            seen_source: self.source,
            message: self.message,
            source: self.source,
            from_end: line.from_end,
            indent: line.indent,
            by,
            count: 1,
            score: weight,
        };
        if known.is_some() {
            self.with(known, |mention| {
                let (count, score) = (mention.count.saturating_add(1), mention.score + new.score);
                let old = *mention;
                *mention = Mention { count, score, ..new };
                if is_bare && old.line.1 > 0 {
                    *mention = Mention { count, score, seen: new.seen, seen_source: new.seen_source, ..old };
                }
            });
        } else {
            self.places.insert(key, count(self.kept.len()));
            self.kept.push(new);
        }
    }

    fn with(&mut self, at: Option<u32>, change: impl FnOnce(&mut Mention)) {
        if let Some(mention) = at.and_then(|at| self.kept.get_mut(at as usize)) {
            change(mention);
        }
    }

    fn keep_line(&mut self, line: &str) -> LineRef {
        LineRef(if line.len() > MOST_LINE_BYTES { Span::default() } else { self.keep(line) })
    }

    fn keep(&mut self, text: &str) -> Span {
        let at = Span(count(self.text.len()), length(text.len()));
        self.text.push_str(text);
        at
    }

    pub(super) fn text_at(&self, Span(start, n_bytes): Span) -> &str {
        let start = start as usize;
        self.text.get(start..start + usize::from(n_bytes)).unwrap_or_default()
    }

    fn n_most(&self) -> usize {
        usize::try_from(self.n_bytes / BYTES_PER_NAME).unwrap_or(MOST_NAMES).clamp(LEAST_NAMES, MOST_NAMES)
    }

    /// Drops what has faded most, and all text that nothing refers to.
    fn clean_up(&mut self, n_most: usize) {
        if self.kept.len() > n_most {
            self.kept.select_nth_unstable_by(n_most, |one, other| {
                other.score.total_cmp(&one.score).then(other.place().cmp(&one.place()))
            });
            self.kept.truncate(n_most);
        }
        self.kept.sort_unstable_by_key(|mention| (mention.place(), mention.line.0, mention.name.0));
        let text = String::with_capacity(n_most * TEXT_PER_NAME + TEXT_OF_MESSAGE);
        let old = std::mem::replace(&mut self.text, text);
        let read = |Span(start, n_bytes): Span| {
            old.get(start as usize..start as usize + usize::from(n_bytes)).unwrap_or_default()
        };
        let (mut last, mut moved) = (Span::default(), Span::default());
        for at in 0..self.kept.len() {
            let Mention { name, line, .. } = self.kept[at];
            if line != last {
                (last, moved) = (line, self.keep(read(line)));
            }
            let is_within =
                line.1 > 0 && name.0 >= line.0 && name.0 + u32::from(name.1) <= line.0 + u32::from(line.1);
            let name =
                if is_within { Span(moved.0 + name.0 - line.0, name.1) } else { self.keep(read(name)) };
            (self.kept[at].name, self.kept[at].line) = (name, if line.1 > 0 { moved } else { line });
        }
        let labels = std::mem::take(&mut self.labels);
        for (place, label) in labels {
            if self.kept.binary_search_by_key(&place, Mention::place).is_ok() {
                let label = self.keep(read(label));
                self.labels.push((place, label));
            }
        }
        self.index();
    }

    fn index(&mut self) {
        self.places.clear();
        for at in 0..self.kept.len() {
            let key = id_key(self.text_at(self.kept[at].name));
            self.places.insert(key, count(at));
        }
    }

    /// Visits the names in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Named<'_>> {
        self.kept.iter().map(|mention| self.named(mention))
    }

    /// Returns the names, first those whose lines are most likely needed for their size.
    pub fn ranked(&self) -> impl Iterator<Item = Named<'_>> {
        let by_rank = |one: &&Mention, other: &&Mention| {
            let newest = other.place().cmp(&one.place());
            let worth = other.worth(one.line_bytes()).total_cmp(&one.worth(other.line_bytes()));
            worth.then(newest).then(one.name.0.cmp(&other.name.0))
        };
        let mut order: Vec<&Mention> = self.kept.iter().collect();
        let (mut next, mut n_sorted) = (0, 0);
        std::iter::from_fn(move || {
            // Sorts in blocks, so that the first names come before all are sorted.
            if next == n_sorted && n_sorted < order.len() {
                let (rest, n) = (&mut order[n_sorted..], RANKED_AT_ONCE);
                if n < rest.len() {
                    rest.select_nth_unstable_by(n, by_rank);
                }
                let n = n.min(rest.len());
                rest[..n].sort_by(by_rank);
                n_sorted += n;
            }
            let mention = order.get(next)?;
            next += 1;
            Some(self.named(mention))
        })
    }

    /// Returns the mention of a name.
    pub fn get(&self, name: &str) -> Option<Named<'_>> {
        let found = self.kept.iter().find(|mention| self.text_at(mention.name) == name);
        found.map(|mention| self.named(mention))
    }

    fn named(&self, mention: &Mention) -> Named<'_> {
        Named {
            name: self.text_at(mention.name),
            line: (mention.line.1 > 0).then(|| Untrusted::new(self.text_at(mention.line))),
            message: mention.message,
            source: mention.source,
            from_end: mention.from_end,
            indent: mention.indent,
            by: mention.by,
            count: mention.count,
        }
    }

    /// Returns the source of a name's line.
    pub fn label_of(&self, named: &Named<'_>) -> &str {
        let at = self.labels.binary_search_by_key(&named.place(), |(place, _)| *place);
        at.map_or("", |at| self.text_at(self.labels[at].1))
    }
}

/// A line of a text, and its place.
#[derive(Clone, Copy, Default)]
struct TextLine<'t> {
    text: &'t str,
    /// The name that it defines; empty if none.
    defines: &'t str,
    from_end: u32,
    indent: u8,
}

/// A line that was kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineRef(Span);

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

pub(super) fn length(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions_of(messages: &[&str]) -> Mentions {
        let mut mentions = Mentions::default();
        for (at, text) in messages.iter().enumerate() {
            mentions.begin(count(at));
            mentions.label(&format!("message {at}"));
            mentions.read(text, Source::Tool);
        }
        mentions
    }

    #[test]
    fn a_name_has_the_last_line_of_its_last_message() {
        let mentions =
            mentions_of(&["one src/a.rs\ntwo src/a.rs", "x", "three src/a.rs\nfour src/a.rs\nno name"]);
        let named = mentions.get("src/a.rs").expect("it is there");
        assert_eq!(
            (named.line, named.message, named.from_end, named.count),
            (Some(Untrusted::new("four src/a.rs")), 2, 21, 2)
        );
        assert_eq!(mentions.label_of(&named), "message 2");
    }

    #[test]
    fn arguments_of_calls_rank_above_output_of_tools() {
        let mut mentions = mentions_of(&["src/shown.rs", "src/other.rs"]);
        mentions.read_argument("src/called.rs", "Read src/called.rs", &mut None);
        let ranked: Vec<_> = mentions.ranked().map(|named| named.name).collect();
        assert_eq!(ranked, ["src/called.rs", "src/other.rs", "src/shown.rs"]);
        assert_eq!(
            mentions.get("src/called.rs").and_then(|named| named.line),
            Some(Untrusted::new("Read src/called.rs"))
        );
    }

    #[test]
    fn names_stay_bounded_and_readable_in_a_long_session() {
        let texts: Vec<String> =
            (0..6_000).map(|n| format!("see src/file_{n}.rs and lib/kept.rs for fn call_{n}()")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mentions = mentions_of(&texts);
        assert!(mentions.kept.len() <= LEAST_NAMES * 2 + 3, "{}", mentions.kept.len());
        for named in mentions.ranked() {
            let line = named.line.expect("a short line").into_inner();
            assert!(line.contains(named.name), "{line} {}", named.name);
            assert_eq!(mentions.label_of(&named), format!("message {}", named.message));
        }
        assert_eq!(mentions.get("lib/kept.rs").map(|named| named.count), Some(6_000));
        assert!(mentions.get("src/file_5999.rs").is_some() && mentions.get("src/file_10.rs").is_none());
    }

    #[test]
    fn a_long_line_gives_its_name_alone_also_after_a_reload() {
        let long = format!("src/long.rs {}", "x".repeat(MOST_LINE_BYTES));
        let mentions = mentions_of(&[&long]);
        let text = serde_json::to_string(&mentions).expect("plain data");
        let mut again: Mentions = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again.get("src/long.rs").map(|named| named.line), Some(None));
        again.begin(1);
        again.read("src/long.rs here", Source::User);
        assert_eq!(
            again.get("src/long.rs").map(|named| (named.line, named.count)),
            Some((Some(Untrusted::new("src/long.rs here")), 2))
        );
    }

    #[test]
    fn a_message_may_hold_the_lines_of_several_sources() {
        let mut mentions = mentions_of(&["src/a.rs"]);
        for (source, label) in ["Read src/b.rs", "Read src/c.rs"].into_iter().enumerate() {
            mentions.begin_source(1, length(source));
            mentions.label(label);
            mentions.read(&format!("{label} shared/d.rs"), Source::Tool);
        }
        mentions.begin(2);
        mentions.label("Bash ls");
        mentions.read_names("src/b.rs src/c.rs", Source::Tool);
        let place = |name: &str| {
            let named = mentions.get(name).expect("it is there");
            (mentions.label_of(&named), named.message, named.count)
        };
        assert_eq!(place("src/b.rs"), ("Read src/b.rs", 1, 2));
        assert_eq!(place("src/c.rs"), ("Read src/c.rs", 1, 2));
        assert_eq!(place("shared/d.rs"), ("Read src/c.rs", 1, 2));
        assert_eq!(place("src/a.rs"), ("message 0", 0, 1));
    }
}
