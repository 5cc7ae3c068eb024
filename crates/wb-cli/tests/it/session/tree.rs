//! `wb session`: the tree of a session, an entry of it, the context at one.

use std::path::PathBuf;

use serde_json::{Value, json};
use wb_testkit::shared::shared_files;

use crate::support::{Answer, wb, wb_with};

/// A session with a fork, a compaction, a summary of the branch that was left, a label and an edit.
fn log() -> Vec<Value> {
    let entry = |kind: &str, id: &str, parent: Value, more: Value| {
        let mut entry = json!({
            "type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z",
        });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let user = |text: &str| json!({"message": {"role": "user", "content": text}});
    let answer = json!({"message": {
        "role": "assistant", "provider": "anthropic", "model": "claude-x", "stopReason": "toolUse",
        "usage": {"input": 900, "output": 12_345, "cacheRead": 7, "cacheWrite": 0},
        "content": [
            {"type": "text", "text": "Looking."},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        ],
    }});
    let result = json!({"message": {
        "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": false,
        "content": [{"type": "text", "text": "\u{1b}]0;owned\u{7} a.rs\n\u{202e}b.rs\n"}],
    }});
    let digest = json!({
        "summary": "# Goal\nlist", "firstKeptEntryId": "aaaa0003", "tokensBefore": 4_000,
        "details": {"readFiles": ["src/a.rs"], "modifiedFiles": ["src/b.rs"]},
    });
    vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/demo"}),
        entry("thinking_level_change", "aaaa0001", json!(null), json!({"thinkingLevel": "high"})),
        entry("message", "aaaa0002", json!("aaaa0001"), user("List the files.")),
        entry("message", "aaaa0003", json!("aaaa0002"), answer),
        entry("message", "aaaa0004", json!("aaaa0003"), result),
        entry("message", "bbbb0001", json!("aaaa0002"), user("Another way.")),
        entry("message", "bbbb0002", json!("bbbb0001"), user("That leads nowhere.")),
        entry("compaction", "cccc0001", json!("aaaa0004"), digest),
        entry(
            "branch_summary",
            "cccc0002",
            json!("cccc0001"),
            json!({"fromId": "bbbb0002", "summary": "Left."}),
        ),
        entry("label", "cccc0003", json!("cccc0002"), json!({"targetId": "aaaa0003", "label": "start"})),
        entry("message", "cccc0004", json!("cccc0003"), user("Go on.")),
    ]
}

fn text(lines: &[Value]) -> String {
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, content: &str) -> PathBuf {
        let path = self.0.path().join("s.jsonl");
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Runs a command on a session with this content.
fn run(content: &str, verb: &str, rest: &[&str]) -> Answer {
    let folder = Folder::new();
    let file = folder.file(content);
    let mut args = vec!["session", verb, file.to_str().unwrap()];
    args.extend(rest);
    let mut answer = wb(&args);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content, "a session is only read");
    for stream in [&mut answer.stdout, &mut answer.stderr] {
        *stream = stream.replace(file.to_str().unwrap(), "s.jsonl");
    }
    answer
}

fn stdout_of(content: &str, verb: &str, rest: &[&str]) -> String {
    let answer = run(content, verb, rest);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    answer.stdout
}

