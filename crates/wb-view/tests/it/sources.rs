//! The message behind each line of a digest.

use wb_message::{Block, Message, ToolVocabulary, json};
use wb_recall::Recall;
use wb_view::digest_lines;

use crate::sample::{DIGEST, messages};

fn log(messages: &[Message]) -> Recall<Message> {
    let mut log = Recall::empty(ToolVocabulary::UNIVERSAL);
    messages.iter().cloned().for_each(|message| log.push(message));
    log
}

fn sources(digest: &str, messages: &[Message]) -> Vec<Option<usize>> {
    digest_lines(digest, &log(messages)).into_iter().map(|line| line.source).collect()
}

#[test]
fn quotes_lead_to_what_was_said() {
    let expected = [None, Some(0), None, Some(0), None, Some(0), Some(1), None, None];
    assert_eq!(sources(DIGEST, &messages()), expected);
}

#[test]
fn a_line_in_other_words_has_no_source() {
    let digest = "# Status\n- Everything was rewritten in another language.\n- files: src/part_1.rs";
    assert_eq!(sources(digest, &messages()), [None, None, None]);
}

#[test]
fn tasks_commands_and_calls_are_found() {
    let todo = json!({"todos": [{"content": "Write the changelog entry", "status": "pending"}]});
    let calls = vec![
        Block::call("a", "TodoWrite", todo),
        Block::call("b", "Bash", json!({"command": "cargo test\n--workspace"})),
        Block::call("c", "Grep", json!({"pattern": "panicked|FAILED", "path": "/ci-logs"})),
    ];
    let all = [
        Message::user("Fix it please, all of it."),
        Message::assistant_blocks(calls),
        Message::tool_result("b", "Bash", "ok: 12 passed"),
    ];
    let digest = "# Plan\n- [pending] Write the changelog entry\n# Status\n  $ cargo test --workspace → ok: 12 passed; \
                  and much more than that\n- Called: Grep pattern: panicked|FAILED, path: /ci-logs";
    let found = sources(digest, &all);
    assert_eq!((found[1], found[4]), (Some(1), Some(1)));
    assert!(matches!(found[3], Some(1 | 2)), "{found:?}");
}

#[test]
fn the_first_request_is_the_first_and_a_repeated_line_is_of_the_newest() {
    let all = [
        Message::user("Run the whole check suite."),
        Message::assistant("Done with that."),
        Message::user("Run the whole check suite."),
    ];
    let digest = "- First request: Run the whole check suite.\n# Guardrails\n- Run the whole check suite.";
    assert_eq!(sources(digest, &all), [Some(0), None, Some(2)]);
}
