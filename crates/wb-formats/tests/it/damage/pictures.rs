//! Pictures that a provider refuses, in sessions and messages of several formats.

use serde_json::{Value, json};
use wb_formats::SentAs;

use crate::damage::corrupted::written;
use crate::support::open;

/// A GIF of 9000 by 9 pixels, and one of 9 by 9.
const LARGE: &str = "R0lGODlhKCMJAAAAAA==";
const SMALL: &str = "R0lGODlhCQAJAAAAAA==";

fn picture(media_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
}

/// A session of Claude Code whose tool answers with a picture.
fn of_claude_code(picture: &Value) -> Vec<u8> {
    let record = |nth: usize, kind: &str, message: Value| {
        let parent = nth.checked_sub(1).map(|before| format!("u{before}"));
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/a", "sessionId": "s",
            "version": "2.1.0", "type": kind, "uuid": format!("u{nth}"),
            "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
        });
        format!("{line}\n")
    };
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "shot", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": [picture] });
    let lines = [
        record(0, "user", json!({ "role": "user", "content": "Look." })),
        record(1, "assistant", json!({ "id": "msg_1", "role": "assistant", "content": [call] })),
        record(2, "user", json!({ "role": "user", "content": [result] })),
        record(3, "user", json!({ "role": "user", "content": [{ "type": "text", "text": "So?" }, picture] })),
    ];
    lines.concat().into_bytes()
}

/// Returns the rules that the next request breaks, and the session after a repair.
fn repaired(bytes: &[u8]) -> (Vec<String>, String) {
    let view = open(bytes).unwrap();
    let found = SentAs::from_view(&view).violations(&view.messages);
    let rules = found.into_iter().map(|it| it.rule.into_owned()).collect();
    let (now, _) = written(bytes).unwrap();
    assert_eq!(SentAs::from_view(&now).violations(&now.messages), []);
    (rules, format!("{:?}", now.messages))
}

#[test]
fn refused_pictures_of_claude_code_become_texts_and_wrong_media_types_are_corrected() {
    for (media_type, data, rule) in [
        ("image/gif", LARGE, "picture-pixels"),
        ("image/png", "", "picture-empty"),
        ("image/tiff", "SUkqAAAAAAAAAAAAAAAAAAAA", "picture-type"),
    ] {
        let (rules, now) = repaired(&of_claude_code(&picture(media_type, data)));
        assert_eq!(rules, [rule, rule]);
        assert_eq!((now.matches("[image]").count(), now.contains("Image")), (2, false), "{now}");
    }
    let (rules, now) = repaired(&of_claude_code(&picture("image/png", SMALL)));
    assert_eq!(rules, ["picture-type", "picture-type"]);
    assert_eq!((now.matches("image/gif").count(), now.matches(SMALL).count()), (2, 2), "{now}");
    let (rules, _) = repaired(&of_claude_code(&picture("image/gif", SMALL)));
    assert!(rules.is_empty());
}

#[test]
fn the_oldest_of_too_many_pictures_become_texts() {
    // The first side of each GIF differs.
    let gif = |high: char| ['A', 'Q', 'g', 'w'].map(|low| format!("R0lGODlh{high}{low}AJAAAAAA=="));
    let data: Vec<String> = ('B'..='Z').chain('a'..='z').flat_map(gif).take(102).collect();
    let lines = data.iter().enumerate().map(|(nth, data)| {
        let parent = nth.checked_sub(1).map(|before| format!("u{before}"));
        let content = json!([{ "type": "text", "text": "Look." }, picture("image/gif", data)]);
        let line = json!({ "parentUuid": parent, "isSidechain": false, "type": "user", "uuid": format!("u{nth}"),
            "message": { "role": "user", "content": content } });
        format!("{line}\n")
    });
    let (rules, now) = repaired(lines.collect::<String>().as_bytes());
    assert_eq!(rules, ["picture-count", "picture-count"]);
    let is_there = |data: &String| now.contains(data.as_str());
    assert_eq!((now.matches("[image]").count(), data.iter().position(is_there)), (2, Some(2)));
}
