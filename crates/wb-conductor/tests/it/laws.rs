//! The laws of every compaction, over generated transcripts.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use proptest::prelude::*;
use wb_budget::{BudgetPolicy, ModelCard, estimate_tokens};
use wb_conductor::{
    CompactionReport, Compactor, CondenseFn, CondenseOpts, Summarizer, WindowBudgetCondense,
    compact_in_place, compact_turns, project,
};
use wb_invoke::StopReason;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::outline::outline;
use wb_message::{Block, Message, Turn};
use wb_summarize::SECTION_TEMPLATE;
use wb_testkit::fit_laws::{self, Landing};
use wb_testkit::{laws, strategies};

/// The behaviour of the summarizer.
#[derive(Clone, Debug)]
enum Model {
    None,
    Good,
    Empty,
    Echo,
    Endless,
    Hangs,
    Fails,
    CutOff,
}

fn digest() -> String {
    SECTION_TEMPLATE.lines().flat_map(|heading| [heading, "\n- something\n"]).collect()
}

impl Model {
    fn invoker(&self) -> Option<Arc<ScriptedInvoker>> {
        let script = match self {
            Self::None => return None,
            Self::Good => Script::says(digest()),
            Self::Empty => Script::says(" \n"),
            Self::Echo => Script::Echo,
            Self::Endless => Script::says(digest().repeat(3_000)),
            Self::Hangs => Script::Hang,
            Self::Fails => Script::fails("429"),
            Self::CutOff => Script::stops(digest(), StopReason::MaxOutput),
        };
        Some(Arc::new(ScriptedInvoker::new([script])))
    }
}

#[derive(Clone, Debug)]
struct Case {
    window: Option<u64>,
    policy: BudgetPolicy,
    model: Model,
    force: bool,
    overhead_tokens: u64,
    context_tokens: u64,
}

impl Case {
    fn settings(&self) -> Compactor {
        let mut settings = Compactor::new().policy(self.policy).overhead_tokens(self.overhead_tokens);
        if let Some(window) = self.window {
            settings = settings.card(ModelCard::with_window(window));
        }
        match self.model.invoker() {
            Some(invoker) => settings.summarizer(Summarizer::new(invoker).timeout(Duration::from_millis(1))),
            None => settings,
        }
    }

    fn run(&self, messages: &[Message]) -> (Vec<Message>, CompactionReport) {
        let mut after = messages.to_vec();
        let (force, context_tokens) = (self.force, self.context_tokens);
        let opts = CondenseOpts { force, context_tokens, ..CondenseOpts::default() };
        let report = block_on(compact_in_place(&mut after, &self.settings(), &opts));
        (after, report)
    }
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        6 => Just(Model::None),
        3 => Just(Model::Good),
        1 => Just(Model::Empty),
        1 => Just(Model::Echo),
        1 => Just(Model::Endless),
        1 => Just(Model::Hangs),
        1 => Just(Model::Fails),
        1 => Just(Model::CutOff),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let window = prop_oneof![
        2 => Just(None),
        3 => (2_000_u64..8_000).prop_map(Some),
        3 => (8_000_u64..60_000).prop_map(Some),
        1 => (0_u64..2_000).prop_map(Some),
    ];
    let policy = (
        0.2..=1.0,
        prop_oneof![0_u64..200, 200_u64..8_000],
        prop_oneof![Just(None), (0_u64..3_000).prop_map(Some)],
    );
    let policy = policy.prop_map(|(trigger_ratio, keep_recent, reserve_tokens)| BudgetPolicy {
        trigger_ratio,
        keep_recent,
        reserve_tokens,
    });
    let extra = prop_oneof![4 => Just(0_u64), 1 => 1_u64..3_000];
    let usage = prop_oneof![3 => Just(0_u64), 1 => 1_u64..100_000];
    (window, policy, model(), any::<bool>(), extra, usage).prop_map(
        |(window, policy, model, force, overhead_tokens, context_tokens)| Case {
            window,
            policy,
            model,
            force,
            overhead_tokens,
            context_tokens,
        },
    )
}

fn check(messages: &[Message], case: &Case) {
    let (after, report) = case.run(messages);
    let shown = || format!("{report}\n{}\n→\n{}", outline(messages), outline(&after));
    laws::pairs_intact(messages, &after);
    laws::order_preserved(messages, &after);
    laws::pinned_untouched(messages, &after);
    assert_eq!(report.tokens_before, estimate_tokens(messages));
    assert_eq!(report.tokens_after, estimate_tokens(&after), "{}", shown());
    assert_eq!(report.messages_after, after.len());
    if report.is_changed() {
        assert!(report.tokens_after < report.tokens_before, "not lighter: {}", shown());
        assert!(after.len() <= messages.len(), "longer: {}", shown());
    } else {
        assert_eq!(after, messages, "changed without saying so: {report}");
    }
    tail_is_identical(messages, &after, &report);
    fits_or_cannot(case, messages, &after, &report);

    let (again, _) = case.run(messages);
    assert_eq!(again, after, "not deterministic");
    if let Some(undo) = report.undo {
        let mut undone = after.clone();
        undo.revert(&mut undone);
        assert_eq!(undone, messages, "undo is not the identity");
    }
}

