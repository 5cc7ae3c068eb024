//! An agent works for a long time in a small window, is killed repeatedly, and resumes.
//!
//! The short run is part of every test run, and three times as long in a deep one. The whole one,
//! 2,000 turns, takes minutes:
//! `WB_SOAK_TURNS=2000 cargo test --release -p wb-agent --test soak -- --nocapture`.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![expect(clippy::print_stdout, reason = "the figures of a run")]

mod model;
mod watch;

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wb_agent::{Agent, AgentError, Event, Journal, Model, Sandbox, ToolBox, ToolLimits};
use wb_budget::ModelCard;
use wb_message::Message;
use wb_passes::repair::INTERRUPTED;
use wb_testkit::depth::is_deep;

use model::{Soaked, random};
use watch::{Watch, resident_bytes};

const WINDOW: u64 = 32_000;
const KILLS: u64 = 10;
/// The longest result of a tool.
const MAX_RESULT_BYTES: usize = 200_000;
const INSTRUCTION: &str = "Bring every module below `src/` to the new reader – one at a time, and in the order of their names. \
Never touch `vendor/`, keep the public names, and write what you learn into notes/, not into the code.";

#[test]
fn an_agent_stays_in_its_window_and_loses_nothing() {
    // Estimates are those of the family whose vocabulary counts the requests.
    soak("gpt-5", Soaked::new(true), 55);
}

#[test]
fn an_agent_stays_in_its_window_without_usage_of_a_known_model() {
    // With an unconfirmed estimate it uses less of the window, to be safe.
    soak("", Soaked::new(false), 75);
}

/// One at a time: a shell that one agent starts has for a moment what the other one holds, its lock
/// too.
static ALONE: Mutex<()> = Mutex::new(());

fn soak(id: &str, model: Soaked, most_compactions_percent: u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let n_turns = std::env::var("WB_SOAK_TURNS").ok().and_then(|turns| turns.parse().ok());
    let n_turns = n_turns.unwrap_or(if is_deep() { 120 } else { 40 });
    let card = ModelCard { id: id.to_owned(), ..ModelCard::with_window(WINDOW) };
    let model = Model { card, ..Model::offline(Arc::new(model), true) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watch = Watch::new(WINDOW, INSTRUCTION, most_compactions_percent);
    runtime.block_on(run(&model, watch, n_turns));
}

fn agent(dir: &Path, log: Option<&Path>, model: &Model) -> Agent {
    let sandbox = Sandbox::new(&dir.join("work")).unwrap();
    let journal = match log {
        Some(log) => Journal::open(log).unwrap(),
        None => Journal::create(&dir.join("logs"), sandbox.root()).unwrap(),
    };
    let limits = ToolLimits { max_result_bytes: MAX_RESULT_BYTES, ..ToolLimits::default() };
    Agent::new(model.clone(), ToolBox::new(sandbox, limits), journal).unwrap()
}

/// Writes files of up to 200 kB.
fn files(work: &Path) {
    std::fs::create_dir_all(work.join("src")).unwrap();
    for n in 0..model::FILES {
        let wanted = if n % 8 == 0 { MAX_RESULT_BYTES as u64 } else { 200 + random(n) % 24_000 };
        let lines =
            (0..).map(|line| format!("pub fn part_{n}_{line}() -> u64 {{ {} }}\n", random(n ^ line << 8)));
        let mut text = String::new();
        lines
            .take_while(|line| {
                text.push_str(line);
                (text.len() as u64) < wanted
            })
            .for_each(drop);
        std::fs::write(work.join(format!("src/m{n}.rs")), text).unwrap();
    }
}

async fn run(model: &Model, mut watch: Watch, n_turns: u64) {
    let dir = tempfile::tempdir().unwrap();
    files(&dir.path().join("work"));
    let mut agent_now = agent(dir.path(), None, model);
    let mut resident = Vec::new();
    let mut n_kills = 0;
    for turn in 0..n_turns {
        let prompt = if turn == 0 { INSTRUCTION.to_owned() } else { model::prompt(turn) };
        // The agent is killed once per tenth of the run, each time at a different event.
        let is_killed = turn * KILLS / n_turns < (turn + 1) * KILLS / n_turns;
        if is_killed {
            n_kills += 1;
            killed(&mut agent_now, &prompt, &mut watch, n_kills).await;
            agent_now = revived(agent_now, dir.path(), model, n_kills);
        } else {
            let done =
                agent_now.prompt(&prompt, &CancellationToken::new(), &mut |event| watch.see(&event)).await;
            match done {
                Ok(_) => {}
                Err(AgentError::Model(error)) => assert_eq!(error.message, model::FAILURE),
                Err(error) => panic!("turn {turn}: {error}"),
            }
        }
        watch.bounded(&mut agent_now);
        if turn % (n_turns / 20).max(1) == 0 {
            resident.push(resident_bytes());
        }
    }
    assert_eq!(n_kills, KILLS);
    watch.finish(&agent_now, n_turns);
    flat(&resident);
}

/// Gives a prompt, and drops what works on it when the wanted thing has happened for the second
/// time.
async fn killed(agent: &mut Agent, prompt: &str, watch: &mut Watch, nth: u64) {
    let bomb = Notify::new();
    let mut n_left = 1 + nth % 2;
    let mut see = |event: Event<'_>| {
        watch.see(&event);
        let is_it = match nth % 4 {
            0 | 2 => matches!(event, Event::Call { .. }),
            1 => matches!(event, Event::Text(_)),
            _ => matches!(event, Event::Sent(_)),
        };
        if is_it {
            n_left -= 1;
            if n_left == 0 {
                bomb.notify_one();
            }
        }
    };
    let cancel = CancellationToken::new();
    tokio::select! {
        biased;
        () = bomb.notified() => {}
        done = agent.prompt(prompt, &cancel, &mut see) => drop(done),
    }
}

/// Reopens the log. Every third time the last line was torn.
fn revived(agent_before: Agent, dir: &Path, model: &Model, nth: u64) -> Agent {
    let before = agent_before;
    let log = before.log().to_owned();
    let known = before.messages().to_vec();
    drop(before);
    if nth.is_multiple_of(3) {
        let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        file.write_all(b"{\"type\":\"message\",\"id\":\"torn").unwrap();
    }
    let after = agent(dir, Some(&log), model);
    let (same, new) = after.messages().split_at(known.len());
    for (at, (read, was)) in same.iter().zip(&known).enumerate() {
        assert_eq!(read, was, "message {at} of {} is read as it was", known.len());
    }
    for message in new {
        let Message::ToolResult { content, is_error: true, .. } = message else { panic!("{message:?}") };
        assert_eq!(content[0].as_text(), Some(INTERRUPTED));
    }
    after
}

/// Checks that the memory of the process does not grow with the session, if the system reports it.
fn flat(resident: &[u64]) {
    let (early, late) = (resident[resident.len() / 4], *resident.last().unwrap());
    println!("resident: {resident:?}");
    assert!(late < early + 48 * 1024 * 1024, "{resident:?}");
}
