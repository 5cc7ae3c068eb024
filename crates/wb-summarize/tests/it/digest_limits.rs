//! The limits that the local digest states, and outdated facts that it leaves out.

use wb_facts::Facts;
use wb_message::{Block, Message, ToolVocabulary};
use wb_summarize::{LocalDigest, local_digest};
use wb_testkit::script;

use crate::local::digest;

const GAP: &str = "- Requests left out: ";

#[test]
fn requests_that_found_no_room_are_a_marked_gap_also_in_the_next_digest() {
    let request =
        |n: usize| Message::user(format!("Request {n}: {}", "look at one more column. ".repeat(12)));
    let talk: Vec<Message> = (0..40).map(request).collect();
    let render = |prior: Option<&str>, talk: &[Message], max_chars| {
        local_digest(talk, &ToolVocabulary::default(), prior).render(max_chars)
    };
    let first = render(None, &talk, 4_000);
    let (before, behind) = first.split_once(GAP).expect("a gap");
    let (listed, quoted) = (behind.lines().next().unwrap_or_default(), first.matches("Request ").count());
    assert!(listed.starts_with(&format!("{}, of messages 1, 2, 3", 40 - quoted)), "{first}");
    assert!(before.contains("- First request: Request 0:") && !before.contains("- Earlier"), "{first}");
    assert!(behind.contains("- Latest request: Request 39:"), "{first}");
    let next = render(Some(&first), &[request(40)], 6_000);
    assert_eq!(next.matches(GAP).count(), 1, "{next}");
    assert!(next.contains("- Latest request: Request 40:"), "{next}");
    let whole = render(None, &talk, 40_000);
    assert!(!whole.contains(GAP) && whole.contains("Request 20:"), "{whole}");
}

#[test]
fn no_request_is_the_latest_if_a_later_one_is_visible() {
    let talk = script(
        r#"u"Port the importer." a"Done." u"Release it as a minor version." a"Shall I push?" u"yeah, all of it" a"Pushed.""#,
    );
    let facts = Facts::default().with_messages(&talk, &ToolVocabulary::default());
    let rest = LocalDigest::new(&facts, 4).omit_visible(&|at, _| at >= 4).render(4_000);
    assert!(rest.contains("- Earlier request: Release it as a minor version."), "{rest}");
    assert!(!rest.contains("- Latest request:"), "{rest}");
    let alone = LocalDigest::new(&facts, 6).render(4_000);
    assert!(alone.contains("- Latest request: Release it as a minor version."), "{alone}");
}

#[test]
fn text_that_a_reader_sees_is_not_repeated_at_length() {
    let long =
        format!("Port the importer. Never touch the wire format. {}", "It reads many columns. ".repeat(60));
    let talk = [Message::user(long.as_str()), Message::assistant("Ported.")];
    let facts = Facts::default().with_messages(&talk, &ToolVocabulary::default());
    let alone = LocalDigest::new(&facts, 2).render(8_000);
    assert!(
        alone.contains("# Guardrails\n- Never touch the wire format.") && alone.contains(long.trim()),
        "{alone}"
    );
    let rest = LocalDigest::new(&facts, 1).omit_visible(&|at, _| at == 0).render(8_000);
    assert!(
        rest.contains("# Guardrails\n- The user messages next to this digest also apply.\n# Status")
            && rest.len() + 800 < alone.len(),
        "{rest}"
    );
}

