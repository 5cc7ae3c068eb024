//! Ten tasks of a person, each with three commands at most, in a home with sessions of two agents.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::home::Home;
use crate::support::root;

/// The id of the large session, as `wb` prints it.
const LARGE: &str = "daeab799";
const LARGE_FILE: &str = ".claude/projects/-p/daeab799-bd12-4921-aa71-b3b33fb83480.jsonl";
const BROKEN_FILE: &str =
    ".pi/agent/sessions/--p--/2026-01-02T03-04-05-000Z_0f0f0f0f-0000-4000-8000-000000000001.jsonl";

/// Returns a project with a large session of Claude Code and a broken one of pi, both some minutes
/// old.
fn home() -> Home {
    let home = Home::new();
    let folder = home.path("project").canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let large = fs::read_to_string(root().join("fixtures/sessions/flaky-checkout.jsonl")).unwrap();
    home.lay(LARGE_FILE, &large.replace("/home/mira/code/marketstall", folder));
    let entry = |id: &str, parent: Option<&str>, message: serde_json::Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z", "message": message});
    let call = json!({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}});
    let lines = [
        json!({"type": "session", "version": 3, "id": "0f0f0f0f-0000-4000-8000-000000000001", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": folder}),
        entry("a1", None, json!({"role": "user", "content": "Build it.", "timestamp": 1})),
        entry(
            "a2",
            Some("a1"),
            json!({"role": "assistant", "content": [call], "provider": "x", "model": "m", "timestamp": 2}),
        ),
        json!("a line of another program"),
        entry("a3", Some("a2"), json!({"role": "user", "content": "And now?", "timestamp": 3})),
    ];
    home.lay(BROKEN_FILE, &lines.map(|line| format!("{line}\n")).concat());
    age(&home);
    home
}

/// Makes the sessions so old that no agent is at work on them.
fn age(home: &Home) {
    for (file, minutes) in [(LARGE_FILE, 5), (BROKEN_FILE, 60)] {
        let file = File::options().write(true).open(home.path(file)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_mins(minutes)).unwrap();
    }
}

#[test]
fn which_session_eats_the_window_and_with_what() {
    let home = home();
    let list = home.done("weigh ..");
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows[1].contains("71,439") && rows[1].ends_with(&format!("  {LARGE}")), "{list}");
    assert!(list.contains("2 sessions, 0 over budget"), "the files of wb are no sessions: {list}");
    let command = list.lines().last().unwrap().rsplit_once(": wb ").unwrap().1;
    assert!(home.done(command).contains("tool results"), "{command}");
}

#[test]
fn the_last_compaction_is_undone() {
    let home = home();
    let before = home.text(LARGE_FILE);
    home.done("compact --in-place --force");
    age(&home);
    let undone = home.run("undo");
    assert_eq!((undone.code, home.text(LARGE_FILE)), (0, before), "{}", undone.stderr);
    let said = undone.stdout + &undone.stderr;
    assert!(said.contains(&format!("wb redo {LARGE}")), "the shortest word is printed: {said}");
}

#[test]
fn a_message_is_kept_for_ever() {
    let home = home();
    home.done("pin 0");
    home.done("compact --in-place --force");
    assert!(home.done("convert --to native").contains("> - no new dependencies"));
}

#[test]
fn the_place_where_a_file_was_last_read_is_found() {
    let found = home().done("recall --file src/pricing.rs");
    assert!(found.contains("Read ") && found.contains("src/pricing.rs"), "{found}");
    assert!(found.lines().all(|line| line.chars().count() <= 100), "{found}");
}

#[test]
fn a_compaction_is_previewed_and_applied_by_the_printed_command() {
    let home = home();
    let plan = home.done("plan --force");
    let command = plan.lines().last().unwrap().rsplit_once(": wb ").unwrap().1;
    assert_eq!(command, format!("compact {LARGE} --force --in-place"));
    home.done(command);
    assert!(home.done("show").contains("# Guardrails"));
}

#[test]
fn an_older_compaction_shows_its_digest_after_the_next_one() {
    let home = Home::new();
    let turns = |from: usize| {
        let of = |n: usize| {
            let call = json!([{"kind": "tool_call", "id": format!("c{n}"), "name": "bash", "input": {"command": format!("make {n}")}}]);
            [
                json!({"role": "user", "content": format!("Build part {n}.")}),
                json!({"role": "assistant", "content": call}),
                json!({"role": "toolResult", "toolCallId": format!("c{n}"), "toolName": "bash", "content": "line of a log\n".repeat(200)}),
                json!({"role": "assistant", "content": format!("Part {n} is built.")}),
            ]
        };
        (from..from + 30).flat_map(of).map(|line| line.to_string() + "\n").collect::<String>()
    };
    home.lay("project/s.jsonl", &turns(0));
    home.done("compact s.jsonl --in-place --force --allow-open");
    home.lay("project/s.jsonl", &(home.text("project/s.jsonl") + &turns(30)));
    home.done("compact s.jsonl --in-place --force --allow-open");
    for n in [1, 2] {
        let shown = home.done(&format!("show s.jsonl {n}"));
        assert!(shown.contains("# Objective") && shown.contains("Build part 0."), "{n}: {shown}");
    }
}

