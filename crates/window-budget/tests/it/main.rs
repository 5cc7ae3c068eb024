//! The public surface of the published window budget, every name of it at the root of the facade.

mod lineage;
mod seeds;

use window_budget::{
    AUTO_CONDENSE_POLICY, BRANCH_HEADER, BudgetPolicy, CLEARED_TOOL_RESULT, CONDENSER_BRIEF, CondenseFn,
    CondenseOpts, CondensePlan, CondenseScope, Condenser, CondenserDeps, Content, DEFAULT_KEEP_RECENT,
    DIGEST_HEADER, IdentityCondense, Message, ModelCard, RESTORED_FILE_PREFIX, RehydrateOpts,
    SECTION_TEMPLATE, SummarizeDeps, Summary, TURN_MARK, TokenEstimate, Turn, WindowBudgetCondense,
    budget_limit, build_summary_prompt, clear_stale_tool_results, compactable_tool_names, condense,
    condense_scope, condense_transcript, content_to_blocks, create_condenser, estimate_message_tokens,
    estimate_tokens, flatten_transcript, is_over_budget, last_user_turn_start, local_fallback_digest,
    message_to_turn, plan_slice, prefix_tokens, rehydrate_recent_reads, summarize, turn_to_messages,
};

#[test]
fn the_constants_are_the_published_ones() {
    let auto = BudgetPolicy { trigger_ratio: 0.75, keep_recent: 6000, reserve_tokens: Some(2048) };
    assert_eq!(AUTO_CONDENSE_POLICY, auto);
    assert_eq!(CLEARED_TOOL_RESULT, "[Old tool result content cleared]");
    assert_eq!(RESTORED_FILE_PREFIX, "[Restored file after compaction]");
    assert_eq!(DEFAULT_KEEP_RECENT, 6);
    assert_eq!(compactable_tool_names().len(), 10);
    let opts = RehydrateOpts { max_files: 5, token_budget: 8000, read_tool_name: "read".into() };
    assert_eq!(RehydrateOpts::default(), opts);
    assert!(!CONDENSER_BRIEF.is_empty() && SECTION_TEMPLATE.starts_with("# Objective\n"));
    assert_eq!(DIGEST_HEADER, "[session digest — older turns condensed]");
    assert_eq!(BRANCH_HEADER, "[branch digest — archived from a path not taken]");
    assert_eq!(TURN_MARK, '»');
}

#[test]
fn the_pure_functions_have_the_published_signatures() {
    let messages = vec![Message::User { content: Content::Text("hello".into()), timestamp: 0 }];
    let card = ModelCard::with_window(10);
    let total: u64 = estimate_tokens(&messages);
    assert_eq!((estimate_message_tokens(&messages[0]), prefix_tokens(&messages)), (total, vec![0, total]));
    let (limit, over): (f64, bool) =
        (budget_limit(&card, &AUTO_CONDENSE_POLICY), is_over_budget(&messages, &card, &AUTO_CONDENSE_POLICY));
    assert_eq!((limit, over), (0.0, true));
    let CondensePlan { cut, kept, dropped } = plan_slice(&messages, &AUTO_CONDENSE_POLICY);
    assert_eq!((cut, kept.len(), dropped.len()), (0, 1, 0));
    assert_eq!(last_user_turn_start(&messages), Some(0));
    assert_eq!(flatten_transcript(&messages), "» you: hello");
    assert!(build_summary_prompt(&messages, CondenseScope::default(), None).contains("» you: hello"));
    assert!(rehydrate_recent_reads(&messages, &[], &RehydrateOpts::default()).is_empty());
    assert_eq!(clear_stale_tool_results(messages, DEFAULT_KEEP_RECENT), None);
    let estimate = TokenEstimate { context_tokens: 1, context_window: 2, anchored: true };
    assert!(estimate.anchored);
}

#[tokio::test]
async fn the_async_functions_have_the_published_signatures() {
    let messages = vec![Message::user("hello")];
    let of_session: Summary = summarize(&messages, SummarizeDeps::default()).await;
    assert_eq!(condense(&messages, SummarizeDeps::default()).await, of_session);
    assert_eq!(condense_scope(&messages, SummarizeDeps::default()).await.covered_count, 1);
    let condenser: Condenser = create_condenser(CondenserDeps { invoke: None, card: None, policy: None });
    assert_eq!(condenser(messages.clone()).await, messages);
}

#[tokio::test]
async fn a_host_of_turns_binds_by_names_of_the_root() {
    let turn = Turn::user("hello");
    let engines: [Box<dyn CondenseFn>; 2] =
        [Box::new(IdentityCondense), Box::new(WindowBudgetCondense::new(CondenserDeps::default()))];
    for engine in engines {
        let after = engine.condense(vec![turn.clone()], CondenseOpts::default()).await;
        assert_eq!(after, std::slice::from_ref(&turn));
    }
    let messages = turn_to_messages(turn.clone());
    assert_eq!(message_to_turn(messages[0].clone()), turn);
    assert_eq!(content_to_blocks(Content::Text("hello".into())), turn.blocks());
    let opts = CondenseOpts::default();
    assert_eq!(condense_transcript(&CondenserDeps::default(), messages.clone(), &opts).await, messages);
    assert!(local_fallback_digest(&messages, None).contains("hello"));
}
