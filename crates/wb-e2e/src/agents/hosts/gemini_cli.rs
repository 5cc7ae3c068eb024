//! Gemini CLI: sessions are files of JSON lines, in a folder for each project.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::Stage;
use super::{Compacts, Host, Session};

/// A model that it knows by name.
const KNOWN_MODEL: &str = "gemini-2.5-flash";

pub(super) const HOST: Host = Host {
    name: "gemini-cli",
    package: "@google/gemini-cli",
    version: "0.61.0",
    companion: None,
    node: None,
    dialect: "Gemini",
    is_of_all: false,
    repeats_outputs: true,
    is_tree: false,
    configure,
    say,
    session,
    informed_at_tokens: None,
    // docs/evaluation/other-hosts.md describes its plug-in.
    plug: None,
};

fn configure(stage: &Stage, _: Compacts) -> Result<(), String> {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
    });
    stage.write(".gemini/settings.json", &settings.to_string())
}

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut gemini = stage.agent("gemini");
    gemini.env("GOOGLE_GEMINI_BASE_URL", stage.address());
    gemini.envs([("GEMINI_API_KEY", "none"), ("GEMINI_CLI_NO_RELAUNCH", "true")]);
    gemini.args(["--skip-trust", "--approval-mode", "yolo", "--model", KNOWN_MODEL]);
    if session == Session::Last {
        gemini.args(["--resume", "latest"]);
    }
    gemini.args(["--prompt", prompt]);
    gemini
}

/// Returns the oldest file: names begin with the minute, and a resume in another leaves a file with
/// its head alone.
fn session(stage: &Stage) -> Result<PathBuf, String> {
    let folder = stage.home().join(".gemini/tmp");
    let is_session =
        |file: &PathBuf| file.starts_with(&folder) && file.extension().is_some_and(|it| it == "jsonl");
    let first = stage.files().into_iter().filter(is_session).min();
    first.ok_or_else(|| format!("{}: no session", folder.display()))
}
