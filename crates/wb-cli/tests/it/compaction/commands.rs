//! The commands as a user runs them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::support::place::{entry, header, json_of, text, user};
use crate::support::{Answer, root, wb, wb_with};

/// A session that is over the budget of a window of 8k tokens: an agent reads files and runs
/// commands.
fn session() -> String {
    let mut messages = vec![Message::user("Find out why the importer drops lines. Never touch the schema.")];
    for step in 0..24 {
        let (read, run) = (format!("r{step}"), format!("b{step}"));
        messages.push(Message::assistant_blocks(vec![
            Block::text(format!("Step {step}: reading the next part. ").repeat(10)),
            Block::call(&read, "Read", json!({"file_path": format!("src/part_{step}.rs")})),
            Block::call(&run, "Bash", json!({"command": format!("cargo test part_{step}")})),
        ]));
        messages.push(Message::tool_result(&read, "Read", format!("fn part_{step}() {{}}\n").repeat(60)));
        messages.push(Message::tool_error(&run, "Bash", "test failed: left 3, right 4\n".repeat(30)));
    }
    messages.push(Message::assistant("The reader trims the last line."));
    messages.push(Message::user("Fix it."));
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn n_files(&self) -> usize {
        self.0.path().read_dir().unwrap().count()
    }
}

fn run(verb: &str, file: &Path, rest: &[&str]) -> Answer {
    let mut args = vec![verb, file.to_str().unwrap()];
    args.extend(rest);
    wb(&args)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn weigh_prints_how_full_the_window_is_as_json() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let weighed = json_of(&run("weigh", &file, &["--window", "8k", "--json"]));
    let promised = [
        "version",
        "file",
        "format",
        "messages",
        "tokens",
        "window",
        "window_from",
        "limit",
        "agent_trigger",
        "over_budget",
        "anchored",
        "by_kind",
    ];
    assert_eq!(keys(&weighed)[..12], promised);
    assert_eq!(weighed["messages"], 75);
    assert_eq!((&weighed["window"], &weighed["limit"]), (&json!(8_000), &json!(4_464)));
    assert_eq!((&weighed["over_budget"], &weighed["anchored"]), (&json!(true), &json!(false)));
    let kinds: u64 = weighed["by_kind"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(Some(kinds), weighed["tokens"].as_u64());
}

#[test]
fn what_rounding_leaves_is_no_system_prompt() {
    // The count is below the estimate, so nothing is known of a system prompt.
    let turn = |at: u64| {
        let usage = json!({"input": 100 + 100 * at, "output": 9, "cacheRead": 0, "cacheWrite": 0});
        let said = json!([{"type": "text", "text": "One more line of words.\n".repeat(200)}]);
        let answer = json!({"role": "assistant", "provider": "x", "model": "m", "stopReason": "stop", "usage": usage, "content": said});
        [user("Go on, please."), answer]
    };
    let mut lines = vec![header("/w")];
    for (at, message) in (0..12).flat_map(turn).enumerate() {
        let parent = at.checked_sub(1).map_or(Value::Null, |before| json!(format!("{before:08x}")));
        lines.push(entry(&format!("{at:08x}"), &parent, &message));
    }
    let weighed = json_of(&wb_with(&["weigh", "-", "--json"], text(&lines).as_bytes()));
    let kinds = weighed["by_kind"].as_object().unwrap();
    assert!(weighed["overhead"] == 0 && !kinds.contains_key("system_prompt_and_tools"), "{weighed}");
    assert_eq!(kinds.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), weighed["tokens"].as_u64().unwrap());
}

