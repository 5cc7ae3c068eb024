//! Lists a folder.

use std::fs;

use serde_json::{Value, json};
use wb_message::ToolDescriptor;

use super::{optional, tool};
use crate::sandbox::Sandbox;

pub(super) fn descriptor() -> ToolDescriptor {
    let properties = json!({ "path": { "type": "string", "description": "The folder [default: the top]." } });
    tool("ls", "Lists a folder; names of folders end in a slash.", properties, &[])
}

pub(super) fn run(sandbox: &Sandbox, input: &Value) -> Result<String, String> {
    let path = optional(input, "path", ".");
    let found = sandbox.resolve(path)?;
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let mut names = Vec::new();
    for entry in fs::read_dir(found).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let slash = if entry.file_type().map_err(failed)?.is_dir() { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names.join("\n"))
}
