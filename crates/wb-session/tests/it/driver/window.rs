//! Sessions that the engine keeps within their window: each is read again as it was left.

use futures::executor::block_on;
use proptest::prelude::*;
use wb_budget::ModelCard;
use wb_conductor::{AgentContext, Compactor, CondenseOpts};
use wb_message::{Block, Message};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    Compacted, Compaction, CompactionSettings, ContextEdit, EntryKind, IdSource, Logged, NEWEST_VERSION,
    Replacement, Session, SessionDriver,
};
use wb_testkit::shared::{bytes_of, shared_files};

use crate::talks::{LONG_TURN, TALK, empty_session, session_of};

fn context(window: u64) -> AgentContext {
    AgentContext::from_compactor(Compactor::new().card(ModelCard::with_window(window)).max_restored(0))
}

fn driver(session: Session, window: u64) -> SessionDriver {
    SessionDriver::new(session, context(window), CompactionSettings::default()).unwrap()
}

/// Fails unless a session shows what its driver holds.
fn assert_written(driver: &SessionDriver) {
    let mut lines = Vec::new();
    driver.session().write_to(&mut lines).unwrap();
    let session = Session::open(Box::new(MemoryStore::of_lines(lines)), IdSource::new(3)).unwrap();
    let again = SessionDriver::new(session, context(9_000), CompactionSettings::default()).unwrap();
    assert_eq!(again.messages(), driver.messages());
    assert_eq!(again.last_step(), driver.last_step());
}

#[test]
fn real_sessions_are_compacted_read_again_and_undone() {
    let mut n_compacted = 0;
    for path in shared_files("sessions/pi") {
        let store = MemoryStore::of_lines(bytes_of(&path));
        let session = Session::open(Box::new(store), IdSource::new(7)).unwrap();
        if session.header().version < NEWEST_VERSION {
            continue;
        }
        let mut driver = driver(session, 40_000);
        let (known, tokens) = (driver.messages().to_vec(), driver.estimate().context_tokens);
        let done = block_on(driver.before_request(1)).unwrap();
        assert_written(&driver);
        let is_compacted =
            |done: &Compacted| matches!(done, Compacted::ByEngine(report) if report.is_changed());
        if done.iter().any(is_compacted) {
            n_compacted += 1;
            assert!(driver.estimate().context_tokens < tokens, "{}", path.display());
            assert!(driver.undo(2).unwrap());
            assert_eq!(driver.messages(), known, "{}", path.display());
        }
    }
    assert!(n_compacted > 0 || shared_files("sessions/pi").is_empty());
}

#[test]
fn a_result_that_is_over_the_limit_by_itself_is_shortened_in_the_context_and_whole_in_the_log() {
    let mut driver = driver(empty_session(), 8_000);
    driver.append(Message::user("Read it."), None, 1).unwrap();
    let call = Block::call("c", "read", serde_json::json!({"path": "big"}));
    driver.append(Message::assistant_blocks(vec![call]), None, 1).unwrap();
    let text = "a line of some words\n".repeat(4_000);
    driver.append(Message::tool_result("c", "read", text.as_str()), None, 1).unwrap();
    let entry = driver.session().leaf().unwrap().clone();
    block_on(driver.before_request(1)).unwrap();
    assert!(driver.estimate().context_tokens < 6_000, "{:?}", driver.estimate());
    assert_written(&driver);
    let EntryKind::Message(logged) = driver.session().entry(&entry).unwrap().kind else { panic!() };
    assert_eq!(logged.message.blocks()[0].as_text(), Some(text.as_str()));
}

#[test]
fn an_edit_of_a_command_replaces_its_output() {
    let (mut session, _) = session_of("u\"Build it.\"");
    let bash = Message::bash("make", "a long output", Some(2));
    let logged = Logged { message: bash, request: None, is_excluded: false };
    let target_id = session.append(&EntryKind::Message(logged), 1).unwrap();
    let replacement = Some(Replacement { content: "short".into() });
    session.append(&EntryKind::ContextEdit(ContextEdit { target_id, replacement }), 1).unwrap();
    let driver = driver(session, 9_000);
    assert_eq!(driver.messages().last(), Some(&Message::bash("make", "short", Some(2))));
    assert_written(&driver);
}

#[test]
fn a_session_is_undone_compaction_by_compaction_that_of_another_program_too() {
    let (session, _) = session_of(&[TALK, " ", LONG_TURN].concat());
    let mut driver = driver(session, 200_000);
    let mut seen = vec![driver.messages().to_vec()];
    for n in 0..3 {
        let done = block_on(driver.compact(&CondenseOpts::default(), n)).unwrap();
        assert!(matches!(&done, Compacted::ByEngine(report) if report.is_changed()), "{done}");
        assert_written(&driver);
        let new = [Message::user("word ".repeat(900)), Message::assistant("Done."), Message::user("Go on.")];
        for message in new {
            driver.append(message, None, n + 1).unwrap();
            for older in &mut seen {
                older.extend(driver.messages().last().cloned());
            }
        }
        seen.push(driver.messages().to_vec());
    }
    for expected in seen.iter().rev().skip(1) {
        assert!(driver.undo(9).unwrap());
        assert_eq!(driver.messages(), expected);
        assert_written(&driver);
    }
    assert!(!driver.undo(9).unwrap());

    let (mut session, ids) = session_of(TALK);
    let digest = Compaction {
        summary: "## Goal".into(),
        first_kept_entry_id: ids.last().cloned(),
        ..Default::default()
    };
    session.append(&EntryKind::Compaction(digest), 2_000).unwrap();
    let mut driver = self::driver(session, 200_000);
    assert_eq!(driver.messages().len(), 2);
    assert!(driver.undo(3_000).unwrap() && driver.messages().len() == ids.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn whatever_is_said_a_session_stays_within_its_window_and_is_read_as_it_was_left(
        steps in prop::collection::vec((0_usize..4, 1_usize..1_500), 1..60),
    ) {
        let mut driver = driver(empty_session(), 6_000);
        for (at, (kind, n_words)) in steps.into_iter().enumerate() {
            let text = format!("{at}: {}", "word ".repeat(n_words));
            let id = format!("c{at}");
            let messages = match kind {
                0 => vec![Message::user(text)],
                1 => vec![Message::assistant(text)],
                2 => vec![Message::bash("make", text, Some(2))],
                _ => {
                    let call = Block::call(id.as_str(), "read", serde_json::json!({"path": "a"}));
                    vec![Message::assistant_blocks(vec![call]), Message::tool_result(id.as_str(), "read", text)]
                }
            };
            for message in messages {
                driver.append(message, None, 1).unwrap();
            }
            let done = block_on(driver.before_request(1)).unwrap();
            let given_up = |done: &Compacted| {
                matches!(done, Compacted::ByEngine(report) if report.irreducible.is_some())
            };
            prop_assert!(driver.estimate().context_tokens <= 6_000 || done.iter().any(given_up));
        }
        assert_written(&driver);
    }
}
