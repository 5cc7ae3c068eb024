//! Messages and conversations of Rig are read, compacted, undone and written.
#![cfg(feature = "rig")]

use std::sync::Arc;

use rig_core::conversation::{Author, Conversation};
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, Message, ToolCall, ToolFunction, ToolName, ToolResultContent,
    UserContent,
};
use rig_memory::conformance::check_store;
use rig_memory::recent::{Recent, view};
use rig_memory::{MemoryStore, TokenCounter, load, save, summarized_prefix, undo_summary};
use wb_conductor::{AUTO_CONDENSE_POLICY, Compactor, CondenseOpts, ModelCard, TokenHeuristic};
use wb_interop::compact;
use wb_interop::rig::{KeepRecent, counter, from_rig, to_rig};
use wb_message::json;

/// A compaction that the user asked for.
fn force() -> CondenseOpts {
    CondenseOpts { force: true, ..CondenseOpts::default() }
}

fn steps(from: usize, n: usize) -> Vec<Message> {
    let step = |n: usize| {
        let id = CallId::from_wire(format!("c{n}"));
        let read = ToolFunction::new(ToolName::new("read").unwrap(), json!({ "path": format!("{n}.rs") }));
        let text = format!("// {n}\n{}", "fn main() {}\n".repeat(80));
        [
            Message::Assistant(AssistantMessage::new(vec![AssistantContent::ToolCall(ToolCall::new(
                id.clone(),
                read,
            ))])),
            Message::User {
                content: vec![UserContent::tool_result(
                    id,
                    ToolName::new("read").unwrap(),
                    vec![ToolResultContent::text(text)],
                )],
            },
        ]
    };
    (from..from + n).flat_map(step).collect()
}

fn session() -> Vec<Message> {
    let mut messages = vec![Message::user("Port the importer. Never touch the parser.")];
    messages.extend(steps(0, 40));
    messages.push(Message::user("Go on."));
    messages
}

fn compactor() -> Compactor {
    Compactor::new().card(ModelCard::with_window(12_000))
}

#[test]
fn messages_survive_both_ways() {
    for message in session() {
        let [ours] = &from_rig(&message)[..] else { panic!("one") };
        assert_eq!(to_rig(ours).unwrap(), message);
    }
}

#[tokio::test]
async fn a_history_is_compacted_and_keeps_its_pairs_and_its_own_messages() {
    let mut history = session();
    let before = history.clone();
    let report = compact(&mut history, &compactor(), &force()).await.unwrap();
    assert!(report.tokens_after <= report.target_tokens.unwrap(), "{report}");
    assert!(history.len() < before.len() && history.last() == before.last());
    Conversation::from_messages(history).validate().unwrap();
}

#[tokio::test]
async fn a_conversation_is_compacted_twice_saved_and_undone() {
    let store = MemoryStore::default();
    let mut conversation = Conversation::from_messages(session());
    save(&store, "a", &mut conversation).unwrap();
    let whole = conversation.messages().to_vec();

    for round in 0..2 {
        let report = compact(&mut conversation, &compactor(), &force()).await.unwrap();
        assert!(report.tokens_after <= report.target_tokens.unwrap(), "round {round}: {report}");
        conversation.validate().unwrap();
        assert_eq!(summarized_prefix(&conversation), 1);
        let summary = from_rig(&conversation.messages()[0])[0].clone();
        let wb_message::Message::User { content, .. } = summary else { panic!("a summary") };
        let text: String = content.texts().collect();
        assert_eq!(text.matches("- First request: Port the importer. Never touch the parser.").count(), 1);
        assert_eq!(text.matches("\n- Never touch the parser.").count(), 1, "the rule");
        assert!(text.matches("[Restored file after compaction]").count() <= 5, "those of this round");
        if round == 0 {
            save(&store, "a", &mut conversation).unwrap();
            conversation.extend(steps(100, 40));
            save(&store, "a", &mut conversation).unwrap();
        }
    }
    save(&store, "a", &mut conversation).unwrap();
    let mut again = load(&store, "a").unwrap();
    assert_eq!(again.messages(), conversation.messages());
    undo_summary(&mut again, &store, "a", Author::user()).unwrap();
    undo_summary(&mut again, &store, "a", Author::user()).unwrap();
    assert_eq!(again.messages()[0], whole[0]);
    assert_eq!(again.messages().len(), whole.len() + 80);
}

#[test]
fn rules_of_recent_messages_and_counters_are_those_of_rig() {
    let messages: Vec<Arc<Message>> = session().into_iter().map(Arc::new).collect();
    let start = KeepRecent(AUTO_CONDENSE_POLICY).start(&messages);
    assert!(start > 0 && start < messages.len());
    let kept = view(&messages, &KeepRecent(AUTO_CONDENSE_POLICY));
    assert_eq!(kept.len(), messages.len() - start, "no result is without its call");
    let counter = counter(Arc::new(TokenHeuristic::DEFAULT));
    assert!(counter.count(&messages[2]) > counter.count(&messages[1]));
}

#[tokio::test]
async fn the_store_that_these_tests_use_keeps_its_contract() {
    let store = MemoryStore::default();
    check_store(&store, &store.clone()).await.unwrap();
}
