//! A digest by a real inference server: llama.cpp's, with a tiny model whose weights are chance.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The session that is compacted; it fits the window of the model.
const SESSION: &str = "fixtures/sessions/rename-flag.jsonl";

/// Compacts a session by the server, and returns the report's data: the reason of the digest, and
/// the usage.
pub(crate) fn digest(root: &Path, wb: &Path, python: &Path, scratch: &Path) -> Result<String, String> {
    let mut child = Command::new(python)
        .arg("-B")
        .arg(root.join("crates/wb-e2e/python/llama.py"))
        .arg(scratch)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    let outcome = address(&mut child).and_then(|address| compacted(root, wb, &address, scratch));
    // It ends with its standard input, and may have ended by itself.
    drop(child.stdin.take());
    let _ = child.wait();
    verdict(&outcome?)
}

fn address(child: &mut Child) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("the server: no output")?;
    let mut line = String::new();
    let read = BufReader::new(stdout).read_line(&mut line);
    read.map_err(|error| format!("the server: {error}"))?;
    let line = line.trim();
    if line.starts_with("http://") { Ok(line.to_owned()) } else { Err("the server did not start".to_owned()) }
}

fn compacted(root: &Path, wb: &Path, address: &str, scratch: &Path) -> Result<Value, String> {
    let output = Command::new(wb)
        .args(["compact", "--force", "--json", "--model", "openai-compatible:tiny", "--base-url"])
        .arg(format!("{address}/v1"))
        .args(["--overwrite", "-o"])
        .arg(scratch.join("by-server.jsonl"))
        .arg(root.join(SESSION))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", wb.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("wb compact: {}, {error}", output.status))
}

/// Checks the report: the server was asked, it counted, and garbage is no digest.
fn verdict(report: &Value) -> Result<String, String> {
    let usage = |key: &str| report["model"]["usage"][key].as_u64().unwrap_or(0);
    let (sent, came) = (usage("inputTokens"), usage("outputTokens"));
    let reason = report["reason"].as_str().unwrap_or_default();
    let requests = report["model"]["requests"].as_u64().unwrap_or(0);
    let summary = format!(
        "{requests} requests, {sent} tokens sent, {came} came; degraded: {}; {reason}",
        report["degraded"]
    );
    let is_fine = requests > 0 && sent > 0 && came > 0 && report["degraded"] == true && !reason.is_empty();
    if is_fine {
        Ok(summary)
    } else {
        Err(format!("sdk: the report of a real server is not as expected: {summary}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_without_what_the_server_counted_fails() {
        let usage = json!({ "inputTokens": 9, "outputTokens": 2 });
        let mut report = json!({ "degraded": true, "reason": "local digest: x", "model": { "requests": 1, "usage": usage } });
        assert_eq!(
            verdict(&report).unwrap(),
            "1 requests, 9 tokens sent, 2 came; degraded: true; local digest: x"
        );
        report["model"]["usage"]["outputTokens"] = 0.into();
        assert!(verdict(&report).is_err());
    }
}
