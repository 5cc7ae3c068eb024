//! Weighing, the ledger's gate and its cuts.

use std::hint::black_box;

use wb_budget::{
    AUTO_CONDENSE_POLICY, ContextTracker, ModelCard, budget_limit, estimate_message_tokens, estimate_tokens,
    plan_cut, prefix_tokens,
};
use wb_message::{Message, Pairing};
use wb_testkit::workload::{strings, transcript};

use super::{Bed, Build, Row, Sample, Target, repeated, reverted};

pub(super) const ROWS: [Build; 6] = [gate, append, appends, estimate, cut, pairing];

/// The size that O(1) and O(log n) are compared with.
const SMALL: usize = 100;
/// Appends and cuts per turn of a loop, so that a turn is long enough for the clock.
const BATCH: usize = 64;

fn ask(ledger: &ContextTracker, card: &ModelCard) -> (u64, bool) {
    let limit = budget_limit(card, &AUTO_CONDENSE_POLICY);
    (ledger.total_tokens(), ledger.context_tokens() as f64 > limit)
}

fn card() -> ModelCard {
    ModelCard::with_window(200_000)
}

fn gate(bed: &Bed) -> Row<'_> {
    Row {
        what: "total and gate of a ledger (64 times)",
        limit_is: "the same at 100 messages",
        target: Some(Target::times('a', 1.5)),
        subject: gated(ContextTracker::from_messages(&bed.messages)),
        limit: gated(ContextTracker::from_messages(&bed.messages[..SMALL])),
    }
}

fn gated(ledger: ContextTracker) -> Sample<'static> {
    let card = card();
    repeated(move || {
        for _ in 0..BATCH {
            black_box(ask(black_box(&ledger), &card));
        }
    })
}

fn append(bed: &Bed) -> Row<'_> {
    let more = transcript(BATCH, bed.script);
    Row {
        what: "append, total and gate (64 times)",
        limit_is: "the same at 100 messages",
        target: Some(Target::times('a', 2.0)),
        subject: appended(&bed.messages, more.clone()),
        limit: appended(&bed.messages[..SMALL], more),
    }
}

fn appended(messages: &[Message], more: Vec<Message>) -> Sample<'_> {
    let (card, ledger) = (card(), ContextTracker::from_messages(messages));
    let append = move |ledger: &mut ContextTracker| {
        for message in &more {
            ledger.push(message);
            black_box(ask(ledger, &card));
        }
    };
    // The first append after a revert pairs everything again; it is not measured.
    let revert = |ledger: &mut ContextTracker, ()| {
        ledger.truncate(messages.len() - 1);
        ledger.extend(&messages[messages.len() - 1..]);
    };
    reverted(ledger, append, revert)
}

fn appends(bed: &Bed) -> Row<'_> {
    let messages = &bed.messages[..bed.messages.len().min(10_000)];
    let card = card();
    let from_nothing = move || {
        let mut ledger = ContextTracker::new();
        for message in messages {
            ledger.push(message);
            black_box(ask(&ledger, &card));
        }
        ledger
    };
    let weighed = || messages.iter().map(|message| black_box(estimate_message_tokens(message))).sum::<u64>();
    Row {
        what: "up to 10k appends with a gate after each",
        limit_is: "weighing them once",
        target: Some(Target::times('a', 2.0)),
        subject: repeated(from_nothing),
        limit: repeated(weighed),
    }
}

fn estimate(bed: &Bed) -> Row<'_> {
    let strings = strings(&bed.messages);
    let chars = move || strings.iter().map(|text| bytecount::num_chars(text.as_bytes())).sum::<usize>();
    Row {
        what: "stateless estimate",
        limit_is: "bytecount::num_chars over the same strings",
        target: Some(Target::times('b', 3.0)),
        subject: repeated(|| estimate_tokens(black_box(&bed.messages))),
        limit: repeated(chars),
    }
}

fn cut(bed: &Bed) -> Row<'_> {
    // A binary search takes log2 n steps: 1.5, 2 and 2.5 times those at 100 messages.
    let steps = (bed.n_messages as f64).log2() / (SMALL as f64).log2();
    Row {
        what: "cut of a ledger (64 times)",
        limit_is: "the same at 100 messages; the target is twice log n / log 100",
        target: Some(Target::times('c', 2.0 * steps)),
        subject: cuts(ContextTracker::from_messages(&bed.messages)),
        limit: cuts(ContextTracker::from_messages(&bed.messages[..SMALL])),
    }
}

fn cuts(ledger: ContextTracker) -> Sample<'static> {
    let step = ledger.total_tokens() / BATCH as u64;
    repeated(move || (0..BATCH as u64).map(|at| ledger.cut(black_box(at * step))).sum::<usize>())
}

fn pairing(bed: &Bed) -> Row<'_> {
    let plan = || {
        let pairing = Pairing::new(black_box(&bed.messages));
        plan_cut(&prefix_tokens(&bed.messages), &pairing, AUTO_CONDENSE_POLICY.keep_recent)
    };
    Row {
        what: "weigh, pair and cut without a ledger",
        limit_is: "the stateless estimate",
        target: None,
        subject: repeated(plan),
        limit: repeated(|| estimate_tokens(black_box(&bed.messages))),
    }
}
