//! Shows a file.

use std::fs::{self, File};
use std::io::Read as _;

use serde_json::{Value, json};
use wb_message::ToolDescriptor;

use super::{number, tool, wanted};
use crate::sandbox::Sandbox;

/// The most bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

pub(super) fn descriptor() -> ToolDescriptor {
    let properties = json!({
        "path": { "type": "string" },
        "offset": { "type": "integer", "description": "The first line, counted from 1." },
        "limit": { "type": "integer", "description": "How many lines." },
    });
    tool("read", "Shows a text file, or some of its lines.", properties, &["path"])
}

pub(super) fn run(sandbox: &Sandbox, input: &Value) -> Result<String, String> {
    let path = wanted(input, "path")?;
    let text = text_of(sandbox, path)?;
    let (offset, limit) = (number(input, "offset"), number(input, "limit"));
    if offset.is_none() && limit.is_none() {
        return Ok(text);
    }
    let first = offset.unwrap_or(1).max(1);
    Ok(text.split_inclusive('\n').skip(first - 1).take(limit.unwrap_or(usize::MAX)).collect())
}

/// Reads a text file of the folder.
pub(super) fn text_of(sandbox: &Sandbox, path: &str) -> Result<String, String> {
    let found = sandbox.resolve(path)?;
    let failed = |error: std::io::Error| format!("{path}: {error}");
    // Reading a pipe or a device would block.
    if !fs::metadata(&found).map_err(failed)?.is_file() {
        return Err(format!("{path} is no file"));
    }
    let mut bytes = Vec::new();
    File::open(&found).map_err(failed)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("{path} has more than {MAX_FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is no text"))
}
