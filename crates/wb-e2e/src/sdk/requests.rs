//! The requests: our fixtures unchanged, compacted, and converted by `wb convert`, a request with
//! every feature, and the examples of the rules.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest, encode, repair, validate};
use wb_message::{Block, Conversation, Message, ToolDescriptor, Turn};

use super::shapes;

/// The folders of sessions that `wb` reads.
const FOLDERS: [&str; 3] =
    ["fixtures/sessions", "crates/wb-formats/tests/fixtures", "crates/wb-session/tests/fixtures"];
/// An example of each rule in each dialect: one that passes, one that fails, and its repaired form.
const EXAMPLES: &str = "crates/wb-dialect/tests/it/examples.json";
/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";

/// All requests, and how many sessions they were made of.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Each as a line for the program that sends them.
    pub(crate) lines: Vec<Value>,
    /// Sessions that were read.
    pub(crate) n_sessions: usize,
    /// Those that were compacted too; the others have nothing to compact, or it cannot be written.
    pub(crate) n_compacted: usize,
    /// Files that are no session, such as one with a broken line in the middle.
    pub(crate) n_unread: usize,
}

/// Makes all requests; sessions are compacted by `wb` into a folder.
pub(crate) fn all(root: &Path, wb: &Path, scratch: &Path) -> Result<Requests, String> {
    let mut requests = Requests::default();
    for folder in FOLDERS {
        for file in files(&root.join(folder))? {
            requests.add_file(root, &file, wb, scratch)?;
        }
    }
    requests.lines.extend(made());
    requests.lines.extend(examples(root)?);
    Ok(requests)
}

impl Requests {
    fn add_file(&mut self, root: &Path, file: &Path, wb: &Path, scratch: &Path) -> Result<(), String> {
        let Some(messages) = messages(file) else {
            self.n_unread += 1;
            return Ok(());
        };
        let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
        self.n_sessions += 1;
        self.lines.extend(of_session(&name, "untouched", &messages));
        for dialect in Dialect::ALL {
            self.lines.extend(checked_lines(&name, dialect, "converted", convert(wb, file, dialect)?));
        }
        let out = scratch.join(name.replace(['/', '\\'], "_"));
        if compact(wb, file, &out)? {
            let messages = self::messages(&out).ok_or(format!("{name}: its compaction cannot be read"))?;
            self.n_compacted += 1;
            self.lines.extend(of_session(&name, "compacted", &messages));
        }
        Ok(())
    }
}

/// Returns the sessions below a folder in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl" || kind == "traj") {
            found.push(path);
        }
    }
    Ok(found)
}

fn messages(file: &Path) -> Option<Vec<Message>> {
    let bytes = std::fs::read(file).ok()?;
    wb_formats::read(&mut bytes.as_slice()).ok().map(|view| view.messages)
}

/// Compacts a session into a file, and returns whether there was something to write.
fn compact(wb: &Path, file: &Path, out: &Path) -> Result<bool, String> {
    let mut command = Command::new(wb);
    command.args(["compact", "--force", "--overwrite", "-o"]).arg(out).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| format!("{}: {error}", wb.display()))?;
    Ok(status.success())
}

