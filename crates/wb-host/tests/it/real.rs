//! Real sessions, compacted with and without a model.

use futures::executor::block_on;
use wb_budget::{ModelCard, estimate_message_tokens};
use wb_host::{CompactOpts, HookList, SummarySource, compact, compact_session};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Message, Pairing};
use wb_session::store::memory::MemoryStore;
use wb_session::{CompactionSettings, EntryKind, EntryStore, IdSource, Session};
use wb_testkit::shared::{bytes_of, shared};

use crate::agent::Agent;
use crate::support::{assert_paired, prepared, read_path};

/// Opens copies of the real sessions of the present layout; none in a checkout without them.
fn sessions() -> Vec<Session> {
    let names = ["badlogic-pi-mono__before-compaction.v3.jsonl", "badlogic-pi-mono__large-session.v3.jsonl"];
    let paths = names.iter().filter_map(|name| shared(&format!("sessions/pi/{name}")));
    let open = |bytes: Vec<u8>| {
        let mut store = MemoryStore::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            store.append(line).unwrap();
        }
        Session::open(Box::new(store), IdSource::new(3)).unwrap()
    };
    paths.map(|path| open(bytes_of(&path))).collect()
}

fn weigh(session: &Session) -> u64 {
    session.context(session.leaf()).unwrap().messages.iter().map(estimate_message_tokens).sum()
}

#[test]
fn without_a_model_real_sessions_become_light_and_stay_whole() {
    let settings = CompactionSettings::default();
    let mut hooks = HookList::default();
    for mut session in sessions() {
        let before = weigh(&session);
        let run = compact_session(&mut session, &settings, None, &mut hooks, CompactOpts::default(), 1);
        let done = block_on(run).unwrap();
        assert!(done.outcome.summary.len() < 20_000, "{}", done.outcome.summary.len());
        assert!(weigh(&session) < 28_000 && weigh(&session) < before, "{before} to {}", weigh(&session));
        let messages = session.context(session.leaf()).unwrap().messages;
        let pairing = Pairing::new(&messages);
        let n_results = messages.iter().flat_map(Message::answered_ids).count();
        assert_eq!(pairing.pairs().len(), n_results, "no result is without its call");
        let again = compact_session(&mut session, &settings, None, &mut hooks, CompactOpts::default(), 2);
        assert_eq!(block_on(again).unwrap_err().to_string(), "nothing to summarize");
    }
}

#[test]
fn every_request_about_a_real_session_fits_the_window_it_is_made_for() {
    for session in sessions() {
        for (window, max_bytes) in [(32_000, 32_000 * 4), (200_000, 200_000 * 4)] {
            let card = ModelCard { max_output_tokens: 4_000, ..ModelCard::with_window(window) };
            let says = "## Goal\nx\n\n## Original Request\nx";
            let invoker = ScriptedInvoker::new([Script::says(says)]).with_card(card);
            let outcome =
                block_on(compact(prepared(&session, 20_000), Some(&invoker), CompactOpts::default()))
                    .unwrap();
            assert_eq!(outcome.source, SummarySource::Model);
            let prompts = invoker.prompts();
            assert!(prompts.iter().all(|prompt| prompt.len() < max_bytes), "{window}");
            assert_eq!(prompts.len(), outcome.n_requests);
        }
    }
}

/// The real talk without the counts, which are of contexts that were never compacted.
#[test]
fn real_sessions_talked_through_again_stay_within_a_small_window() {
    for real in sessions() {
        let mut agent = Agent::new(64_000, CompactionSettings::default());
        let mut n_requests = 0;
        for entry in read_path(&real, real.leaf()).unwrap() {
            let EntryKind::Message(logged) = entry.kind else { continue };
            if matches!(logged.message, Message::Assistant { .. }) {
                let next = agent.flow.before_request(&agent.session, &agent.pending).unwrap();
                let n_before = agent.trace.len();
                agent.act(next, None);
                assert!(
                    !agent.flow.context_usage(&agent.session, &agent.pending).unwrap().is_over(),
                    "{}",
                    agent.trace
                );
                if agent.trace.len() > n_before || n_requests % 50 == 0 {
                    assert_paired(&agent.context());
                }
                n_requests += 1;
            }
            agent.session.append(&logged.message.into(), 1).unwrap();
        }
        assert!(agent.trace.len() >= 2 && agent.trace.chars().all(|step| step == 't'), "{}", agent.trace);
        assert!(agent.trace.len() * 20 < n_requests, "{} for {n_requests} requests", agent.trace);
    }
}
