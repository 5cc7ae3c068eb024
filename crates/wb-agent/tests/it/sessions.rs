//! The agent as a host of sessions: settings from a file, hooks, branches, and contexts that a
//! provider refuses.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::ready;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_agent::{Agent, Ended, Event, Model, commands};
use wb_budget::Usage;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::Block;
use wb_session::store::jsonl::JsonlStore;
use wb_session::{
    BeforeCompact, CompactionReason, EntryKind, EntryTag, FileLists, HookFuture, HookList, IdSource, Session,
    SessionBeforeCompactEvent, SessionHooks,
};

use crate::support::{begun, begun_with, folder, offline, resumed, waiting};

fn prompt(agent: &mut Agent, text: &str) -> Vec<String> {
    let mut compacted = Vec::new();
    let see = &mut |event: Event<'_>| match event {
        Event::Compacted(report) if report.is_changed() => compacted.push(report.to_string()),
        Event::CompactedByHook(entry) => compacted.push(format!("hook {entry}")),
        _ => {}
    };
    assert_eq!(waiting(agent.prompt(text, &CancellationToken::new(), see)).unwrap(), Ended::Done);
    compacted
}

fn big_file(dir: &tempfile::TempDir) {
    std::fs::write(dir.path().join("work/big"), "a line of some words\n".repeat(900)).unwrap();
}

/// Reads a file until the session is compacted, and returns how often that was.
fn n_reads(agent: &mut Agent) -> usize {
    (1..=20).find(|_| !prompt(agent, "read big").is_empty()).unwrap_or(usize::MAX)
}

#[test]
fn settings_of_a_file_say_when_a_session_is_compacted() {
    let dir = folder();
    big_file(&dir);
    let by = |settings| n_reads(&mut begun_with(&dir, offline(), &settings));
    let default = by(json!({}));
    // Document 2: above the window less the reserve.
    assert!(by(json!({"compaction": {"reserveTokens": 20_000, "keepRecentTokens": 1_000}})) < default);
    assert!(by(json!({"compaction": {"reserveTokens": 1_000}})) > default);
    // Document 4: a policy with a smaller window.
    let narrow = json!({"context_policy": {"max_context_tokens": 12_000, "max_output_tokens": 2_000}, "pipeline": "policy"});
    assert!(by(json!({"context": narrow})) < default);
}

#[test]
fn a_session_whose_settings_switch_compaction_off_is_compacted_by_hand_alone() {
    let dir = folder();
    let mut agent = begun_with(&dir, offline(), &json!({"compaction": {"enabled": false}}));
    for n in 0..20 {
        assert!(prompt(&mut agent, &format!("Step {n}: {}", "word ".repeat(900))).is_empty());
    }
    let done = waiting(commands::compact(&mut agent, None, &CancellationToken::new())).unwrap();
    assert!(done.contains("local digest") && agent.n_digests() == 1, "{done}");
}

#[test]
fn a_log_is_a_session_whose_compactions_name_the_files_and_hold_the_whole_transcript() {
    let dir = folder();
    big_file(&dir);
    let mut agent = begun(&dir, offline());
    n_reads(&mut agent);
    let log = agent.log().to_owned();
    drop(agent);
    let store = JsonlStore::open_for_reading(&log).unwrap();
    let session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    let path = session.path().unwrap();
    let node = path.iter().find(|node| node.tag == EntryTag::Compaction).unwrap();
    let EntryKind::Compaction(compaction) = session.entry(&node.id).unwrap().kind else { panic!() };
    let lists: FileLists = serde_json::from_value(compaction.details.unwrap()).unwrap();
    assert_eq!(lists.read_files, ["big"]);
    assert!(path.iter().filter(|node| node.tag == EntryTag::Answer).count() > 2, "nothing is lost");
}

/// Answers before each compaction, and notes the reasons.
struct Answers(BeforeCompact, Mutex<Vec<CompactionReason>>);

impl SessionHooks for Answers {
    fn session_before_compact<'a>(
        &'a self,
        event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        self.1.lock().unwrap().push(event.reason);
        ready(Ok(self.0.clone())).boxed()
    }
}

#[test]
fn a_hook_is_asked_before_the_agent_compacts_and_may_cancel_it() {
    let dir = folder();
    let hook = Arc::new(Answers(BeforeCompact::Cancel, Mutex::default()));
    let mut hooks = HookList::default();
    hooks.push(hook.clone());
    let mut agent = begun(&dir, offline()).with_hooks(hooks);
    while hook.1.lock().unwrap().is_empty() {
        assert!(prompt(&mut agent, &"word ".repeat(900)).is_empty());
    }
    let done = waiting(commands::compact(&mut agent, None, &CancellationToken::new())).unwrap();
    assert!(done.contains("a hook cancelled"), "{done}");
    let reasons = hook.1.lock().unwrap();
    assert_eq!(
        (reasons[0], *reasons.last().unwrap()),
        (CompactionReason::Threshold, CompactionReason::Manual)
    );
}

#[test]
fn a_branch_takes_along_a_summary_of_what_is_left_and_is_there_after_a_restart() {
    let dir = folder();
    let mut agent = begun(&dir, offline());
    prompt(&mut agent, "Port the importer.");
    let answer = agent.driver().session().leaf().unwrap().clone();
    prompt(&mut agent, "And try it with threads.");
    let said = waiting(commands::branch(&mut agent, answer.as_str())).unwrap();
    assert!(said.contains("with 3 messages"), "{said}");
    let known = agent.messages().to_vec();
    let log = agent.log().to_owned();
    drop(agent);
    assert_eq!(resumed(&dir, &log, offline()).messages(), known);
}

fn ends(stop: StopReason, text: &str, input_tokens: u64) -> Script {
    let blocks = if text.is_empty() { Vec::new() } else { vec![Block::text(text)] };
    let usage = Usage { input_tokens, ..Usage::EMPTY };
    Script::Emit(vec![Emission::Done { reply: Reply { model: "m".into(), blocks, usage, stop } }])
}

#[test]
fn a_request_that_is_refused_for_its_length_is_repeated_once_after_a_compaction() {
    let dir = folder();
    let refused = || Script::fails("prompt is too long: 210000 tokens > 200000 maximum");
    let full = ends(StopReason::MaxOutput, "", 31_900);
    for first in [refused(), full] {
        let replies =
            [ends(StopReason::Complete, "Begun.", 9), first, ends(StopReason::Complete, "Done.", 9)];
        let mut agent = begun(&dir, Model::offline(Arc::new(ScriptedInvoker::new(replies)), false));
        prompt(&mut agent, &"Port the importer. ".repeat(900));
        assert_eq!(prompt(&mut agent, "Go on.").len(), 1);
    }
    let replies = [ends(StopReason::Complete, "Begun.", 9), refused(), refused()];
    let mut agent = begun(&dir, Model::offline(Arc::new(ScriptedInvoker::new(replies)), false));
    prompt(&mut agent, &"Port the importer. ".repeat(900));
    let again = waiting(agent.prompt("Go on.", &CancellationToken::new(), &mut |_| {}));
    assert!(again.unwrap_err().to_string().contains("prompt is too long"));
}
