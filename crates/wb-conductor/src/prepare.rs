//! The three steps of a compaction: prepare (what to ask), run (ask the model), apply (change the transcript).

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::{Irreducible, Tariff, Weigher};
use wb_message::marks::restored_file;
use wb_message::{Edit, Message, Pairing, Patch, PatchError};
use wb_passes::{RestoreLimits, restore_reads};
use wb_summarize::{
    CondenseScope, Cost, DigestRequest, NoDigest, Sections, Summarizer, carried_digest, digest_message,
    local_sections, newest_timestamp, shortened_digest,
};

use crate::plan::{Plan, USEFUL_DIGEST_TOKENS};
use crate::report::{CondenseReport, DigestSource, Stage, Unchanged};
use crate::settings::{CondenseOpts, CondenseSettings, DEFAULT_MAX_RESTORED};

/// Everything of a compaction but the model's words; it owns its data and holds no transcript.
struct Draft {
    n_messages: usize,
    fingerprint: Option<u64>,
    prefix: Vec<u64>,
    pairing: Pairing,
    weigher: Arc<dyn Weigher>,
    bodies: Vec<Edit>,
    fold: Option<Fold>,
    extra_tokens: u64,
    cancel: Option<CancellationToken>,
    report: CondenseReport,
}

/// The head that becomes one digest.
#[derive(Debug)]
struct Fold {
    ranges: Vec<Range<usize>>,
    restored: Vec<Message>,
    local: Sections,
    /// The most tokens of the digest message.
    max_tokens: u64,
    timestamp: i64,
}

/// A compaction that is ready to be run.
pub struct Prepared {
    draft: Draft,
    ask: Result<Ask, NoDigest>,
}

/// What a model is asked, and by whom.
struct Ask {
    by: Summarizer,
    request: DigestRequest,
}

/// A compaction with its digest, ready to be applied.
pub struct Proposal {
    draft: Draft,
    digest: Result<String, NoDigest>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("report", &self.draft.report).finish_non_exhaustive()
    }
}

impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposal").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// Plans a compaction of a transcript; a report with the reason comes back where nothing is to be done.
///
/// Weighs, gates, pairs, plans the cut, renders what a model is to be asked, takes the local digest and a
/// fingerprint of the transcript. No message is cloned.
pub fn prepare(
    messages: &[Message],
    settings: &CondenseSettings,
    opts: &CondenseOpts,
) -> Result<Prepared, Box<CondenseReport>> {
    let mut prepared = prepare_owned(messages, settings, opts)?;
    prepared.draft.fingerprint = Some(fingerprint(messages));
    Ok(prepared)
}

/// As [`prepare`], for a transcript that nobody else can change until the compaction is applied.
pub(crate) fn prepare_owned(
    messages: &[Message],
    settings: &CondenseSettings,
    opts: &CondenseOpts,
) -> Result<Prepared, Box<CondenseReport>> {
    let mut plan = Plan::make(messages, settings, opts)?;
    let fold = if plan.cut > 0 { fold_of(&plan, settings) } else { None };
    if fold.is_none() && plan.cut > 0 {
        plan.keep_whole();
    }
    let bodies = plan.take_body_edits();
    let ask = fold.as_ref().map_or(Err(NoDigest::NoRoom), |fold| ask_of(&plan, settings, opts, fold));
    let mut report = plan.report;
    report.cut = plan.cut;
    let draft = Draft {
        n_messages: messages.len(),
        fingerprint: None,
        prefix: plan.prefix,
        pairing: plan.pairing,
        weigher: settings.weigher.clone(),
        bodies,
        fold,
        extra_tokens: plan.extra_tokens,
        cancel: settings.cancel.clone(),
        report,
    };
    if draft.bodies.is_empty() && draft.fold.is_none() {
        return Err(Box::new(draft.nothing_to_do()));
    }
    Ok(Prepared { draft, ask })
}

