//! Every text that a model reads, pinned.

use futures::executor::block_on;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_session::{
    BranchSummaryOpts, CompactOpts, SUMMARIZER_BRIEF, append_compaction, compact, generate_branch_summary,
};
use wb_testkit::script;

use crate::talks::{LONG_TURN, PREFIX, SUMMARY, TALK, append, prepared, read_path, session_of};

/// Returns the last prompt; of its conversation only the lines that name the speaker.
fn last_prompt(invoker: &ScriptedInvoker) -> String {
    let prompt = invoker.prompts().pop().unwrap();
    let (conversation, rest) = prompt.split_once("</conversation>").unwrap();
    let lines = conversation.lines().filter(|line| line.starts_with(['[', '<']));
    let lines: Vec<String> = lines.map(|line| line.chars().take(60).collect()).collect();
    [&lines.join("\n"), "\n</conversation>", rest].concat()
}

#[test]
fn the_system_text() {
    insta::assert_snapshot!(SUMMARIZER_BRIEF);
}

#[test]
fn the_prompt_for_a_history() {
    let (session, _) = session_of(TALK);
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    block_on(compact(prepared(&session, 5), Some(&invoker), CompactOpts::default())).unwrap();
    insta::assert_snapshot!(last_prompt(&invoker));
}

#[test]
fn the_prompt_for_an_update_with_a_focus() {
    let (mut session, _) = session_of(TALK);
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let first = block_on(compact(prepared(&session, 5), Some(&invoker), CompactOpts::default())).unwrap();
    append_compaction(&mut session, first, 2_000).unwrap();
    append(&mut session, script(r#"u"Next." a*3000 u"Last." a"ok""#));
    let opts = CompactOpts { custom_instructions: Some("the API".into()), ..CompactOpts::default() };
    block_on(compact(prepared(&session, 3), Some(&invoker), opts)).unwrap();
    insta::assert_snapshot!(last_prompt(&invoker));
}

#[test]
fn the_prompt_for_the_first_part_of_a_turn() {
    let (session, _) = session_of(LONG_TURN);
    let invoker = ScriptedInvoker::new([Script::says(PREFIX)]);
    block_on(compact(prepared(&session, 120), Some(&invoker), CompactOpts::default())).unwrap();
    insta::assert_snapshot!(last_prompt(&invoker));
}

#[test]
fn the_prompt_for_a_branch() {
    let (session, _) = session_of(TALK);
    let entries = read_path(&session, session.leaf()).unwrap();
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let all: Vec<_> = entries.iter().collect();
    block_on(generate_branch_summary(&all, Some(&invoker), BranchSummaryOpts::default())).unwrap();
    insta::assert_snapshot!(last_prompt(&invoker));
}
