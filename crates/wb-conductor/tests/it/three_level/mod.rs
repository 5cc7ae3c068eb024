//! The preset of three levels: tool outputs are cut, older replies collapsed, the middle dropped.

mod edges;
mod rates;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wb_budget::{AUTO_CONDENSE_POLICY, Budget, TokenCounter, WeighedTranscript, estimate_tokens};
use wb_conductor::{CompactionReport, Pipeline, Plan, PlanInput, Trigger};
use wb_message::{Block, Message};
use wb_testkit::three_level::{QUARTER, aged_transcript, ends, few};
use wb_testkit::{laws, script};

use crate::support::{flat, run};

/// The options of the levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// The most lines of a tool output.
    pub(crate) max_lines: usize,
    /// Messages at the end that no reply is collapsed in, and that are kept before others.
    pub(crate) keep_recent: usize,
    /// Messages at the start that are kept before older ones.
    pub(crate) keep_first: usize,
}

/// The defaults of the passes.
pub(crate) const LEVELS: Levels = Levels { max_lines: 50, keep_recent: 10, keep_first: 2 };

impl Levels {
    pub(crate) fn pipeline(self) -> Pipeline {
        let Self { max_lines, keep_recent, keep_first } = self;
        let steps = json!([
            { "step": "tool-output", "max_lines": max_lines },
            { "step": "collapse", "keep_recent": keep_recent },
            "preview",
            { "step": "drop-middle", "keep_recent": keep_recent, "keep_first": keep_first },
        ]);
        Pipeline::from_settings(&steps).unwrap()
    }
}

/// Compacts at four bytes a token.
pub(crate) fn compact(levels: Levels, messages: &mut Vec<Message>, budget: Budget) -> CompactionReport {
    let counter: Arc<dyn TokenCounter> = Arc::new(QUARTER);
    let ready = {
        let view = WeighedTranscript::new(messages, &counter);
        levels.pipeline().plan(view, PlanInput::new(budget, Trigger::Auto)).map(Plan::local)
    };
    ready.map_or_else(|report| *report, |ready| ready.apply(messages))
}

fn options() -> impl Strategy<Value = Levels> {
    let levels = |(lines, keep_recent, keep_first): (usize, usize, usize)| Levels {
        max_lines: lines.saturating_mul(5),
        keep_recent,
        keep_first,
    };
    (few(), few(), few()).prop_map(levels)
}

/// A limit with overhead; the target is the limit or below it.
fn budgets() -> impl Strategy<Value = Budget> {
    let limit = prop_oneof![0..60_u64, 60..600_u64, 600..20_000_u64];
    (limit, any::<bool>()).prop_map(|(limit, lands)| {
        if lands { Budget::from_limit(limit, &AUTO_CONDENSE_POLICY, 20) } else { flat(limit, 20) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn compaction_in_levels_keeps_the_laws(messages in aged_transcript(), levels in options(), budget in budgets()) {
        let mut after = messages.clone();
        let report = run(&levels.pipeline(), &mut after, budget, false);
        let weight = estimate_tokens(&after);
        prop_assert_eq!((report.tokens_before, report.tokens_after), (estimate_tokens(&messages), weight));
        prop_assert_eq!(report.steps.is_empty(), after == messages);
        prop_assert!(report.steps.is_empty() || weight < report.tokens_before, "strictly lighter");
        let is_over = report.tokens_before + budget.overhead > budget.limit;
        prop_assert_eq!(report.irreducible.is_some(), is_over && weight + budget.overhead > budget.target);
        prop_assert!(is_over || after == messages, "what fits is not touched");
        prop_assert_eq!(ends(&messages), ends(&after), "the task and the latest request stay");
        laws::pairs_intact(&messages, &after);
        laws::pinned_untouched(&messages, &after);
        laws::order_preserved(&messages, &after);
        let mut again = after.clone();
        let second = run(&levels.pipeline(), &mut again, budget, false);
        prop_assert!(second.steps.is_empty(), "{:?}", second.steps);
        let is_still_over = weight + budget.overhead > budget.limit;
        prop_assert_eq!(second.irreducible, report.irreducible.filter(|_| is_still_over));
        if let Some(undo) = report.undo {
            undo.revert(&mut after);
        }
        prop_assert_eq!(after, messages);
    }
}

#[test]
fn the_preset_has_the_default_options() {
    let preset = Pipeline::preset("three-level").unwrap();
    let messages = script("u [a*60:bash t*900]x20 a:bash t*4000 u");
    for tokens in [200, 900, 2_000, 4_000, 9_000] {
        let (mut by_name, mut by_options) = (messages.clone(), messages.clone());
        run(&preset, &mut by_name, flat(tokens, 0), false);
        run(&LEVELS.pipeline(), &mut by_options, flat(tokens, 0), false);
        assert_eq!(by_name, by_options);
        assert_ne!(by_name, messages);
    }
}

#[test]
fn the_levels_run_in_order_and_no_further_than_needed() {
    let messages = script("u [a*60:bash t]x20 a:bash t*4000 u");
    let levels = |tokens| {
        let report = compact(Levels { keep_recent: 3, ..LEVELS }, &mut messages.clone(), flat(tokens, 0));
        report.step_names().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(levels(9_000), [""; 0]);
    assert_eq!(levels(5_000), ["tool-output"]);
    assert_eq!(levels(2_000), ["tool-output", "collapse"]);
    assert_eq!(levels(1_500), ["tool-output", "collapse", "preview"]);
    assert_eq!(levels(1_000), ["tool-output", "collapse", "preview", "drop-middle"]);
}

#[test]
fn many_messages_and_many_results_of_one_reply_cost_linear_time() {
    let n = 30_000;
    let call = |at: usize| Block::call(at.to_string(), "bash", json!({}));
    let mut messages = vec![Message::user("task"), Message::assistant_blocks((0..n).map(call).collect())];
    messages.extend((0..n).map(|at| Message::tool_error(at.to_string(), "bash", "no such file\n".repeat(9))));
    messages.extend((0..n).map(|at| Message::user(format!("request {at}"))));
    messages.push(Message::assistant("done"));
    let levels = |tokens| {
        let report = compact(LEVELS, &mut messages.clone(), flat(tokens, 0));
        report.step_names().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(levels(400_000), ["collapse"]);
    assert_eq!(levels(4_000), ["collapse", "drop-middle"]);
}