/// Returns what `wb convert` writes of a session.
fn convert(wb: &Path, file: &Path, dialect: Dialect) -> Result<Value, String> {
    let mut command = Command::new(wb);
    command.args(["convert", "--to", dialect.name()]).arg(file).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", wb.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

/// A session in each dialect.
fn of_session(name: &str, kind: &str, messages: &[Message]) -> Vec<Value> {
    let body = |dialect| EncodedRequest::next_request(messages, dialect).body;
    Dialect::ALL.into_iter().flat_map(|dialect| checked_lines(name, dialect, kind, body(dialect))).collect()
}

/// One request. A request that our rules refuse is sent all the same, to be refused there too, and
/// then repaired.
fn checked_lines(name: &str, dialect: Dialect, kind: &str, mut body: Value) -> Vec<Value> {
    // A session of which nothing is left asks nothing.
    if !asks(&body, dialect) {
        return Vec::new();
    }
    let is_refused = !validate(&body, dialect).is_empty();
    let mut lines = vec![line(name, dialect, kind, &body, is_refused)];
    if is_refused {
        repair(&mut body, dialect);
        lines.push(line(name, dialect, "repaired", &body, false));
    }
    lines
}

fn asks(body: &Value, dialect: Dialect) -> bool {
    body[dialect.messages_key()].as_array().is_some_and(|messages| !messages.is_empty())
}

fn line(name: &str, dialect: Dialect, kind: &str, body: &Value, is_refused: bool) -> Value {
    let model = match dialect {
        Dialect::Anthropic => "claude-sonnet-4-6",
        Dialect::OpenaiChat | Dialect::OpenaiResponses => "gpt-5-mini",
        Dialect::Gemini => "gemini-2.5-flash",
    };
    let model = body["model"].as_str().unwrap_or(model);
    json!({ "name": name, "dialect": dialect, "model": model, "kind": kind, "body": body, "is_refused": is_refused })
}

/// Requests with everything in them that a dialect can say: a system text, tools, reasoning,
/// pictures, results that failed.
pub(super) fn made() -> Vec<Value> {
    let conversations = Dialect::ALL.map(|dialect| (dialect, conversation(dialect)));
    let made =
        conversations.map(|(dialect, asked)| line("made", dialect, "made", &encode(&asked, dialect), false));
    let picture = || vec![Block::text("Here."), Block::image("image/png", PIXEL)];
    let mut picture_result = Message::tool_result("c1", "read", "");
    if let Message::ToolResult { content, .. } = &mut picture_result {
        *content = picture();
    }
    let messages = vec![
        Message::user(picture()),
        Message::assistant_blocks(vec![Block::call("c1", "read", json!({ "path": "a.png" }))]),
        picture_result,
    ];
    let pictures = of_session("pictures", "made", &messages);
    made.into_iter().chain(pictures).collect()
}

fn conversation(dialect: Dialect) -> Conversation {
    let signature = if dialect == Dialect::OpenaiResponses { "gAAAAABm" } else { "Eu8BCkYI" };
    let thinking = Block::Thinking { text: "Look first.".into(), signature: Some(signature.into()) };
    let path =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let read = ToolDescriptor { name: "read".into(), description: "Reads a file.".into(), parameters: path };
    let result =
        |id: &str, output: Value, is_error| Block::ToolResult { call_id: id.into(), output, is_error };
    let calls = vec![
        thinking,
        Block::call("c1", "read", json!({ "path": "a.rs" })),
        Block::call("c2", "patch", json!("*** Begin Patch")),
    ];
    let results =
        vec![result("c1", json!("fn a() {}"), None), result("c2", json!("no such file"), Some(true))];
    Conversation {
        system: Some("Be short.".into()),
        turns: vec![
            Turn::user("Mend it."),
            Turn::Assistant { blocks: calls },
            Turn::Tool { blocks: results },
            Turn::assistant("Mended."),
            Turn::user("And now?"),
        ],
        tools: Some(vec![read]),
    }
}

/// The rules on what the provider in our tests does not look into: the content of pictures and of
/// reasoning.
const NOT_LOOKED_INTO: [&str; 4] = ["picture-empty", "picture-type", "picture-pixels", "reasoning-content"];

/// Returns whether the provider in our tests does not know a kind of block, item or key of a body.
fn is_unknown(dialect: Dialect, body: &Value) -> bool {
    let found = shapes::findings(dialect.name(), body);
    found.iter().any(|finding| matches!(finding.word, "enum" | "unknown"))
}

/// Returns whether the provider in our tests accepts what a rule refuses; an empty answer is
/// refused by Kimi alone.
fn is_accepted(rule: &str, failing: &Value) -> bool {
    let is_empty_text = || {
        let body = failing.to_string();
        ["\"content\":\"\"", "\"text\":\"\""].iter().any(|text| body.contains(text))
    };
    NOT_LOOKED_INTO.contains(&rule) || rule == "message-empty" && is_empty_text()
}

/// Each example of a rule that the provider in our tests knows: the passing one is accepted, the
/// failing one refused, its repaired form accepted.
fn examples(root: &Path) -> Result<Vec<Value>, String> {
    let failure = |why: String| format!("{EXAMPLES}: {why}");
    let text = std::fs::read_to_string(root.join(EXAMPLES)).map_err(|error| failure(error.to_string()))?;
    let examples: Vec<Value> = serde_json::from_str(&text).map_err(|error| failure(error.to_string()))?;
    let mut lines = Vec::new();
    for example in &examples {
        let rule = example["rule"].as_str().unwrap_or_default();
        let dialect = example["dialect"].as_str().unwrap_or_default().parse::<Dialect>();
        let dialect = dialect.map_err(|error| failure(error.to_string()))?;
        let bodies = ["passing", "repaired"].map(|key| &example[key]);
        if bodies.into_iter().any(|body| is_unknown(dialect, body)) {
            continue;
        }
        for (key, is_refused) in [("passing", false), ("failing", true), ("repaired", false)] {
            if is_refused && is_accepted(rule, &example[key]) {
                continue;
            }
            let mut line = line(rule, dialect, &format!("example, {key}"), &example[key], is_refused);
            if rule == "thought-signature" {
                line["model"] = "gemini-3-pro".into();
            }
            lines.push(line);
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_becomes_a_request_in_each_dialect_and_a_broken_one_is_repaired() {
        let call = Message::assistant_blocks(vec![Block::call("c1", "ls", json!({}))]);
        let messages = vec![Message::user("Look."), call, Message::user("Well?")];
        let lines = of_session("a", "untouched", &messages);
        let refused: Vec<bool> = lines.iter().map(|line| line["is_refused"] == true).collect();
        assert_eq!(refused, [true, false].repeat(4));
        assert_eq!(
            of_session("a", "untouched", &[Message::user("Hello."), Message::assistant("Hi.")]).len(),
            4
        );
    }

    #[test]
    fn what_is_made_breaks_no_rule() {
        let made = made();
        assert_eq!(made.len(), 8);
        assert!(made.iter().all(|line| line["is_refused"] == false), "{made:#?}");
    }
}
