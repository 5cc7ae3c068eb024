//! The current and the outdated parts of a transcript in the local digest.

use std::fmt::Write as _;

use serde_json::json;
use wb_facts::Facts;
use wb_message::{Block, Message, ToolVocabulary};
use wb_summarize::local_digest;
use wb_testkit::script;

pub(crate) fn digest(messages: &[Message], prior: Option<&str>) -> String {
    let vocabulary = ToolVocabulary::default();
    local_digest(messages, &vocabulary, prior).render(8_000)
}

pub(crate) fn lines<'a>(digest: &'a str, start: &str) -> Vec<&'a str> {
    digest.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn a_failure_is_listed_by_its_command_until_that_works() {
    let failed = r#"u"Build it." a:bash(make all) t!"cc -c a.c
a.c:3: no such file
Command exited with code 2" "#;
    let first = digest(&script(failed), None);
    assert_eq!(lines(&first, "- Stuck?"), ["- Stuck? make all: a.c:3: no such file"]);
    let works = digest(&script(&[failed, r#"a:bash(make all) t"done""#].concat()), None);
    assert!(lines(&works, "- Stuck?").is_empty(), "{works}");
    let other = digest(&script(&[failed, r#"a:bash(make docs) t"done""#].concat()), None);
    assert_eq!(lines(&other, "- Stuck?").len(), 1, "{other}");
    // A later change may have fixed a check; the entry says so until the check has run again.
    let check = failed.replace("make all", "cargo test");
    let edited = digest(&script(&[&check, "a:edit(a.c) t"].concat()), None);
    let expected = ["- Stuck? cargo test (files changed since): a.c:3: no such file"];
    assert_eq!(lines(&edited, "- Stuck?"), expected);
    let taken_over = digest(&script("u\"Go on.\" a:edit(b.c) t"), Some(&edited));
    assert_eq!(lines(&taken_over, "- Stuck?"), expected);
    let later = digest(&script(r#"u"Again." a:bash(make all) t"done""#), Some(&first));
    assert!(lines(&later, "- Stuck?").is_empty(), "{later}");
    let unrelated = digest(&script(r#"u"Again." a:bash(make docs) t"done""#), Some(&first));
    assert_eq!(lines(&unrelated, "- Stuck?").len(), 1, "{unrelated}");
}

#[test]
fn a_failed_request_is_listed_until_one_is_answered() {
    let error = Some("529 overloaded".to_owned());
    let failed = Message::Assistant { content: Vec::new(), error_message: error };
    let mut talk = vec![Message::user("Port it."), failed];
    assert_eq!(lines(&digest(&talk, None), "- Stuck?"), ["- Stuck? request failed: 529 overloaded"]);
    talk.push(Message::assistant("Here it is."));
    assert!(lines(&digest(&talk, None), "- Stuck?").is_empty());
}

#[test]
fn an_edit_that_failed_is_forgotten_when_the_same_file_was_edited() {
    let failed = r#"u"Fix it." a:edit(src/a.rs) t!"no such text" "#;
    let first = digest(&script(failed), None);
    assert_eq!(lines(&first, "- Stuck?"), ["- Stuck? edit src/a.rs: no such text"]);
    let other = digest(&script(&[failed, "a:edit(src/b.rs) t"].concat()), None);
    assert_eq!(lines(&other, "- Stuck?").len(), 1);
    let same = digest(&script(&[failed, "a:edit(src/a.rs) t"].concat()), None);
    assert!(lines(&same, "- Stuck?").is_empty(), "{same}");
}

#[test]
fn a_word_or_two_is_no_activity_and_a_line_of_a_log_no_constraint() {
    let pasted = "Never touch the schema.\n{\"error\": \"a result must follow\"}";
    let talk = [
        Message::user(pasted),
        Message::assistant("Now I port the reader."),
        Message::user("Nice, go on."),
        Message::assistant("Done."),
    ];
    let first = digest(&talk, None);
    assert!(lines(&first, "- Active:").is_empty(), "what was said in an earlier turn may be done: {first}");
    assert_eq!(lines(&first, "  agent:"), ["  agent: Now I port the reader.", "  agent: Done."]);
    let (_, guardrails) = first.split_once("# Guardrails\n").unwrap();
    let (guardrails, _) = guardrails.split_once("# Status").unwrap();
    assert_eq!(guardrails, "- Never touch the schema.\n");
}

#[test]
fn the_count_of_an_earlier_digest_is_added() {
    let talk = script(r#"u"One." a"Two." u"Three.""#);
    let first = digest(&talk, None);
    assert!(first.contains("3 messages elided into this digest (3 in all)."), "{first}");
    assert!(digest(&talk, Some(&first)).contains("(6 in all)"));
    let rest = digest(&talk, Some("# Objective\n- port it"));
    assert!(rest.contains("3 messages elided into this digest, beside those of an earlier one."), "{rest}");
    let after = digest(&talk, Some(&rest));
    assert!(after.contains("3 messages elided into this digest (6 in all), beside those of an earlier one."));
    let later = digest(&talk, Some(&after));
    assert_eq!(
        lines(&later, "3 messages"),
        ["3 messages elided into this digest (9 in all), beside those of an earlier one."]
    );
    let two = digest(&talk, Some(&[first.as_str(), "\n", &first.replace("3 in all", "8 in all")].concat()));
    assert!(two.contains("(14 in all)."), "{two}");
}

#[test]
fn a_goal_in_the_words_of_a_model_leads() {
    let prior = "# Objective\nPort the importer.\n- with its tests\n- Earlier request: one at a time";
    let first = digest(&[Message::user("now the writer")], Some(prior));
    let again = digest(&[Message::user("and the docs")], Some(&first));
    assert!(
        again.starts_with(
            "# Objective\nPort the importer.\n- with its tests\n- Earlier request: one at a time\n- Earlier request: now the writer\n- Latest request: and the docs\n"
        ),
        "{again}"
    );
}

#[test]
fn what_failed_before_is_forgotten_once_it_works_however_much_was_done_since() {
    let first = digest(
        &script(r#"u"Build it." a:bash(make all) t!"a.c:3: no such file" a:edit(src/a.rs) t!"no such text""#),
        None,
    );
    assert_eq!(lines(&first, "- Stuck?").len(), 2, "{first}");
    let mut later = r#"u"Again." a:bash(make all) t"done" a:edit(src/a.rs) t"done" "#.to_owned();
    for n in 0..20 {
        let _ = write!(later, r#"a:bash(ls {n}) t"done" "#);
    }
    let later = digest(&script(&later), Some(&first));
    assert!(lines(&later, "- Stuck?").is_empty(), "{later}");
}

#[test]
fn a_reason_that_a_turn_quotes_is_not_said_twice() {
    let reply = "The total is wrong because the key of the cache lacks the tenant, so shops share it.";
    let short = digest(&script(&format!("u\"Why?\" a\"{reply}\" u\"And now?\"")), None);
    assert_eq!(short.matches("lacks the tenant").count(), 1, "{short}");
    let rest = "It was a long search in all of them.\n".repeat(300);
    let long = format!("{rest}{reply}\n{rest}The end of it.");
    let messages = [Message::user("Why?"), Message::assistant(long), Message::user("And now?")];
    let long = digest(&messages, None);
    assert!(long.contains("# Rationale\n- (turn 1)"), "{long}");
}

#[test]
fn a_silent_failure_is_listed_in_its_turn_alone() {
    let first = digest(
        &script(r#"u"Look." a:bash(grep x a.c) t!"Command exited with code 1" a:bash(make) t!"error: a""#),
        None,
    );
    assert_eq!(lines(&first, "- Stuck?"), ["- Stuck? make: error: a"]);
    assert_eq!(lines(&first, "  $ "), ["  $ grep x a.c → ok: no match", "  $ make → failed: error: a"]);
    let again = digest(&script(r#"u"Again." a:bash(make) t!"error: b" a:bash(make) t"done""#), Some(&first));
    assert_eq!(lines(&again, "  $ ").last(), Some(&"  $ make → ok"), "{again}");
    let other = digest(&script(r#"u"Again." a:bash(make) t!"error: b""#), Some(&first));
    assert_eq!(lines(&other, "- Stuck?"), ["- Stuck? make: error: b"]);
}

#[test]
fn an_amended_commit_contains_earlier_changes() {
    let committed =
        r#"u"Go." a:edit(a.rs) t"" a:bash(git commit -am x) t"[fix/a 3f9c2ab] x" a:edit(b.rs) t"" "#;
    let since = |more: &str| {
        lines(&digest(&script(&[committed, more].concat()), None), "- Since the last commit:")
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(since(""), ["- Since the last commit: no push seen; changed b.rs"]);
    let amended = r#"a:bash(git commit -a --amend --no-edit) t"[fix/a 4f9c2ab] x""#;
    let restored = r#"a:bash(git checkout -- b.rs) t"""#;
    for nothing_left in [amended, restored] {
        assert_eq!(since(nothing_left), ["- Since the last commit: no push seen"], "{nothing_left}");
    }
    let of_other = r#"a:bash(git checkout -- b.rs) t"" a:bash(git checkout HEAD~1 c.rs) t"""#;
    assert_eq!(since(of_other), ["- Since the last commit: no push seen; changed c.rs"]);
    assert!(since(r#"a:bash(git status) t"On branch fix""#).is_empty());
    assert!(since(r#"a:bash(git worktree add ../fix) t"" a:edit(../fix/b.rs) t"""#).is_empty());
}

#[test]
fn a_refusal_is_no_consent_whatever_its_words_begin_with() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\ngood idea, but not now";
    let messages = [
        Message::user("Look at the tables."),
        Message::assistant_blocks(vec![wb_message::Block::call(
            "1",
            "Bash",
            serde_json::json!({"command": "drop production tables"}),
        )]),
        Message::ToolResult {
            tool_call_id: "1".into(),
            tool_name: "Bash".into(),
            content: vec![wb_message::Block::text(refused)],
            is_error: true,
            is_refusal: true,
        },
    ];
    let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
    let found = wb_facts::audit("The user approved dropping the production tables.", &facts);
    assert!(found.iter().any(|it| it.kind == wb_facts::FindingKind::UnknownApproval), "{found:?}");
}

#[test]
fn what_is_carried_does_not_pile_up() {
    let mut prior = None;
    for round in 0..20 {
        let mut talk = String::from(r#"u"Do the next ones now." "#);
        for n in 0..8 {
            let _ = write!(talk, r#"a:bash(make {round}-{n}) t!"error: it is {round}" "#);
        }
        prior = Some(digest(&script(&talk), prior.as_deref()));
    }
    let first = prior.unwrap();
    assert_eq!(lines(&first, "- Stuck?").len(), 12, "{first}");
    let turns = lines(&first, "- Turn ");
    assert_eq!(turns.last(), Some(&"- Turn 20 (“Do the next ones now.”):"), "{first}");
    assert!(turns.len() <= 20 && first.chars().count() <= 8_000, "{first}");
    assert_eq!(lines(&first, "- First request:").len(), 1);
    assert_eq!(lines(&first, "- Latest request:"), ["- Latest request: Do the next ones now."]);
    assert!(lines(&first, "- Earlier request").is_empty(), "{first}");
}

#[test]
fn a_short_request_is_not_taken_for_the_end_of_a_longer_one_and_a_nod_is_not_carried() {
    let prior =
        "# Objective\n- First request: port it\n- Earlier request: ok\n- Latest request: fix the tests";
    let first = digest(&[Message::user("please fix the tests")], Some(prior));
    let (objective, _) = first.split_once("# Guardrails").unwrap();
    assert_eq!(
        objective,
        "# Objective\n- First request: port it\n- Earlier request: fix the tests\n- Latest request: please fix the tests\n"
    );
}

#[test]
fn a_models_guardrails_are_not_the_users_words() {
    let by_model = "# Objective\nPort it.\n# Guardrails\n- Never rename the table.";
    let mut facts = Facts::default();
    facts.observe_digest(by_model);
    facts.observe(&Message::user("Never touch the schema."), &ToolVocabulary::default());
    let words: Vec<_> = facts.constraints().map(|it| it.text.as_str()).collect();
    assert_eq!(words, ["Never touch the schema."]);
    let first = digest(&[Message::user("Never touch the schema.")], Some(by_model));
    assert_eq!(lines(&first, "- Never").len(), 2, "{first}");
    let mut again = Facts::default();
    again.observe_digest(&digest(&[Message::user("Never touch the schema. It must stay fast.")], None));
    let words: Vec<_> = again.constraints().map(|it| (it.text.as_str(), it.forbids)).collect();
    assert!(words.contains(&("Never touch the schema.", true)), "{words:?}");
}

#[test]
fn what_was_said_of_a_step_is_forgotten_some_turns_later_and_a_rule_is_not() {
    // A digest may leave out the middle of a long request, but not of a short one.
    let long =
        ["the heading should be blue. Never touch the schema.", &" Here is a row.".repeat(80)].concat();
    let mut talk = vec![
        Message::user("Port the footer. It must work offline."),
        Message::assistant("Ported."),
        Message::user("no, the block should stay as it is"),
        Message::assistant("It stays."),
        Message::user(long),
        Message::assistant("Blue it is."),
        Message::user("let's use something simple for the names. Remember that I'd rather have one file."),
        Message::assistant("Simple ones."),
    ];
    let guardrails = |talk: &[Message]| {
        let facts = Facts::default().with_messages(talk, &ToolVocabulary::default());
        facts.constraints().map(|it| it.text.clone()).collect::<Vec<_>>()
    };
    assert!(guardrails(&talk).contains(&"the heading should be blue.".to_owned()), "{:?}", guardrails(&talk));
    assert_eq!(guardrails(&talk).len(), 4, "{:?}", guardrails(&talk));
    for n in 0..8 {
        talk.push(Message::user(format!("Now part {n} of the list.")));
        talk.push(Message::assistant("Done."));
    }
    let lasting = [
        "Port the footer. It must work offline.",
        "Never touch the schema.",
        "Remember that I'd rather have one file.",
    ];
    assert_eq!(guardrails(&talk), lasting);
}

#[test]
fn a_file_that_a_patch_changed_is_stale_until_it_is_read_again() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n*** Update File: src/b.rs\n@@\n-old\n+new\n*** End Patch";
    let read = |id: &str, path: &str| {
        let call = Block::call(id, "read", json!({"path": path}));
        [Message::assistant_blocks(vec![call]), Message::tool_result(id, "read", "old\n")]
    };
    let patched = [
        Message::assistant_blocks(vec![Block::call("p", "apply_patch", json!({"patchText": patch}))]),
        Message::tool_result(
            "p",
            "apply_patch",
            "Success. Updated the following files:\nM src/a.rs\nM src/b.rs",
        ),
    ];
    let talk = [&read("a", "/home/mira/src/a.rs")[..], &patched, &read("b", "/home/mira/src/b.rs")].concat();
    let facts = Facts::default().with_messages(&talk, &ToolVocabulary::UNIVERSAL);
    assert!(facts.files().is_stale("/home/mira/src/a.rs") && !facts.files().is_stale("/home/mira/src/b.rs"));
}

#[test]
fn a_demand_on_one_thing_and_a_ban_behind_a_demand_are_of_their_step() {
    let mut talk = vec![Message::user("Port it, but don't touch the schema."), Message::assistant("Ported.")];
    for said in [
        "write the plan to docs/plan.md, it needs to cover all the parts",
        "this plan must name any file that is necessary",
        "should be dimmer, don't modify the theme, look into the footer",
        "skip 5 and 7 and do the rest",
        "i think the list doesn't hold that every line must not be wider than the screen",
        "never log, it is slow",
        "every list must stay within the screen",
        "make it blue, but never touch the footer",
        "ok, don't push",
        "from now on, don't commit",
        "if a test fails, don't retry it",
        "i think we must not store keys",
        "all of this must be in English",
    ] {
        talk.extend([Message::user(said), Message::assistant("Done.")]);
    }
    for n in 0..8 {
        talk.extend([Message::user(format!("Now part {n} of the list.")), Message::assistant("Done.")]);
    }
    let facts = Facts::default().with_messages(&talk, &ToolVocabulary::default());
    let rules: Vec<_> = facts.constraints().map(|it| it.text.as_str()).collect();
    let expected = [
        "Port it, but don't touch the schema.",
        "never log, it is slow",
        "every list must stay within the screen",
        "make it blue, but never touch the footer",
        "ok, don't push",
        "from now on, don't commit",
        "if a test fails, don't retry it",
        "i think we must not store keys",
        "all of this must be in English",
    ];
    assert_eq!(rules, expected);
}

#[test]
fn a_withdrawn_demand_is_no_rule() {
    let talk = [
        Message::user("Port the theme. Never log."),
        Message::assistant("Ported."),
        Message::user("hmm, the update must always wait for the next tick"),
        Message::assistant("It waits."),
        Message::user("you can undo that, it was the log"),
    ];
    let text = digest(&talk, None);
    assert!(
        text.contains("# Guardrails\n- Never log.\n#")
            || text.contains("# Guardrails\n- Port the theme. Never log.\n#"),
        "{text}"
    );
}

#[test]
fn a_command_that_came_to_nothing_is_no_request() {
    let talk = [Message::user("/mo"), Message::user("Port it."), Message::assistant("Ported, all of it.")];
    let text = digest(&talk, None);
    assert!(text.contains("- First request: Port it.") && !text.contains("/mo"), "{text}");
}

#[test]
fn a_plan_that_was_approved_in_the_end_was_not_refused() {
    let refused = r#"u"Plan it." a:ExitPlanMode() t!"The user doesn't want to proceed with this tool use" "#;
    assert!(digest(&script(refused), None).contains("the user refused: ExitPlanMode"));
    let approved =
        [refused, r#"a:ExitPlanMode() t"User has approved your plan. You can now start coding.""#].concat();
    let text = digest(&script(&approved), None);
    assert!(text.contains("the user approved: ExitPlanMode") && !text.contains("refused"), "{text}");
}

#[test]
fn lines_with_others_between_them_are_separate() {
    let shown = "    let parse_cart = 1;\n    let parse_total = 2;\n\n    let parse_rest = 3;\n    x();\n    let parse_last = 4;\n";
    let talk = script(&format!("u\"Read it.\" a:read(src/cart.rs) t\"{shown}\" u\"Go on.\""));
    let text = digest(&talk, None);
    let lines =
        ["let parse_cart = 1;", "let parse_total = 2;", "let parse_rest = 3;", "…let parse_last = 4;"];
    assert!(text.contains(&lines.join("\n  ")), "{text}");
}

#[test]
fn lines_that_a_search_numbered_are_forgotten_when_their_file_was_edited() {
    let found = "src/cart.rs:12:fn parse_cart() {}\nsrc/cart.rs-13-let parse_total = 1;\nsrc/b.rs:3:fn parse_other() {}";
    let edit = |new: &str| {
        let input = serde_json::json!({"path": "src/cart.rs", "old_string": "use std;", "new_string": new});
        let call = Message::assistant_blocks(vec![wb_message::Block::call("e", "edit", input)]);
        let shown = script(&format!("u\"Find it.\" a:grep(parse_) t\"{found}\""));
        [shown, vec![call, Message::tool_result("e", "edit", "Edited."), Message::user("Go on.")]].concat()
    };
    let text = digest(&edit("use core;"), None);
    assert!(text.contains("src/cart.rs:12:fn parse_cart() {}"), "{text}");
    let text = digest(&edit("use core;\nuse std;"), None);
    assert!(text.contains("src/b.rs:3:fn parse_other() {}"), "{text}");
    assert!(!text.contains("src/cart.rs:12") && !text.contains("src/cart.rs-13"), "{text}");
}

#[test]
fn a_long_path_is_listed_by_its_end() {
    let path = ["/home/mira/code", &"/packages/deep".repeat(10), "/src/cart.rs"].concat();
    let vocabulary = ToolVocabulary::default();
    let talk = script(&format!("u\"Port it.\" a:edit({path}) t a u\"{}\"", "Go on and on. ".repeat(60)));
    let long = local_digest(&talk, &vocabulary, None).render(8_000);
    assert!(long.contains("- Files changed last: /home/mira") && long.contains("files: edited …/"), "{long}");
    let short = local_digest(&talk, &vocabulary, None).render(600);
    assert!(short.contains("- Files changed last: …") && short.contains("/src/cart.rs\n"), "{short}");
}

#[test]
fn a_list_in_a_file_has_its_last_ticked_task() {
    let edit = |id: &str, old: &str, new: &str| {
        let input = json!({ "path": "docs/plan.md", "edits": [{ "oldText": old, "newText": new }] });
        [
            Message::assistant_blocks(vec![Block::call(id, "edit", input)]),
            Message::tool_result(id, "edit", "Edited docs/plan.md."),
        ]
    };
    let list = "- Task list in a file: docs/plan.md; ticked off last: ";
    let mut talk = vec![Message::user("Go on with the plan.")];
    talk.extend(edit("c1", "- [ ] round the tax", "- [ ] round the tax up"));
    assert!(lines(&digest(&talk, None), "- Task list").is_empty());
    talk.extend(edit(
        "c2",
        "- [ ] sum the cart\n- [ ] round the tax",
        "- [x] sum the cart\n- [ ] round the tax",
    ));
    let first = digest(&talk, None);
    assert_eq!(lines(&first, "- Task list"), [[list, "sum the cart"].concat()]);
    assert!(lines(&first, "- No list").is_empty(), "{first}");
    let next = digest(&script("u\"Go on.\" a:read(src/a.rs) t"), Some(&first));
    assert_eq!(lines(&next, "- Task list"), [[list, "sum the cart"].concat()]);
    for gone in ["rm /p/docs/plan.md 2>/dev/null; echo done", "git mv docs/plan.md docs/old.md"] {
        let gone = digest(&script(&format!("u\"Go on.\" a:bash({gone}) t\"done\"")), Some(&first));
        assert!(lines(&gone, "- Task list").is_empty(), "{gone}");
    }
}

#[test]
fn a_rule_that_asks_for_a_step_stays_among_the_requests() {
    let requests = |asked: &str| {
        let talk = script(&format!("u\"Port the reader.\" a u\"{asked}\" a u\"Now the tests.\" a"));
        let digest = digest(&talk, None);
        (lines(&digest, "- Earlier request: ").len(), lines(&digest, &format!("- {asked}")).len())
    };
    assert_eq!(requests("Can we keep a switch that always warns of old files"), (1, 1));
    assert_eq!(requests("Never push to main."), (0, 1));
}
