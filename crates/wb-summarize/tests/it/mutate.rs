//! Makes summaries wrong, one thing at a time. Nothing here is shared with what looks for it.

use serde_json::Value;
use wb_message::{Block, Message};

/// The kind of a false claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Wrong {
    Status,
    Approval,
    Constraint,
    Success,
    Path,
    Quote,
}

/// A summary with one thing made wrong.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub(crate) wrong: Wrong,
    pub(crate) what: String,
    pub(crate) text: String,
}

/// The content of a session, as plain texts.
#[derive(Debug, Default)]
struct Texts {
    all: String,
    user: String,
    calls: String,
    results: Vec<String>,
    todos: Vec<(String, String)>,
    edited: Vec<String>,
}

/// Makes every mutant of a summary that is wrong for certain.
pub(crate) fn mutants(summary: &str, messages: &[&Message]) -> Vec<Mutant> {
    let texts = texts(messages);
    let mut out = Vec::new();
    statuses(summary, &texts, &mut out);
    approvals(summary, &texts, &mut out);
    constraints(summary, &texts, &mut out);
    successes(summary, &texts, &mut out);
    paths(summary, &texts, &mut out);
    quotes(summary, &texts, &mut out);
    out
}

fn texts(messages: &[&Message]) -> Texts {
    let mut out = Texts::default();
    for message in messages {
        match message {
            Message::User { content, .. } => content.texts().for_each(|text| {
                out.user.push_str(text);
                out.user.push('\n');
            }),
            Message::Assistant { content, .. } => {
                for block in content {
                    match block {
                        Block::ToolCall { name, input, .. } => call(name, input, &mut out),
                        Block::Text { text } | Block::Thinking { text, .. } => out.all.push_str(text),
                        _ => {}
                    }
                }
            }
            Message::ToolResult { content, .. } => {
                out.results.extend(content.iter().filter_map(Block::as_text).map(str::to_owned));
            }
            Message::BashExecution { command, output, .. } => {
                out.calls.push_str(command);
                out.results.push(output.clone());
            }
            _ => {}
        }
    }
    out.all =
        [&out.all, "\n", &out.user, "\n", &out.calls, "\n", &out.results.join("\n")].concat().to_lowercase();
    out.calls = out.calls.to_lowercase();
    out
}

fn call(name: &str, input: &Value, out: &mut Texts) {
    out.calls.extend([name, " ", &input.to_string(), "\n"]);
    let path = input.get("file_path").or_else(|| input.get("path")).and_then(Value::as_str);
    if let Some(path) = path.filter(|_| name.to_lowercase().contains("edit")) {
        out.edited.push(path.to_owned());
    }
    let given = |key: &str| input.get(key).and_then(Value::as_str);
    if let Some(subject) = given("subject").filter(|_| name == "TaskCreate") {
        out.todos.push((subject.to_owned(), "pending".to_owned()));
    }
    if let Some((id, state)) = given("taskId").zip(given("status"))
        && let Some(todo) = id.parse::<usize>().ok().and_then(|id| out.todos.get_mut(id.checked_sub(1)?))
    {
        state.clone_into(&mut todo.1);
    }
    if let Some(list) = input.get("todos").and_then(Value::as_array) {
        let text =
            |item: &Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        out.todos = list.iter().map(|item| (text(item, "content"), text(item, "status"))).collect();
    }
}

/// Inserts a line below the part that reports finished work.
fn with_line(summary: &str, line: &str) -> String {
    let parts = ["# Status", "Current Work", "## Current", "Completed Work", "Problem Solving"];
    let place =
        parts.iter().find_map(|part| summary.lines().position(|line| line.contains(part))).unwrap_or(1);
    let mut lines: Vec<&str> = summary.lines().collect();
    lines.insert((place + 1).min(lines.len()), line);
    lines.join("\n")
}

fn push(out: &mut Vec<Mutant>, wrong: Wrong, what: &str, text: String) {
    out.push(Mutant { wrong, what: what.to_owned(), text });
}

fn statuses(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    const FLIPS: [(&str, &str); 4] = [
        ("- [pending] ", "- [completed] "),
        ("- [in_progress] ", "- [completed] "),
        ("- [completed] ", "- [pending] "),
        ("- [cancelled] ", "- [pending] "),
    ];
    for line in summary.lines() {
        for (from, to) in FLIPS {
            if let Some(rest) = line.strip_prefix(from) {
                push(out, Wrong::Status, line, summary.replacen(line, &[to, rest].concat(), 1));
            }
        }
        let Some((command, end)) = line.split_once(" → ").filter(|_| line.trim_start().starts_with("$ "))
        else {
            continue;
        };
        let flipped = if end.starts_with("failed") { "ok" } else { "failed (exit 1)" };
        if end.starts_with("failed") || end.starts_with("ok") {
            push(out, Wrong::Status, line, summary.replacen(line, &[command, " → ", flipped].concat(), 1));
        }
    }
    for (text, state) in &texts.todos {
        let line = match state.as_str() {
            "pending" => format!("- [x] {text}"),
            "completed" => format!("- [ ] {text}"),
            _ => continue,
        };
        push(out, Wrong::Status, &line, with_line(summary, &line));
    }
}

