//! Digests of composed sessions, as they are and made wrong.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wb_facts::{Facts, FindingKind, audit};
use wb_message::{Block, Message, ToolVocabulary};
use wb_summarize::LocalDigest;

use crate::mutate::{Wrong, mutants};

/// A session that is put together step by step.
#[derive(Default)]
struct Composed {
    messages: Vec<Message>,
    n_calls: usize,
}

impl Composed {
    fn user(&mut self, text: &str) {
        self.messages.push(Message::user(text));
    }

    fn agent(&mut self, text: &str) {
        self.messages.push(Message::assistant(text));
    }

    fn call(&mut self, name: &str, input: Value, output: &str) {
        self.n_calls += 1;
        let id = format!("c{}", self.n_calls);
        self.messages.push(Message::assistant_blocks(vec![Block::call(&id, name, input)]));
        self.messages.push(Message::tool_result(&id, name, output));
    }

    fn todos(&mut self, states: &[(&str, &str)]) {
        let list: Vec<Value> =
            states.iter().map(|(text, state)| json!({ "content": text, "status": state })).collect();
        self.call("TodoWrite", json!({ "todos": list }), "Todos have been modified successfully.");
    }

    fn facts(&self) -> Facts {
        Facts::default().with_messages(&self.messages, &ToolVocabulary::UNIVERSAL)
    }
}

/// The subject of a session.
struct Subject {
    krate: &'static str,
    file: &'static str,
    other: &'static str,
    name: &'static str,
    rule: &'static str,
    noise: &'static str,
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        krate: "cart",
        file: "crates/cart/src/totals.rs",
        other: "crates/cart/src/rounding.rs",
        name: "round_half_even",
        rule: "Never change the public signatures of the cart crate.",
        noise: "Reviewers are asked to upload the coverage report to the shared dashboard first",
    },
    Subject {
        krate: "importer",
        file: "tools/importer/src/reader.rs",
        other: "tools/importer/src/blank_lines.rs",
        name: "skip_blank_lines",
        rule: "Do not add dependencies to the importer or its tools.",
        noise: "Every operator has to restart the nightly export after the quota was raised",
    },
    Subject {
        krate: "tidybox",
        file: "tidybox/src/watcher.rs",
        other: "tidybox/src/debounce.rs",
        name: "debounce_events",
        rule: "Never delete anything in the folder of recorded fixtures.",
        noise: "Maintainers should send the signed licence form before the release branch opens",
    },
    Subject {
        krate: "ledger",
        file: "services/ledger/src/posting.rs",
        other: "services/ledger/src/balance.rs",
        name: "post_entries",
        rule: "Always keep amounts in integer cents throughout the ledger.",
        noise: "Each deployment needs a second pair of eyes from the operations rota on duty",
    },
    Subject {
        krate: "router",
        file: "net/router/src/table.rs",
        other: "net/router/src/prefix_tree.rs",
        name: "longest_prefix",
        rule: "Don't touch the unsafe blocks of the router table code.",
        noise: "Contributors agree to squash their fixup history before somebody merges the topic",
    },
    Subject {
        krate: "mailer",
        file: "apps/mailer/src/queue.rs",
        other: "apps/mailer/src/backoff.rs",
        name: "next_attempt",
        rule: "Never send real mail from any test of the mailer.",
        noise: "Subscribers receive the quarterly letter unless their postal address was flagged lately",
    },
];

