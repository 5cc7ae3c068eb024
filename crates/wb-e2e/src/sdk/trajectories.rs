//! A trajectory that `wb` compacted, validated by the package of its format.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const FIXTURE: &str = "crates/wb-formats/tests/fixtures/atif/trajectory.json";
/// The number of steps that are added, each with a call and its result.
const N_STEPS: usize = 60;
const FIRST_ADDED: usize = 10;

/// Compacts a long trajectory, and checks that it has fewer steps and is still valid.
pub(super) fn validate(root: &Path, wb: &Path, python: &Path, scratch: &Path) -> Result<(), String> {
    let (path, out) = (scratch.join("long.atif.json"), scratch.join("short.atif.json"));
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let long = long(root)?.to_string();
    std::fs::write(&path, &long).map_err(|error| said(&error))?;
    is_valid(root, python, &path)?;
    let mut command = Command::new(wb);
    command.args(["compact", "--force", "--window", "16000", "--overwrite", "-o"]).arg(&out).arg(&path);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(|error| format!("{}: {error}", wb.display()))?;
    let short = std::fs::read_to_string(&out).map_err(|error| said(&error))?;
    if !status.success() || n_steps(&short)? + N_STEPS / 2 > n_steps(&long)? {
        return Err(said(&"the trajectory was not compacted"));
    }
    is_valid(root, python, &out)
}

fn long(root: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(root.join(FIXTURE)).map_err(|error| format!("{FIXTURE}: {error}"))?;
    let mut trajectory: Value = serde_json::from_str(&text).map_err(|error| format!("{FIXTURE}: {error}"))?;
    let steps = trajectory["steps"].as_array_mut().ok_or("no steps")?;
    steps.extend((FIRST_ADDED..FIRST_ADDED + N_STEPS).map(step));
    Ok(trajectory)
}

fn step(number: usize) -> Value {
    let id = format!("long-{number}");
    let call = json!({ "tool_call_id": id, "function_name": "bash", "arguments": { "command": format!("make {number}") } });
    let result = json!({ "source_call_id": id, "content": format!("line of target {number}\n").repeat(400) });
    json!({ "step_id": number, "source": "agent", "message": "The next target.", "tool_calls": [call],
        "observation": { "results": [result] } })
}

fn n_steps(trajectory: &str) -> Result<usize, String> {
    let trajectory: Value =
        serde_json::from_str(trajectory).map_err(|error| format!("a trajectory: {error}"))?;
    trajectory["steps"].as_array().map(Vec::len).ok_or_else(|| "a trajectory without steps".to_owned())
}

fn is_valid(root: &Path, python: &Path, path: &Path) -> Result<(), String> {
    let mut command = Command::new(python);
    command.arg("-B").arg(root.join("crates/wb-e2e/python/validate_atif.py")).arg(path);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", python.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{} is refused:\n{}", path.display(), String::from_utf8_lossy(&output.stderr)))
}
