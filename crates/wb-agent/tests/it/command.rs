//! The command itself, stopped and killed by signals.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use wb_testkit::loopback::{Loopback, Play, stream};

use crate::support::folder;

fn begin(dir: &TempDir, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb-agent"));
    command.arg(dir.path().join("work")).arg("--logs").arg(dir.path().join("logs")).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn says(child: &mut Child, line: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn until_there(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "{} never came", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn output(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn ctrl_c_stops_a_tool_and_the_session_goes_on() {
    let dir = folder();
    let mut agent = begin(&dir, &[]);
    says(&mut agent, "bash touch begun; sleep 60");
    until_there(&dir.path().join("work/begun"));
    signal(&agent, "-INT");
    says(&mut agent, "ls");
    says(&mut agent, "/quit");
    let said = output(agent);
    assert!(said.contains("[Stopped by the user]") && said.contains("[stopped]"), "{said}");
    assert!(said.contains("· ls {}") && said.contains("begun"), "{said}");
}

#[test]
fn a_session_that_was_killed_in_a_tool_is_resumed_by_its_folder() {
    let dir = folder();
    let mut agent = begin(&dir, &[]);
    says(&mut agent, "bash touch begun; sleep 2");
    until_there(&dir.path().join("work/begun"));
    signal(&agent, "-KILL");
    agent.wait().unwrap();
    let mut agent = begin(&dir, &["--resume"]);
    says(&mut agent, "ls");
    says(&mut agent, "/context");
    let said = output(agent);
    // Prompt, call, its result that never came, prompt, call, result, answer.
    assert!(said.contains("7 messages, 0 of them a digest"), "{said}");
}

#[test]
fn the_demo_ends_with_the_meter_the_digest_and_undo() {
    let dir = folder();
    let mut agent = begin(&dir, &[]);
    says(&mut agent, "/demo");
    says(&mut agent, "/context");
    let said = output(agent);
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(at("⟲ ") < at("The window after the hour:"));
    assert!(at("The window after the hour:") < at("Folded: ") && at("Folded: ") < at("The digest:"));
    assert!(at("The digest:") < at("And undone: taken back: "));
    assert!(said[at("The digest:")..].contains("Never touch migrations/."), "{said}");
    assert!(said.contains("0 messages, 0 of them a digest"), "the session is another one: {said}");
}

/// A stream of chat completions with one text.
fn completion(text: &str) -> Vec<Play> {
    let says =
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    stream(&format!("data: {says}\n\ndata: [DONE]\n\n"), 64)
}

#[test]
fn what_is_typed_behind_compact_reaches_the_model_that_writes_the_digest() {
    let dir = folder();
    let digest = "# Objective\n- Port the importer.\n\n# Plan\n- Go on with the tests.";
    let server = Loopback::start([completion("Begun."), completion("Done."), completion(digest)]);
    let url = format!("{}/v1", server.url());
    let mut agent = begin(&dir, &["--model", "openai-compatible:m", "--base-url", &url]);
    says(&mut agent, &"Port the importer, and look at each part. ".repeat(500));
    says(&mut agent, "And now the tests.");
    says(&mut agent, "/compact Name each port that was opened.");
    says(&mut agent, "/context");
    let said = output(agent);
    let asked = server.requests();
    let has_words = |at: usize| asked[at].body.to_string().contains("Name each port that was opened.");
    assert!(asked.len() == 3 && !has_words(0) && !has_words(1) && has_words(2), "{asked:?}");
    assert!(said.contains("digest by the model") && said.contains("1 of them a digest"), "{said}");
    assert!(said.contains(" of 200,000 tokens"), "{said}");
}

#[test]
fn what_cannot_begin_says_why() {
    let dir = folder();
    for (more, wanted) in [
        (&["--resume"][..], "has no session of this folder"),
        (&["--model", "oracle:x"], "unknown provider `oracle`"),
        (&["--model", "openai-compatible:x"], "needs a base URL, such as http://localhost:11434/v1"),
        (&["--model", "script:none"], "none: "),
    ] {
        let output = begin(&dir, more).wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.starts_with("error: ") && said.contains(wanted), "{said}");
    }
}
