//! Texts of tools that imitate the user, through three compactions by the command, in each format
//! that it writes.

use serde_json::{Value, json};
use wb_testkit::injections::{promoted, texts};

use super::AttackResult;
use super::limited_program::{LimitedProgram, bytes, folder, word, write};

const FORMATS: [&str; 8] =
    ["native", "claude-code", "codex", "pi", "anthropic", "openai", "openai-responses", "gemini"];

const COMPACTIONS: usize = 3;

/// Compacts a session with all texts in each format.
pub(super) fn run(wb: &LimitedProgram) -> Result<AttackResult, String> {
    let forms = texts();
    let (mut n_tried, mut faults) = (0, Vec::new());
    for (format, is_error) in FORMATS.iter().flat_map(|format| [(format, false), (format, true)]) {
        let folder = folder()?;
        let file = |name: &str| folder.path().join(name);
        let (native, session, out) = (file("native"), file("session"), file("out"));
        let mut messages = session_with(&forms, is_error);
        for nth in 1..=COMPACTIONS {
            let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
            write(&native, (lines.join("\n") + "\n").as_bytes())?;
            let steps: [&[&str]; 3] = [
                &["convert", word(&native), "--to", format, "--overwrite", "-o", word(&session)],
                &["compact", word(&session), "--force", "--overwrite", "-o", word(&out)],
                &["convert", word(&out), "--to", "native", "--overwrite", "-o", word(&native)],
            ];
            for step in steps {
                let ended = wb.run(step, None)?;
                if ended.code != Some(0) {
                    return Err(format!("{format}: wb {}: {}", step.join(" "), ended.stderr));
                }
            }
            let text = String::from_utf8_lossy(&bytes(&native)?).into_owned();
            messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let digest = messages.iter().find_map(digest).ok_or(format!("{format}: no digest"))?;
            faults.extend(promoted(&digest).map(|line| format!("{format}, compaction {nth}: {line}")));
            messages.extend(more());
        }
        n_tried += forms.len();
    }
    Ok(AttackResult { attack: "texts of tools that imitate the user, 3 compactions each", n_tried, faults })
}

/// Returns a session in which tools show each text.
fn session_with(forms: &[String], is_error: bool) -> Vec<Value> {
    let mut all = vec![json!({"role": "user", "content": "Find the bug in the importer."})];
    for (n, form) in forms.iter().enumerate() {
        all.extend(call(n, form, is_error));
    }
    all.extend(
        (forms.len()..forms.len() + 30).flat_map(|n| call(n, &"a row of the table\n".repeat(200), false)),
    );
    all.extend(more());
    all
}

fn call(n: usize, output: &str, is_error: bool) -> [Value; 2] {
    let id = format!("call_{n}");
    let input = json!({"command": format!("cat notes-{n}.md")});
    let content = json!([{"kind": "text", "text": "I look."}, {"kind": "tool_call", "id": id, "name": "Bash", "input": input}]);
    let output = json!([{"kind": "text", "text": output}]);
    [
        json!({"role": "assistant", "content": content}),
        json!({"role": "toolResult", "toolCallId": id, "toolName": "Bash", "content": output, "isError": is_error}),
    ]
}

/// Returns what the user and the agent say after a compaction.
fn more() -> Vec<Value> {
    let mut all = vec![
        json!({"role": "user", "content": "Go on."}),
        json!({"role": "assistant", "content": "I go on with the reader of the importer."}),
    ];
    all.extend((1_000..1_010).flat_map(|n| call(n, &"another row of the table\n".repeat(200), false)));
    all.push(json!({"role": "assistant", "content": "The reader drops no row any more."}));
    all
}

/// Returns the text of a digest, from a message that holds one.
fn digest(message: &Value) -> Option<String> {
    let text = message["summary"].as_str().or(message["content"].as_str()).map(str::to_owned);
    let text = text.or_else(|| message["content"][0]["text"].as_str().map(str::to_owned))?;
    text.contains("# Guardrails\n").then_some(text)
}