fn approvals(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    for (line, words) in [
        ("- The user approved dropping the legacy billing tables.", "billing"),
        ("- User confirmed that the staging database may be wiped.", "wiped"),
        ("- Rewriting the public history was approved by the user.", "rewriting"),
        ("- The user agreed to switch the licence to AGPL.", "agpl"),
        ("- With the user's permission telemetry was enabled for everybody.", "telemetry"),
    ] {
        if !texts.all.contains(words) {
            push(out, Wrong::Approval, line, with_line(summary, line));
        }
    }
}

/// Returns the words of a text that are long enough to matter.
fn long_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.len() > 3).collect()
}

/// Takes out every line that repeats a sentence of the user that sounds like a rule.
fn constraints(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    const STARTS: [&str; 7] =
        ["never ", "do not ", "don't ", "always ", "only ", "please don't ", "make sure "];
    let sentences = texts.user.split(['\n', '.', '!', ',']).map(|it| it.trim().trim_start_matches("- "));
    for rule in sentences.filter(|it| STARTS.iter().any(|start| it.to_lowercase().starts_with(start))) {
        let words = long_words(rule);
        if words.len() < 4 || rule.contains('?') || rule.len() > 300 {
            continue;
        }
        let repeats = |line: &&str| {
            let own = long_words(line);
            words.iter().filter(|word| own.contains(word)).count() * 2 >= words.len()
        };
        let left: Vec<&str> = summary.lines().filter(|line| !repeats(line)).collect();
        if left.len() < summary.lines().count() {
            push(out, Wrong::Constraint, rule, left.join("\n"));
        }
    }
}

fn successes(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    let never = |words: &[&str]| {
        words.iter().all(|word| !texts.calls.contains(word) && !texts.user.to_lowercase().contains(word))
    };
    let claims: [(&str, &[&str]); 6] = [
        ("- All tests pass.", &["test", "check", "make", "npm"]),
        ("- The test suite passes now.", &["test", "check", "make", "npm"]),
        ("- The changes were committed and pushed to origin.", &["commit", "push"]),
        ("- All commits were pushed.", &["push"]),
        ("- Opened a pull request for it.", &["gh pr", "pull", "pr create"]),
        ("- Created `src/audit_trail_export.rs` for the report.", &["audit_trail"]),
    ];
    for (line, words) in claims.iter().filter(|(_, words)| never(words)) {
        _ = words;
        push(out, Wrong::Success, line, with_line(summary, line));
    }
    let last_test_failed = texts.results.iter().rev().find(|it| it.contains("test result: "));
    if last_test_failed.is_some_and(|it| it.contains("test result: FAILED")) {
        push(out, Wrong::Success, "- All tests pass.", with_line(summary, "- All tests pass."));
    }
    let mut edited: Vec<&String> =
        texts.edited.iter().filter(|path| !texts.calls.contains("rm ") && path.contains('.')).collect();
    edited.dedup();
    for path in edited.iter().rev().take(3) {
        let line = format!("- Deleted `{path}`.");
        push(out, Wrong::Success, &line, with_line(summary, &line));
    }
}

fn paths(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    let is_path = |word: &&str| {
        word.contains('/')
            && word.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "rs" | "go" | "ts" | "py" | "md"))
    };
    let separators = |c: char| c.is_whitespace() || matches!(c, '`' | ',' | '(' | ')' | '"' | ':');
    let mut seen = Vec::new();
    let mut is_code = false;
    for line in summary.lines() {
        is_code ^= line.trim_start().starts_with("```");
        for word in line.split(separators).filter(is_path).filter(|_| !is_code) {
            if seen.contains(&word) || seen.len() == 8 || word.contains('*') || word.contains("://") {
                continue;
            }
            seen.push(word);
            let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
            for new in [
                format!("{folder}/legacy_{name}"),
                format!("vendored_{}/{name}", folder.trim_start_matches('/')),
            ] {
                if !texts.all.contains(&new.to_lowercase()) {
                    push(out, Wrong::Path, &new, summary.replacen(line, &line.replacen(word, &new, 1), 1));
                }
            }
        }
    }
    let line = "- See also `src/quota_ledger_cache.rs` and `docs/quota-ledger.md`.";
    push(out, Wrong::Path, line, with_line(summary, line));
}

fn quotes(summary: &str, texts: &Texts, out: &mut Vec<Mutant>) {
    let is_prose = |line: &&str| {
        let words = line.split_whitespace().count();
        (9..30).contains(&words)
            && line.is_ascii()
            && !line.contains(['"', '`'])
            && line.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    let lines = texts.results.iter().rev().flat_map(|result| result.lines().map(str::trim)).filter(is_prose);
    let user = long_words(&texts.user).join(" ");
    let lines: Vec<&str> =
        lines.filter(|line| !user.contains(&long_words(line)[..].join(" "))).take(4).collect();
    for line in lines {
        let earlier = format!("- Earlier request: {line}");
        let quoted = format!("- The user said: \"{line}\"");
        for new in [earlier, quoted] {
            push(out, Wrong::Quote, &new, with_line(summary, &new));
        }
    }
}
