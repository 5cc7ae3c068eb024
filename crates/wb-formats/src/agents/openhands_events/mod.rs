//! Events of `OpenHands`: the actions and observations of its agent, as a list or as the `history`
//! of runs.
//!
//! The files in reading order: one `event` and its meaning in a conversation, and `render`, which
//! writes.

mod event;
mod render;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use wb_message::Message;
use wb_record::json::{elements, text};
use wb_record::{
    Abilities, Ability, ChangeSet, Confidence, Document, Format, FormatError, NotExpressible, Note, Parts,
    Probe, ProbedValue, Segments, View, Wanted, forget_stale_usage,
};

use self::event::{Condensation, Event};
use crate::kit::draft::Draft;
use crate::kit::json_text::body_of;
use crate::kit::log::LogEnd;
use crate::kit::message_list::List;
use crate::kit::skips::Skips;
use crate::logs::openhands_completions::VOCABULARY;

const NAME: &str = "openhands-events";
/// The reason why older events are not written.
const UNNUMBERED: &str = "events of this old version have no numbers, by which others could be forgotten";

/// Events of `OpenHands`: an array of them (a trajectory), or JSON lines of runs with a `history`,
/// each a conversation.
///
/// * Calls are those of the answer that an action was made of; several actions can be of one
///   answer. A result failed by its kind or its flag. Before actions named their calls, messages
///   and observations were texts, and are shown as such.
/// * A result that precedes its call is sent after it, and shown there; a second result of a call
///   is not sent.
/// * Events that a condensation forgot are left out, and its summary is placed where it says. Newer
///   versions send the first prompt again where it was forgotten; it is not shown. What the agent
///   recalls from its files is not in the events.
/// * A digest is a condensation at the end of the list. Events stay, but for another body of an
///   observation, which then has no lines about its command. A call that was interrupted is
///   answered by an error, as the agent notes it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenhandsEvents;

impl Format for OpenhandsEvents {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        let insert = Ability::No("OpenHands allows nothing but its summary among the kept events");
        Abilities { insert, ..Abilities::ALL }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        // Logs of other agents have both in one record, or a role; version 1 of OpenHands has a
        // kind.
        let is_other =
            |it: &ProbedValue| it.has("role") || it.has("kind") || it.has("action") == it.has("observation");
        let is_one = |it: &ProbedValue| {
            !is_other(it) && ["args", "extras", "thought", "content"].iter().any(|key| it.has(key))
        };
        let is_event = |it: &ProbedValue| is_one(it) || it.elements().any(is_one);
        let is_run =
            |it: &ProbedValue| it.listed.as_deref().is_some_and(|history| history.elements().any(is_event));
        let Some(first) = probe.first() else { return Confidence::No };
        let is_list = first.is_list && probe.values.len() == 1 && first.elements().any(is_event);
        // A trajectory of SWE-agent has its steps next to a history of messages, which name an
        // action too.
        let is_history = first.has("history") && !first.has("trajectory");
        if is_list || is_history && is_run(first) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let mut document =
            EventsDocument { parts, text: Vec::new(), runs: Vec::new(), end: LogEnd::default() };
        document.refresh()?;
        Ok(Box::new(document))
    }
}

/// Events of one or more runs.
#[derive(Debug)]
struct EventsDocument {
    parts: Box<dyn Parts>,
    text: Vec<u8>,
    runs: Vec<List>,
    end: LogEnd,
}