/// Composes a session whose last run of the tests ends as wanted; one of three runs no tests at
/// all.
fn composed(subject: &Subject, kind: usize) -> Composed {
    let Subject { krate, file, other, name, rule, noise } = subject;
    let mut session = Composed::default();
    session.user(&format!(
        "Totals are off by one in {krate}. Please find out why.\n{rule}\nTell me before you do more."
    ));
    session.agent(&format!("I read {file} first."));
    session.call(
        "Read",
        json!({ "file_path": file }),
        &format!("fn {name}(x: i64) -> i64 {{\n    x / 2\n}}\n"),
    );
    session.call(
        "Bash",
        json!({ "command": format!("cat docs/{krate}.md") }),
        &format!("# Notes\n{noise}\nThe end.\n"),
    );
    session.todos(&[
        (&format!("Find the cause in {name}"), "in_progress"),
        (&format!("Write the missing cases for {krate}"), "pending"),
        (&format!("Describe the change of {krate} in the notes"), "pending"),
    ]);
    let test = json!({ "command": format!("cargo test -p {krate}") });
    let failed = format!(
        "test {name}_is_exact ... FAILED\n\nfailures:\n    {name}_is_exact\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored"
    );
    let passed = "running 4 tests\ntest result: ok. 4 passed; 0 failed; 0 ignored";
    if kind > 0 {
        session.call("Bash", test.clone(), &failed);
    }
    session.call(
        "Edit",
        json!({ "file_path": file, "old_string": "x / 2", "new_string": "(x + 1) / 2" }),
        &format!("The file {file} has been updated."),
    );
    session.agent(&format!("The cause is integer division in `{name}`. Shall I also move it to {other}?"));
    session.user("yes, move it");
    session.call(
        "Write",
        json!({ "file_path": other, "content": "fn half() {}" }),
        "File created successfully.",
    );
    if kind > 0 {
        session.call("Bash", test, if kind == 1 { passed } else { &failed });
    }
    session.todos(&[
        (&format!("Find the cause in {name}"), "completed"),
        (&format!("Write the missing cases for {krate}"), "in_progress"),
        (&format!("Describe the change of {krate} in the notes"), "pending"),
    ]);
    session.agent(&format!("I moved `{name}` to {other}; the missing cases come next."));
    session
}

fn sessions() -> impl Iterator<Item = Composed> {
    SUBJECTS.iter().flat_map(|subject| (0..3).map(move |kind| composed(subject, kind)))
}

#[test]
fn our_own_digests_give_no_false_alarm() {
    let mut n_clean = 0;
    for session in sessions() {
        let facts = session.facts();
        for max_chars in [6_000, 20_000] {
            let digest = LocalDigest::new(&facts, session.messages.len()).render(max_chars);
            let found = audit(&digest, &facts);
            assert!(found.is_empty(), "{found:#?}\n{digest}");
            n_clean += 1;
        }
    }
    assert_eq!(n_clean, 36);
}

#[test]
fn of_digests_made_wrong_nearly_all_are_caught() {
    let (mut n_made, mut missed) = (BTreeMap::<Wrong, u32>::new(), Vec::new());
    for session in sessions() {
        let facts = session.facts();
        let digest = LocalDigest::new(&facts, session.messages.len()).render(20_000);
        let known = audit(&digest, &facts);
        let messages: Vec<&Message> = session.messages.iter().collect();
        for mutant in mutants(&digest, &messages) {
            *n_made.entry(mutant.wrong).or_default() += 1;
            if audit(&mutant.text, &facts).iter().all(|found| known.contains(found)) {
                missed.push((mutant.wrong, mutant.what));
            }
        }
    }
    let n: u32 = n_made.values().sum();
    assert!(n_made.len() == 6 && n > 400, "{n_made:?}");
    assert!(missed.len() * 100 <= n as usize, "{} of {n_made:?} missed: {missed:#?}", missed.len());
}

#[test]
fn each_kind_of_finding_names_the_piece_and_the_message_that_shows_it() {
    let facts = composed(&SUBJECTS[0], 2).facts();
    for (summary, kind, text, message) in [
        ("It is in `crates/cart/src/vat.rs:12`.", FindingKind::UnknownPath, "crates/cart/src/vat.rs", None),
        ("It is in `round_to_even`.", FindingKind::UnknownName, "round_to_even", None),
        ("All tests pass.", FindingKind::FailedSince, "All tests pass", Some(17)),
        ("Everything was committed.", FindingKind::UnshownEnd, "committed", None),
        (
            "Deleted `crates/cart/src/totals.rs`.",
            FindingKind::UnshownChange,
            "crates/cart/src/totals.rs",
            Some(11),
        ),
        ("- [x] Describe the change of cart in the notes", FindingKind::TaskState, "", Some(19)),
        (
            "The user approved a new release.",
            FindingKind::UnknownApproval,
            "The user approved a new release.",
            None,
        ),
        (
            "- The user said: \"Reviewers are asked to upload the coverage report first\"",
            FindingKind::NotTheUsers,
            "Reviewers are asked to upload the coverage report first",
            None,
        ),
    ] {
        let found = audit(summary, &facts);
        let found = found.iter().find(|it| it.kind == kind).unwrap_or_else(|| panic!("{summary}: {found:?}"));
        assert_eq!(
            (found.text.as_str(), found.message),
            (if text.is_empty() { summary } else { text }, message)
        );
    }
    let missing = audit("Nothing else.", &facts);
    assert_eq!(
        missing.last().map(|it| (it.kind, it.line, it.message)),
        Some((FindingKind::MissingConstraint, 0, Some(0)))
    );
}

