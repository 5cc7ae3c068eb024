//! Our plug-in in the home of an agent, and `wb` or its stand-in.

use std::path::{Path, PathBuf};

use serde_json::json;
use wb_recall::descriptor;

use super::hosts::Plug;
use super::script::{LEDGER_OUTPUT, TASK};
use super::stage::{Stage, link};
use super::wb::Wb;

/// The placeholders in the files of a plug-in.
const PLACEHOLDERS: [&str; 5] = ["SERVERS", "TOOL", "WB", "RECALL", "VERSION"];

/// The program at the path where a plug-in looks for `wb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// `wb` itself.
    None,
    /// Nothing at all.
    Nothing,
    /// A shell script; `$0.real` is `wb`.
    Script(&'static str),
}

/// Copies the plug-in from `crates/wb-cli/integrations` unchanged into the home of an agent.
pub(crate) fn install(stage: &Stage, plug: &Plug, root: &Path) -> Result<(), String> {
    for (from, to) in plug.files {
        let file = root.join("crates/wb-cli/integrations").join(from);
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let wb = stage.wb().display().to_string();
        let servers =
            json!({ "wb": { "command": wb, "args": ["mcp", "--host", "claude-code"], "alwaysLoad": true } });
        let text = text.replace("\"@SERVERS_OF_CLAUDE_CODE@\"", &servers.to_string());
        let tool = serde_json::to_string(&descriptor()).map_err(|error| error.to_string())?;
        let text = text.replace("\"@TOOL@\"", &tool);
        let text = text.replace("\"@WB_HOOK@\"", &serde_json::Value::from(format!("{wb} hook")).to_string());
        let text = text.replace("'@RECALL@'", "true").replace("\"@RECALL@\"", "true");
        let text = text.replace("@WB@", &wb).replace("@VERSION@", "0.0.0");
        if let Some(left) = text.split('@').find(|word| PLACEHOLDERS.iter().any(|it| word.starts_with(it))) {
            return Err(format!("{from}: @{left}@ was not replaced"));
        }
        stage.write(to, &text)?;
    }
    Ok(())
}

/// Puts `wb` or its stand-in where the plug-in looks for it.
pub(crate) fn stand_in(stage: &Stage, stand_in: StandIn, wb: &Wb) -> Result<(), String> {
    let (here, real) = (stage.wb(), stage.wb().with_extension("real"));
    let failure = |error| format!("{}: {error}", here.display());
    here.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failure)?;
    match stand_in {
        StandIn::None => link(wb.program(), &here),
        StandIn::Nothing => Ok(()),
        StandIn::Script(lines) => {
            std::fs::write(&here, format!("#!/bin/sh\n{lines}\n"))
                .and_then(|()| allow(&here))
                .map_err(failure)?;
            link(wb.program(), &real)
        }
    }
}

/// Lets a file be run.
#[cfg(unix)]
fn allow(file: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}

#[cfg(not(unix))]
fn allow(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Finds words of messages in what `wb` wrote into its own folders below the home.
pub(crate) fn leaked_words(stage: &Stage) -> Vec<String> {
    let is_of_wb = |file: &PathBuf| file.iter().any(|part| part == "wb");
    let leak = |file: &PathBuf| {
        let text = std::fs::read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        [TASK, LEDGER_OUTPUT].into_iter().find(|words| text.contains(words))
    };
    let files = stage.files().into_iter().filter(is_of_wb);
    files.filter_map(|file| Some(format!("{} contains `{}`", file.display(), leak(&file)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_log_of_wb_are_found_and_those_in_a_session_are_not() {
        let root = std::env::temp_dir().join(format!("wb-words-{}", std::process::id()));
        let stage = Stage::create(root, "modules".into(), 1).unwrap();
        stage.write("sessions/1.jsonl", TASK).unwrap();
        stage.write(".local/state/wb/log.jsonl", "12 messages").unwrap();
        assert!(leaked_words(&stage).is_empty());
        stage.write(".local/state/wb/log.jsonl", &format!("1 {LEDGER_OUTPUT}")).unwrap();
        assert_eq!(leaked_words(&stage).len(), 1);
        stage.delete().unwrap();
    }
}
