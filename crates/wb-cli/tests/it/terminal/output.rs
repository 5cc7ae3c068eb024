//! Colours, widths, talk, exit codes, completions and the manual.

use std::path::Path;

use serde_json::json;
use wb_message::Message;

use crate::support::{Answer, wb, wb_in, wb_with};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";
const SMALL: &str = "fixtures/sessions/hello.jsonl";
const PI: &str = "fixtures/sessions/rename-flag.jsonl";

fn wb_where(variables: &[(&str, &str)], line: &str) -> Answer {
    let args: Vec<&str> = line.split_whitespace().collect();
    wb_in(Path::new("/nowhere"), variables, &args, b"")
}

#[test]
fn colours_are_used_when_they_are_asked_for_and_not_in_a_pipe() {
    let has_colours = |variables: &[(&str, &str)], line: &str| {
        let Answer { stdout, stderr, .. } = wb_where(variables, line);
        (stdout + &stderr).contains('\u{1b}')
    };
    for line in ["weigh fixtures/sessions/hello.jsonl", "weigh none", "weigh --help", "weigh --none", "-h"] {
        assert!(!has_colours(&[], line), "{line}");
        assert!(has_colours(&[], &format!("{line} --color=always")), "{line}");
        assert!(has_colours(&[("NO_COLOR", "1")], &format!("--color always {line}")), "{line}");
        assert!(has_colours(&[("CLICOLOR_FORCE", "1")], line), "{line}");
        assert!(!has_colours(&[("CLICOLOR_FORCE", "1")], &format!("{line} --color never")), "{line}");
        assert!(!has_colours(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "")], line), "{line}");
    }
    assert!(!has_colours(&[], &format!("weigh {SMALL} --json --color always")), "JSON has none");
}

#[test]
fn quiet_leaves_errors_alone_on_standard_error() {
    let session = std::fs::read(crate::support::root().join(SMALL)).unwrap();
    let loud = wb_with(&["compact", "-", "--force", "-o", "-"], &session);
    let quiet = wb_with(&["compact", "-", "--force", "-q", "-o", "-"], &session);
    assert!(loud.stderr.contains("before ▕"), "{}", loud.stderr);
    assert_eq!((quiet.stderr.as_str(), quiet.stdout), ("", loud.stdout));
    let error = wb(&["weigh", "none.jsonl", "-q"]);
    assert!(error.stderr.starts_with("error: none.jsonl: no such file"), "{}", error.stderr);
    assert_eq!(wb(&["weigh", "fixtures", "--quiet"]).stderr, "", "skipped files are not named");
    assert_eq!(wb(&["weigh", SMALL, "-q", "-v"]).code, 2, "one or the other");
}

#[test]
fn verbose_says_where_the_time_went() {
    let plain = wb(&["weigh", SMALL]);
    let verbose = wb(&["weigh", SMALL, "-v"]);
    assert_eq!((plain.stderr.as_str(), plain.stdout), ("", verbose.stdout));
    for part in ["time: reading ", "weighing ", "compacting ", "in all "] {
        assert!(verbose.stderr.contains(part), "{}", verbose.stderr);
    }
}

#[test]
fn an_odd_width_is_passed_over_and_a_tiny_one_is_bounded() {
    let usual = wb_where(&[], &format!("weigh {SMALL}")).stdout;
    for odd in ["", "0", "many", "-5"] {
        assert_eq!(wb_where(&[("COLUMNS", odd)], &format!("weigh {SMALL}")).stdout, usual, "{odd:?}");
    }
    let forty = wb_where(&[("COLUMNS", "40")], &format!("weigh {SMALL}")).stdout;
    assert_eq!(wb_where(&[("COLUMNS", "7")], &format!("weigh {SMALL}")).stdout, forty);
}

#[test]
fn check_exits_with_3_if_a_session_is_over_its_budget() {
    for (line, code) in [
        (format!("weigh {SESSION} --check"), 0),
        (format!("weigh {SESSION} --window 32k --check"), 3),
        (format!("weigh {SESSION} --window 32k --check --json"), 3),
        (format!("weigh {SESSION} --window 32k"), 0),
        (format!("weigh {SMALL} {SESSION} --window 32k --check"), 3),
        (format!("weigh none {SESSION} --window 32k --check"), 1),
        ("weigh fixtures/sessions --window 32k --check".to_owned(), 3),
        ("weigh fixtures/sessions --check".to_owned(), 0),
    ] {
        assert_eq!(wb_where(&[], &line).code, code, "{line}");
    }
}

#[test]
fn an_audit_with_findings_has_another_exit_code_than_an_error() {
    let messages = [
        Message::user("Mend src/cart.rs. Never touch the folder migrations, please."),
        Message::assistant("I will."),
        Message::CompactionSummary { summary: "All is done in src/basket.rs.".to_owned(), tokens_before: 9 },
        Message::user("Go on."),
    ];
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    assert_eq!(wb_with(&["audit", "-"], &bytes).code, 3);
    assert_eq!(wb(&["audit", "none.jsonl"]).code, 1);
    assert_eq!(wb(&["audit", SMALL]).code, 0);
}