/// Decides what a fold may give back and how long its digest may be; `None` where it could not be lighter.
///
/// Restored files take at most half of what the fold frees and the digest half of the rest, so that a fold is
/// always a gain.
fn fold_of(plan: &Plan<'_>, settings: &CondenseSettings) -> Option<Fold> {
    let head = &plan.messages[..plan.cut];
    let ranges = plan.folds();
    if ranges.is_empty() {
        return None;
    }
    let weigh = |message: &Message| settings.weigher.weigh(message);
    let local = local_sections(head, &plan.pairing, &settings.vocabulary, carried_digest(head).as_deref());
    let timestamp = newest_timestamp(head);
    let least = weigh(&digest_message(CondenseScope::Session, local.render(0), timestamp));
    let digest_share = plan.shares.digest_tokens.max(least);
    let head_tokens: u64 = ranges.iter().map(|range| plan.prefix[range.end] - plan.prefix[range.start]).sum();
    let freed = head_tokens + plan.saved_tokens();
    let room = plan.room_tokens();

    let max_restored = plan.shares.restored_tokens.min(room.saturating_sub(digest_share)).min(freed / 2);
    let n_folded: usize = ranges.iter().map(Range::len).sum();
    let restored =
        if settings.passes { restore(plan, settings, n_folded - 1, max_restored) } else { Vec::new() };
    let restored_tokens: u64 = restored.iter().map(weigh).sum();
    let left = freed - restored_tokens;
    // Where not even the shortest digest fits, nothing does; then the digest is worth its share.
    let digest_room = match room.saturating_sub(restored_tokens) {
        none if none < least => digest_share,
        some => some.min(digest_share),
    };
    let max_tokens = digest_room.min(left / 2).max(least);
    (max_tokens < left).then_some(Fold { ranges, restored, local, max_tokens, timestamp })
}

fn restore(plan: &Plan<'_>, settings: &CondenseSettings, max_files: usize, max_tokens: u64) -> Vec<Message> {
    let limits = RestoreLimits {
        max_files: DEFAULT_MAX_RESTORED.min(max_files),
        max_tokens,
        vocabulary: &settings.vocabulary,
        weigher: settings.weigher.as_ref(),
    };
    restore_reads(plan.view(&plan.prefix), plan.cut, &plan.cleared(), limits)
}

fn ask_of(
    plan: &Plan<'_>,
    settings: &CondenseSettings,
    opts: &CondenseOpts,
    fold: &Fold,
) -> Result<Ask, NoDigest> {
    let invoker = settings.invoke.clone().ok_or(NoDigest::NoModel)?;
    if fold.max_tokens < USEFUL_DIGEST_TOKENS {
        return Err(NoDigest::NoRoom);
    }
    let head = &plan.messages[..plan.cut];
    let card = invoker.card().or_else(|| settings.input_card.clone().or_else(|| settings.card.clone()));
    let scope = CondenseScope::Session;
    let request = DigestRequest::new(head, scope, carried_digest(head), card.as_ref(), fold.max_tokens);
    let timeout = settings.timeout.unwrap_or(Duration::MAX);
    Ok(Ask { by: Summarizer::new(invoker).timeout(timeout).model(opts.model.clone()), request })
}

/// Asks the model, where there is one. A cancel and the timeout end the request.
pub async fn run(prepared: Prepared) -> Proposal {
    let Prepared { mut draft, ask } = prepared;
    let mut cost = Cost::default();
    let digest = match ask {
        Err(reason) => Err(reason),
        Ok(Ask { by, request }) => {
            request.ask(&by, draft.cancel.as_ref(), &mut cost).await.map(|digest| digest.text)
        }
    };
    draft.report.usage = cost.usage;
    draft.report.n_requests = cost.n_requests;
    Proposal { draft, digest }
}

/// Applies a proposal to the transcript that it was prepared on, to which messages may have been appended since.
///
/// Where the prepared messages have changed, the digest would not be lighter, or the host cancelled, the
/// transcript stays as it is and the report says why.
pub fn apply(messages: &mut Vec<Message>, proposal: Proposal) -> CondenseReport {
    let Proposal { draft, digest } = proposal;
    let same = messages.len() >= draft.n_messages
        && draft.fingerprint.is_none_or(|known| known == fingerprint(&messages[..draft.n_messages]));
    let cancelled = digest.as_ref().err() == Some(&NoDigest::Cancelled)
        || draft.cancel.as_ref().is_some_and(CancellationToken::is_cancelled);
    if !same {
        return draft.report.unchanged(Unchanged::PrefixChanged);
    }
    if cancelled {
        return draft.report.unchanged(Unchanged::Cancelled);
    }
    draft.splice(messages, digest)
}

/// Hashes messages under a fixed key, so that a change is noticed.
pub fn fingerprint(messages: &[Message]) -> u64 {
    let mut hasher = DefaultHasher::new();
    messages.hash(&mut hasher);
    hasher.finish()
}

