//! Whole compactions without a model, the fingerprint and the facts.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hint::black_box;

use futures::executor::block_on;
use wb_budget::{ContextTracker, ModelCard, estimate_tokens};
use wb_conductor::{
    AgentContext, CompactionReport, Compactor, CondenseOpts, TurnsUndo, compact_in_place, compact_turns,
    message_to_turn,
};
use wb_facts::Facts;
use wb_message::{Message, ToolVocabulary, Turn};
use wb_testkit::workload::{Script, transcript};

use super::{Bed, Build, Most, Row, Sample, Target, read_all, repeated, reverted};

pub(super) const ROWS: [Build; 9] =
    [forced, script, auto, tracked, context, turns, fingerprints, facts, names];

const FORCED: CondenseOpts = CondenseOpts {
    force: true,
    overflow: false,
    model: None,
    context_tokens: 0,
    instructions: None,
    fixed: Cow::Borrowed(&[]),
    joined: Cow::Borrowed(&[]),
    facts: None,
    cancel: None,
};

fn compacted<'a>(mut messages: Vec<Message>, compactor: Compactor, opts: CondenseOpts) -> Sample<'a> {
    messages.shrink_to_fit();
    let compact = move |messages: &mut Vec<Message>| block_on(compact_in_place(messages, &compactor, &opts));
    reverted(messages, compact, revert)
}

fn revert(messages: &mut Vec<Message>, report: CompactionReport) {
    if let Some(undo) = report.undo {
        undo.revert(messages);
    }
}

fn plain<'a>(messages: Vec<Message>) -> Sample<'a> {
    compacted(messages, Compactor::new(), FORCED)
}

fn forced(bed: &Bed) -> Row<'_> {
    let most = match (bed.n_messages, bed.script) {
        (1_000, Script::Latin) => Some(0.7),
        (1_000, Script::Cjk) => Some(0.9),
        (10_000, Script::Latin) => Some(12.0),
        _ => None,
    };
    Row {
        what: "compact in place, forced, without a model",
        limit_is: "reading every byte",
        target: most.map(|millis| Target { letter: 'f', most: Most::Millis(millis) }),
        subject: plain(bed.messages.clone()),
        limit: read_all(bed),
    }
}

fn script(bed: &Bed) -> Row<'_> {
    Row {
        what: "compact in place, forced, in this script",
        limit_is: "the same in Latin script",
        target: Some(Target::times('g', 1.3)),
        subject: plain(bed.messages.clone()),
        limit: plain(transcript(bed.n_messages, Script::Latin)),
    }
}

fn auto(bed: &Bed) -> Row<'_> {
    let compactor = Compactor::new().card(ModelCard::with_window(32_000));
    Row {
        what: "compact in place, 32k window, without a model",
        limit_is: "the stateless estimate",
        target: None,
        subject: compacted(bed.messages.clone(), compactor, CondenseOpts::default()),
        limit: repeated(|| estimate_tokens(black_box(&bed.messages))),
    }
}

/// The most that a compaction with a tracker may take.
fn with_tracker(bed: &Bed) -> Option<Target> {
    (bed.n_messages == 10_000).then_some(Target { letter: 'h', most: Most::Millis(2.0) })
}

fn tracked(bed: &Bed) -> Row<'_> {
    let compactor = Compactor::new();
    let whole = ContextTracker::from_messages(&bed.messages);
    let state = (bed.messages.clone(), whole.clone());
    let compact = move |(messages, tracker): &mut (Vec<Message>, ContextTracker)| {
        let view = tracker.view(messages);
        let ready = compactor.plan(view, &FORCED).map(|plan| plan.without_guard().local());
        ready.expect("there is a head to fold").apply_tracked(messages, tracker)
    };
    let revert = move |state: &mut (Vec<Message>, ContextTracker), report| {
        revert(&mut state.0, report);
        state.1.clone_from(&whole);
    };
    Row {
        what: "compact with a tracker, forced, without a model",
        limit_is: "compact in place",
        target: with_tracker(bed),
        subject: reverted(state, compact, revert),
        limit: plain(bed.messages.clone()),
    }
}

fn context(bed: &Bed) -> Row<'_> {
    let mut context = AgentContext::from_compactor(Compactor::new());
    context.observe(&bed.messages);
    let compact =
        |(messages, context): &mut (Vec<Message>, AgentContext)| context.compact_locally(messages, &FORCED);
    let revert = |(messages, context): &mut (Vec<Message>, AgentContext), report: CompactionReport| {
        if let Some(undo) = report.undo {
            context.undo(messages, undo);
        }
    };
    Row {
        what: "compact a context, forced, without a model",
        limit_is: "compact in place",
        target: with_tracker(bed),
        subject: reverted((bed.messages.clone(), context), compact, revert),
        limit: plain(bed.messages.clone()),
    }
}

fn turns(bed: &Bed) -> Row<'_> {
    let turns: Vec<Turn> = bed.messages.iter().cloned().map(message_to_turn).collect();
    let compactor = Compactor::new();
    let compact = move |turns: &mut Vec<Turn>| block_on(compact_turns(turns, &compactor, &FORCED));
    let revert = |turns: &mut Vec<Turn>, (_, undo): (CompactionReport, Option<TurnsUndo>)| {
        if let Some(undo) = undo {
            undo.revert(turns);
        }
    };
    Row {
        what: "compact turns, forced, without a model",
        limit_is: "compact in place",
        target: Some(Target::times('i', 1.3)),
        subject: reverted(turns, compact, revert),
        limit: plain(bed.messages.clone()),
    }
}

fn fingerprints(bed: &Bed) -> Row<'_> {
    Row {
        what: "fingerprint of every message",
        limit_is: "reading every byte",
        target: Some(Target::times('k', 1.3)),
        subject: repeated(|| wb_message::prefix_fingerprint(black_box(&bed.messages))),
        limit: read_all(bed),
    }
}

fn facts(bed: &Bed) -> Row<'_> {
    let vocabulary = ToolVocabulary::default();
    Row {
        what: "facts of every message",
        limit_is: "reading every byte",
        target: Some(Target::times('l', 15.0)),
        subject: repeated(move || Facts::default().with_messages(black_box(&bed.messages), &vocabulary)),
        limit: read_all(bed),
    }
}

/// The least that facts must do: to find each name, and to know it again.
fn names(bed: &Bed) -> Row<'_> {
    let strings = wb_testkit::workload::strings(&bed.messages);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
    Row {
        what: "names alone, each looked up in a set",
        limit_is: "reading every byte",
        target: None,
        subject: repeated(move || {
            let names = strings.iter().flat_map(|text| text.as_bytes().split(|byte| !is_name(byte)));
            names.filter(|name| name.len() > 3).collect::<HashSet<_>>().len()
        }),
        limit: read_all(bed),
    }
}