#[test]
fn what_was_broken_off_is_no_conclusion() {
    let mut talk =
        script(r#"u"Are we ready?" a"Perfect" u"Read the page on releases." a"It has four steps.""#);
    if let Message::Assistant { error_message, .. } = &mut talk[1] {
        *error_message = Some("Request was aborted".to_owned());
    }
    let digest = digest(&talk, None);
    assert!(!digest.contains("Perfect") && digest.contains("It has four steps."), "{digest}");
}

#[test]
fn a_finished_list_precedes_its_dropped_tasks() {
    let listed = |id: usize, tasks: [(&str, &str); 2]| {
        let todos = tasks.map(|(content, status)| serde_json::json!({"content": content, "status": status}));
        let call = Block::call(id.to_string(), "TodoWrite", serde_json::json!({"todos": todos}));
        [Message::assistant_blocks(vec![call]), Message::tool_result(id.to_string(), "TodoWrite", "ok")]
    };
    let read = ("read the columns", "completed");
    let lists = [
        listed(1, [read, ("draw a chart", "pending")]),
        listed(2, [read, ("try a real file", "pending")]),
        listed(3, [read, ("write a page", "completed")]),
    ];
    let talk =
        [vec![Message::user("Port it.")], lists.concat(), vec![Message::assistant("All done.")]].concat();
    let digest = digest(&talk, None);
    let plan = "# Plan\n- All tasks of the agent's list are done.\n- [no longer on the list] try a real file\n\
        - [no longer on the list] draw a chart\n";
    assert!(digest.contains(plan), "{digest}");
}

#[test]
fn a_check_that_worked_later_says_so_in_its_turn() {
    let talk = script(
        r#"u"Port it." a:bash(go test ./cart) t!"cart_test.go:147:12: mismatched types" a"One test does not build." u"Then mend it."
           a:edit(cart.go) t"ok" a:bash(go test ./cart) t"ok  cart 0.2s" a"It passes.""#,
    );
    let digest = digest(&talk, None);
    assert!(digest.contains("$ go test ./cart → failed, worked later\n"), "{digest}");
    assert!(!digest.contains("mismatched types\n") && !digest.contains("- Stuck?"), "{digest}");
}

#[test]
fn the_final_branch_of_a_command_follows_its_effects() {
    let command = "git stash && git checkout -b export && git stash pop";
    let output = "Saved working directory\nSwitched to a new branch 'export'\nOn branch export\nDropped refs/stash@{0}";
    let call = Block::call("g", "bash", serde_json::json!({ "command": command }));
    let talk = [
        Message::user("Branch off."),
        Message::assistant_blocks(vec![call]),
        Message::tool_result("g", "bash", output),
    ];
    let git = crate::local::lines(&digest(&talk, None), "- Git, newest first").concat();
    assert!(git.starts_with("- Git, newest first: on branch export; took back what was stashed; "), "{git}");
}

#[test]
fn remarks_between_calls_are_listed_in_order_with_runs() {
    let talk = script(
        r#"u"Port it." a"Let me look at it. The reader counts blank lines twice.":bash(cargo test reader) t!"FAILED. 1 failed"
           a"I found the cause: the buffer keeps the last line. Now I mend that.":bash(make) t"ok. 4 passed""#,
    );
    let digest = digest(&talk, None);
    let at = |what: &str| digest.find(what).unwrap_or_else(|| panic!("{what}: {digest}"));
    let expected = [
        at("\n  noted: The reader counts blank lines twice.\n"),
        at("\n  $ cargo test reader → failed"),
        at("\n  noted: I found the cause: the buffer keeps the last line.\n"),
        at("\n  $ make → ok"),
    ];
    assert!(expected.is_sorted() && !digest.contains("mend that"), "{digest}");
}

#[test]
fn a_remark_for_a_refused_call_is_left_out() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let talk = script(&format!(
        r#"u"Port it." a"The reader counts blank lines twice.":read(a.rs) t"fn a()"
           a"The writer is not needed any more.":bash(rm writer.rs) t?"{refusal}""#
    ));
    let digest = digest(&talk, None);
    assert!(
        digest.contains("noted: The reader counts") && !digest.contains("not needed any more"),
        "{digest}"
    );
    assert!(digest.contains("the user refused: "), "{digest}");
}

#[test]
fn lines_of_one_source_are_below_one_label() {
    let talk = script(
        r#"u"Port it." a:read(src/importer.rs@10+9) t"pub fn import_rows(table: &Table)" a:read(src/cart.rs) t"pub struct CartRow;"
           a:read(src/importer.rs@50+9) t"pub fn import_columns(table: &Table)" a"Read.""#,
    );
    let digest = digest(&talk, None);
    let lines = "- Seen last in read src/importer.rs:\n  pub fn import_rows(table: &Table)\n  \
                 …pub fn import_columns(table: &Table)";
    assert!(digest.contains(lines), "{digest}");
    assert!(digest.find("src/cart.rs:\n").is_some_and(|cart| Some(cart) < digest.find(lines)), "{digest}");
}

#[test]
fn the_approved_plan_is_also_in_the_next_digest() {
    let plan = |id: &str, plan: &str, answer: &str, is_refused: bool| {
        let call = Block::call(id, "ExitPlanMode", serde_json::json!({ "plan": plan }));
        let result = if is_refused {
            Message::tool_error(id, "ExitPlanMode", answer)
        } else {
            Message::tool_result(id, "ExitPlanMode", answer)
        };
        [Message::assistant_blocks(vec![call]), result]
    };
    let mut talk = vec![Message::user("Add a cache.")];
    talk.extend(plan(
        "p1",
        "# A cache\n\n1. Keep it in a file.",
        "The user doesn't want to proceed with this tool use.",
        true,
    ));
    talk.extend(plan(
        "p2",
        "# A cache\n\n1. Keep it in memory.\n2. Empty it at night.",
        "User has approved your plan.",
        false,
    ));
    let first = digest(&talk, None);
    let expected = "# Plan\n- The plan that the user approved last: # A cache\n\n  1. Keep it in memory.\n  2. Empty it at night.\n";
    assert!(first.contains(expected) && !first.contains("in a file"), "{first}");
    let next = digest(&[Message::user("Go on.")], Some(&first));
    assert!(next.contains("approved last: # A cache\n") && next.contains("2. Empty it at night."), "{next}");
}

#[test]
fn lines_of_an_edit_that_failed_are_in_no_file() {
    let talk = |is_error: bool| {
        let input = serde_json::json!({"file_path": "src/state.rs", "old_string": "fn a() {}",
            "new_string": "fn normalize_after_load() {\n    migrate_session_state();\n}"});
        let make = if is_error { Message::tool_error } else { Message::tool_result };
        let result = make("c1", "Edit", "The file src/state.rs was seen.");
        let call = Message::assistant_blocks(vec![Block::call("c1", "Edit", input)]);
        let talk = [Message::user("Rename it."), call, result, Message::assistant("So it is.")];
        local_digest(&talk, &ToolVocabulary::default(), None).render(8_000)
    };
    assert!(talk(false).contains("migrate_session_state();"), "{}", talk(false));
    assert!(!talk(true).contains("migrate_session_state();"), "{}", talk(true));
}