#[test]
fn plan_shows_what_condense_does_and_writes_nothing() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let plan = json_of(&run("plan", &file, &["--window", "10k", "--json"]));
    assert_eq!(folder.n_files(), 1);
    let out = folder.0.path().join("out.jsonl");
    let done = json_of(&run("compact", &file, &["--window", "10k", "--json", "-o", out.to_str().unwrap()]));
    let mut figures = done.clone();
    let written = figures.as_object_mut().unwrap().remove("written").unwrap();
    assert_eq!(written["bytes"].as_u64(), Some(out.metadata().unwrap().len()));
    assert_eq!(plan, figures, "preview = apply");
    let promised = [
        "version",
        "file",
        "format",
        "messages_before",
        "messages_after",
        "tokens_before",
        "tokens_after",
        "cut",
        "cleared",
        "restored",
        "changed",
        "degraded",
        "reason",
    ];
    assert_eq!(keys(&done)[..13], promised);
    assert_eq!((&done["changed"], &done["degraded"]), (&json!(true), &json!(false)));
    assert!(done["tokens_after"].as_u64() <= done["target"].as_u64());
    assert!(done["cleared"].as_u64() > Some(0) && done["restored"].as_u64() > Some(0), "{done}");

    let again = json_of(&run("weigh", &out, &["--window", "10k", "--json"]));
    assert_eq!(again["tokens"], done["tokens_after"]);
    assert_eq!(again["messages"], done["messages_after"]);
}

#[test]
fn plan_outlines_every_message_with_its_fate() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let plan = run("plan", &file, &["--window", "8k", "--outline"]);
    assert_eq!(plan.code, 0);
    assert!(
        plan.stdout.contains("  -     0 user      \"Find out why the importer drops lines."),
        "{}",
        plan.stdout
    );
    assert!(plan.stdout.contains("  +       digest "), "{}", plan.stdout);
    assert!(plan.stdout.contains("  ~ "), "{}", plan.stdout);
    assert!(plan.stdout.contains("       74 user      \"Fix it.\""), "{}", plan.stdout);
    assert!(!plan.stdout.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn plan_says_what_compact_would_refuse() {
    let folder = Folder::new();
    let lines = [
        r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        json!({"type": "message", "message": {"role": "user", "content": "word ".repeat(4_000)}}).to_string(),
        json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}})
            .to_string(),
        json!({"type": "message", "message": {"role": "user", "content": "Go on."}}).to_string(),
    ];
    let file = folder.file("v1.jsonl", &(lines.join("\n") + "\n"));
    let refused = run("compact", &file, &["--force", "--in-place", "--allow-open"]).stderr;
    let (_, why) = refused.split_once("v1.jsonl: ").unwrap();
    let (why, _) = why.split_once('\n').unwrap();
    let plan = run("plan", &file, &["--force"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains(&format!("cannot be applied: {why}; open the session")), "{plan}");
    assert!(!plan.contains("to apply:"), "{plan}");
    let object = json_of(&run("plan", &file, &["--force", "--json"]));
    assert_eq!(object["not_applicable"]["message"], json!(why));
    let cut = folder.file("cut.jsonl", &session()[..session().len() - 3]);
    let plan = run("plan", &cut, &["--force"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("is truncated; remove it with `wb repair "), "{plan}");
}

#[test]
fn a_plan_leaves_out_what_weigh_leaves_out_and_says_so() {
    let file = &root().join("fixtures/sessions/flaky-checkout.jsonl");
    let note = "excludes the session's system prompt and tools (about 21,376 tokens)";
    for (window, left_out) in [("64k", 0), ("32k", 21_376)] {
        let figures = |command| json_of(&run(command, file, &["--window", window, "--json"]));
        let (weighed, planned) = (figures("weigh"), figures("plan"));
        assert_eq!(weighed["tokens"], planned["tokens_before"]);
        assert_eq!(weighed["overhead_left_out"], planned["overhead_left_out"]);
        assert_eq!(planned["overhead_left_out"], json!(left_out));
        for (command, more) in
            [("weigh", &[][..]), ("plan", &[]), ("compare", &[]), ("view", &["--html", "-"])]
        {
            let text = run(command, file, &[&["--window", window], more].concat()).stdout;
            assert_eq!(text.contains(note), left_out > 0, "{command}: {text}");
        }
    }
}

#[test]
fn a_plan_says_what_does_not_count_and_what_is_too_much() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let plan = |options: &[&str]| run("plan", &file, options).stdout;
    let note = "note: with --force what follows the last prompt stays";
    assert!(plan(&["--force", "--keep-recent-tokens", "100"]).contains(note));
    assert!(!plan(&["--window", "8k", "--keep-recent-tokens", "100"]).contains(note));
    assert!(!plan(&["--force"]).contains(note));
    let over = plan(&["--window", "8k"]);
    assert!(over.contains(" before, ") && over.contains(" left after"), "{over}");
    assert_eq!(run("pin", &file, &["--text", &"word ".repeat(1_000)]).code, 0);
    let over = plan(&["--window", "4k"]);
    assert!(over.contains("above the limit because of pins; `wb pin"), "{over}");
    let object = json_of(&run("plan", &file, &["--window", "4k", "--json"]));
    assert!(object["warnings"].to_string().contains("above the limit because of pins"), "{object}");
    assert_eq!(object["not_applicable"], Value::Null);
}

