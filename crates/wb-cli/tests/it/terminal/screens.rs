//! Whole outputs at 100 columns, and at 60 where that is more than other places of line ends.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::{Answer, is_wrapped, root, wb_in};

const WIDTHS: [&str; 2] = ["100", "60"];

const CLAUDE: &str = "fixtures/sessions/flaky-checkout.jsonl";
const PI: &str = "fixtures/sessions/rename-flag.jsonl";
const HELLO: &str = "fixtures/sessions/hello.jsonl";

/// Returns the screen after one run.
fn screen(home: &Path, columns: &str, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let Answer { code, stdout, stderr } = wb_in(home, &[("COLUMNS", columns)], &args, b"");
    let lines = stdout.lines().chain(stderr.lines());
    let is_long = |line: &&str| line.chars().count() > columns.parse().unwrap();
    // Text to copy is not wrapped: commands, paths, JSON and the texts of a session.
    let is_whole = |line: &&str| ["wb ", "error: ", "{", "\""].iter().any(|mark| line.contains(mark));
    let long: Vec<&str> = lines.filter(is_long).filter(|line| !is_whole(line)).collect();
    assert!(long.is_empty() || line.contains("show"), "wb {line} at {columns}:\n{}", long.join("\n"));
    let mut shown = format!("$ wb {line}\n{stdout}");
    for (name, text) in [("stderr", stderr), ("exit code", code.to_string())] {
        if !text.is_empty() && text != "0" {
            shown += &["-- ", name, " --\n", text.trim_end(), "\n"].concat();
        }
    }
    shown
}

fn check(name: &str, lines: &[&str]) {
    check_of(Path::new("/nowhere"), name, lines);
}

fn check_of(home: &Path, name: &str, lines: &[&str]) {
    let mut known = String::new();
    for columns in WIDTHS {
        let shown: Vec<String> = lines.iter().map(|line| screen(home, columns, line)).collect();
        let shown = shown.join("\n");
        if is_wrapped(&shown, &known) {
            continue;
        }
        known.clone_from(&shown);
        insta::with_settings!({
            filters => vec![(r" +[<\d.]+ m?s\b", " [time]")],
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("{name}_at_{columns}"), shown);
        });
    }
}

#[test]
fn help_of_every_command_looks_as_recorded() {
    check("help", &["-h", "--help"]);
    check(
        "help_of_commands",
        &[
            "weigh --help",
            "plan --help",
            "compact --help",
            "undo --help",
            "redo --help",
            "log --help",
            "compare --help",
            "replay --help",
            "audit --help",
            "validate --help",
            "install --help",
            "uninstall --help",
            "completions --help",
            "man --help",
        ],
    );
    check(
        "help_of_session",
        &[
            "session --help",
            "session tree --help",
            "session show --help",
            "session context --help",
            "session branch --help",
        ],
    );
}

#[test]
fn weights_look_as_recorded() {
    let lines = [
        format!("weigh {CLAUDE} {HELLO}"),
        format!("weigh {CLAUDE} --window 32k --check"),
        "weigh fixtures/sessions --check".to_owned(),
        "weigh fixtures/sessions --window 32k --check -q".to_owned(),
        format!("weigh {HELLO} --json"),
    ];
    check("weigh", &lines.each_ref().map(String::as_str));
}

#[test]
fn plans_look_as_recorded() {
    let lines = [
        format!("plan {PI}"),
        format!("plan {PI} --force"),
        format!("plan {PI} --window 4k --strategy three-level"),
        format!("plan {PI} --window 4k --strategy policy"),
        format!("plan {HELLO} --force --json"),
    ];
    check("plan", &lines.each_ref().map(String::as_str));
}

#[test]
fn compactions_look_as_recorded() {
    let lines = [
        format!("compact {PI} --force --dry-run"),
        format!("compact {PI} --dry-run"),
        format!("compact {PI} --strategy policy --force --dry-run"),
        format!("compact {PI} --force --reserve-tokens 0 --window 100k --dry-run -o out.jsonl"),
    ];
    check("compact", &lines.each_ref().map(String::as_str));
}

#[test]
fn comparisons_look_as_recorded() {
    let lines = [format!("compare {CLAUDE}"), format!("compare {CLAUDE} --window 8k")];
    check("compare", &lines.each_ref().map(String::as_str));
}

#[test]
fn replays_and_audits_look_as_recorded() {
    let lines =
        [format!("replay {CLAUDE} {PI} --window 32k --price input=3,output=15"), format!("audit {PI}")];
    check("replay", &lines.each_ref().map(String::as_str));
}

#[test]
fn sessions_look_as_recorded() {
    let lines = [
        format!("session tree {PI}"),
        format!("session show {PI} ac31fac0"),
        format!("session context {PI}"),
    ];
    check("session", &lines.each_ref().map(String::as_str));
}

#[test]
fn errors_look_as_recorded() {
    let lines = [
        "weigh fixtures/sessions/flaky-chekout.jsonl",
        "plan fixtures/sessions",
        "weigh README.md",
        "weigh fixtures/sessions/none.jsonl --json",
        "session tree fixtures/sessions/flaky-checkout.jsonl",
        "plan fixtures/sessions/hello.jsonl --window -5",
        "plan fixtures/sessions/hello.jsonl --window 1.5",
        "plan --jsn fixtures/sessions/hello.jsonl",
        "plan --json",
        "man nothing",
        "frobnicate",
    ];
    check("errors", &lines);
}

/// Writes a session where an agent would, `seconds` old.
fn lay(home: &Path, to: &str, from: &str, seconds: u64) {
    let to = home.join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(&to, fs::read(root().join(from)).unwrap()).unwrap();
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::options().append(true).open(&to).unwrap().set_modified(then).unwrap();
}

#[test]
fn the_newest_sessions_look_as_recorded() {
    let home = tempfile::tempdir().unwrap();
    check_of(home.path(), "no_sessions", &[""]);
    lay(home.path(), ".claude/projects/-home-mira-code-marketstall/8c1d.jsonl", CLAUDE, 130);
    lay(home.path(), ".claude/projects/-home-mira-code-marketstall/agent-1.jsonl", CLAUDE, 10);
    lay(home.path(), ".claude/projects/-home-mira-notes/7.jsonl", HELLO, 86_400 * 40);
    lay(home.path(), ".pi/agent/sessions/--home-sam-src-tidybox--/a.jsonl", PI, 3 * 3_600 + 60);
    lay(home.path(), ".codex/sessions/2026/05/01/rollout-1.jsonl", "README.md", 30);
    check_of(home.path(), "newest_sessions", &[""]);
}
