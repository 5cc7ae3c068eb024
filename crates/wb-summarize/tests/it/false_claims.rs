//! Short sessions with summaries of a line: what is false is found, what is true is not.

use serde_json::{Value, json};
use wb_facts::{Facts, FindingKind, audit};
use wb_message::{Block, Content, Message, ToolVocabulary};

use FindingKind::{FailedSince, TaskState, UnknownApproval, UnknownPath, UnshownChange, UnshownEnd};

fn user(text: &str) -> Vec<Message> {
    vec![Message::user(text)]
}

fn agent(text: &str) -> Vec<Message> {
    vec![Message::assistant(text)]
}

fn call(name: &str, input: Value, output: &str) -> Vec<Message> {
    vec![
        Message::assistant_blocks(vec![Block::call("c", name, input)]),
        Message::tool_result("c", name, output),
    ]
}

fn bash(command: &str, output: &str) -> Vec<Message> {
    call("Bash", json!({ "command": command }), output)
}

fn failed(name: &str, input: Value, output: &str) -> Vec<Message> {
    vec![
        Message::assistant_blocks(vec![Block::call("c", name, input)]),
        Message::tool_error("c", name, output),
    ]
}

fn read(path: &str) -> Vec<Message> {
    call("Read", json!({ "file_path": path }), "fn total() {}")
}

fn edit(path: &str) -> Value {
    json!({ "file_path": path, "old_string": "see src/other.rs", "new_string": "b" })
}

fn finding_kinds(parts: &[Vec<Message>], summary: &str) -> Vec<FindingKind> {
    let facts = Facts::default().with_messages(&parts.concat(), &ToolVocabulary::UNIVERSAL);
    let found = audit(summary, &facts).into_iter().map(|it| it.kind);
    found.filter(|kind| *kind != FindingKind::MissingConstraint).collect()
}

/// Audits summaries of a session, each with the one thing that is false in it, if anything is.
fn check(parts: &[Vec<Message>], summaries: &[(&str, Option<FindingKind>)]) {
    for (summary, expected) in summaries {
        assert_eq!(finding_kinds(parts, summary), Vec::from_iter(*expected), "{summary}\n{parts:?}");
    }
}

#[test]
fn only_a_yes_agrees_to_what_the_agent_asked() {
    let drop = "The user approved dropping the production database tables.";
    for (answer, expected) in [
        ("No!", Some(UnknownApproval)),
        ("No, do not.", Some(UnknownApproval)),
        ("Please don't.", Some(UnknownApproval)),
        ("Yes, go ahead.", None),
        ("No problem.", None),
    ] {
        let asked = agent("Shall I drop the production database tables?");
        check(&[user("Clean up."), asked, user(answer)], &[(drop, expected)]);
    }
    let rules = [user("Never drop the production database tables.")];
    check(&rules, &[(drop, Some(UnknownApproval))]);
    check(&[user("Drop the production database tables.")], &[(drop, None)]);
    // A question about an act is no yes to it.
    let pushed = "The user approved the force-push to the release branch.";
    check(&[user("How do I push to a fork?")], &[(pushed, Some(UnknownApproval))]);
}

/// Returns the percentage of sentences that are reported as approvals that nobody gave.
fn percent_reported(sentences: &[Value]) -> usize {
    let session = [
        user("Find the bug in the importer and fix it."),
        agent("A value is lost because of a wrong bound."),
        user("go on"),
        agent("The loop is fixed and the tests pass."),
    ];
    let is_reported = |sentence: &&Value| {
        let summary = format!("- {}", sentence.as_str().expect("a text"));
        finding_kinds(&session, &summary).contains(&UnknownApproval)
    };
    (sentences.iter().filter(is_reported).count() * 100).div_ceil(sentences.len())
}

/// The sentences of `untouched.json` were written after the code, which was not changed for them.
#[test]
fn approvals_that_nobody_gave_are_found_in_any_usual_wording() {
    let tuned = include_str!("../../../../fixtures/approvals/tuned.json");
    let untouched = include_str!("../../../../fixtures/approvals/untouched.json");
    for (name, sets, least) in [("tuned", tuned, 99), ("untouched", untouched, 95)] {
        let sets: Value = serde_json::from_str(sets).unwrap();
        let percent = |key: &str| percent_reported(sets[key].as_array().unwrap());
        let (claims, others) = (percent("claims"), percent("others"));
        assert!(claims >= least && others <= 2, "{name}: {claims} % of claims, {others} % of others");
    }
}

#[test]
fn an_answer_that_refuses_is_no_approval() {
    let question = || json!({ "questions": [{ "question": "Drop the production database tables?" }] });
    let drop = "The user approved dropping the production database tables.";
    for (answer, expected) in [("No", Some(UnknownApproval)), ("Yes", None), ("Drop both", None)] {
        let result = format!(
            "User has answered your questions: \"Drop the production database tables?\"=\"{answer}\". You can now continue."
        );
        check(&[user("Clean up."), call("AskUserQuestion", question(), &result)], &[(drop, expected)]);
    }
    let plan = json!({ "plan": "# Drop the production database tables" });
    let refused = "The user doesn't want to proceed with this tool use.";
    let asked = agent("I would drop the production database tables.");
    check(
        &[user("Clean up."), asked, failed("ExitPlanMode", plan, refused)],
        &[(drop, Some(UnknownApproval))],
    );
}

