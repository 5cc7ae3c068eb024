//! Turns of the agent: compactions, undo, stops, faults and resuming.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_agent::{Agent, AgentError, Ended, Event, Journal, Model, STOPPED, ToolLimits, commands};
use wb_budget::{ModelCard, Prices, Usage};
use wb_invoke::scripted::{Script as Scripted, ScriptedInvoker};
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::{Block, Message};
use wb_passes::repair::INTERRUPTED;
use wb_session::store::jsonl::JsonlStore;
use wb_session::{Durability, EntryKind, IdSource, NewSession, Session};

use crate::support::{Hangs, begun, folder, offline, resumed, script, tools, waiting};

fn prompt(agent: &mut Agent, text: &str) -> Result<Ended, AgentError> {
    waiting(agent.prompt(text, &CancellationToken::new(), &mut |_| {}))
}

fn log_of(agent: &mut Agent) -> std::path::PathBuf {
    agent.log().to_owned()
}

#[test]
fn a_compaction_survives_a_restart_and_can_be_undone() {
    let dir = folder();
    std::fs::write(dir.path().join("work/big"), "a line of some words\n".repeat(900)).unwrap();
    let mut agent = begun(&dir, offline());
    prompt(&mut agent, "Port the importer.\nNever touch the tests.").unwrap();
    while agent.last_step().is_none() {
        prompt(&mut agent, "read big").unwrap();
    }
    let (known, log) = (agent.messages().to_vec(), log_of(&mut agent));
    let (step, meter) = (agent.last_step().cloned(), commands::context(&mut agent));
    drop(agent);

    let mut agent = resumed(&dir, &log, offline());
    assert_eq!(agent.messages(), known);
    assert_eq!((agent.last_step().cloned(), commands::context(&mut agent)), (step, meter));
    assert!(commands::why(&agent).contains("local digest"), "{}", commands::why(&agent));
    assert!(commands::undo(&mut agent).unwrap().starts_with("taken back: "));
    assert!(agent.messages().len() > known.len() && agent.n_digests() == 0);
    let said = agent.messages()[0].clone();
    assert!(
        matches!(said, Message::User { content, .. } if content.texts().eq(["Port the importer.\nNever touch the tests."]))
    );
    assert_eq!(commands::undo(&mut agent).unwrap(), "there is no compaction to take back");

    let report = waiting(commands::compact(&mut agent, Some("names"), &CancellationToken::new())).unwrap();
    assert!(report.contains("the instructions were not followed"), "{report}");
    let known = agent.messages().to_vec();
    drop(agent);
    assert_eq!(resumed(&dir, &log, offline()).messages(), known);
}

#[test]
fn a_long_latest_prompt_that_the_engine_leaves_in_front_goes_behind_the_digest() {
    let dir = folder();
    std::fs::write(dir.path().join("work/big"), "a line of some words\n".repeat(2_000)).unwrap();
    let calls = "{\"calls\":[[\"read\",{\"path\":\"big\"}]]}\n".repeat(9);
    let mut agent = begun(&dir, script(&calls));
    let asked = "Look at each of these parts with care. ".repeat(50);
    prompt(&mut agent, &asked).unwrap();
    assert!(agent.last_step().is_some());
    let texts: Vec<String> = agent.messages().iter().map(|message| format!("{message:?}")).collect();
    assert!(texts[0].contains("session digest"), "{}", texts[0]);
    assert!(texts.iter().any(|text| text.contains(asked.trim())), "word for word");
    let (known, log) = (agent.messages().to_vec(), log_of(&mut agent));
    drop(agent);
    assert_eq!(resumed(&dir, &log, offline()).messages(), known);
}

#[test]
fn a_request_that_is_stopped_keeps_what_was_said() {
    let dir = folder();
    let hangs = Model::offline(Arc::new(Hangs), false);
    let mut agent = begun(&dir, hangs);
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let see = &mut |event: Event<'_>| {
        if matches!(event, Event::Text(_)) {
            stop.cancel();
        }
    };
    assert_eq!(waiting(agent.prompt("Go.", &cancel, see)).unwrap(), Ended::Stopped);
    assert_eq!(agent.messages()[1], Message::assistant("I begin"));
    let log = log_of(&mut agent);
    drop(agent);
    assert_eq!(prompt(&mut resumed(&dir, &log, offline()), "ls").unwrap(), Ended::Done);
}

#[test]
fn a_tool_that_is_stopped_and_those_behind_it_are_answered() {
    let dir = folder();
    let both = r#"{"calls":[["bash",{"command":"echo begun; sleep 60"}],["read",{"path":"a"}]]}"#;
    let mut agent = begun(&dir, script(both));
    let cancel = CancellationToken::new();
    let ended = waiting(async {
        let stop = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            stop.cancel();
        });
        agent.prompt("Go.", &cancel, &mut |_| {}).await
    });
    assert_eq!(ended.unwrap(), Ended::Stopped);
    let results: Vec<&str> = agent.messages()[2..].iter().filter_map(|it| it.blocks()[0].as_text()).collect();
    assert_eq!(results, [format!("begun\n\n{STOPPED}"), STOPPED.to_owned()]);
    assert_eq!(prompt(&mut agent, "Go on.").unwrap(), Ended::Done);
}

