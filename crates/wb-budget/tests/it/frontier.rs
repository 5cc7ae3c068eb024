//! Where a compaction of a context-window policy cuts.

use std::sync::Arc;

use proptest::prelude::*;
use wb_budget::{
    CONTEXT_WINDOW_POLICY, CompactionCut, ContextCompactionMode, ContextWindowPolicy, TokenCounter,
    WeighedTranscript, plan_compaction,
};
use wb_message::markers::is_pinned;
use wb_message::{Edit, Message, Patch, last_prompt_start};
use wb_testkit::vectors::policy::PolicyCounter;
use wb_testkit::{laws, script, strategies};

fn plan(messages: &[Message], policy: &ContextWindowPolicy, min_tokens: u64) -> Option<CompactionCut> {
    let counter: Arc<dyn TokenCounter> = Arc::new(PolicyCounter);
    plan_compaction(&WeighedTranscript::new(messages, &counter), policy, min_tokens)
}

fn runs(cut: &CompactionCut) -> Vec<(usize, usize)> {
    cut.ranges.iter().map(|run| (run.start, run.end)).collect()
}

#[test]
fn a_lost_result_blocks_no_later_boundary() {
    let messages = script("u a:bash u*900 a u*900 a u a");
    let cut = plan(&messages, &CONTEXT_WINDOW_POLICY, 100).unwrap();
    assert!(cut.ranges[0].contains(&1) && cut.raw_from > 2, "{cut:?}");
}

#[test]
fn the_steps_of_the_only_turn_may_go_while_its_prompt_stays() {
    let messages = script("u [a:bash t*400]x20");
    let cut = plan(&messages, &CONTEXT_WINDOW_POLICY, 1024).unwrap();
    assert_eq!((runs(&cut), cut.raw_from), (vec![(1, 39)], 39));
    let earlier = script("u*9000 a u [a:bash t*400]x20");
    let whole = plan(&earlier, &CONTEXT_WINDOW_POLICY, 1024).unwrap();
    assert_eq!(runs(&whole), [(0, 2)], "the turn stays whole");
    let policy = ContextWindowPolicy { autocompact_threshold: Some(1_000), ..CONTEXT_WINDOW_POLICY };
    let inside = plan(&earlier, &policy, 1024).unwrap();
    assert_eq!(runs(&inside), [(0, 2), (3, 41)], "the turn alone is over it");
}

#[test]
fn the_safe_frontier_leaves_the_recent_minimum() {
    let compaction_mode = ContextCompactionMode::CompactToSafeFrontier;
    let policy = ContextWindowPolicy { compaction_mode, ..CONTEXT_WINDOW_POLICY };
    let messages = script("[u*400 a]x10 u a");
    assert_eq!(plan(&messages, &policy, 0).unwrap().raw_from, 12);
    assert_eq!(plan(&script("[u*400 a]x5"), &policy, 0), None, "no more than the minimum");
}

proptest! {
    #[test]
    fn a_compaction_takes_whole_pairs_and_leaves_pinned_messages_the_prompt_and_the_suffix(
        messages in strategies::transcript(),
        n_raw in 0..8_usize,
        threshold in prop::option::of(0..2_000_usize),
    ) {
        let policy = ContextWindowPolicy {
            compaction_raw_suffix_messages: n_raw,
            autocompact_threshold: threshold,
            ..CONTEXT_WINDOW_POLICY
        };
        if let Some(cut) = plan(&messages, &policy, 0) {
            let takes = |at: usize| cut.ranges.iter().any(|run| run.contains(&at));
            prop_assert!(cut.raw_from + n_raw <= messages.len());
            prop_assert!((0..messages.len()).all(|at| !takes(at) || !is_pinned(&messages[at])));
            prop_assert!(last_prompt_start(&messages).is_none_or(|prompt| !takes(prompt)));
            let edits = cut.ranges.iter().map(|run| Edit::Fold { range: run.clone(), with: vec![] });
            laws::patch_laws(&messages, &Patch::new(edits.collect()));
        }
    }
}
