//! A compaction that was carried out in memory, and its figures.

use std::borrow::Cow;
use std::sync::Arc;

use wb_budget::{TokenCounter as _, TokenHeuristic};
use wb_conductor::{
    CompactionReport, Compactor, CondenseOpts, DROP, DigestSource, Pipeline, Plan, Unchanged,
};
use wb_facts::Facts;
use wb_message::markers::digest_in_text;
use wb_message::outline;
use wb_message::{Block, Content, Message, Origin, Patch, Undo};

use crate::args::values::TargetSize;
use crate::session::Session;
use crate::session::model::{Model, Spent};
use crate::session::pins::{indices_of, with_words};

/// The fate of a line of the outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Dropped,
    Cleared,
    Shortened,
    Added,
}

/// One message of the outline.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) fate: Fate,
    /// The index in the input, if it comes from there.
    pub(crate) at: Option<usize>,
    pub(crate) text: String,
}

/// The outcome of a compaction.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) messages: Vec<Message>,
    pub(crate) report: CompactionReport,
    /// Dropped messages first, then what stays.
    pub(crate) outline: Vec<Line>,
    /// The origin of each message of the output.
    pub(crate) origins: Vec<Origin>,
    /// The changes to the messages, as a patch.
    pub(crate) patch: Patch,
    /// The facts in the messages, from which the digest is written.
    pub(crate) facts: Arc<Facts>,
    digest: Option<String>,
    undo: Option<Undo>,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    /// The tokens of the digest, on the scale of the other two.
    pub(crate) digest_tokens: u64,
    /// An explanation, if the result is more than a twentieth off the size that was asked for.
    pub(crate) missed_target: Option<String>,
    /// The model's usage and cost, if one was named.
    pub(crate) model: Option<Spent>,
    /// The indices in the input of the messages that the user dropped.
    dropped: Vec<usize>,
}

impl Outcome {
    /// Compacts the session's messages with other steps, without an outline; nothing is written.
    pub(crate) fn with_steps(session: &mut Session, steps: Pipeline) -> Self {
        let vocabulary = session.opened.vocabulary;
        let settings = session.settings().pipeline(steps).vocabulary(vocabulary);
        let messages = std::mem::take(&mut session.opened.messages);
        let facts = session.facts(&messages, Facts::without_words);
        Self::from_facts(session, &settings, messages, facts, None)
    }

    /// Compacts the session's messages with its strategy, with a digest in the words of a model if
    /// one is named; nothing is written.
    pub(crate) fn new(session: &mut Session, model: Option<&Model>) -> Self {
        let settings = session.settings();
        let dropped = indices_of(&session.drops, &session.opened.messages);
        let messages = std::mem::take(&mut session.opened.messages);
        let lines: Vec<String> = messages.iter().map(outline::line).collect();
        let empty = if model.is_some() { Facts::default } else { Facts::without_words };
        let facts = session.facts(&messages, empty);
        let outcome = Self::from_facts(session, &settings, messages, facts, model);
        let outline = fates(lines, &outcome.messages, &outcome.report, &outcome.origins);
        Self { outline, model: model.map(Model::spent), dropped, ..outcome }
    }

    /// Cuts the session's messages, with a digest of nothing; nothing is written.
    pub(crate) fn of_cut(session: &mut Session) -> Self {
        let settings = session.settings();
        let messages = std::mem::take(&mut session.opened.messages);
        Self::from_facts(session, &settings, messages, Facts::default(), None)
    }

