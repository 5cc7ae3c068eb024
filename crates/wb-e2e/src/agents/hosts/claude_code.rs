//! Claude Code: sessions are files of JSON lines, in a folder for each project.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::{Stage, only_file};
use super::{Compacts, Host, Moment, NODE, Plug, Session};

/// A model that it knows by name.
const KNOWN_MODEL: &str = "claude-sonnet-4-5";

pub(super) const HOST: Host = Host {
    name: "claude-code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.332",
    companion: None,
    node: Some(NODE),
    dialect: "Anthropic Messages",
    is_of_all: false,
    repeats_outputs: false,
    is_tree: true,
    configure,
    say,
    session,
    informed_at_tokens: None,
    plug: Some(Plug {
        files: &[
            ("claude-code/.claude-plugin/plugin.json", ".claude/wb-compact/.claude-plugin/plugin.json"),
            ("claude-code/hooks/hooks.json", ".claude/wb-compact/hooks/hooks.json"),
            ("claude-code/.mcp.json", ".claude/wb-compact/.mcp.json"),
            ("claude-code/hooks/register.ts", ".claude/wb-compact/hooks/register.ts"),
        ],
        full_tokens: 105_000,
        // It does not report thoughts, and calls may not appear without them.
        moment: Moment::Midway { keeps_calls: false },
        asks_anyway: false,
        prints_notice: true,
        hands_over_words: true,
        compact,
    }),
};

/// The smallest window that it compacts at by itself.
const WINDOW_TOKENS: &str = "100000";

/// The switches that keep it off the network.
const SWITCHES: [&str; 5] = [
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "DISABLE_BUG_COMMAND",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
];

fn configure(stage: &Stage, _: Compacts) -> Result<(), String> {
    let settings = json!({"permissions": {"allow": ["Bash", "Read", "mcp__plugin_wb-compact_wb__recall"]}});
    stage.write(".claude/settings.json", &settings.to_string())
}

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut claude = stage.agent("claude");
    claude.env("ANTHROPIC_BASE_URL", stage.address()).env("ANTHROPIC_API_KEY", "none");
    claude.envs(SWITCHES.map(|name| (name, "1")));
    claude.args(["-p", prompt, "--model", KNOWN_MODEL, "--autocompact", WINDOW_TOKENS]);
    claude.args(["--verbose", "--output-format", "stream-json"]);
    let plug_in = stage.home().join(".claude/wb-compact");
    if plug_in.is_dir() {
        claude.arg("--plugin-dir").arg(plug_in);
    }
    if session == Session::Last {
        claude.arg("--continue");
    }
    claude
}

fn compact(stage: &Stage, wish: &str) -> Command {
    say(stage, &format!("/compact {wish}"), Session::Last)
}

fn session(stage: &Stage) -> Result<PathBuf, String> {
    only_file(&stage.home().join(".claude/projects"), ".jsonl")
}