fn json_of(content: &str, verb: &str, rest: &[&str]) -> Value {
    let rest: Vec<&str> = rest.iter().copied().chain(["--json"]).collect();
    let stdout = stdout_of(content, verb, &rest);
    assert_eq!(stdout.lines().count(), 1, "one object: {stdout}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn the_tree_draws_branches_next_to_the_path_to_the_leaf() {
    let expected = r#"s.jsonl  pi version 3 · 10 entries · 2 branches · /demo
● aaaa0001 thinking  high
● aaaa0002 user      "List the files."
├─○ bbbb0001 user      "Another way."
│ ○ bbbb0002 user      "That leads nowhere."
● aaaa0003 assistant "Looking." · bash(ls) [start]
● aaaa0004 result    bash "\u{1b}]0;owned\u{7} a.rs \u{202e}b.rs"
◆ cccc0001 compacted "list" 4,000 tokens before, keeps from aaaa0003
◆ cccc0002 branch    "Left." left at bbbb0002
● cccc0003 label     [start] for aaaa0003
● cccc0004 user      "Go on." ← leaf
  ● ◆ on the path to the leaf  ○ ◇ on other branches  ◆ ◇ compaction, branch summary
"#;
    assert_eq!(stdout_of(&text(&log()), "tree", &[]), expected);
}

#[test]
fn branches_of_branches_and_several_roots_have_lines_of_their_own() {
    let header = log().remove(0);
    let said = |id: &str, parent: Value| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": id}});
    let lines = [
        header,
        said("r1", json!(null)),
        said("a1", json!("r1")),
        said("a2", json!("a1")),
        said("a3", json!("a2")),
        said("b1", json!("a1")),
        said("lost", json!("gone")),
        said("r2", json!(null)),
        said("end", json!("r1")),
    ];
    let drawn = stdout_of(&text(&lines), "tree", &[]);
    let marks: Vec<&str> = drawn.lines().map(|line| line.split(" user").next().unwrap()).collect();
    assert_eq!(marks[1], "  note: entries whose parent is not above them, drawn as roots: 1");
    assert_eq!(
        marks[2..10],
        ["├─○ lost", "├─○ r2", "● r1", "├─○ a1", "│ ├─○ b1", "│ ○ a2", "│ ○ a3", "● end"],
        "{drawn}"
    );
}

#[test]
fn the_tree_lists_every_entry_in_file_order_as_json() {
    let tree = json_of(&text(&log()), "tree", &[]);
    assert_eq!((&tree["n_entries"], &tree["n_branches"]), (&json!(10), &json!(2)));
    assert_eq!((&tree["leaf"], &tree["cwd"]), (&json!("cccc0004"), &json!("/demo")));
    let lines: Vec<_> =
        tree["entries"].as_array().unwrap().iter().map(|entry| entry["line"].clone()).collect();
    assert_eq!(json!(lines), json!([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
    assert_eq!(tree["entries"][2]["label"], "start");
    assert_eq!(
        (&tree["entries"][4]["on_path"], &tree["entries"][5]["on_path"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(tree["entries"][6]["kind"], "compaction");
    let raw = &tree["entries"][3]["text"];
    assert!(raw.as_str().unwrap().contains('\u{1b}'), "JSON has escapes of its own: {raw}");
}

#[test]
fn show_prints_an_answer_and_its_usage() {
    let answer = stdout_of(&text(&log()), "show", &["aaaa0003"]);
    for line in [
        "  kind           message, assistant",
        "  parent         aaaa0002",
        "  children       aaaa0004",
        "  time           2026-01-01T00:00:01.000Z",
        "  label          start",
        "  model          anthropic/claude-x",
        "  usage          input 900, output 12,345, cache read 7, cache write 0",
        "  Looking.",
        "Call of bash, c1",
        "    \"command\": \"ls\"",
    ] {
        assert!(answer.lines().any(|shown| shown == line), "{line}:\n{answer}");
    }
    let whole = json_of(&text(&log()), "show", &["aaaa0003"]);
    assert_eq!(whole["content"]["request"]["usage"]["outputTokens"], 12_345);
    assert_eq!(whole["content"]["message"]["content"][1]["name"], "bash");
    assert_eq!((&whole["parent_id"], &whole["children"]), (&json!("aaaa0002"), &json!(["aaaa0004"])));
}

#[test]
fn show_prints_what_a_compaction_keeps_and_its_files() {
    let answer = stdout_of(&text(&log()), "show", &["cccc0001"]);
    for line in [
        "  first kept     aaaa0003",
        "  tokens before  4,000",
        "  files read     src/a.rs",
        "  files modified src/b.rs",
        "  # Goal",
    ] {
        assert!(answer.lines().any(|shown| shown == line), "{line}:\n{answer}");
    }
    let whole = json_of(&text(&log()), "show", &["cccc0001"]);
    assert_eq!(whole["content"]["summary"], "# Goal\nlist");
    assert_eq!(whole["content"]["details"]["readFiles"], json!(["src/a.rs"]));
}

#[test]
fn an_edit_shows_what_it_replaces_and_by_how_much() {
    let mut lines = log();
    let content = json!([{"type": "text", "text": "s".repeat(3_000)}, {"type": "text", "text": "end"}]);
    lines.push(json!({"type": "context_edit", "id": "dddd0001", "parentId": "cccc0004",
        "timestamp": "2026-01-01T00:00:00.000Z", "targetId": "aaaa0004", "replacement": {"content": content}}));
    let answer = stdout_of(&text(&lines), "show", &[]);
    assert!(answer.contains("  replaces       what aaaa0004 says in the context\n"), "{answer}");
    assert!(answer.contains("\nText\n  sss") && answer.ends_with("\nText\n  end\n"), "{answer}");
    let tree = stdout_of(&text(&lines), "tree", &[]);
    assert!(tree.contains("● dddd0001 edit      replaces aaaa0004 by 3,003 characters \"sss"), "{tree}");
}

#[test]
fn show_takes_the_leaf_where_no_entry_is_named() {
    let leaf = json_of(&text(&log()), "show", &[]);
    assert_eq!((&leaf["id"], &leaf["is_leaf"]), (&json!("cccc0004"), &json!(true)));
    assert!(stdout_of(&text(&log()), "show", &[]).contains("cccc0004  ← leaf"));
}

#[test]
fn a_pipe_gets_the_whole_of_a_long_text() {
    let mut lines = log();
    let long: String = (0..500).flat_map(|n| [format!("line {n}"), "\n".to_owned()]).collect();
    lines[10]["message"]["content"] = json!(long);
    let answer = stdout_of(&text(&lines), "show", &[]);
    assert_eq!(answer.lines().filter(|line| line.starts_with("  line ")).count(), 500);
}

#[test]
fn what_could_drive_a_terminal_is_spelled_out() {
    let mut lines = log();
    lines[0]["cwd"] = json!("/tmp/\u{1b}[31mred");
    lines[9]["label"] = json!("\u{9b}2J");
    lines.push(json!({"type": "model_change", "id": "\u{1b}[2J", "parentId": "cccc0004", "provider": "p\u{7}", "modelId": "\u{202e}m"}));
    for (verb, entry) in [
        ("tree", None),
        ("show", Some("aaaa0004")),
        ("show", None),
        ("context", None),
        ("context", Some("aaaa0004")),
    ] {
        let answer = stdout_of(&text(&lines), verb, entry.as_slice());
        let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!answer.contains(bad), "{verb}: {answer:?}");
        assert!(answer.contains("\\u{"), "{verb}: {answer}");
    }
    let unknown = run(&text(&lines), "show", &["\u{1b}x"]);
    assert!(!unknown.stderr.contains('\u{1b}'), "{}", unknown.stderr);
}

#[test]
fn the_context_is_what_the_model_sees_at_an_entry() {
    let expected = r##"s.jsonl  context at cccc0004
  5 messages, 40 tokens, estimated
  model claude-x  thinking high

          digest    "# Goal list"
        1 assistant "Looking." · bash(ls)
        2 result    bash "\u{1b}]0;owned\u{7} a.rs \u{202e}b.rs"
          digest    "Left."
        4 user      "Go on."
"##;
    let shown_now = stdout_of(&text(&log()), "context", &[]);
    let tokens = json_of(&text(&log()), "context", &[])["tokens"].to_string();
    assert_eq!(shown_now.replace(&format!(" {tokens} tokens"), " 40 tokens"), expected);

    let earlier = json_of(&text(&log()), "context", &["bbbb0002"]);
    let roles: Vec<_> = earlier["messages"].as_array().unwrap().iter().map(|it| it["role"].clone()).collect();
    assert_eq!(json!(roles), json!(["user", "user", "user"]));
    assert_eq!(earlier["entries"], json!(["aaaa0002", "bbbb0001", "bbbb0002"]));
    assert_eq!((&earlier["model"], &earlier["thinking_level"]), (&json!(null), &json!("high")));
    let counted = json_of(&text(&log()), "context", &["aaaa0003"]);
    assert_eq!((&counted["anchored"], &counted["tokens"]), (&json!(true), &json!(13_252)));
}

#[test]
fn ids_may_be_cut_to_any_beginning_that_no_other_has() {
    let found = json_of(&text(&log()), "show", &["bbbb0002"]);
    assert_eq!(found["id"], "bbbb0002");
    let mut lines = log();
    lines[10]["id"] = json!("dddd0001");
    assert_eq!(json_of(&text(&lines), "show", &["d"])["id"], "dddd0001");
    lines[10]["id"] = json!("cccc");
    assert_eq!(json_of(&text(&lines), "context", &["cccc"])["entry"], "cccc", "a whole id is not ambiguous");
}

#[test]
fn an_unknown_or_ambiguous_id_is_refused_with_the_candidates() {
    for verb in ["show", "context"] {
        let ambiguous = run(&text(&log()), verb, &["bbbb"]);
        assert_eq!((ambiguous.code, ambiguous.stdout.as_str()), (1, ""));
        assert_eq!(
            ambiguous.stderr,
            "error: s.jsonl: 2 entries have an id that begins with \"bbbb\"\nhint: name one of bbbb0001, bbbb0002\n"
        );
        let unknown = run(&text(&log()), verb, &["bbbb9"]);
        assert_eq!(unknown.code, 1);
        assert!(unknown.stderr.contains("\nhint: the nearest are bbbb0001, bbbb0002;"), "{}", unknown.stderr);
        let one = run(&text(&log()), verb, &["bbbb0001x"]);
        assert!(one.stderr.contains("\nhint: the nearest is bbbb0001;"), "{}", one.stderr);
        let nowhere = run(&text(&log()), verb, &["é"]);
        assert!(nowhere.stderr.contains("\nhint: `wb session tree`"), "{}", nowhere.stderr);
    }
}

#[test]
fn bad_lines_and_a_torn_last_line_are_notes() {
    let content = text(&log());
    let lines: Vec<&str> = content.lines().collect();
    let damaged =
        format!("{}\nnot JSON\n{}\n{{\"type\":\"mess", lines[..6].join("\n"), lines[6..].join("\n"));
    for verb in ["tree", "show", "context"] {
        let notes = json_of(&damaged, verb, &[])["notes"].clone();
        let notes: Vec<&str> = notes.as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("truncated last line skipped: 13 bytes"), "{notes:?}");
        assert!(notes[1].starts_with("line 7 is no entry and was skipped: "), "{notes:?}");
        assert!(stdout_of(&damaged, verb, &[]).contains("note: line 7 is no entry"));
    }
}

#[test]
fn entries_that_cannot_be_read_have_their_line_and_do_not_hide_the_others() {
    let mut lines = log();
    lines[4]["message"]["content"] = json!(7);
    lines[4]["message"]["role"] = json!(7);
    let answer = run(&text(&lines), "tree", &[]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("\"Go on.\" ← leaf"), "{}", answer.stdout);

    let mut twice = log();
    twice[5]["id"] = json!("cccc0004");
    let drawn = stdout_of(&text(&twice), "tree", &[]);
    assert!(drawn.contains("cccc0004 line 6 cannot be shown: line 11 has its id too"), "{drawn}");
}

#[test]
fn an_entry_that_is_its_own_ancestor_is_drawn_and_has_no_context() {
    let mut lines = log();
    lines[1]["parentId"] = json!("cccc0004");
    assert!(stdout_of(&text(&lines), "tree", &[]).contains("\"Go on.\" ← leaf"));
    let context = run(&text(&lines), "context", &[]);
    assert_eq!(context.code, 1);
    assert!(context.stderr.starts_with("error: s.jsonl: line "), "{}", context.stderr);
    assert!(context.stderr.contains("is its own ancestor\nhint: "), "{}", context.stderr);
}

#[test]
fn a_context_whose_path_lost_its_beginning_says_so() {
    let mut lines = log();
    lines.remove(2);
    let context = json_of(&text(&lines), "context", &["bbbb0002"]);
    let note = "the path begins at bbbb0001, whose parent aaaa0002 is not in the log";
    assert_eq!(context["notes"], json!([note]));
    assert!(stdout_of(&text(&lines), "context", &["bbbb0002"]).contains(&format!("  note: {note}\n")));
}

#[test]
fn entries_of_kinds_that_nobody_knows_are_shown_as_they_are() {
    let mut lines = log();
    lines[5] = json!({"type": "message", "id": "bbbb0001", "parentId": "aaaa0002", "message": {"role": "oracle", "content": 1}});
    lines[6]["type"] = json!("vision");
    let tree = stdout_of(&text(&lines), "tree", &[]);
    assert!(tree.contains("├─○ bbbb0001 other     message of role oracle\n"), "{tree}");
    assert!(tree.contains("│ ○ bbbb0002 other     vision"), "{tree}");
    assert_eq!(json_of(&text(&lines), "show", &["bbbb0001"])["content"], lines[5]);
}

#[test]
fn a_plan_spells_out_what_could_drive_a_terminal_too() {
    let folder = Folder::new();
    let plan = wb(&["plan", "--outline", folder.file(&text(&log())).to_str().unwrap()]);
    assert!(plan.stdout.contains("\\u{1b}]0;owned\\u{7} a.rs"), "{}", plan.stdout);
}

#[test]
fn what_is_no_session_of_pi_is_refused_with_a_hint() {
    for content in ["", "hello\n", "{\"type\":\"user\"}\n", "\n\n", "{}\n"] {
        for verb in ["tree", "show", "context"] {
            let answer = run(content, verb, &[]);
            assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{content:?}");
            assert!(answer.stderr.starts_with("error: s.jsonl: "), "{}", answer.stderr);
            assert!(answer.stderr.contains("\nhint: name a session file of pi"), "{}", answer.stderr);
        }
    }
    let missing = wb(&["session", "tree", "/nowhere/s.jsonl"]);
    assert_eq!(missing.code, 1);
    let expected = "error: /nowhere/s.jsonl: its folder does not exist\nhint: ";
    assert!(missing.stderr.starts_with(expected), "{}", missing.stderr);
}

#[test]
fn wrong_usage_of_session_ends_with_2() {
    for args in
        [&["session"][..], &["session", "tree"], &["session", "tree", "a", "b"], &["session", "grow", "a"]]
    {
        assert_eq!(wb(args).code, 2, "{args:?}");
    }
}

#[test]
fn a_session_without_entries_has_an_empty_tree_and_context() {
    let header = text(&log()[..1]);
    assert!(stdout_of(&header, "tree", &[]).contains("0 entries · 0 branches"));
    assert_eq!(json_of(&header, "context", &[])["messages"], json!([]));
    let show = run(&header, "show", &[]);
    assert_eq!(show.code, 1);
    assert!(show.stderr.contains("the session has no entries\nhint: "), "{}", show.stderr);
}

#[test]
fn a_session_comes_from_standard_input_too() {
    let answer = wb_with(&["session", "tree", "-"], text(&log()).as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.starts_with("-  pi version 3"), "{}", answer.stdout);
    let bad = wb_with(&["session", "tree", "-"], b"hello\n");
    assert!(bad.stderr.starts_with("error: -: not a log"), "{}", bad.stderr);
}

#[test]
fn a_large_star_and_a_deep_chain_of_forks_are_drawn_narrow() {
    let header = text(&log()[..1]);
    let said = |at: usize, parent: usize| {
        let parent = if at == 0 { Value::Null } else { json!(format!("{parent:08x}")) };
        json!({"type": "message", "id": format!("{at:08x}"), "parentId": parent, "message": {"role": "user", "content": "x"}})
    };
    // Every second entry is a branch of one.
    let comb: Vec<Value> =
        (0..20_001).map(|at| said(at, if at % 2 == 0 { at.max(2) - 2 } else { at - 1 })).collect();
    let star: Vec<Value> = (0..20_001).map(|at| said(at, 0)).collect();
    for lines in [comb, star] {
        let drawn = stdout_of(&(header.clone() + &text(&lines)), "tree", &[]);
        assert_eq!(drawn.lines().count(), 20_003);
        assert!(drawn.lines().all(|line| line.chars().count() < 100), "no line grows with the log");
    }
}

#[test]
fn every_real_session_is_shown_without_a_control_character() {
    for path in shared_files("sessions/pi") {
        let file = path.to_str().unwrap();
        for verb in ["tree", "show", "context"] {
            let answer = wb(&["session", verb, file]);
            assert_eq!(answer.code, 0, "{file}: {}", answer.stderr);
            assert!(!answer.stdout.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{file}");
        }
        let read = |args: &[&str]| -> Value { serde_json::from_str(&wb(args).stdout).unwrap() };
        let tree = read(&["session", "tree", file, "--json"]);
        let n_lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert_eq!(tree["n_entries"], json!(n_lines - 1), "{file}");
        assert!(tree["entries"].as_array().unwrap().iter().all(|entry| entry["error"].is_null()), "{file}");
        let (context, weighed) =
            (read(&["session", "context", file, "--json"]), read(&["weigh", file, "--json"]));
        assert_eq!(context["tokens"], weighed["tokens"], "{file}");
        assert_eq!(json!(context["messages"].as_array().unwrap().len()), weighed["messages"]);
    }
}