#[test]
fn a_file_that_was_named_read_or_could_not_be_changed_was_not_changed() {
    let updated = ("Updated `src/cart.rs`.", Some(UnshownChange));
    check(&[user("Why does src/cart.rs fail?"), read("src/cart.rs")], &[updated]);
    check(
        &[user("Mend it."), read("src/cart.rs"), failed("Edit", edit("src/cart.rs"), "String not found")],
        &[updated],
    );
    check(
        &[user("Mend it."), read("src/other.rs"), call("Edit", edit("src/cart.rs"), "It was updated.")],
        &[("Updated `src/cart.rs`.", None), ("Updated `src/other.rs`.", Some(UnshownChange))],
    );
    check(&[user("I updated src/cart.rs myself."), read("src/cart.rs")], &[("Updated `src/cart.rs`.", None)]);
}

#[test]
fn files_of_a_pattern_may_be_reported_as_deleted() {
    let deleted = "Deleted `src/cart.rs`.";
    let edited = call("Edit", edit("src/cart.rs"), "It was updated.");
    check(&[user("Mend it."), edited.clone()], &[(deleted, Some(UnshownChange))]);
    check(&[user("Mend it."), edited.clone(), bash("rm src/*.rs", "")], &[(deleted, None)]);
    check(&[user("Mend it."), bash("rm src/*.rs", ""), edited.clone()], &[(deleted, Some(UnshownChange))]);
    check(&[user("Mend it."), edited, bash("rm src/old.rs", "")], &[(deleted, Some(UnshownChange))]);
    check(
        &[user("Mend it."), read("src/cart.rs"), bash("sed -i s/a/b/ src/*.rs", "")],
        &[("Updated `src/cart.rs`.", None)],
    );
}

#[test]
fn a_path_is_known_in_any_surroundings() {
    for said in ["See “src/cart.rs” first.", "请修改src/cart.rs文件"] {
        check(
            &[user(said)],
            &[
                ("See `src/cart.rs`.", None),
                ("请看src/cart.rs文件", None),
                ("See `src/basket.rs`.", Some(UnknownPath)),
            ],
        );
    }
    let folder = "folder/".repeat(40);
    check(&[user(&format!("See {folder}src/cart.rs"))], &[("See `src/cart.rs`.", None)]);
    let long = format!("See `{folder}src/basket.rs`.");
    check(&[user("Go on.")], &[(&long, None)]);
}

#[test]
fn words_that_were_not_read_are_not_missing() {
    let filler = "line of text\n".repeat(90_000);
    let shown = bash("cat notes", &format!("{filler}see src/cart.rs"));
    check(&[user("Go on."), shown], &[("See `src/cart.rs`.", None)]);
}

#[test]
fn every_kind_of_block_is_read() {
    let block = Block::ToolResult { call_id: "c".to_owned(), output: json!(["src/cart.rs"]), is_error: None };
    let command = Block::Command { command: "review".to_owned(), args: Some(vec!["src/cart.rs".to_owned()]) };
    for block in [block, command] {
        let message = Message::user(Content::Blocks(vec![Block::text("Go on."), block]));
        check(&[vec![message]], &[("See `src/cart.rs`.", None), ("See `src/basket.rs`.", Some(UnknownPath))]);
    }
}

#[test]
fn the_state_of_a_task_matches_the_list() {
    let list = |items: &[(&str, &str)]| {
        let items: Vec<Value> =
            items.iter().map(|(text, state)| json!({ "content": text, "status": state })).collect();
        call("TodoWrite", json!({ "todos": items }), "ok")
    };
    let before = [("Describe the importer change", "pending"), ("Port the reader tests", "pending")];
    let after = [("Port the reader tests", "cancelled"), ("Write the parser cases", "completed")];
    let session = [user("Go on."), list(&before), list(&after)];
    check(
        &session,
        &[
            ("# Plan\n- [cancelled] Port the reader tests", None),
            ("# Plan\n- [no longer on the list] Describe the importer change", None),
            ("- [x] Describe the importer change", Some(TaskState)),
            ("- [completed] Port the reader tests", Some(TaskState)),
            ("- [pending] Port the reader tests", Some(TaskState)),
            ("- [cancelled] Write the parser cases", Some(TaskState)),
            ("- [x] Write the parser cases", None),
            ("- [importer](docs/) Describe the importer change", None),
        ],
    );
}

#[test]
fn the_outcome_of_a_command_must_match() {
    let make = |end: &str| format!("- Turn 1:\n  $ make → {end}");
    let check = |parts: &[Vec<Message>], end: &str, expected: Option<FindingKind>| {
        check(parts, &[(&make(end), expected)]);
    };
    let bad = [user("Go on."), failed("Bash", json!({ "command": "make" }), "Exit code 2\nerror: no rule")];
    check(&bad, "failed", None);
    check(&bad, "failed (exit 2): error: no rule", None);
    check(&bad, "ok", Some(FailedSince));
    let good = [user("Go on."), bash("make", "done")];
    check(&good, "ok", None);
    check(&good, "failed", Some(UnshownEnd));
    let other = [user("Go on."), bash("make all", "done")];
    check(&other, "failed", None);
}

