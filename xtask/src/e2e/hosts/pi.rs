//! pi: sessions are files of JSON lines.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::{Stage, only_file};
use super::{Host, MODEL, PROVIDER, Session, WINDOW_TOKENS};

/// Tokens of the newest messages that stay: they begin within the second prompt.
const KEEP_RECENT_TOKENS: usize = 465;

pub(super) const HOST: Host = Host {
    name: "pi",
    package: "@mariozechner/pi-coding-agent",
    version: "0.73.1",
    beside: None,
    dialect: "OpenAI Chat",
    is_free: true,
    configure,
    say,
    session,
};

fn configure(stage: &Stage) -> Result<(), String> {
    let model = json!({"id": MODEL, "contextWindow": WINDOW_TOKENS, "maxTokens": 2000});
    let provider = json!({
        "baseUrl": format!("{}/v1", stage.address()), "api": "openai-completions", "apiKey": "none",
        "models": [model],
    });
    stage.write(".pi/agent/models.json", &json!({"providers": {PROVIDER: provider}}).to_string())?;
    let compaction = json!({"enabled": false, "keepRecentTokens": KEEP_RECENT_TOKENS});
    stage.write(".pi/agent/settings.json", &json!({"compaction": compaction}).to_string())
}

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut pi = stage.agent("pi");
    pi.envs([("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")]);
    pi.args(["--offline", "--provider", PROVIDER, "--model", MODEL]);
    if session == Session::Last {
        pi.arg("--continue");
    }
    pi.args(["-p", prompt]);
    pi
}

fn session(stage: &Stage) -> Result<PathBuf, String> {
    only_file(&stage.home().join(".pi/agent/sessions"), ".jsonl")
}