#[test]
fn compact_writes_to_stdout_and_reports_on_stderr() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let answer = run("compact", &file, &["--window", "8k", "-o", "-"]);
    assert_eq!(answer.code, 0);
    let opened = wb_formats::read(&mut answer.stdout.as_bytes()).unwrap();
    assert!(wb_message::markers::is_synthetic(&opened.messages[0]));
    assert_eq!(opened.messages.last(), Some(&Message::user("Fix it.")));
    let verbose = run("compact", &file, &["--window", "8k", "-o", "-", "-v"]).stderr;
    let digest = ["# Objective", "Never touch the schema"];
    for line in ["before ▕", "after  ▕", "digest       folds"].into_iter().chain(digest) {
        assert!(verbose.contains(line), "{line}: {verbose}");
    }
    assert!(
        answer.stderr.contains("before ▕") && !answer.stderr.contains("# Objective"),
        "{}",
        answer.stderr
    );
}

#[test]
fn standard_input_is_read_and_what_is_within_budget_comes_back_as_it_was() {
    let text = session();
    let answer = wb_with(&["compact", "-", "-o", "-"], text.as_bytes());
    assert_eq!((answer.code, answer.stdout), (0, text));
    assert!(answer.stderr.contains("  within budget: "), "{}", answer.stderr);
    let forced = wb_with(&["compact", "-", "--force", "--json"], session().as_bytes());
    assert_eq!(json_of(&forced)["cut"], 73);
}

#[test]
fn a_truncated_last_line_is_reported_and_skipped() {
    let folder = Folder::new();
    let text = session();
    let file = folder.file("s.jsonl", &text[..text.len() - 9]);
    let weighed = json_of(&run("weigh", &file, &["--json"]));
    assert_eq!(weighed["messages"], 74);
    assert_eq!(weighed["notes"], json!(["truncated last line skipped: line 76"]));
    assert!(run("weigh", &file, &[]).stdout.contains("note: truncated last line skipped: line 76"));
}

#[test]
fn any_other_bad_line_is_an_error_that_names_file_line_and_what_to_do() {
    let folder = Folder::new();
    let bad = session().replacen("\"role\":\"toolResult\"", "\"role\":\"toolRezult\"", 1);
    let file = folder.file("s.jsonl", &bad);
    for verb in ["weigh", "plan", "compact"] {
        let answer = run(verb, &file, &[]);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{verb}");
        assert!(
            answer.stderr.starts_with(&format!("error: {}: line 4", file.display())),
            "{}",
            answer.stderr
        );
        assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
    }
}

#[test]
fn what_is_no_session_is_refused_with_a_hint() {
    let folder = Folder::new();
    for (name, content) in [("empty", ""), ("text", "hello\nthere\n"), ("binary", "\0\u{1}\u{2}")] {
        let answer = run("weigh", &folder.file(name, content), &[]);
        assert_eq!(answer.code, 1, "{name}");
        assert!(answer.stderr.contains("\nhint: "), "{name}: {}", answer.stderr);
    }
    let missing = run("weigh", &folder.0.path().join("missing"), &[]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("missing") && missing.stderr.contains("\nhint: "), "{}", missing.stderr);
}

