//! The allocations of the stages and their limits; shared by the tests and by the table.

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use wb_budget::{AUTO_CONDENSE_POLICY, ContextTracker, ModelCard, budget_limit, estimate_tokens};
use wb_conductor::{CompactionReport, Compactor, CondenseOpts, compact_locally};
use wb_facts::Facts;
use wb_message::markers::{CLEARED_TOOL_RESULT, digest_body, restored_file};
use wb_message::{Block, Content, Message, ToolVocabulary};
use wb_summarize::{flatten_into, flatten_transcript};
use wb_testkit::workload::payload_bytes;

/// Bytes or allocations, and their limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    /// The target's letter and the action.
    pub(crate) what: String,
    /// The measured number.
    pub(crate) found: u64,
    /// The limit and its source.
    pub(crate) limit: u64,
    pub(crate) limit_is: String,
}

impl Figure {
    pub(crate) fn holds(&self) -> bool {
        self.found <= self.limit
    }
}

fn counted<T>(work: impl FnOnce() -> T) -> (AllocationInfo, T) {
    let mut out = None;
    let info = measure(|| out = Some(work()));
    (info, out.expect("the work was done"))
}

fn none(what: &str, info: AllocationInfo) -> Figure {
    Figure { what: what.to_owned(), found: info.count_total, limit: 0, limit_is: "no allocation".to_owned() }
}

/// The allocations that each list and map of the tracker needs to grow by doubling: one for each
/// bit of the length.
const N_CONTAINERS: u64 = 8;

/// Appends with a gate after each: growth alone, and nothing if there is room already.
pub(crate) fn appends(messages: &[Message]) -> [Figure; 2] {
    let card = ModelCard::with_window(200_000);
    let mut ledger = ContextTracker::new();
    let mut append = || {
        for message in messages {
            ledger.push(message);
            let is_over = ledger.context_tokens() as f64 > budget_limit(&card, &AUTO_CONDENSE_POLICY);
            std::hint::black_box((ledger.total_tokens(), is_over));
        }
        ledger.truncate(0);
    };
    let growing = counted(&mut append).0;
    let again = counted(&mut append).0;
    let limit = N_CONTAINERS * u64::from(messages.len().max(1).ilog2());
    let limit_is = format!("{N_CONTAINERS} containers that double");
    let growing =
        Figure { what: "a: appends, growing".to_owned(), found: growing.count_total, limit, limit_is };
    [growing, none("a: appends, room there", again)]
}

/// The stateless estimate.
pub(crate) fn estimate(messages: &[Message]) -> Figure {
    none("b: estimate", counted(|| estimate_tokens(messages)).0)
}

/// Cuts for every power of two of tail tokens.
pub(crate) fn cut(messages: &[Message]) -> Figure {
    let ledger = ContextTracker::from_messages(messages);
    let cuts = || (0..30).map(|bit| ledger.cut(1 << bit)).max();
    none("c: cuts", counted(cuts).0)
}

/// Flattening into a buffer that has room, and into a fresh one.
pub(crate) fn flatten(messages: &[Message]) -> [Figure; 2] {
    let (info, flat) = counted(|| flatten_transcript(messages));
    let fresh = Figure {
        what: "e: flatten, fresh buffer".to_owned(),
        found: info.bytes_total,
        limit: flat.len() as u64 * 12 / 10,
        limit_is: "1.2 × bytes of the output".to_owned(),
    };
    let mut buffer = String::with_capacity(flat.len());
    let roomy = counted(|| flatten_into(&mut buffer, messages)).0;
    assert_eq!(buffer, flat);
    [none("e: flatten, caller's buffer", roomy), fresh]
}

/// The settings of one compaction.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) settings: Compactor,
    pub(crate) opts: CondenseOpts,
}

/// The automatic and the forced path; the smaller window leads to a fold, the larger one to
/// clearing.
pub(crate) fn cases() -> [Case; 5] {
    let case = |name, window: Option<u64>, force| {
        let settings = Compactor::new();
        Case {
            name,
            settings: match window {
                Some(window) => settings.card(ModelCard::with_window(window)),
                None => settings,
            },
            opts: CondenseOpts { force, ..CondenseOpts::default() },
        }
    };
    [
        case("auto, 200k window", Some(200_000), false),
        case("auto, 32k window", Some(32_000), false),
        case("auto, no card", None, false),
        case("forced, 200k window", Some(200_000), true),
        case("forced, no card", None, true),
    ]
}

impl Case {
    /// Returns the options with the facts of a whole session.
    pub(crate) fn opts_with_facts(&self, messages: &[Message]) -> CondenseOpts {
        let facts = Facts::default().with_messages(messages, &ToolVocabulary::default());
        CondenseOpts { facts: Some(Arc::new(facts)), ..self.opts.clone() }
    }
}

/// The part of the payload that facts may take, in percent.
const FACTS_PERCENT: u64 = 10;

/// Bytes in the facts of a whole transcript.
pub(crate) fn facts(messages: &[Message]) -> Figure {
    let payload = payload_bytes(messages) as u64;
    let mut facts = None;
    let info = measure(|| facts = Some(Facts::default().with_messages(messages, &ToolVocabulary::default())));
    Figure {
        what: "f: facts".to_owned(),
        found: u64::try_from(info.bytes_current).unwrap_or(0),
        limit: payload * FACTS_PERCENT / 100,
        limit_is: format!("{FACTS_PERCENT} % of {payload}"),
    }
}

/// The part of the payload that a draft may take, in percent: each step reads it through a separate
/// list, and a cleared body is in two patches, that of the step and that of the whole run.
const DRAFT_PERCENT: u64 = 18;

/// Bytes that a compaction allocates: a part of the payload, the restored files, and the marks that
/// replace cleared bodies.
pub(crate) fn condensed(case: &Case, mut messages: Vec<Message>) -> Figure {
    let payload = payload_bytes(&messages) as u64;
    let opts = case.opts_with_facts(&messages);
    let (info, report) = counted(|| compact_locally(&mut messages, &case.settings, &opts));
    assert!(report.is_changed(), "{report}");
    let restored: u64 = restored_bytes(&report, &messages);
    let digest: u64 = after_digest(&messages).map_or(0, |text| text.len() as u64);
    let marks = (report.cleared.len() * (size_of::<Block>() + CLEARED_TOOL_RESULT.len())) as u64;
    Figure {
        what: format!("d: {}", case.name),
        found: info.bytes_total,
        limit: payload * DRAFT_PERCENT / 100 + restored + marks + digest * CHOICE_TIMES,
        limit_is: format!(
            "{DRAFT_PERCENT} % of {payload} + {restored} restored + {marks} in marks + {CHOICE_TIMES} × {digest} of digest"
        ),
    }
}

/// The candidates for a digest, as a multiple of it: words, turns and lines, most of which have no
/// room.
const CHOICE_TIMES: u64 = 128;

fn after_digest(after: &[Message]) -> Option<String> {
    after.iter().find_map(|message| digest_body(message).map(std::borrow::Cow::into_owned))
}

fn restored_bytes(report: &CompactionReport, after: &[Message]) -> u64 {
    let files = after.iter().filter(|message| restored_file(message).is_some());
    let text = |message: &Message| match message {
        Message::User { content: Content::Text(text), .. } => text.len() as u64,
        _ => 0,
    };
    if report.restored.is_empty() { 0 } else { files.map(text).sum() }
}