    /// Compacts messages of a session, with a digest of the facts, without an outline.
    fn from_facts(
        session: &mut Session,
        settings: &Compactor,
        mut messages: Vec<Message>,
        facts: Facts,
        model: Option<&Model>,
    ) -> Self {
        let facts = Arc::new(facts);
        let mut report = compact(session, &mut messages, settings, &facts, model);
        let mut undo = report.undo.take();
        let n_before = report.messages_before;
        let pinned: String = session.pins.iter().map(|pin| pin.line() + "\n").collect();
        let pinned_tokens = if pinned.is_empty() { 0 } else { TokenHeuristic::DEFAULT.text(&pinned) };
        let is_heavier =
            report.digest.is_some() && report.tokens_after + pinned_tokens >= report.tokens_before;
        if let Some(undo) = undo.take_if(|_| pinned_tokens > 0 && is_heavier) {
            undo.revert(&mut messages);
            report = CompactionReport::default();
            report.unchanged = Some(Unchanged::NotLighter);
            (report.messages_before, report.messages_after) = (n_before, n_before);
        }
        let unchanged = || (0..n_before).map(Origin::Kept).collect();
        let origins: Vec<Origin> = undo.as_ref().map_or_else(unchanged, |undo| undo.origins(n_before));
        if report.digest.is_some() {
            insert_pins(&mut messages, &origins, &pinned);
            report.tokens_after += pinned_tokens;
            report.digest_tokens += pinned_tokens;
        }
        let patch = undo.as_ref().map(|undo| Patch::from_undo(undo, &messages)).unwrap_or_default();
        let new = origins.iter().zip(&messages).filter(|(origin, _)| **origin == Origin::New);
        let digest = new.map(|(_, message)| message).find_map(wb_message::markers::digest_body);
        let digest = digest.filter(|_| report.digest.is_some()).map(Cow::into_owned);
        let tokens_before = session.measure.context_tokens;
        let measured = || session.measure.context_tokens_at(report.tokens_after);
        let tokens_after = if undo.is_some() { measured() } else { tokens_before };
        let digest_tokens = report.digest_tokens;
        let asked = session.target.map(|target| target.tokens(report.tokens_before));
        let sizes = [report.tokens_before, report.tokens_after];
        let missed_target = asked.and_then(|asked| session.measure.missed_target(asked, sizes, &messages));
        Self {
            messages,
            report,
            outline: Vec::new(),
            origins,
            patch,
            facts,
            digest,
            undo,
            tokens_before,
            tokens_after,
            digest_tokens,
            missed_target,
            model: None,
            dropped: Vec::new(),
        }
    }

    /// Restores the session's messages.
    pub(crate) fn restore(&mut self, session: &mut Session) {
        let mut messages = std::mem::take(&mut self.messages);
        if let Some(undo) = self.undo.take() {
            undo.revert(&mut messages);
        }
        session.opened.messages = messages;
    }

    /// Returns whether the context has messages that the user dropped.
    pub(crate) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Returns the number of messages that are folded, or cleared, since the user dropped them.
    pub(crate) fn n_dropped(&self) -> usize {
        let report = &self.report;
        let step = report.steps.iter().find(|step| step.name == DROP);
        step.map_or(0, |step| match report.messages_before - step.messages_after {
            0 => self.dropped.iter().filter(|at| report.cleared.contains(at)).count(),
            n => n,
        })
    }

    /// Returns the messages that stay.
    pub(crate) fn kept_messages(&self) -> impl Iterator<Item = &Message> {
        let all = self.origins.iter().zip(&self.messages);
        all.filter(|(origin, _)| origin.input_index().is_some()).map(|(_, message)| message)
    }