#[test]
fn one_bad_file_does_not_keep_the_others_from_being_weighed() {
    let folder = Folder::new();
    let (bad, good) = (folder.file("bad", ""), folder.file("good", &session()));
    let answer = wb(&["weigh", bad.to_str().unwrap(), good.to_str().unwrap(), "--json"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    let lines: Vec<Value> = answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["error"]["file"], bad.to_str().unwrap());
    assert_eq!((lines.len(), &lines[1]["messages"]), (2, &json!(75)));
}

#[test]
fn wrong_usage_ends_with_2() {
    for args in [
        &["compact", "a", "b"][..],
        &["weigh", "f", "--trigger-ratio", "1.5"],
        &["weigh", "f", "--trigger-ratio", "NaN"],
        &["weigh", "f", "--window", "many"],
        &["frobnicate"],
    ] {
        let answer = wb(args);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{args:?}: {}", answer.stderr);
    }
}

#[test]
fn the_session_itself_is_never_written_over_and_no_half_file_is_left() {
    let folder = Folder::new();
    let text = session();
    let file = folder.file("s.jsonl", &text);
    let same = run("compact", &file, &["--window", "8k", "-o", file.to_str().unwrap()]);
    assert_eq!(same.code, 1);
    assert!(same.stderr.contains("hint: "), "{}", same.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    let nowhere = folder.0.path().join("none/out.jsonl");
    let answer = run("compact", &file, &["--window", "8k", "-o", nowhere.to_str().unwrap()]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("none/out.jsonl"), "{}", answer.stderr);
    assert_eq!(folder.n_files(), 1);
}

#[test]
fn a_forced_compaction_that_is_not_worth_it_leaves_a_short_chat_alone() {
    let messages = [
        Message::user("Which of the two readers do we keep, the old one or the new one, and why?"),
        Message::assistant("The new one."),
        Message::user("Good. Then take the old one out, please."),
        Message::assistant("It is out, and the tests pass."),
    ];
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &String::from_utf8(bytes).unwrap());
    let report = json_of(&run("compact", &file, &["--force", "--json"]));
    assert_eq!(report["changed"], false, "{report}");
    let shown = run("compact", &file, &["--force"]).stdout;
    let why = "unchanged: a digest that keeps the user's words would save nothing";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn another_file_is_written_over_only_if_that_is_asked_for() {
    let folder = Folder::new();
    let (file, out) = (folder.file("s.jsonl", &session()), folder.file("out.jsonl", "precious"));
    let words = ["--window", "8k", "-o", out.to_str().unwrap(), "--overwrite"];
    let refused = run("compact", &file, &words[..4]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("out.jsonl: already exists\nhint: name a new file, or add --overwrite"));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
    assert_eq!(run("compact", &file, &words).code, 0);
    assert_eq!(json_of(&wb(&["weigh", out.to_str().unwrap(), "--json"]))["format"], "native");
    let same = run("compact", &file, &["--window", "8k", "-o", file.to_str().unwrap(), "--overwrite"]);
    assert_eq!((same.code, folder.n_files()), (1, 2), "{}", same.stderr);
    assert_eq!(run("compact", &file, &["--overwrite"]).code, 2, "there is nothing to write over");
}

#[cfg(unix)]
#[test]
fn a_compacted_session_is_as_private_as_the_session_and_is_written_through_no_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let (file, victim) = (folder.file("s.jsonl", &session()), folder.file("victim", "precious"));
    let [out, link] = ["out.jsonl", "link.jsonl"].map(|name| folder.0.path().join(name));
    for mode in [0o600, 0o640] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let _ = std::fs::remove_file(&out);
        assert_eq!(run("compact", &file, &["--window", "8k", "-o", out.to_str().unwrap()]).code, 0);
        assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, mode);
    }
    symlink(&victim, &link).unwrap();
    let words = ["--window", "8k", "-o", link.to_str().unwrap(), "--overwrite"];
    let refused = run("compact", &file, &words);
    let reported = format!("link.jsonl: is a link to {}\nhint: name the file", victim.display());
    assert!(refused.code == 1 && refused.stderr.contains(&reported), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(run("compact", &file, &["--window", "8k", "-o", "/dev/null"]).code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_by_its_name_is_written_verbatim() {
    let folder = Folder::new();
    let (file, out) = (folder.file("s.jsonl", &session()), folder.file("out.jsonl", "before\n"));
    let piped = run("compact", &file, &["--window", "8k", "-o", "/dev/stdout"]);
    assert!(piped.code == 0 && piped.stdout.starts_with('{'), "{}", piped.stderr);
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_wb"))
        .args(["compact", "--window", "8k", "-o", "/dev/stdout"])
        .arg(&file)
        .stdout(std::fs::File::options().append(true).open(&out).unwrap())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(done.success());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), format!("before\n{}", piped.stdout));
}