#[test]
fn the_sessions_that_do_not_resume_are_listed_and_explained() {
    let home = home();
    let examined = home.run("doctor --all");
    assert_eq!(examined.code, 3, "{}{}", examined.stdout, examined.stderr);
    let first = examined.stdout.lines().next().unwrap();
    assert!(first.starts_with("✗ ") && first.contains("0f0f0f0f"), "{}", examined.stdout);
    let is_good = |line: &str| line.starts_with('✓') && line.ends_with(LARGE);
    assert!(examined.stdout.lines().any(is_good), "{}", examined.stdout);
    let command = examined.stdout.lines().last().unwrap().rsplit_once(": wb ").unwrap().1;
    let whole = home.run(command);
    assert!(whole.code == 3 && whole.stdout.contains("1 line cannot be read (line 4)"), "{}", whole.stdout);
    let objects = home.run("doctor --all --json");
    assert_eq!(objects.stdout.lines().filter(|line| line.contains("\"complaints\"")).count(), 2);
}

#[test]
fn a_giant_result_is_dropped_before_all_else() {
    let home = home();
    let dropped = home.done("drop 4");
    assert!(dropped.contains("each later compaction folds these messages first"), "{dropped}");
    assert!(home.done("plan --force").contains("drop         folds "));
}

#[test]
fn a_session_goes_on_with_another_provider() {
    let home = home();
    home.done("convert --to openai -o request.json");
    let request: serde_json::Value = serde_json::from_str(&home.text("project/request.json")).unwrap();
    assert!(request["messages"].as_array().unwrap().len() > 100);
}

#[test]
fn a_word_that_is_no_command_leads_to_a_session_or_a_command() {
    let home = home();
    for (word, hint) in [
        (LARGE, "it names a session: `wb weigh daeab799`"),
        ("wiegh", "did you mean `wb weigh`?"),
        ("4540", "`wb --help` lists the commands, and `wb` the sessions"),
    ] {
        let said = home.run(word);
        assert!(said.code == 2 && said.stderr.contains(hint), "{word}: {}", said.stderr);
    }
    let empty = Home::new();
    empty.lay("project/pic.png", "\u{89}PNG");
    assert!(empty.refused("recall pic.png").contains("is no session that `wb` can read"));
}

#[test]
fn sentences_of_the_settings_are_in_digests_of_the_command() {
    let home = home();
    home.lay(".config/wb/config.toml", "pin = [\"Prices are in cents.\"]\n");
    home.done("compact --in-place --force");
    let seen = home.done("convert --to native");
    assert!(seen.contains("The user's settings say: Prices are in cents."), "{seen}");
}

#[test]
fn a_count_far_below_the_messages_is_not_used_and_a_compaction_has_one_measure() {
    let home = Home::new();
    let entry = |at: usize, message: serde_json::Value| {
        let parent = at.checked_sub(1).map(|at| format!("a{at}"));
        json!({"type": "message", "id": format!("a{at}"), "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z", "message": message})
    };
    let usage = json!({"input": 250, "output": 12, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 262});
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/p"}),
    ];
    for n in 0..20 {
        let text = format!(
            "Step {n}: look at the ledger, then add its {n}th row to the sum. {}",
            "More words. ".repeat(20)
        );
        lines.push(entry(2 * n, json!({"role": "user", "content": text, "timestamp": 1})));
        let said = json!([{"type": "text", "text": format!("Row {n} is added. {}", "It was a long row. ".repeat(60))}]);
        lines.push(entry(2 * n + 1, json!({"role": "assistant", "content": said, "provider": "x", "model": "m", "usage": usage, "timestamp": 2})));
    }
    home.lay(
        "project/s.jsonl",
        &(lines.iter().map(serde_json::Value::to_string).collect::<Vec<_>>().join("\n") + "\n"),
    );
    let weighed = home.json("weigh s.jsonl");
    assert_eq!(
        (&weighed["anchored"], weighed["tokens"].as_u64() > Some(1_048)),
        (&json!(false), true),
        "{weighed}"
    );
    assert!(home.done("weigh s.jsonl").contains("note: the provider's count of 262 tokens is not used"));
    let plan = home.json("plan s.jsonl --force");
    let of = |key: &str| plan[key].as_u64().unwrap();
    assert!(plan["changed"] == json!(true) && of("tokens_after") < of("tokens_before"), "{plan}");
}

#[cfg(feature = "exact")]
#[test]
fn an_exact_count_says_so_and_an_estimate_too() {
    let home = home();
    let large = home.json(&format!("weigh {LARGE} --exact"));
    assert_eq!((&large["exact"], &large["tokenizer"]), (&json!(false), &json!(null)));
    let said = home.done(&format!("weigh {LARGE} --exact"));
    assert!(
        said.contains("messages: about ") && said.contains("estimated: the tokenizer of claude"),
        "{said}"
    );
    let text = home.text(BROKEN_FILE).replace("\"model\":\"m\"", "\"model\":\"gpt-5\"");
    home.lay("project/gpt.jsonl", &text);
    let counted = home.json("weigh gpt.jsonl --exact");
    assert_eq!((&counted["exact"], &counted["tokenizer"]), (&json!(true), &json!("o200k_base")));
    assert!(home.done("weigh gpt.jsonl --exact").contains("tokens, exact by o200k_base"));
    assert_eq!(home.json("weigh gpt.jsonl")["exact"], json!(false));
}
