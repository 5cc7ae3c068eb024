//! opencode: sessions are in a database.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::{Stage, only_file};
use super::{Host, MODEL, PROVIDER, Session, WINDOW_TOKENS};

pub(super) const HOST: Host = Host {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    // It looks for this one at each start if it is not there.
    beside: Some("@opencode-ai/plugin"),
    dialect: "Anthropic Messages",
    is_free: true,
    configure,
    say,
    session,
};

/// What it would do on a network.
const SWITCHES: [&str; 7] = [
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_EMBEDDED_WEB_UI",
];

fn configure(stage: &Stage) -> Result<(), String> {
    let model = json!({"tool_call": true, "limit": {"context": WINDOW_TOKENS, "output": 2000}});
    let provider = json!({
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": format!("{}/v1", stage.address()), "apiKey": "none"},
        "models": {MODEL: model},
    });
    let name = format!("{PROVIDER}/{MODEL}");
    let settings = json!({
        "autoupdate": false, "share": "disabled", "compaction": {"auto": false, "prune": false},
        "model": name, "small_model": name, "enabled_providers": [PROVIDER],
        "permission": {"bash": "allow", "read": "allow"},
        "provider": {PROVIDER: provider},
    });
    stage.write(".config/opencode/opencode.json", &settings.to_string())?;
    for name in ["package.json", "package-lock.json"] {
        let text = std::fs::read_to_string(stage.modules().join(name))
            .map_err(|error| format!("{name}: {error}"))?;
        stage.write(&format!(".config/opencode/{name}"), &text)?;
    }
    link(&stage.modules().join("node_modules"), &stage.home().join(".config/opencode/node_modules"))
}

#[cfg(unix)]
fn link(there: &std::path::Path, here: &std::path::Path) -> Result<(), String> {
    std::os::unix::fs::symlink(there, here).map_err(|error| format!("{}: {error}", here.display()))
}

#[cfg(not(unix))]
fn link(_: &std::path::Path, _: &std::path::Path) -> Result<(), String> {
    Err("opencode: is tested on Unix only".to_owned())
}

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut opencode = stage.agent("opencode");
    opencode.envs(SWITCHES.map(|name| (name, "1")));
    opencode.args(["run", "-m", &format!("{PROVIDER}/{MODEL}")]);
    match session {
        Session::New => opencode.args(["--title", "Marshes"]),
        Session::Last => opencode.arg("--continue"),
    };
    opencode.arg(prompt);
    opencode
}

fn session(stage: &Stage) -> Result<PathBuf, String> {
    only_file(&stage.home().join(".local/share/opencode"), "opencode.db")
}
