//! opencode: sessions are in a database.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::{Stage, link, only_file};
use super::{Compacts, Host, MODEL, Moment, PROVIDER, Plug, SMALL_WINDOW_TOKENS, Session, WINDOW_TOKENS};

pub(super) const HOST: Host = Host {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    // It searches for this one at each start if it is missing.
    companion: Some("@opencode-ai/plugin"),
    node: None,
    dialect: "Anthropic Messages",
    is_of_all: true,
    repeats_outputs: false,
    is_tree: false,
    configure,
    say,
    session,
    informed_at_tokens: None,
    plug: Some(Plug {
        files: &[("opencode/wb-compact.ts", ".config/opencode/plugins/wb-compact.ts")],
        // It keeps nothing free but the room for an answer.
        full_tokens: SMALL_WINDOW_TOKENS - 1000,
        moment: Moment::Midway { keeps_calls: true },
        asks_anyway: true,
        prints_notice: false,
        hands_over_words: false,
        compact,
    }),
};

/// Starts its server, asks it to compact the last session, and ends it.
const ASK: &str = r#"
const [program, providerID, modelID] = process.argv.slice(1);
import { spawn } from "node:child_process";
const server = spawn(program, ["serve", "--hostname", "127.0.0.1", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((found) => {
  let text = "";
  server.stdout.on("data", (piece) => { text += piece; const at = text.match(/http:\/\/\S+/); if (at) found(at[0]); });
});
const sessions = await (await fetch(`${address}/session`)).json();
const answer = await fetch(`${address}/session/${sessions[0].id}/summarize`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ providerID, modelID }),
});
console.log(answer.status, await answer.text());
server.kill();
process.exitCode = answer.ok ? 0 : 1;
"#;

/// Compacts a session; the host takes no words here.
fn compact(stage: &Stage, _: &str) -> Command {
    let mut node = stage.command("node".as_ref());
    node.envs(SWITCHES.map(|name| (name, "1"))).args(["--input-type=module", "-e"]);
    node.arg(ASK).arg(stage.agent("opencode").get_program()).args([PROVIDER, MODEL]);
    node
}

/// The switches that keep it off the network.
const SWITCHES: [&str; 7] = [
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_EMBEDDED_WEB_UI",
];

fn configure(stage: &Stage, compacts: Compacts) -> Result<(), String> {
    let is_alone = compacts == Compacts::Itself;
    let window = if is_alone { SMALL_WINDOW_TOKENS } else { WINDOW_TOKENS };
    let compaction = json!({"auto": is_alone, "prune": false, "tail_turns": 1});
    let model = json!({"tool_call": true, "limit": {"context": window, "output": 2000}});
    let provider = json!({
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": format!("{}/v1", stage.address()), "apiKey": "none"},
        "models": {MODEL: model},
    });
    let name = format!("{PROVIDER}/{MODEL}");
    let settings = json!({
        "autoupdate": false, "share": "disabled", "compaction": compaction,
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