#[test]
fn a_folder_is_weighed_as_one_object_for_each_session() {
    let answer = wb(&["weigh", "fixtures/sessions", "--json"]);
    let names: Vec<String> = answer
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["file"].to_string())
        .collect();
    assert_eq!((answer.code, names.len()), (0, 3), "{names:?}");
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn a_control_of_the_second_set_never_reaches_the_terminal() {
    let text = "x\u{9b}31m\u{202e}y";
    let messages = [
        Message::user(text),
        Message::tool_result(text, text, text),
        Message::CompactionSummary { summary: text.to_owned(), tokens_before: 9 },
        Message::user(text),
    ];
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    let bad = json!({"role": text, "content": "x"}).to_string();
    let runs = [
        wb_with(&["weigh", "-"], &bytes),
        wb_with(&["plan", "-", "--force"], &bytes),
        wb_with(&["plan", "-", "--force", "--json"], &bytes),
        wb_with(&["compact", "-", "--force", "--dry-run"], &bytes),
        wb_with(&["audit", "-"], &bytes),
        wb_with(&["audit", "-", "--json"], &bytes),
        wb_with(&["weigh", "-"], bad.as_bytes()),
        wb_with(&["weigh", "-", "--json"], bad.as_bytes()),
        wb(&["weigh", text]),
        wb(&["weigh", text, "--json"]),
        wb(&["session", "tree", text]),
    ];
    for (nth, Answer { stdout, stderr, .. }) in runs.iter().enumerate() {
        let shown = stdout.clone() + stderr;
        assert!(!shown.contains(['\u{9b}', '\u{202e}']), "run {nth}: {shown:?}");
    }
}

#[test]
fn one_message_is_no_messages() {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&[Message::user("Hello.")], &mut bytes).unwrap();
    let model = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"model\":\" \"}";
    for (input, heading) in
        [(&bytes[..], "-  native · 1 message"), (model.as_bytes(), "-  openai-chat · 1 message")]
    {
        for verb in ["weigh", "plan", "compare", "audit"] {
            let shown = wb_with(&[verb, "-"], input).stdout;
            assert_eq!(shown.lines().next(), Some(heading), "{verb}");
        }
    }
}

#[test]
fn counts_of_an_agent_have_their_digits_grouped() {
    let row = |kind: &str, value: serde_json::Value| {
        let mut row =
            json!({"type": kind, "parentUuid": null, "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"});
        row.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        row.to_string() + "\n"
    };
    let mut text = String::new();
    for n in 0..1_200 {
        text += &row(
            "user",
            json!({"uuid": format!("a{n}"), "isSidechain": true, "message": {"role": "user", "content": "x"}}),
        );
    }
    text += &row("user", json!({"uuid": "b", "message": {"role": "user", "content": "Hi."}}));
    let shown = wb_with(&["weigh", "-"], text.as_bytes());
    assert!(
        shown.stdout.contains("note: sidechain lines skipped: 1,200"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
}

#[test]
fn every_shell_has_completions_and_every_command_a_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wb(&["completions", shell]);
        assert_eq!(script.code, 0, "{shell}");
        for word in ["session", "undo", "dry-run"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(wb(&["completions", "tcsh"]).code, 2);
    for (words, title) in [
        (&["man"][..], ".TH wb 1"),
        (&["man", "weigh"], ".TH wb-weigh 1"),
        (&["man", "condense"], ".TH wb-compact 1"),
        (&["man", "session", "branch"], ".TH wb-session-branch 1"),
    ] {
        let page = wb(words).stdout;
        assert!(page.contains(title), "{words:?}: {page}");
    }
    assert!(wb(&["man"]).stdout.contains("CODEX_HOME"), "what stands below the help");
}

#[test]
fn a_preview_has_at_most_25_lines_with_the_figures_last_and_three_commands() {
    let folder = crate::support::root().join("fixtures/sessions");
    for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        for (columns, verb) in [("60", "compact"), ("80", "plan"), ("100", "compact")] {
            let line = [verb, entry.to_str().unwrap(), "--force", "--window", "24k"];
            let shown = crate::support::wb_in(&folder, &[("COLUMNS", columns)], &line, b"").stdout;
            let lines: Vec<&str> = shown.lines().collect();
            assert!(lines.len() <= 25, "{columns} {entry:?}:\n{shown}");
            if shown.contains("  after  ▕") && shown.contains("to apply: ") {
                let last = &lines[lines.len() - 3..];
                assert!(last.iter().all(|line| line.contains(": wb compact ")), "{shown}");
                assert!(lines.iter().rposition(|line| line.contains('▕')) > Some(4), "{shown}");
            }
        }
    }
}

#[test]
fn more_is_printed_on_request_before_the_figures() {
    let shown = |option: &str| wb(&["compact", PI, "--force", option]).stdout;
    let (digest, outline) = (shown("--digest"), shown("--outline"));
    for (text, mark) in [(&digest, "\n  # Objective\n"), (&outline, "  +       digest ")] {
        assert!(text.find(mark) < text.find("  before ▕"), "{text}");
        assert!(text.find("  before ▕") < text.find("to apply: "), "{text}");
    }
    assert!(!digest.contains("Outline\n") && !outline.contains("\n  # Objective\n"), "{digest}{outline}");
    let json: serde_json::Value =
        serde_json::from_str(&wb(&["plan", PI, "--force", "--json"]).stdout).unwrap();
    assert!(json["digest"].as_str().unwrap().starts_with("# Objective"), "{json}");
}
