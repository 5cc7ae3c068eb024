//! Laws of every answer.

use proptest::prelude::*;
use wb_budget::estimate_text;
use wb_message::{Block, Message, ToolVocabulary, Value, json};
use wb_recall::{Question, Recall, Subject};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,80}",
        "([a-zA-Z_/.é中文🦀 -]{0,60}\n){0,40}",
        "[ab]{0,4000}",
        Just("\u{2028}\r\n\u{0}".to_owned()),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let input =
        text().prop_map(|text| json!({"file_path": "src/a.rs", "command": text, "list": [1, {"a": text}]}));
    let call = (prop::sample::select(vec!["Read", "Edit", "Bash", "recall", "x"]), input);
    prop_oneof![
        text().prop_map(Message::user),
        text().prop_map(Message::assistant),
        call.prop_map(|(name, input)| Message::assistant_blocks(vec![Block::call("1", name, input)])),
        text().prop_map(|text| Message::tool_result("1", "Read", text)),
        text().prop_map(|text| Message::tool_error("1", "Bash", text)),
        text().prop_map(|text| Message::bash(text.clone(), text, Some(1))),
        Just(Message::assistant_blocks(vec![Block::call("1", "Bash", Value::Null)])),
    ]
}

fn about() -> impl Strategy<Value = Subject> {
    prop_oneof![
        text().prop_map(Subject::Words),
        (0_usize..20).prop_map(Subject::Message),
        Just(Subject::File("a.rs".into())),
        text().prop_map(Subject::File),
        text().prop_map(Subject::Command),
        (0_usize..9).prop_map(Subject::Turn),
    ]
}

proptest! {
    #[test]
    fn an_answer_is_within_its_cap_quotes_exactly_and_is_stable(
        session in prop::collection::vec(message(), 0..16),
        about in about(),
        from_line in 0_usize..60,
        max_tokens in 0_u64..3_000,
        visible in prop::option::of(0_usize..16),
    ) {
        let mut recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
        if let Some(visible) = visible {
            recall = recall.visible_from(visible);
        }
        let question = Question::new(about).from_line(from_line).max_tokens(max_tokens);
        let answer = recall.answer(&question);
        prop_assert_eq!(&answer, &recall.answer(&question));
        let tokens = estimate_text(&answer.to_string());
        prop_assert!(tokens <= question.max_tokens, "{} of {}: {}", tokens, question.max_tokens, answer);
        for found in &answer.excerpts {
            let whole = serde_json::to_string(&session[found.message]).unwrap();
            for (_, line) in &found.lines {
                let line = line.inspect().trim_matches('…');
                let quoted = serde_json::to_string(line).unwrap();
                let is_of_call = line.starts_with("call ") || line.contains(": ") || line.starts_with("$ ");
                prop_assert!(is_of_call || whole.contains(quoted.trim_matches('"')), "{:?} in {}", line, whole);
            }
        }
    }
}
