//! Summaries of abandoned branches, at the place where the session goes on.

use futures::executor::block_on;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_budget::ModelCard;
use wb_invoke::ModelInvoker;
use wb_invoke::StopReason;
use wb_invoke::scripted::Script;
use wb_invoke::scripted::ScriptedInvoker;
use wb_message::Message;
use wb_session::{
    BranchSummaryOpts, BranchSummaryOutcome, CompactError, SummarySource, append_branch_summary,
    generate_branch_summary, read_left_branch,
};
use wb_session::{BranchSummarySettings, EntryKind, Session, SessionError};
use wb_summarize::NoDigest;
use wb_testkit::script;

use crate::talks::{SUMMARY, append, session_of};

/// A root, and below it B, C, D with a call; the target E, F is the other branch.
fn two_branches() -> (Session, Vec<wb_session::EntryId>, Vec<wb_session::EntryId>) {
    let (mut session, root) = session_of(r#"u"Start.""#);
    let other = append(&mut session, script(r#"a"E" u"F""#));
    session.branch(&root[0]).unwrap();
    let left = append(&mut session, script(r#"a"B":edit(src/b.rs) t*900 a"C" u"D, but never E""#));
    (session, other, left)
}

fn summarize(
    session: &Session,
    target: &wb_session::EntryId,
    invoker: Option<&dyn ModelInvoker>,
    opts: BranchSummaryOpts,
) -> Result<BranchSummaryOutcome, CompactError> {
    let left = read_left_branch(session, target).unwrap();
    let entries: Vec<_> = left.entries.iter().collect();
    block_on(generate_branch_summary(&entries, invoker, opts))
}

#[test]
fn what_is_left_is_all_below_the_common_ancestor() {
    let (session, other, left) = two_branches();
    let found = read_left_branch(&session, &other[1]).unwrap();
    let ids: Vec<_> = found.entries.iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(ids, left);
    assert_eq!(found.common_ancestor_id, session.tree().node(&other[0]).unwrap().parent_id);
    assert!(read_left_branch(&session, session.leaf().unwrap()).unwrap().entries.is_empty());
    let unknown = read_left_branch(&session, &"nowhere".into());
    assert!(matches!(unknown, Err(SessionError::UnknownLeaf { .. })));
}

#[test]
fn the_summary_is_appended_at_the_target_and_names_the_leaf_that_was_left() {
    let (mut session, other, left) = two_branches();
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let outcome = summarize(&session, &other[1], Some(&invoker), BranchSummaryOpts::default()).unwrap();
    let tags = "\n\n<modified-files>\nsrc/b.rs\n</modified-files>";
    assert_eq!(outcome.summary, format!("{SUMMARY}{tags}"));
    assert_eq!(outcome.details, Some(json!({"readFiles": [], "modifiedFiles": ["src/b.rs"]})));
    assert_eq!((&outcome.source, outcome.n_requests), (&SummarySource::Model, 1));
    assert_eq!(invoker.requests()[0].1.max_output_tokens, Some(2048));
    let id = append_branch_summary(&mut session, Some(&other[1]), outcome.clone(), 7_000).unwrap();
    let entry = session.entry(&id).unwrap();
    assert_eq!((entry.parent_id.as_ref(), entry.timestamp), (Some(&other[1]), 7_000));
    let EntryKind::BranchSummary(summary) = entry.kind else { panic!("{entry:?}") };
    assert_eq!((summary.from_id.as_str(), summary.from_hook), (left[3].as_str(), false));
    assert_eq!((summary.summary, summary.details), (outcome.summary, outcome.details));
    let context = session.context(session.leaf()).unwrap();
    assert!(matches!(context.messages.last(), Some(Message::BranchSummary { .. })));
}

#[test]
fn a_reply_that_is_of_no_use_gives_way_to_the_local_digest() {
    let (session, other, _) = two_branches();
    for (reply, why) in [
        (Script::fails("down"), NoDigest::Failed("down".into())),
        (Script::stops("## Goal\nFix", StopReason::MaxOutput), NoDigest::Truncated),
        (Script::stops(SUMMARY, StopReason::Refusal), NoDigest::Refused),
        (Script::says(""), NoDigest::Blank),
        (Script::says("no form"), NoDigest::MissingHeadings),
        (Script::Echo, NoDigest::Failed("the reply repeats what it was asked".into())),
    ] {
        let invoker = ScriptedInvoker::new([reply]);
        let outcome = summarize(&session, &other[1], Some(&invoker), BranchSummaryOpts::default()).unwrap();
        assert_eq!(outcome.source, SummarySource::Local(why));
        assert!(
            outcome.summary.starts_with("# Objective\n- First request: D, but never E"),
            "{}",
            outcome.summary
        );
    }
    let local = summarize(&session, &other[1], None, BranchSummaryOpts::default()).unwrap();
    assert_eq!((local.source, local.n_requests), (SummarySource::Local(NoDigest::NoModel), 0));
}

#[test]
fn a_nested_summary_goes_into_the_next_one_with_its_files() {
    let (mut session, other, left) = two_branches();
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let outcome = summarize(&session, &other[1], Some(&invoker), BranchSummaryOpts::default()).unwrap();
    append_branch_summary(&mut session, Some(&other[1]), outcome, 7_000).unwrap();
    append(&mut session, script(r#"u"More." a"Yes.":read(src/f.rs)"#));
    let local = summarize(&session, &left[3], None, BranchSummaryOpts::default()).unwrap();
    assert!(local.summary.contains("- [x] found the cause"), "{}", local.summary);
    assert!(local.summary.contains("Fix the cart."), "{}", local.summary);
    assert!(local.summary.contains("src/b.rs"), "{}", local.summary);
    assert!(local.summary.contains("<read-files>\nsrc/f.rs\n</read-files>"));
}

#[test]
fn instructions_are_a_focus_or_stand_in_the_place_of_ours() {
    let (session, other, _) = two_branches();
    let prompt = |replace_instructions| {
        let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
        let custom_instructions = Some("only the tests".to_owned());
        let opts =
            BranchSummaryOpts { custom_instructions, replace_instructions, ..BranchSummaryOpts::default() };
        summarize(&session, &other[1], Some(&invoker), opts).unwrap();
        invoker.prompts().pop().unwrap()
    };
    assert!(
        prompt(false).ends_with("Additional focus: only the tests")
            && prompt(false).contains("on a branch of")
    );
    let replaced = prompt(true);
    assert!(replaced.contains("</conversation>\n\nonly the tests\n\n## Goal"), "{replaced}");
    assert!(!replaced.contains("on a branch of"));
}

#[test]
fn the_newest_messages_that_fit_are_summarized() {
    let (mut session, root) = session_of(r#"u"Start.""#);
    append(&mut session, script("u*4000 a*4000 u*4000"));
    append(&mut session, script(r#"u"The newest.""#));
    let card = ModelCard::with_window(6_000);
    for (reserve_tokens, n_user) in [(1_000, 2), (9_000, 1)] {
        let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]).with_card(card.clone());
        let opts = BranchSummaryOpts {
            settings: BranchSummarySettings { reserve_tokens },
            ..BranchSummaryOpts::default()
        };
        summarize(&session, &root[0], Some(&invoker), opts).unwrap();
        let sent = invoker.prompts().concat();
        assert_eq!(
            sent.lines().filter(|line| line.starts_with("[User]: ")).count(),
            n_user,
            "{reserve_tokens}"
        );
        assert!(sent.contains("[User]: The newest."));
    }
}

#[test]
fn a_newest_message_that_has_no_room_is_summarized_by_its_start_and_end() {
    let (mut session, root) = session_of(r#"u"Start.""#);
    let paste = format!("Look at this:\n{}\nWhat is it?", "line of a log\n".repeat(9_000));
    append(&mut session, vec![Message::user(paste)]);
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]).with_card(ModelCard::with_window(20_000));
    let outcome = summarize(&session, &root[0], Some(&invoker), BranchSummaryOpts::default()).unwrap();
    assert_eq!((outcome.source, outcome.n_requests), (SummarySource::Model, 1));
    let prompt = invoker.prompts().concat();
    assert!(prompt.contains("[User]: Look at this:") && prompt.contains("What is it?"));
    assert!(prompt.len() < 20_000 * 4, "{}", prompt.len());
}

#[test]
fn nothing_is_asked_for_a_branch_without_messages_or_a_run_that_is_cancelled() {
    let (mut session, ids) = session_of(r#"u"Start.""#);
    session.set_label(&ids[0], Some("here"), 5).unwrap();
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let nothing = summarize(&session, &ids[0], Some(&invoker), BranchSummaryOpts::default());
    assert_eq!(nothing, Err(CompactError::Nothing));
    append(&mut session, script("a*200"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let opts = BranchSummaryOpts { cancel: Some(cancel), ..BranchSummaryOpts::default() };
    let cancelled = summarize(&session, &ids[0], Some(&invoker), opts);
    assert!(matches!(cancelled, Err(CompactError::Cancelled { .. })));
    assert!(invoker.prompts().is_empty());
}