    /// Returns the new content as one text: the digest, then the restored files.
    pub(crate) fn new_text(&self) -> Option<String> {
        let new = self.origins.iter().zip(&self.messages).filter(|(origin, _)| **origin == Origin::New);
        let texts = new.map(|(_, message)| match message {
            Message::User { content, .. } | Message::Custom { content, .. } => content.texts().collect(),
            _ => String::new(),
        });
        self.digest.as_ref().map(|_| texts.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns the digest's text if one was written.
    pub(crate) fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Explains the outcome, if it needs explanation.
    pub(crate) fn reason(&self) -> Option<String> {
        if let Some(missed) = &self.missed_target {
            return Some(missed.clone());
        }
        if let Some(unchanged) = &self.report.unchanged {
            return Some(match &self.report.irreducible {
                Some(irreducible) => format!("{unchanged}; {irreducible}"),
                None => unchanged.to_string(),
            });
        }
        let digest = match &self.report.digest {
            Some(DigestSource::Local(reason)) => Some(format!("local digest: {reason}")),
            _ => None,
        };
        match (&self.report.irreducible, digest) {
            (Some(irreducible), _) => Some(irreducible.to_string()),
            (None, digest) => digest,
        }
    }
}

/// Inserts pinned texts into the digest.
fn insert_pins(messages: &mut [Message], origins: &[Origin], words: &str) {
    let mut new = origins.iter().zip(messages).filter(|(origin, _)| **origin == Origin::New);
    let digest = new.find_map(|(_, message)| digest_text(message));
    if let Some(text) = digest.filter(|_| !words.is_empty()) {
        *text = with_words(text, words);
    }
}

/// Returns the text of a digest in the user's role, with its header.
fn digest_text(message: &mut Message) -> Option<&mut String> {
    let Message::User { content, .. } = message else { return None };
    let text = match content {
        Content::Text(text) => text,
        Content::Blocks(blocks) => blocks.iter_mut().find_map(|block| match block {
            Block::Text { text, .. } => Some(text),
            _ => None,
        })?,
    };
    digest_in_text(text).is_some().then_some(text)
}

/// Compacts the messages of a session, which were weighed when it was opened.
fn compact(
    session: &mut Session,
    messages: &mut Vec<Message>,
    settings: &Compactor,
    facts: &Arc<Facts>,
    model: Option<&Model>,
) -> CompactionReport {
    let mut opts = CondenseOpts { facts: Some(facts.clone()), ..session.opts() };
    let sized = session.target.map(|target| with_target(session, messages, settings, &opts, target));
    if sized.is_some() {
        (opts.force, opts.context_tokens) = (false, 0);
    }
    let settings = sized.as_ref().unwrap_or(settings);
    let plan = settings.plan(session.measure.view(messages), &opts).map(Plan::without_guard);
    let ready = plan.map(|plan| match model {
        Some(model) => model.digest(plan),
        None => plan.local(),
    });
    ready.map_or_else(|report| *report, |ready| ready.apply(messages))
}

/// Returns the settings by which the messages get a given size.
fn with_target(
    session: &mut Session,
    messages: &[Message],
    settings: &Compactor,
    opts: &CondenseOpts,
    target: TargetSize,
) -> Compactor {
    let view = session.measure.view(messages);
    let tokens = target.tokens(view.total_tokens());
    let reached =
        |_: &[Message], report: &CompactionReport| report.tokens_after as f64 / tokens.max(1) as f64;
    settings.clone().with_target_size(tokens, &view, opts, reached)
}

fn fates(lines: Vec<String>, after: &[Message], report: &CompactionReport, origins: &[Origin]) -> Vec<Line> {
    let n_before = lines.len();
    let mut lines: Vec<Option<String>> = lines.into_iter().map(Some).collect();
    let kept_messages: std::collections::HashSet<usize> =
        origins.iter().filter_map(|origin| origin.input_index()).collect();
    let dropped = (0..n_before).filter(|at| !kept_messages.contains(at));
    let mut outline: Vec<Line> = dropped
        .map(|at| Line { fate: Fate::Dropped, at: Some(at), text: lines[at].take().unwrap_or_default() })
        .collect();
    outline.extend(origins.iter().zip(after).map(|(origin, message)| match origin.input_index() {
        None => Line { fate: Fate::Added, at: None, text: outline::line(message) },
        Some(at) => Line { fate: fate(at, report), at: Some(at), text: lines[at].take().unwrap_or_default() },
    }));
    outline
}

fn fate(at: usize, report: &CompactionReport) -> Fate {
    if report.cleared.contains(&at) {
        Fate::Cleared
    } else if report.previewed.contains(&at) {
        Fate::Shortened
    } else {
        Fate::Kept
    }
}