#[test]
fn a_target_is_reached_within_a_twentieth_and_is_in_the_command_that_writes() {
    let folder = Folder::new();
    let file = folder.file("s.jsonl", &session());
    let n = |report: &Value, key: &str| report[key].as_u64().unwrap();
    let before = n(&json_of(&run("compact", &file, &["--json"])), "message_tokens_before");
    for (target, asked) in [("12%", before * 12 / 100), ("30%", before * 30 / 100), ("4k", 4_000)] {
        let report = json_of(&run("compact", &file, &["--target", target, "--json"]));
        let reached = n(&report, "message_tokens_after");
        assert!(reached.abs_diff(asked) * 20 <= asked, "{target}: {reached} for {asked}");
    }
    let shown = run("compact", &file, &["--target", "30%"]).stdout;
    assert!(shown.contains("--target 30%"), "{shown}");
    for near in ["80%", "90%"] {
        let report = json_of(&run("compact", &file, &["--target", near, "--json"]));
        assert_eq!(report["changed"], true, "{near}: {report}");
    }
    let missed = run("compact", &file, &["--target", "40"]).stdout;
    assert!(missed.contains("asked for 40 tokens of messages, and"), "{missed}");
    let large = json_of(&run("compact", &file, &["--target", "10m", "--json"]));
    assert_eq!(large["changed"], false, "{large}");
    assert!(large["reason"].as_str().unwrap().contains("and they take"), "{large}");
    let small = folder.file("small.jsonl", &run("compact", &file, &["--target", "4k", "-o", "-"]).stdout);
    let again = json_of(&run("compact", &small, &["--target", "4k", "--json"]));
    assert_eq!(again["changed"], false, "{again}");
    assert_eq!(run("compact", &file, &["--target", "100%"]).code, 2);
    let none = run("compact", &file, &["--window", "200", "--in-place"]);
    assert!(
        none.code != 0 && none.stderr.contains("a window of 200 tokens leaves nothing"),
        "{}",
        none.stderr
    );
    assert_eq!(run("compact", &file, &["--target", "30%", "--force"]).code, 2);
}

#[test]
fn credentials_are_marks_in_the_digest_and_stay_in_the_session() {
    let folder = Folder::new();
    let secret = ["ghp_", "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"].concat();
    let said = session().replace("Never touch the schema.", &format!("Never print {secret}."));
    let said = said.replace("left 3, right 4", &format!("DB_PASSWORD={}", &secret[6..26]));
    let file = folder.file("s.jsonl", &said);
    let digest = |answer: &Answer| {
        let out: Vec<Value> = answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        out.iter().map(Value::to_string).find(|line| line.contains("session digest")).unwrap()
    };
    let shown = run("compact", &file, &["--force", "-o", "-"]);
    let text = digest(&shown);
    assert!(text.contains("Never print [redacted: GitHub token]."), "{text}");
    assert!(!text.contains(&secret) && !text.contains(&secret[6..26]), "{text}");
    assert!(json_of(&run("plan", &file, &["--force", "--json"]))["redacted"].as_u64() > Some(1));
    let kept = digest(&run("compact", &file, &["--force", "-o", "-", "--no-redact"]));
    assert!(kept.contains(&format!("Never print {secret}.")), "{kept}");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&secret));
}
