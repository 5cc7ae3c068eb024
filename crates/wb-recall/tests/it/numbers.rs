//! The numbers of a context's messages.

use wb_message::{Block, Message, ToolVocabulary, json};
use wb_recall::Recall;

/// A request, eight reads, and a last request with its answer.
fn messages() -> Vec<Message> {
    let mut all = vec![Message::user("Port it.")];
    for n in 0..8 {
        let id = format!("c{n}");
        all.push(Message::assistant_blocks(vec![Block::call(&id, "Read", json!({"file_path": "a.rs"}))]));
        all.push(Message::tool_result(id, "Read", format!("fn part_{n}() {{}}")));
    }
    all.extend([Message::user("And the tests?"), Message::assistant("They pass.")]);
    all
}

fn numbers(context: &[Message]) -> Vec<Option<usize>> {
    Recall::new(&messages(), ToolVocabulary::UNIVERSAL).numbers_of(context)
}

#[test]
fn messages_of_a_context_have_the_numbers_of_the_whole_session() {
    let all = messages();
    let digest = Message::CompactionSummary { summary: "They ported it.".into(), tokens_before: 9 };
    let mut context = vec![digest, all[0].clone()];
    context.extend_from_slice(&all[15..]);
    // A result that was cleared since.
    let Message::ToolResult { content, .. } = &mut context[3] else { panic!("a result") };
    *content = wb_message::markers::cleared_body();
    assert_eq!(numbers(&context), [None, Some(0), Some(15), Some(16), Some(17), Some(18)]);
}

#[test]
fn messages_that_an_agent_moved_have_their_numbers() {
    let all = messages();
    // Codex keeps the user's words in front of what it sends anew.
    let context = [all[0].clone(), all[17].clone(), all[1].clone(), all[18].clone()];
    assert_eq!(numbers(&context), [Some(0), Some(17), Some(1), Some(18)]);
}
