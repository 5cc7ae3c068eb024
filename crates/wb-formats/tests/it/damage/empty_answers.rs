//! Answers without content, which kimi-cli sends as they are.

use wb_formats::SentAs;
use wb_message::Message;

use crate::damage::corrupted::written;
use crate::support::open;

const LINES: [&str; 4] = [
    r#"{"role":"_checkpoint","id":0}"#,
    r#"{"role":"user","content":"Count."}"#,
    r#"{"role":"assistant","content":[{"type":"text","text":"Twelve."}]}"#,
    r#"{"role":"user","content":"And now?"}"#,
];

/// Returns the rules that a session breaks before a repair, and the number of its answers after it.
fn repaired(empty: &str) -> (Vec<String>, usize) {
    let lines = [&LINES[..], &[empty, r#"{"role":"_checkpoint","id":1}"#, LINES[3], ""]].concat();
    let bytes = lines.join("\n").into_bytes();
    let view = open(&bytes).unwrap();
    assert_eq!(view.format, "kimi-cli");
    let found = SentAs::from_view(&view).violations(&view.messages);
    let (now, _) = written(&bytes).unwrap();
    assert_eq!(SentAs::from_view(&now).violations(&now.messages), []);
    let answers = now.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
    (found.into_iter().map(|it| it.rule.into_owned()).collect(), answers)
}

#[test]
fn an_empty_answer_of_kimi_is_removed() {
    for empty in [r#"{"role":"assistant","content":[]}"#, r#"{"role":"assistant","content":""}"#] {
        assert_eq!(repaired(empty), (vec!["message-empty".to_owned()], 1), "{empty}");
    }
    assert_eq!(repaired(r#"{"role":"assistant","content":"Still twelve."}"#), (vec![], 2));
}
