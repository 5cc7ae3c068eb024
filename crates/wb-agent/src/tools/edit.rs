//! Replaces one piece of a file, or writes a new one.

use std::fs;

use serde_json::{Value, json};
use wb_message::ToolDescriptor;

use super::read::text_of;
use super::{tool, wanted};
use crate::sandbox::Sandbox;

pub(super) fn descriptor() -> ToolDescriptor {
    let properties = json!({
        "path": { "type": "string" },
        "old": { "type": "string", "description": "What stands there, once; empty for a new file." },
        "new": { "type": "string", "description": "What is to stand there." },
    });
    tool("edit", "Replaces one piece of a file, or writes a new one.", properties, &["path", "old", "new"])
}

pub(super) fn run(sandbox: &Sandbox, input: &Value) -> Result<String, String> {
    let (path, old, new) = (wanted(input, "path")?, wanted(input, "old")?, wanted(input, "new")?);
    let found = sandbox.resolve(path)?;
    let failed = |error: std::io::Error| format!("{path}: {error}");
    if old.is_empty() {
        if found.exists() {
            return Err(format!("{path} is there already; say in `old` what is to be replaced"));
        }
        fs::create_dir_all(found.parent().unwrap_or(sandbox.root())).map_err(failed)?;
        return fs::write(&found, new).map_err(failed).map(|()| format!("wrote {path}"));
    }
    let body = text_of(sandbox, path)?;
    match body.matches(old).count() {
        0 => Err(format!("{path} does not hold that text")),
        1 => fs::write(&found, body.replacen(old, new, 1)).map_err(failed).map(|()| format!("edited {path}")),
        n => Err(format!("{path} holds that text {n} times; say more of what stands around it")),
    }
}
