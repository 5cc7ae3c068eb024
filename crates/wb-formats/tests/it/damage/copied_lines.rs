//! Sessions of Claude Code that continue after a copy of summarized lines, as a second compaction
//! in one process wrote them.

use serde_json::{Value, json};
use wb_formats::{Note, View};
use wb_message::outline::outline;

use crate::damage::corrupted::written;
use crate::support::{claude::lines, open};

fn line(id: &str, parent: Option<&str>, kind: &str, message: &Value) -> Value {
    json!({ "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": id, "sessionId": "s", "cwd": "/w",
        "version": "2.1.250", "timestamp": "2026-01-01T00:00:00.000Z", "message": message })
}

fn user(id: &str, parent: Option<&str>, text: &str) -> Value {
    line(id, parent, "user", &json!({ "role": "user", "content": text }))
}

fn answer(id: &str, parent: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    line(
        id,
        Some(parent),
        "assistant",
        &json!({ "id": format!("m-{id}"), "role": "assistant", "content": content }),
    )
}

fn host(id: &str, parent: Option<&str>, subtype: &str) -> Value {
    let mut line = line(id, parent, "system", &Value::Null);
    line["subtype"] = subtype.into();
    line["compactMetadata"] = json!({ "trigger": "auto", "preTokens": 9_000 });
    line
}

/// The summarized lines.
fn old() -> Vec<Value> {
    vec![user("u1", None, "Sow the beans."), answer("a1", "u1", "Sown.")]
}

/// The old lines, their compaction, what follows it, then copies of the old lines.
fn copied(copies: &[Value]) -> Vec<Value> {
    let mut summary = user("s1", Some("b1"), "The beans are sown.");
    summary["isCompactSummary"] = true.into();
    let new = vec![
        host("b1", None, "compact_boundary"),
        summary,
        user("u2", Some("s1"), "Water them."),
        answer("a2", "u2", "Watered."),
    ];
    [old(), new, copies.to_vec()].concat()
}

fn copied_parent(view: &View) -> Option<(usize, usize, usize)> {
    view.notes.iter().find_map(|note| match note {
        Note::CopiedParent { line, behind, n_summarized } => Some((*line, *behind, *n_summarized)),
        _ => None,
    })
}

const WHOLE: &str = "\
\u{20}  0 digest    \"The beans are sown.\"
\u{20}  1 user      \"Water them.\"
\u{20}  2 assistant \"Watered.\"
\u{20}  3 user      \"And now?\"
\u{20}  4 assistant \"Weed.\"
";

#[test]
fn a_branch_of_a_copy_is_noted_and_linked_to_what_follows_the_compaction() {
    let rewritten = [old()[0].clone(), answer("a1", "u1", "Sown, all of them.")];
    for (copies, between) in [
        (old(), None),
        (rewritten.to_vec(), None),
        (old(), Some(host("h1", Some("a1"), "stop_hook_summary"))),
    ] {
        let parent = if between.is_some() { "h1" } else { "a1" };
        let branch = [user("u3", Some(parent), "And now?"), answer("a3", "u3", "Weed.")];
        let bytes = lines(&[copied(&copies), between.into_iter().collect(), branch.to_vec()].concat());
        let view = open(&bytes).unwrap();
        assert_eq!(copied_parent(&view), Some((9, 6, 2)), "{:?}", view.notes);
        let (now, is_written) = written(&bytes).unwrap();
        assert!(is_written && copied_parent(&now).is_none(), "{:?}", now.notes);
        assert_eq!(outline(&now.messages), WHOLE);
    }
}

#[test]
fn each_branch_of_a_copy_is_linked_in_turn() {
    let mut second = user("s2", Some("b2"), "All is watered.");
    second["isCompactSummary"] = true.into();
    let again = [host("b2", None, "compact_boundary"), second, user("u3", Some("s2"), "Look.")];
    let after = [user("u4", Some("a1"), "And now?")];
    let bytes = lines(&[copied(&[]), again.to_vec(), old(), after.to_vec()].concat());
    let (now, _) = written(&bytes).unwrap();
    assert_eq!(
        outline(&now.messages),
        "   0 digest    \"All is watered.\"\n   1 user      \"Look.\"\n   2 user      \"And now?\"\n"
    );
}

#[test]
fn a_rewind_to_before_a_compaction_and_copies_that_nothing_follows_are_no_damage() {
    let rewound = [user("u3", Some("a1"), "And now?")];
    let behind = [user("u3", Some("a2"), "And now?")];
    for all in
        [[copied(&[]), rewound.to_vec()].concat(), [copied(&old()), behind.to_vec()].concat(), copied(&old())]
    {
        let bytes = lines(&all);
        let view = open(&bytes).unwrap();
        assert_eq!(copied_parent(&view), None, "{:?}", view.notes);
        assert!(!written(&bytes).unwrap().1);
    }
}
