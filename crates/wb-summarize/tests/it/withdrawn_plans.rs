//! Work that the user withdrew and that a summary plans again.

use serde_json::{Value, json};
use wb_facts::{Facts, FindingKind, audit};
use wb_message::{Block, Message, ToolVocabulary};

fn list(items: &[(&str, &str)]) -> [Message; 2] {
    let items: Vec<Value> =
        items.iter().map(|(text, state)| json!({ "content": text, "status": state })).collect();
    [
        Message::assistant_blocks(vec![Block::call("c", "TodoWrite", json!({ "todos": items }))]),
        Message::tool_result("c", "TodoWrite", "ok"),
    ]
}

/// Returns the messages with the findings of withdrawn work, each with its line.
fn find_withdrawn(messages: &[Message], summary: &str) -> Vec<(u32, Option<u32>)> {
    let facts = Facts::default().with_messages(messages, &ToolVocabulary::UNIVERSAL);
    let found = audit(summary, &facts).into_iter().filter(|it| it.kind == FindingKind::Withdrawn);
    found.map(|it| (it.line, it.message)).collect()
}

const ASKED: &str = "Please add a cache to server.py and a retry to client.py";
const SUMMARY: &str = "Primary request: add a cache to server.py.\nPending tasks: add a cache to server.py.\n\
    4. **Optional Next Step**: add the cache to server.py\n5. Pending Tasks:\n - Add cache to server.py\n - Add retry to client.py";

/// Lets the user ask, reply and continue; reports whether the summary is found to plan the cache
/// again.
fn check(said: &[&str], expected: bool) {
    let mut messages = vec![Message::user(ASKED), Message::assistant("I will add a cache to server.py.")];
    for words in said {
        messages.extend([Message::user(*words), Message::assistant("Okay.")]);
    }
    let expected = if expected { vec![(2, Some(2)), (3, Some(2)), (5, Some(2))] } else { Vec::new() };
    assert_eq!(find_withdrawn(&messages, SUMMARY), expected, "{said:?}");
}

#[test]
fn withdrawn_work_is_not_planned_again() {
    for said in [
        "Stop, forget the cache. Do not add a cache to server.py. Fix the login bug in auth.py instead.",
        "No cache after all, drop the cache. Just the retry.",
        "Never mind the cache.",
        "Please cancel the cache!",
        "Actually, we can drop the cache for server.py.",
        "Stop adding the cache",
        "Don't add a cache to server.py any more.",
        "No cache after all.",
        "ok, and forget about the cache, the retry is enough",
        "Leave the cache out.",
        "Leave out the cache, please",
        "We no longer need the cache",
        "Let's not do the cache.",
        "Scratch the cache, then.",
        "Abandon the cache for server.py",
    ] {
        check(&[said], true);
        check(&[said, "Now run the tests."], true);
    }
}

#[test]
fn postponed_or_conditional_work_is_not_withdrawn() {
    for said in [
        "Don't add the cache yet.",
        "Drop the cache for now.",
        "Do not add the cache without asking me.",
        "Should we drop the cache?",
        "Don't forget the cache.",
        "Don't forget to add the cache.",
        "Do not drop the cache.",
        "Stop the cache server.",
        "Don't leave the cache out.",
        "Leave the cache as it is.",
        "No longer than the cache lives.",
        "The cache no longer works.",
        "Stop.",
        "Forget it.",
        "Drop the table users.",
        "It says \"drop the cache\".",
        "Drop the cache. Hmm, or add the cache to server.py in memory.",
    ] {
        check(&[said], false);
    }
    check(&["Drop the cache.", "Okay, bring the cache back."], false);
    let dropped = Message::user("Drop the cache.");
    let slow = Message::assistant("Without the cache it is slow. Shall I bring it back?");
    let messages =
        [Message::user(ASKED), Message::assistant("Okay."), dropped.clone(), slow, Message::user("Yes.")];
    assert_eq!(find_withdrawn(&messages, SUMMARY), []);
    let asks = Message::assistant("It is slow. Shall I add the cache to server.py nevertheless?");
    let messages = [Message::user(ASKED), Message::assistant("Okay."), dropped, asks, Message::user("Yes.")];
    assert_eq!(find_withdrawn(&messages, SUMMARY), []);
}

#[test]
fn a_yes_to_what_was_dropped_and_a_shorter_plan_do_not_hide_it() {
    let drop = Message::user("Cancel the cache.");
    let agreed = Message::assistant("Understood, the cache is cancelled. I do the retry.");
    let messages = [Message::user(ASKED), Message::assistant("Okay."), drop, agreed, Message::user("ok")];
    assert_eq!(find_withdrawn(&messages, SUMMARY), [(2, Some(2)), (3, Some(2)), (5, Some(2))]);
    let plan = |plan: &str| find_withdrawn(&messages, &format!("# Next steps\n- {plan}"));
    assert_eq!(plan("Implement the cache"), [(2, Some(2))]);
    assert_eq!(plan("Warm up the cache of the browser"), []);
    assert_eq!(plan("Implement the retry"), []);
}

#[test]
fn a_task_that_left_the_list_after_the_user_dropped_it_is_not_planned_again() {
    let begin = [Message::user("Go on with the list.")];
    let first = list(&[("Add cache to server.py", "in_progress"), ("Add retry to client.py", "pending")]);
    let drop = [Message::user("Drop the cache.")];
    let second = list(&[("Add retry to client.py", "completed")]);
    let plan = "# Plan\n- [pending] Add cache to server.py";
    let all = |parts: &[&[Message]]| parts.concat();
    assert_eq!(find_withdrawn(&all(&[&begin, &first, &drop, &second]), plan), [(2, Some(3))]);
    assert_eq!(find_withdrawn(&all(&[&begin, &first, &drop]), plan), [(2, Some(3))]);
    // An agent that keeps it on its list understood something else, and a vanished item may have
    // become another task.
    let kept = list(&[("Add cache to server.py", "pending"), ("Add retry to client.py", "completed")]);
    assert_eq!(find_withdrawn(&all(&[&begin, &first, &drop, &kept]), plan), []);
    assert_eq!(find_withdrawn(&all(&[&begin, &first, &second]), plan), []);
}

#[test]
fn a_summary_that_says_that_something_was_dropped_is_right() {
    let messages = [
        Message::user(ASKED),
        Message::assistant("Okay."),
        Message::user("Drop the cache."),
        Message::assistant("Okay."),
    ];
    for summary in [
        "# Next steps\n- Do not add the cache to server.py",
        "# Next steps\n- Add a cache to server.py (cancelled)",
        "# Plan\n- [cancelled] Add a cache to server.py",
        "# Next steps\n- Add a cache to proxy.py and to gateway.py for the new tenants",
        "# User messages\n- Please add a cache to server.py",
        "# Explanation: add a cache to server.py",
    ] {
        assert_eq!(find_withdrawn(&messages, summary), [], "{summary}");
    }
}
