//! A place with a session file, and commands that change it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::{Message, Pairing};

use crate::support::{Answer, wb_in};

/// A user's home, a project with settings, and a session of it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) file: PathBuf,
}

impl Place {
    pub(crate) fn with(lines: impl FnOnce(&str) -> Vec<Value>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        let file = folder.path().join("s.jsonl");
        let place = Self { folder, file };
        place.settings("project/.indusagi/settings.json", &json!({"branchSummary": {"reserveTokens": 400}}));
        place.write(&text(&lines(project.to_str().unwrap())));
        place
    }

    /// Copies a session.
    pub(crate) fn of_file(path: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        let place = Self { folder, file };
        fs::write(&place.file, fs::read(path).unwrap()).unwrap();
        place
    }

    pub(crate) fn settings(&self, path: &str, settings: &Value) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, settings.to_string()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, content: &str) {
        fs::write(&self.file, content).unwrap();
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.file).unwrap()
    }

    /// Returns the names of the files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.folder.path().read_dir().unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let mut names: Vec<_> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn run_on(&self, verb: &str, file: &str, rest: &[&str], stdin: &[u8]) -> Answer {
        let args: Vec<&str> = ["session", verb, file].into_iter().chain(rest.iter().copied()).collect();
        // Wide enough that no line is broken.
        wb_in(&self.folder.path().join("home"), &[("COLUMNS", "400")], &args, stdin)
    }

    /// Runs a command of `wb` on the session, and returns its answer as JSON.
    pub(crate) fn command(&self, verb: &str, rest: &[&str]) -> Value {
        let file = self.file.to_str().unwrap();
        let args: Vec<&str> = [verb, file, "--json"].into_iter().chain(rest.iter().copied()).collect();
        json_of(&wb_in(&self.folder.path().join("home"), &[], &args, b""))
    }

    pub(crate) fn run(&self, verb: &str, rest: &[&str]) -> Answer {
        self.run_on(verb, self.file.to_str().unwrap(), rest, b"")
    }

    pub(crate) fn json_on(&self, verb: &str, file: &str, rest: &[&str]) -> Value {
        let rest: Vec<&str> = rest.iter().copied().chain(["--json"]).collect();
        json_of(&self.run_on(verb, file, &rest, b""))
    }

    pub(crate) fn json(&self, verb: &str, rest: &[&str]) -> Value {
        self.json_on(verb, self.file.to_str().unwrap(), rest)
    }

    /// Runs a command that fails and leaves the folder as it is.
    pub(crate) fn refused(&self, verb: &str, rest: &[&str]) -> String {
        let (names, bytes) = (self.names(), self.bytes());
        let answer = self.run(verb, rest);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
        assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
        assert_eq!((self.names(), self.bytes()), (names, bytes), "{}", answer.stderr);
        answer.stderr.replace(self.file.to_str().unwrap(), "s.jsonl")
    }

    /// Continues the session as pi does: appends an entry.
    pub(crate) fn say(&self, id: &str, message: &Value) {
        let leaf = self.json("tree", &[])["leaf"].clone();
        let mut bytes = self.bytes();
        bytes.extend_from_slice(text(&[entry(id, &leaf, message)]).as_bytes());
        fs::write(&self.file, bytes).unwrap();
    }

    pub(crate) fn messages(&self) -> Value {
        self.json("context", &[])["messages"].clone()
    }
}

pub(crate) fn json_of(answer: &Answer) -> Value {
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(answer.stdout.lines().count(), 1, "one object: {}", answer.stdout);
    serde_json::from_str(&answer.stdout).unwrap()
}

pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

pub(crate) fn entry(id: &str, parent: &Value, message: &Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message})
}

pub(crate) fn header(cwd: &str) -> Value {
    json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd})
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn call(step: usize) -> Value {
    json!({"role": "assistant", "provider": "anthropic", "model": "claude-x", "stopReason": "toolUse",
    "usage": {"input": 9_000 + step, "output": 40, "cacheRead": 0, "cacheWrite": 0},
    "content": [
        {"type": "text", "text": format!("Step {step}: reading the next part. ").repeat(6)},
        {"type": "toolCall", "id": format!("c{step}"), "name": "read", "arguments": {"path": format!("src/part_{step}.rs")}},
    ]})
}

pub(crate) fn result(step: usize) -> Value {
    json!({"role": "toolResult", "toolCallId": format!("c{step}"), "toolName": "read", "isError": false,
        "content": [{"type": "text", "text": format!("fn part_{step}() {{}}\n").repeat(20)}]})
}

/// Returns `n_turns` turns of three messages each.
pub(crate) fn talk(cwd: &str, n_turns: usize) -> Vec<Value> {
    let mut lines = vec![header(cwd)];
    for step in 0..n_turns {
        for message in [user(&format!("Read part {step}.")), call(step), result(step)] {
            let parent = lines.last().map(|line| line["id"].clone()).filter(|id| id != "s");
            let id = format!("{:08x}", 0x1000 + lines.len());
            lines.push(entry(&id, &parent.unwrap_or_default(), &message));
        }
    }
    lines
}

pub(crate) fn ten_turns() -> Place {
    Place::with(|cwd| talk(cwd, 10))
}

/// Returns how many results in a context answer no call.
pub(crate) fn n_orphans(messages: &Value) -> usize {
    let messages: Vec<Message> = serde_json::from_value(messages.clone()).unwrap();
    Pairing::new(&messages).orphans().len()
}