impl Document for EventsDocument {
    fn format(&self) -> &'static dyn Format {
        &OpenhandsEvents
    }

    fn abilities(&self) -> Abilities {
        let is_numbered = |run: &List| self.events(run).iter().all(|event| event.id().is_some());
        let able = OpenhandsEvents.abilities();
        if self.runs.iter().all(is_numbered) { able } else { Abilities::none(UNNUMBERED) }
    }

    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        Ok(self.runs.iter().map(|run| run.name.clone()).collect())
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        let run = self.run(conversation)?;
        let events = self.events(run);
        let n_ignored = run.records.len() - events.len();
        let model = events.iter().rev().find_map(Event::model);
        let is_condensed = events.iter().any(|event| event.condensation().is_some());
        let EventDraft { draft, n_repeated, .. } = assemble(events);
        let mut passed = Skips::default();
        passed.n_ignored = n_ignored;
        passed.n_orphans = draft.n_orphans();
        let (mut segment, provenance) = draft.finish();
        // Counts from before a condensation are never used.
        if !is_condensed {
            forget_stale_usage(&segment.messages, &mut segment.usage);
        }
        let mut view = View::new(NAME, VOCABULARY);
        view.model = model;
        (view.messages, view.usage, view.provenance) = (segment.messages, segment.usage, provenance);
        let condensed = is_condensed.then_some(Note::CompactionApplied { tokens_before: None });
        let repeated = (n_repeated > 0).then_some(Note::RepeatedResults { n: n_repeated });
        view.notes = self.end.notes(passed).into_iter().chain(repeated).chain(condensed).collect();
        Ok(view)
    }

    fn segments(&self, conversation: &str) -> Result<Segments<'_>, FormatError> {
        let run = self.run(conversation)?;
        let events = self.events(run);
        let ends = (0..events.len()).filter(|at| events[*at].condensation().is_some()).chain([events.len()]);
        let until = move |end: usize| self.events(run).into_iter().take(end).collect();
        let is_condensed = events.iter().any(|event| event.condensation().is_some());
        let segment = move |end: usize| {
            let (mut segment, _) = assemble(until(end)).draft.finish();
            if !is_condensed {
                forget_stale_usage(&segment.messages, &mut segment.usage);
            }
            Ok(segment)
        };
        let ends: Vec<usize> = ends.collect();
        Ok(Segments::new(ends.len(), move |at| segment(ends[at])))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let run = self.run(wanted.conversation);
        let run = run.map_err(NotExpressible::unreadable)?;
        render::render(&self.text, run, &self.events(run), wanted)
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.text = self.parts.whole("")?;
        (self.runs, self.end) = runs(self.parts.as_ref(), &self.text)?;
        Ok(())
    }
}

impl EventsDocument {
    fn run(&self, conversation: &str) -> Result<&List, FormatError> {
        self.runs.iter().find(|run| run.name == conversation).ok_or(FormatError::Empty)
    }

    fn events(&self, run: &List) -> Vec<Event<'_>> {
        run.records.iter().filter_map(|place| Event::parse(&self.text, place)).collect()
    }
}

/// Returns the runs of a text: an array of events is one, and so is each line with a history.
fn runs(parts: &dyn Parts, whole: &[u8]) -> Result<(Vec<List>, LogEnd), FormatError> {
    let (_, json) = body_of(whole);
    if json.starts_with(b"[") {
        FormatError::utf8_of(whole)?;
        let list = List::of_array(whole, json)?;
        let records = list.records.iter().flat_map(|place| flat(whole, place)).collect();
        return Ok((vec![List { records, ..list }], LogEnd::default()));
    }
    let mut runs: Vec<List> = Vec::new();
    let end = LogEnd::of_lines(parts, "", |_, fields, line| {
        let Some(history) = fields.elements("history") else { return };
        let start = usize::try_from(line.at).unwrap_or(usize::MAX);
        let at = |place: Range<usize>| flat(whole, &(start + place.start..start + place.end));
        let issue = fields.inner("issue").and_then(|issue| issue.number("number"));
        let name = text(line.bytes, &["instance_id"]).or_else(|| issue.map(|number| number.to_string()));
        let mut name = name.unwrap_or_else(|| line.number.to_string());
        if runs.iter().any(|run| run.name == name) {
            name = format!("{name}/{}", line.number);
        }
        let records = history.into_iter().flat_map(at).collect();
        runs.push(List { name, ..List::new(records, wb_record::splice::Joint::Comma) });
    })?;
    Ok((runs, end))
}

