//! pi: sessions are files of JSON lines.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::super::stage::{Stage, only_file};
use super::{
    Compacts, Host, MODEL, Moment, NODE, PROVIDER, Plug, SMALL_WINDOW_TOKENS, Session, WINDOW_TOKENS,
};

/// Tokens of the newest messages that stay: they begin within the second prompt.
const KEEP_RECENT_TOKENS: usize = 465;
/// Tokens of the window that stay free, and those of a request that reaches into them.
const RESERVE_TOKENS: usize = 16_000;
const FULL_TOKENS: usize = 50_000;

pub(super) const HOST: Host = Host {
    name: "pi",
    package: "@earendil-works/pi-coding-agent",
    version: "1.6.0",
    companion: None,
    node: Some(NODE),
    dialect: "OpenAI Chat",
    is_of_all: true,
    repeats_outputs: false,
    is_tree: true,
    configure,
    say,
    session,
    informed_at_tokens: None,
    plug: Some(Plug {
        files: &[("pi/wb-compact.ts", ".pi/agent/extensions/wb-compact.ts")],
        full_tokens: FULL_TOKENS,
        moment: Moment::End,
        asks_anyway: false,
        prints_notice: false,
        hands_over_words: true,
        compact,
    }),
};

/// pi under its former name.
pub(super) const FORMER_HOST: Host = Host {
    name: "pi-0",
    package: "@mariozechner/pi-coding-agent",
    version: "0.73.1",
    node: None,
    is_of_all: false,
    ..HOST
};

/// Says one thing to it as a program would, and waits until it is answered.
const ASK: &str = r#"
mkfifo "$TMPDIR/asked"
"$@" < "$TMPDIR/asked" > "$TMPDIR/answered" &
exec 3> "$TMPDIR/asked"
printf '{"id":"1","type":"compact","customInstructions":"%s"}\n' "$WISH" >&3
until grep '"command":"compact"' "$TMPDIR/answered"; do sleep 0.1; done
kill $!
wait
rm "$TMPDIR/asked"
grep -q '"command":"compact","success":true' "$TMPDIR/answered"
"#;

fn compact(stage: &Stage, wish: &str) -> Command {
    let mut pi = agent(stage, Session::Last);
    pi.args(["--mode", "rpc"]);
    let mut sh = stage.command("sh".as_ref());
    sh.envs(SWITCHES).env("WISH", wish).args(["-c", ASK, "sh"]).arg(pi.get_program()).args(pi.get_args());
    sh
}

fn configure(stage: &Stage, compacts: Compacts) -> Result<(), String> {
    let is_alone = compacts == Compacts::Itself;
    let window = if is_alone { SMALL_WINDOW_TOKENS } else { WINDOW_TOKENS };
    let model = json!({"id": MODEL, "contextWindow": window, "maxTokens": 2000});
    let provider = json!({
        "baseUrl": format!("{}/v1", stage.address()), "api": "openai-completions", "apiKey": "none",
        "models": [model],
    });
    stage.write(".pi/agent/models.json", &json!({"providers": {PROVIDER: provider}}).to_string())?;
    let compaction = json!({
        "enabled": is_alone, "reserveTokens": RESERVE_TOKENS, "keepRecentTokens": KEEP_RECENT_TOKENS,
    });
    stage.write(".pi/agent/settings.json", &json!({"compaction": compaction}).to_string())
}

/// The switches that keep it off the network.
const SWITCHES: [(&str, &str); 3] =
    [("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")];

fn say(stage: &Stage, prompt: &str, session: Session) -> Command {
    let mut pi = agent(stage, session);
    pi.args(["-p", prompt]);
    pi
}

fn agent(stage: &Stage, session: Session) -> Command {
    let mut pi = stage.agent("pi");
    pi.envs(SWITCHES).args(["--offline", "--provider", PROVIDER, "--model", MODEL]);
    if session == Session::Last {
        pi.arg("--continue");
    }
    pi
}

fn session(stage: &Stage) -> Result<PathBuf, String> {
    only_file(&stage.home().join(".pi/agent/sessions"), ".jsonl")
}