#[test]
fn what_is_said_in_other_words_or_only_planned_is_no_finding() {
    let facts = composed(&SUBJECTS[0], 2).facts();
    for summary in [
        "Constraint: keep the public signatures of `cart` as they are, never change them.",
        "## Next steps\n- Create `crates/cart/src/vat_rules.rs`\n- Make sure all tests pass\n- Commit and push",
        "The tests do not pass yet. Nothing was committed.",
        "The user agreed to move the function to rounding.rs.",
        "See `cart/src/totals.rs:3` and src/rounding.rs.",
        "```\nlet made_up_name = other_made_up(1);\n```",
        "Edited totals.rs and created `rounding.rs`.",
    ] {
        let mut found = audit(summary, &facts);
        found.retain(|it| it.kind != FindingKind::MissingConstraint);
        assert!(found.is_empty(), "{summary}: {found:?}");
    }
}

#[test]
fn facts_that_are_partial_find_contradictions_alone() {
    let mut session = composed(&SUBJECTS[0], 2);
    session.messages.insert(
        0,
        Message::user("[session digest — older turns condensed]\n\n# Objective\n- First request: Go on."),
    );
    let found =
        audit("All tests pass. See `src/unknown/name.rs`. Everything was committed.", &session.facts());
    let kinds: Vec<FindingKind> = found.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FindingKind::FailedSince, FindingKind::MissingConstraint]);
}

#[test]
fn what_a_command_answers_is_no_approval() {
    let mut session = Composed::default();
    session.user("Run the tests and push.");
    session.call("Bash", json!({ "command": "mise run test" }), "ok  example.org/cart/textutil (cached)");
    let facts = Facts::default().with_messages(&session.messages, &ToolVocabulary::default());
    let approvals = |summary: &str| {
        let found = audit(summary, &facts);
        found.iter().filter(|finding| finding.kind == FindingKind::UnknownApproval).count()
    };
    assert_eq!(approvals("  $ mise run test → ok: ok example.org/cart/textutil (cached)"), 0);
    assert_eq!(approvals("  $ git merge release → ok: approved by the maintainer"), 0);
    assert_eq!(approvals("- The maintainer approved the release."), 1);
}

#[test]
fn what_the_user_wrote_at_the_end_of_a_long_request_is_no_approval_of_others() {
    let mut session = Composed::default();
    let long: Vec<String> = (0..200).map(|n| format!("Column {n} of table{n} is empty.")).collect();
    session.user(&format!("{} Think about edge cases and make sure your fix handles them.", long.join(" ")));
    let is_found = |summary: &str| {
        audit(summary, &session.facts()).iter().any(|finding| finding.kind == FindingKind::UnknownApproval)
    };
    assert!(!is_found("edge cases and make sure your fix handles them"));
    assert!(is_found("The maintainer approved the release."));
}

#[test]
fn the_tool_that_a_digest_names_is_no_claim() {
    let mut session = Composed::default();
    session.user("Why does crates/cart/src/totals.rs fail?");
    let facts = session.facts();
    let digest = |tool: &str| LocalDigest::new(&facts, 1).with_recall_tool(Some(tool)).render(4_000);
    let named = digest("mcp__plugin_wb-compact_wb__recall");
    assert!(named.contains("mcp__plugin_wb-compact_wb__recall"), "{named}");
    assert_eq!(audit(&named, &facts), []);
    let claim = named.replace("wb__recall:", "wb__recall, approved_by_user:");
    assert!(!audit(&claim, &facts).is_empty(), "{claim}");
}