/// Returns the place of an event, or those of a pair of them.
fn flat(whole: &[u8], place: &Range<usize>) -> Vec<Range<usize>> {
    let value = &whole[place.clone()];
    let pair = value.starts_with(b"[").then(|| elements(value)).flatten();
    let at = |inner: Range<usize>| place.start + inner.start..place.start + inner.end;
    pair.map_or_else(|| vec![place.clone()], |pair| pair.into_iter().map(at).collect())
}

/// A conversation that grows event by event.
#[derive(Default)]
struct EventDraft<'a> {
    draft: Draft,
    n_repeated: usize,
    /// The answers of the model that were read, and which of their calls wait for a result.
    answers: HashSet<String>,
    open: HashSet<String>,
    /// Results whose call comes later, by its id.
    early: BTreeMap<String, Event<'a>>,
}

impl<'a> EventDraft<'a> {
    /// Adds an event; a result answers its call where that waits or `comes` later, and else answers
    /// it twice, or none.
    fn add(&mut self, event: Event<'a>, comes: impl Fn(&str) -> bool, is_counted: bool) {
        if let Some(id) = event.call_id(false)
            && !self.open.remove(&id)
        {
            if comes(&id) {
                if let Some(first) = self.early.insert(id, event) {
                    self.n_repeated += 1;
                    self.draft.hide(first.record);
                }
                return;
            }
            if self.draft.is_called(&id) {
                self.n_repeated += 1;
                return self.draft.hide(event.record);
            }
        }
        for id in event.add(&mut self.draft, &mut self.answers, is_counted) {
            match self.early.remove(&id) {
                Some(result) => _ = result.add(&mut self.draft, &mut self.answers, is_counted),
                None => _ = self.open.insert(id),
            }
        }
    }
}

/// Puts a conversation together as condensations leave it.
fn assemble(events: Vec<Event<'_>>) -> EventDraft<'_> {
    let (mut all, mut n_kept) = (EventDraft::default(), 0);
    let condensations: Vec<Condensation> = events.iter().filter_map(Event::condensation).collect();
    let last = events.iter().rposition(|event| event.condensation().is_some());
    let mut summary = summary(&events);
    let is_forgotten =
        |event: &Event<'_>| event.id().is_some_and(|id| condensations.iter().any(|it| it.forgets(id)));
    let is_kept = |event: &Event<'_>| event.is_counted() && !is_forgotten(event);
    let kept: Vec<(usize, Event<'_>)> =
        events.into_iter().enumerate().filter(|(_, event)| is_kept(event)).collect();
    let actions = kept.iter().filter_map(|(at, event)| Some((event.call_id(true)?, *at)));
    let last_action: HashMap<String, usize> = actions.collect();
    for (at, event) in kept {
        if let Some((message, _, record)) = summary.take_if(|(_, offset, _)| *offset <= n_kept) {
            all.draft.add(record, message);
        }
        n_kept += 1;
        let comes = |id: &str| last_action.get(id).is_some_and(|action| *action > at);
        all.add(event, comes, last.is_none_or(|last| last < at));
    }
    if let Some((message, _, record)) = summary {
        all.draft.add(record, message);
    }
    // Their answer has other calls than its actions say.
    for result in std::mem::take(&mut all.early).into_values() {
        result.add(&mut all.draft, &mut all.answers, false);
    }
    all
}

/// Returns the summary in force, the number of events before it, and its position.
fn summary(events: &[Event<'_>]) -> Option<(Message, usize, wb_record::Span)> {
    let of = |event: &Event<'_>| Some((event.condensation()?.summary?, event.record.clone()));
    let ((summary, offset), record) = events.iter().rev().find_map(of)?;
    Some((Message::CompactionSummary { summary, tokens_before: 0 }, offset, record))
}
