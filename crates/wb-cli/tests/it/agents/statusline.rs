//! `wb statusline`, and its installation.

use std::fs;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::{root, wb_in};

const SETTINGS: &str = ".claude/settings.json";

fn line(home: &Home, state: &Value) -> String {
    let answer = wb_in(home.folder.path(), &[], &["statusline"], state.to_string().as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    answer.stdout
}

#[test]
fn the_line_has_the_meter_and_the_last_compaction() {
    let home = Home::new();
    let session = home.path("0a1b2c3d-0000.jsonl");
    fs::copy(root().join("fixtures/sessions/flaky-checkout.jsonl"), &session).unwrap();
    let state = json!({"session_id": "0a1b2c3d-0000", "transcript_path": session});
    assert_eq!(line(&home, &state), "wb ▕███░░░░░┊░▏ 71k of 167k\n");
    let path = session.to_str().unwrap();
    home.done(&format!("compact {path} --force --in-place --allow-open"));
    let after = line(&home, &state);
    assert!(after.ends_with("· compacted 0 min ago, 71k → 29k: wb undo 0a1b2c3d\n"), "{after}");
    home.done(&format!("undo {path}"));
    assert!(!line(&home, &state).contains("compacted"));
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 170_000});
    let window = json!({"context_window_size": 200_000, "current_usage": usage});
    let counted = json!({"transcript_path": session, "context_window": window});
    assert_eq!(line(&home, &counted), "wb ▕████████┊░▏ 170k of 167k!\n");
}

#[test]
fn one_line_is_printed_whatever_is_read() {
    let home = Home::new();
    for state in [json!({}), json!(7), json!({"transcript_path": "/nowhere.jsonl"})] {
        assert_eq!(line(&home, &state), "wb: nothing to weigh yet\n", "{state}");
    }
}

#[test]
fn it_is_installed_next_to_the_plug_in_and_removed_with_it() {
    for before in ["{}\n", "{\n  \"model\": \"x\"\n}\n"] {
        let home = Home::new();
        home.lay(SETTINGS, before);
        home.done("install claude-code --statusline");
        let settings: Value = serde_json::from_str(&home.text(SETTINGS)).unwrap();
        let command = settings["statusLine"]["command"].as_str().unwrap();
        assert!(command.ends_with("/wb statusline"), "{command}");
        home.done("install claude-code --statusline --hooks");
        home.done("uninstall claude-code");
        assert_eq!(home.text(SETTINGS), before);
        assert!(!home.path(".claude/settings.json.before-wb").exists());
    }
    let home = Home::new();
    home.lay("x", "");
    home.done("install claude-code --statusline");
    home.done("uninstall claude-code");
    assert!(!home.path(SETTINGS).exists());
}

#[test]
fn a_status_line_of_the_user_is_kept_and_said_to_be() {
    let home = Home::new();
    let own = "{\"statusLine\": {\"type\": \"command\", \"command\": \"~/line.sh\"}}\n";
    home.lay(SETTINGS, own);
    let shown = home.done("install claude-code --statusline");
    assert!(shown.contains("has your statusLine, which is kept"), "{shown}");
    home.done("uninstall claude-code");
    assert_eq!(home.text(SETTINGS), own);
    assert!(home.refused("install pi --statusline").contains("pi has no status line"));
}