fn tail_is_identical(before: &[Message], after: &[Message], report: &CompactionReport) {
    let n_tail = before.len() - report.cut;
    let tail = &after[after.len() - n_tail..];
    for (offset, message) in tail.iter().enumerate() {
        let at = report.cut + offset;
        if !report.cleared.contains(&at) && !report.previewed.contains(&at) {
            assert_eq!(message, &before[at], "message {at} of the tail was changed");
        }
    }
}

fn fits_or_cannot(case: &Case, before: &[Message], after: &[Message], report: &CompactionReport) {
    let Some(target_tokens) = report.target_tokens else { return };
    // Tokens that the provider counted and the estimate did not are overhead too.
    let counted = if report.anchored { case.context_tokens.saturating_sub(report.tokens_before) } else { 0 };
    let overhead_tokens = case.overhead_tokens.max(counted);
    let least_tokens = fit_laws::least_tokens(before);
    let landing = Landing { target_tokens, overhead_tokens, least_tokens, irreducible: report.irreducible };
    fit_laws::fits_or_cannot(before, after, landing);
}

/// Drops the figures of the provider, which belong to the transcript before.
fn second_is_identity(messages: &[Message], case: &Case) {
    let case = Case { context_tokens: 0, ..case.clone() };
    let (after, first) = case.run(messages);
    let (twice, second) = case.run(&after);
    assert_eq!(outline(&twice), outline(&after), "first: {first}\nsecond: {second}");
    assert_eq!(twice, after, "first: {first}\nsecond: {second}");
}

/// The laws of messages, for a host that speaks in turns, its internal messages excepted.
fn check_turns(turns: &[Turn], case: &Case) {
    let mut after = turns.to_vec();
    let opts =
        CondenseOpts { force: case.force, context_tokens: case.context_tokens, ..CondenseOpts::default() };
    let (report, undo) = block_on(compact_turns(&mut after, &case.settings(), &opts));
    assert!(after.len() <= turns.len(), "{} turns became {}: {report}", turns.len(), after.len());
    let (before_messages, after_messages) =
        (project(turns.to_vec()).messages, project(after.clone()).messages);
    laws::pairs_intact(&before_messages, &after_messages);
    laws::pinned_untouched(&before_messages, &after_messages);
    assert_eq!(report.tokens_after, estimate_tokens(&after_messages), "{report}");
    let Some(undo) = undo else { return assert_eq!(after, turns, "changed without a way back: {report}") };
    assert!(report.tokens_after < report.tokens_before, "{report}");
    undo.revert(&mut after);
    assert_eq!(after, turns, "undo is not the identity");
}

/// A conductor of document 0 takes nothing but fewer turns.
fn fewer_or_the_input(turns: &[Turn], case: &Case) {
    let engine = WindowBudgetCondense::with_settings(case.settings());
    let opts =
        CondenseOpts { force: case.force, context_tokens: case.context_tokens, ..CondenseOpts::default() };
    let after = block_on(engine.condense(turns.to_vec(), opts));
    assert!(after.len() < turns.len() || after == turns, "{} turns became {}", turns.len(), after.len());
    let [before_messages, after_messages] = [turns.to_vec(), after].map(|turns| project(turns).messages);
    laws::pairs_intact(&before_messages, &after_messages);
    laws::pinned_untouched(&before_messages, &after_messages);
}

/// A long prompt with the file that was read for it, in a window in which all of it fits.
#[test]
fn a_prompt_that_stays_once_stays_a_second_time() {
    let case = Case {
        window: Some(5_658),
        policy: BudgetPolicy { trigger_ratio: 0.85, keep_recent: 34, reserve_tokens: None },
        model: Model::None,
        force: true,
        overhead_tokens: 1_298,
        context_tokens: 0,
    };
    for n_words in (700..1_100).step_by(10) {
        let messages = [
            Message::user(format!("Please fix the cart. {}", "cart total ".repeat(n_words / 2))),
            Message::Assistant {
                content: vec![call("1", "src/cart.rs"), call("2", "src/lib.rs")],
                error_message: None,
            },
            Message::tool_result("1", "read", "fn cart() {}\n".repeat(430)),
            Message::tool_result("2", "read", "fn lib() {}"),
            Message::bash("ls", "cart.rs", None),
        ];
        second_is_identity(&messages, &case);
    }
}

fn call(id: &str, path: &str) -> Block {
    Block::ToolCall { id: id.into(), name: "read".into(), input: serde_json::json!({ "path": path }) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(300), max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_compaction_keeps_the_laws(messages in strategies::transcript(), case in case()) {
        check(&messages, &case);
    }

    #[test]
    fn a_second_compaction_changes_nothing(messages in strategies::transcript(), case in case()) {
        second_is_identity(&messages, &case);
    }

    #[test]
    fn a_valid_transcript_stays_valid(messages in strategies::valid_transcript(), case in case()) {
        let (after, _) = case.run(&messages);
        laws::pairs_intact(&messages, &after);
        laws::no_loose_ends(&after);
    }

    #[test]
    fn every_compaction_of_turns_keeps_the_laws(turns in strategies::turns(), case in case()) {
        check_turns(&turns, &case);
        fewer_or_the_input(&turns, &case);
    }

    #[test]
    fn turns_that_no_provider_would_take_keep_the_laws_too(turns in strategies::wild_turns(), case in case()) {
        check_turns(&turns, &case);
    }
}
