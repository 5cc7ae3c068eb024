//! Finds a text in files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::{ToolDescriptor, text};

use super::{optional, tool, wanted};
use crate::sandbox::Sandbox;

/// The most files that are searched.
const MAX_FILES: usize = 5_000;
/// Larger files are passed over.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The most characters of a line that are shown.
const MAX_LINE_CHARS: usize = 240;

pub(super) fn descriptor() -> ToolDescriptor {
    let properties = json!({
        "text": { "type": "string", "description": "What to find, word for word." },
        "path": { "type": "string", "description": "A file or a folder [default: the top]." },
    });
    tool("grep", "Finds the lines that hold a text; hidden files are passed over.", properties, &["text"])
}

pub(super) fn run(sandbox: &Sandbox, input: &Value, max_bytes: usize) -> Result<String, String> {
    let wanted = wanted(input, "text")?;
    let start = sandbox.resolve(optional(input, "path", "."))?;
    let mut found = String::new();
    for path in files(start) {
        let shown = sandbox.display(&path).to_string();
        let Some(body) = body(&path) else { continue };
        for (at, line) in body.lines().enumerate().filter(|(_, line)| line.contains(wanted)) {
            let _ = writeln!(found, "{shown}:{}: {}", at + 1, text::one_line(line, MAX_LINE_CHARS));
        }
        if found.len() > max_bytes {
            break;
        }
    }
    Ok(if found.is_empty() { "no line holds it".to_owned() } else { found })
}

/// Returns the files below a path, by name; links are not followed.
fn files(start: PathBuf) -> Vec<PathBuf> {
    let mut waiting = vec![start];
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        if found.len() == MAX_FILES {
            break;
        }
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if kind.is_file() && kind.len() <= MAX_FILE_BYTES {
            found.push(path);
        } else if kind.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else { continue };
            let shown = entries.flatten().filter(|it| !it.file_name().to_string_lossy().starts_with('.'));
            waiting.extend(shown.map(|entry| entry.path()));
        }
    }
    found.sort();
    found
}

fn body(path: &Path) -> Option<String> {
    String::from_utf8(fs::read(path).ok()?).ok()
}
