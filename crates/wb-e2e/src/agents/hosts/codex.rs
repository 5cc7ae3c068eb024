//! Codex: sessions are files of JSON lines, below the day on which they began.

use std::path::PathBuf;
use std::process::Command;

use super::super::stage::{Stage, only_file};
use super::{Compacts, Host, MODEL, PROVIDER, SMALL_WINDOW_TOKENS, Session, WINDOW_TOKENS};

/// The limit in tokens above which it compacts, and the size of a request above it.
const LIMIT_TOKENS: usize = 40_000;
const FULL_TOKENS: usize = 50_000;

pub(super) const HOST: Host = Host {
    name: "codex",
    package: "@openai/codex",
    version: "0.171.0",
    companion: None,
    node: None,
    dialect: "OpenAI Responses",
    is_of_all: true,
    repeats_outputs: false,
    is_tree: false,
    configure,
    say,
    session,
    informed_at_tokens: Some(FULL_TOKENS),
    // Nothing of it takes a text in the place of its summary.
    plug: None,
};

fn configure(stage: &Stage, compacts: Compacts) -> Result<(), String> {
    let (window, limit) = match compacts {
        Compacts::Itself => (SMALL_WINDOW_TOKENS, LIMIT_TOKENS),
        Compacts::ByHand => (WINDOW_TOKENS, WINDOW_TOKENS),
    };
    let (address, project) = (stage.address(), stage.project());
    let project = project.display();
    let settings = format!(
        r#"model = "{MODEL}"
model_provider = "{PROVIDER}"
model_context_window = {window}
model_auto_compact_token_limit = {limit}
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
check_for_update_on_startup = false
analytics.enabled = false
feedback.enabled = false
otel.exporter = "none"
features = {{ apps = false, plugins = false, remote_plugin = false }}
projects."{project}".trust_level = "trusted"

[model_providers.{PROVIDER}]
name = "Scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
"#
    );
    stage.write(".codex/config.toml", &settings)
}

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut codex = stage.agent("codex");
    codex
        .env("CODEX_HOME", stage.home().join(".codex"))
        .envs([("SCRIPTED_KEY", "none"), ("RUST_LOG", "warn")]);
    // It has no screen on which hooks could be trusted.
    codex.args(["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check"]);
    if session == Session::Last {
        codex.args(["resume", "--last"]);
    }
    codex.arg(prompt);
    codex
}

fn session(stage: &Stage) -> Result<PathBuf, String> {
    only_file(&stage.home().join(".codex/sessions"), ".jsonl")
}