impl Draft {
    fn nothing_to_do(self) -> CondenseReport {
        let reached_tokens = self.extra_tokens.saturating_add(self.report.tokens_before);
        let mut report = self.report.unchanged(Unchanged::NothingToFold);
        report.irreducible = irreducible(report.target_tokens, reached_tokens);
        report
    }

    fn splice(mut self, messages: &mut Vec<Message>, digest: Result<String, NoDigest>) -> CondenseReport {
        let n_appended = messages.len() - self.n_messages;
        if n_appended > 0 {
            self.take_in(messages);
        }
        let mut edits = std::mem::take(&mut self.bodies);
        self.note_stages();
        if let Some(fold) = self.fold.take() {
            edits.extend(self.fold_edits(fold, digest));
        }
        let weigh = |message: &Message| self.weigher.weigh(message);
        match Patch::new(edits).apply_weighed(messages, &self.pairing, &self.prefix, &weigh) {
            Ok(done) => self.done(messages, done),
            Err(PatchError::Heavier { .. }) => self.report.unchanged(Unchanged::NotLighter),
            Err(error) => self.report.unchanged(Unchanged::Refused(error)),
        }
    }

    /// Weighs and pairs what was appended since the compaction was prepared.
    fn take_in(&mut self, messages: &[Message]) {
        self.pairing = Pairing::of(messages);
        let mut total = self.prefix[self.n_messages];
        let weights = messages[self.n_messages..].iter().map(|message| self.weigher.weigh(message));
        self.prefix.extend(weights.map(|weight| {
            total = u64::saturating_add(total, weight);
            total
        }));
        self.report.tokens_before = total;
        self.report.messages_before = messages.len();
    }

    fn note_stages(&mut self) {
        let stages = &mut self.report.stages;
        if !self.report.cleared.is_empty() {
            stages.push(Stage::Microcompact);
        }
        if !self.report.previewed.is_empty() {
            stages.push(Stage::Preview);
        }
    }

    /// The head's runs make room; the digest and the restored files stand where the last run stood.
    fn fold_edits(&mut self, fold: Fold, digest: Result<String, NoDigest>) -> Vec<Edit> {
        let message = self.digest_message(&fold, digest);
        let Fold { mut ranges, restored, .. } = fold;
        self.report.folded = ranges.iter().map(Range::len).sum();
        self.report.stages.push(Stage::Condense);
        if !restored.is_empty() {
            self.report.stages.push(Stage::Rehydrate);
        }
        let paths = restored.iter().filter_map(restored_file);
        self.report.restored = paths.map(|(path, _)| path.to_owned()).collect();
        let with: Vec<Message> = std::iter::once(message).chain(restored).collect();
        let last = ranges.pop().unwrap_or(0..0);
        let mut edits: Vec<_> =
            ranges.into_iter().map(|range| Edit::Fold { range, with: Vec::new() }).collect();
        edits.push(Edit::Fold { range: last, with });
        edits
    }

    fn digest_message(&mut self, fold: &Fold, digest: Result<String, NoDigest>) -> Message {
        let message = match digest {
            Ok(text) => {
                self.report.digest = Some(DigestSource::Model);
                self.fitted(fold, |max_chars| shortened_digest(&text, max_chars).into_owned())
            }
            Err(reason) => {
                self.report.digest = Some(DigestSource::Local(reason));
                self.fitted(fold, |max_chars| fold.local.render(max_chars))
            }
        };
        self.report.digest_tokens = self.weigher.weigh(&message);
        message
    }

    /// Renders ever shorter until the message weighs what it may.
    fn fitted(&self, fold: &Fold, render: impl Fn(usize) -> String) -> Message {
        let mut max_chars = Tariff::SEED.chars_within(fold.max_tokens);
        loop {
            let message = digest_message(CondenseScope::Session, render(max_chars), fold.timestamp);
            if self.weigher.weigh(&message) <= fold.max_tokens || max_chars < 16 {
                return message;
            }
            max_chars -= max_chars / 16 + 1;
        }
    }

    fn done(mut self, messages: &[Message], done: wb_message::Weighed) -> CondenseReport {
        let report = &mut self.report;
        report.tokens_after = report.tokens_before - done.removed_tokens + done.added_tokens;
        report.messages_after = messages.len();
        report.irreducible =
            irreducible(report.target_tokens, self.extra_tokens.saturating_add(report.tokens_after));
        report.undo = Some(done.undo);
        self.report
    }
}

fn irreducible(target_tokens: Option<u64>, reached_tokens: u64) -> Option<Irreducible> {
    Irreducible::above(target_tokens?, reached_tokens)
}