#[test]
fn a_claim_with_its_exception_is_true() {
    let output = "test a ... FAILED\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored";
    let session = [user("Go on."), failed("Bash", json!({ "command": "cargo test" }), output)];
    check(
        &session,
        &[
            ("3 tests passed, 1 failed.", None),
            ("1 test failed, 3 tests passed.", None),
            ("All tests pass except a.", None),
            ("The tests pass but one.", None),
            ("All tests pass.", Some(FailedSince)),
            ("4 tests passed, 0 failed.", Some(FailedSince)),
            ("Mended the failing case, all tests pass now.", Some(FailedSince)),
        ],
    );
}

#[test]
fn text_after_an_open_fence_is_read() {
    let session = [user("Go on.")];
    check(
        &session,
        &[
            ("```\nSee `src/basket.rs`.\n```", None),
            ("```\nlet a = 1;\n\nSee `src/basket.rs`.", Some(UnknownPath)),
            ("```cargo test```\nSee `src/basket.rs`.", Some(UnknownPath)),
            ("~~~\n```\n~~~\nSee `src/basket.rs`.", Some(UnknownPath)),
        ],
    );
}

#[test]
fn what_is_left_of_a_name_where_a_text_was_cut_is_not_held_against_it() {
    check(
        &[user("Go on.")],
        &[
            ("It writes to some_fil\n[… clipped …]\nname_of_a_file at once.", None),
            ("It writes to some_fil at\n[… clipped …]\nonce.", Some(FindingKind::UnknownName)),
        ],
    );
}

#[test]
fn a_line_that_is_marked_as_a_whole_is_a_heading() {
    let list = json!({ "todos": [{ "content": "Port the reader tests", "status": "pending" }] });
    let session = [user("Go on."), call("TodoWrite", list, "ok")];
    let check = |heading: &str, expected: Option<FindingKind>| {
        check(&session, &[(&format!("{heading}\n- Port the reader tests"), expected)]);
    };
    for heading in
        ["## Completed", "**Completed Work**", "3. Completed:", "**Completed:**", "# Completed (all)"]
    {
        check(heading, Some(TaskState));
    }
    for heading in ["Completed", "#12 is completed", "- Completed:", "It was completed."] {
        check(heading, None);
    }
}

#[test]
fn a_false_claim_is_found_on_each_of_its_lines() {
    let twice = "See `src/basket.rs`.\nRead `src/basket.rs` again.";
    assert_eq!(finding_kinds(&[user("Go on.")], twice), [UnknownPath, UnknownPath]);
    assert_eq!(finding_kinds(&[user("Go on.")], "`src/basket.rs` or `src/basket.rs`"), [UnknownPath]);
}

#[test]
fn the_number_of_a_message_is_its_place_also_behind_a_digest() {
    let digest = "[session digest — older turns condensed]\n\n# Carryover\n- Seen last in Read src/a.rs:\n  fn parse_alpha()\n\
                  - Seen last in Read src/b.rs:\n  fn parse_beta()";
    let test = failed("Bash", json!({ "command": "cargo test" }), "test result: FAILED. 0 passed; 1 failed");
    let parts = [user("Start."), user(digest), test].concat();
    let facts = Facts::default().with_messages(&parts, &ToolVocabulary::UNIVERSAL);
    assert_eq!(facts.n_messages() as usize, parts.len());
    let found = audit("All tests pass.", &facts);
    assert_eq!(found.first().and_then(|it| it.message), Some(3));
    let label = |name: &str| facts.names().get(name).map(|named| facts.names().label_of(&named).to_owned());
    assert_eq!(label("parse_alpha").as_deref(), Some("Read src/a.rs"));
    assert_eq!(label("parse_beta").as_deref(), Some("Read src/b.rs"));
}

#[test]
fn facts_that_somebody_made_up_do_no_harm() {
    let text = serde_json::to_string(
        &Facts::default().with_messages(&user("See src/cart.rs."), &ToolVocabulary::UNIVERSAL),
    )
    .unwrap();
    let known: Value = serde_json::from_str(&text).unwrap();
    let again = |change: fn(&mut Value)| {
        let mut value = known.clone();
        change(&mut value["ledger"]);
        serde_json::from_value::<Facts>(value)
    };
    let mut facts = again(|ledger| ledger["known"]["n_read"] = json!(u64::MAX)).unwrap();
    facts.observe(&Message::user("See src/other.rs."), &ToolVocabulary::UNIVERSAL);
    let mut facts = again(|ledger| ledger["n_messages"] = json!(u32::MAX)).unwrap();
    facts.observe(&Message::user("See src/other.rs."), &ToolVocabulary::UNIVERSAL);
    assert!(again(|ledger| ledger["known"]["layers"][0]["bits"] = json!("")).is_err());
}
