//! How often a forced compaction in three levels breaks a promise: ours never, the published one as printed.

use std::fmt;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use wb_budget::LineageTariff;
use wb_budget::three_level::total_tokens;
use wb_message::marks::{DROPPED_MARK, is_pinned, is_prompt};
use wb_message::{Content, Message, Pairing};
use wb_passes::compat;
use wb_passes::three_level::{ContextConfig, compact};
use wb_testkit::strategies;

const N_TRANSCRIPTS: usize = 2000;
/// Budgets in hundredths of what the transcript weighs.
const BUDGETS: [u64; 5] = [8, 20, 40, 60, 85];

fn mark_tokens() -> u64 {
    LineageTariff::THREE_LEVEL.message_tokens(&Message::user(DROPPED_MARK))
}

/// Tells whether a message says that others were dropped, in either profile's words.
fn is_mark(message: &Message) -> bool {
    matches!(message, Message::User { content: Content::Text(text), .. } if text.starts_with("[Context compacted: "))
}

/// A transcript with what it asks for.
struct Case {
    messages: Vec<Message>,
    tokens: u64,
    task: Option<Message>,
    ask: Option<Message>,
    /// What the task, the latest request and the mark weigh, in tokens.
    core_tokens: u64,
    /// What the lightest message that stands alone weighs, in tokens.
    lone_tokens: Option<u64>,
}

impl Case {
    fn of(messages: Vec<Message>) -> Self {
        let weigh = |at: usize| LineageTariff::THREE_LEVEL.message_tokens(&messages[at]);
        let (task, ask) = (messages.iter().position(is_prompt), messages.iter().rposition(is_prompt));
        let core = task.into_iter().chain(ask.filter(|_| ask != task)).map(weigh).sum::<u64>();
        let stands_alone =
            |message: &Message| message.calls().next().is_none() && message.answered_ids().next().is_none();
        let lone = (0..messages.len()).filter(|&at| stands_alone(&messages[at])).map(weigh).min();
        Self {
            tokens: total_tokens(&messages),
            task: task.map(|at| messages[at].clone()),
            ask: ask.map(|at| messages[at].clone()),
            core_tokens: core + mark_tokens(),
            lone_tokens: lone,
            messages,
        }
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let mut runner = TestRunner::deterministic();
    let strategy = strategies::valid_transcript_of(4..=20);
    (0..N_TRANSCRIPTS).map(move |_| Case::of(strategy.new_tree(&mut runner).expect("a transcript").current()))
}

#[derive(Debug, Default)]
struct Rates {
    n_forced: usize,
    broken_pairs: usize,
    over_budget: usize,
    task_lost: usize,
    ask_lost: usize,
    only_marks: usize,
    heavier: usize,
    filled: f64,
}

impl Rates {
    fn count(&mut self, case: &Case, budget: u64, after: &[Message]) {
        let (pairing, tokens) = (Pairing::of(after), total_tokens(after));
        let is_broken = !pairing.orphans().is_empty() || !pairing.dangling().is_empty();
        let is_lost = |wanted: &Option<Message>| {
            case.core_tokens <= budget && wanted.as_ref().is_some_and(|wanted| !after.contains(wanted))
        };
        let fits_one = case.lone_tokens.is_some_and(|tokens| tokens + mark_tokens() <= budget);
        self.n_forced += 1;
        self.broken_pairs += usize::from(is_broken);
        self.over_budget += usize::from(tokens > budget);
        self.task_lost += usize::from(is_lost(&case.task));
        self.ask_lost += usize::from(is_lost(&case.ask));
        self.only_marks += usize::from(fits_one && after.iter().all(is_mark));
        self.heavier += usize::from(tokens > case.tokens);
        self.filled += tokens.min(budget) as f64 / budget.max(1) as f64;
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("broken pairs", self.broken_pairs),
            ("over budget", self.over_budget),
            ("task lost", self.task_lost),
            ("latest request lost", self.ask_lost),
            ("only the mark", self.only_marks),
            ("heavier", self.heavier),
        ];
        for (name, n) in counts {
            write!(f, "{name} {:.1} %, ", 100.0 * n as f64 / self.n_forced as f64)?;
        }
        write!(f, "budget used {:.0} %", 100.0 * self.filled / self.n_forced as f64)
    }
}

/// Tells whether what is left could not be made lighter by a drop: all but the core weighs no more than the mark.
fn is_least(case: &Case, after: &[Message]) -> bool {
    let core = [&case.task, &case.ask];
    let is_core = |message: &Message| core.iter().any(|wanted| wanted.as_ref() == Some(message));
    let rest: Vec<_> = after
        .iter()
        .filter(|message| !is_pinned(message) && !is_mark(message) && !is_core(message))
        .collect();
    let n_newest = if case.task.is_none() { rest.len() } else { 0 };
    let tokens: u64 =
        rest[n_newest..].iter().map(|message| LineageTariff::THREE_LEVEL.message_tokens(message)).sum();
    tokens <= mark_tokens()
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are read with --nocapture")]
fn ten_thousand_forced_compactions_break_no_promise() {
    let (mut ours, mut published, mut n_irreducible) = (Rates::default(), Rates::default(), 0);
    for (nth, case) in cases().enumerate() {
        for budget in BUDGETS.map(|hundredths| case.tokens * hundredths / 100) {
            let config = ContextConfig {
                max_context_tokens: usize::try_from(budget).expect("a small budget"),
                system_prompt_tokens: 0,
                keep_recent: [2, 4, 10][nth % 3],
                keep_first: [0, 1, 2][nth / 3 % 3],
                tool_output_max_lines: [5, 10, 50][nth / 9 % 3],
            };
            if case.tokens <= budget {
                continue;
            }
            let mut after = case.messages.clone();
            let report = compact(&mut after, &config);
            ours.count(&case, budget, &after);
            n_irreducible += usize::from(report.irreducible.is_some());
            assert_eq!(report.irreducible.is_some(), total_tokens(&after) > budget, "it says so and truly");
            assert!(
                report.irreducible.is_none() || is_least(&case, &after),
                "{:?}\n{after:#?}",
                report.levels
            );
            let theirs = compat::three_level::compact_messages(case.messages.clone(), &config);
            published.count(&case, budget, &theirs);
        }
    }
    println!("{} forced compactions\n  ours: {ours}\n  published: {published}", ours.n_forced);
    println!("  ours: irreducible and said so {n_irreducible}");
    assert!(ours.n_forced > 9_000, "{}", ours.n_forced);
    let broken = [ours.broken_pairs, ours.task_lost, ours.ask_lost, ours.only_marks, ours.heavier];
    assert_eq!(broken, [0; 5]);
    assert_eq!(ours.over_budget, n_irreducible);
    let rates = [
        published.broken_pairs,
        published.over_budget,
        published.task_lost,
        published.ask_lost,
        published.only_marks,
    ];
    assert!(rates.iter().all(|n| *n > 0), "{rates:?}");
}