#[test]
fn a_call_that_was_under_way_when_the_agent_was_killed_is_answered_once() {
    let dir = folder();
    let mut agent = begun(&dir, script(r#"{"calls":[["ls",{}],["bash",{"command":"sleep 60"}]]}"#));
    waiting(async {
        let killed = tokio::time::sleep(std::time::Duration::from_millis(500));
        let (cancel, mut see) = (CancellationToken::new(), |_: Event<'_>| {});
        tokio::select! {
            () = killed => {}
            _ = agent.prompt("Go.", &cancel, &mut see) => unreachable!(),
        }
    });
    let (n_before, log) = (agent.messages().len(), log_of(&mut agent));
    drop(agent);
    for _ in 0..2 {
        let agent = resumed(&dir, &log, offline());
        assert_eq!(agent.messages().len(), n_before + 1);
        assert_eq!(agent.messages()[n_before].blocks()[0].as_text(), Some(INTERRUPTED));
    }
}

#[test]
fn a_request_that_is_not_valid_ends_the_run_and_is_not_sent() {
    let dir = folder();
    let log = dir.path().join("broken.jsonl");
    let store = JsonlStore::create(&log, Durability::Never).unwrap();
    let mut session = Session::create(Box::new(store), &NewSession::default(), IdSource::new(1)).unwrap();
    // Two calls of one id in one answer: their results would be ambiguous.
    session.append(&Message::user("Go.").into(), 1).unwrap();
    let twice = ["a", "b"].map(|path| Block::call("same", "read", json!({ "path": path })));
    session.append(&EntryKind::from(Message::assistant_blocks(twice.to_vec())), 2).unwrap();
    for text in ["1", "2"] {
        session.append(&Message::tool_result("same", "read", text).into(), 3).unwrap();
    }
    drop(session);
    let journal = Journal::open(&log).unwrap();
    let mut agent = Agent::new(offline(), tools(&dir, ToolLimits::default()), journal).unwrap();
    let mut n_sent = 0;
    let see = &mut |event: Event<'_>| n_sent += u32::from(matches!(event, Event::Sent(_)));
    let error = waiting(agent.prompt("Go on.", &CancellationToken::new(), see)).unwrap_err();
    assert!(error.to_string().starts_with("a fault of wb-agent: the request is not valid for "), "{error}");
    assert_eq!(n_sent, 0);
}

#[test]
fn instructions_reach_the_model_behind_the_conversation_that_its_provider_has_cached() {
    let usage = |cached| Usage { output_tokens: 9, cache_read_tokens: Some(cached), ..Usage::EMPTY };
    let said = |text: &str, cached| {
        let (blocks, usage) = (vec![Block::text(text)], usage(cached));
        let reply = Reply { model: "priced".into(), blocks, usage, stop: StopReason::Complete };
        Scripted::Emit(vec![Emission::Done { reply }])
    };
    let digest = "# Objective\n- Port the importer.\n\n# Plan\n- go on";
    let replies = [said("Begun.", 6_000), said("Done.", 12_000), said(digest, 12_000)];
    let invoker = Arc::new(ScriptedInvoker::new(replies));
    let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
    let card = ModelCard { prices: Some(prices), ..ModelCard::with_window(200_000) };
    let dir = folder();
    let mut agent = begun(&dir, Model { card, ..Model::offline(invoker.clone(), true) });
    prompt(&mut agent, &"Port the importer, and look at each part. ".repeat(500)).unwrap();
    prompt(&mut agent, "And now the tests.").unwrap();
    let done = waiting(commands::compact(&mut agent, Some("Name each file."), &CancellationToken::new()));
    let done = done.unwrap();
    assert!(done.contains("digest by the model") && done.contains("asked behind the conversation"), "{done}");
    let asked = invoker.requests();
    let ([.., first], [.., (behind, _)]) = (&asked[..2], &asked[..]) else { unreachable!() };
    assert_eq!((&behind.system, &behind.tools), (&first.0.system, &first.0.tools));
    assert!(behind.turns.starts_with(&first.0.turns[..behind.turns.len() - 1]));
    assert!(invoker.prompts()[2].ends_with("Name each file."));
    assert!(commands::why(&agent).contains("asked behind the conversation"), "{}", commands::why(&agent));
}

#[test]
fn what_a_compaction_folded_is_recalled_by_the_model_and_by_the_user() {
    let dir = folder();
    std::fs::write(dir.path().join("work/big"), "a line of some words\n".repeat(900)).unwrap();
    let log = {
        let mut agent = begun(&dir, offline());
        prompt(&mut agent, "Port the importer; the code word is heron.").unwrap();
        while agent.last_step().is_none() {
            prompt(&mut agent, "read big").unwrap();
        }
        log_of(&mut agent)
    };
    let mut agent =
        resumed(&dir, &log, script(r#"{"calls":[["recall",{"query":"code word"}],["recall",{}]]}"#));
    prompt(&mut agent, "What was the code word?").unwrap();
    let results: Vec<(bool, String)> = agent.messages().iter().rev().filter_map(result_of).take(2).collect();
    assert!(results[0].0 && results[0].1.contains("name exactly one of query"), "{results:?}");
    assert!(!results[1].0 && results[1].1.starts_with("#0 the user"), "{results:?}");
    assert!(
        commands::recall(&agent, "heron")
            .unwrap()
            .contains("     1| Port the importer; the code word is heron.")
    );
    let digest = agent.messages().iter().find_map(wb_message::markers::digest_body).unwrap();
    assert!(digest.contains("- Look up exact folded messages with the tool recall:"), "{digest}");
}

fn result_of(message: &Message) -> Option<(bool, String)> {
    match message {
        Message::ToolResult { content, is_error, .. } => {
            Some((*is_error, wb_message::block::joined_text(content).into_owned()))
        }
        _ => None,
    }
}
