//! The strategies as a user tries them.

use serde_json::{Value, json};

use crate::support::place::json_of;
use crate::support::{wb, wb_of};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";
const STRATEGIES: [&str; 4] = ["window-budget", "three-level", "policy", "ladder"];

#[test]
fn every_strategy_condenses_and_names_itself() {
    for strategy in STRATEGIES {
        let args = ["compact", SESSION, "--strategy", strategy, "--window", "32k", "--json"];
        let condensed = json_of(&wb(&args));
        assert_eq!(condensed["strategy"], strategy);
        assert_eq!(condensed["changed"], true, "{condensed}");
        assert_eq!(condensed["irreducible"], false, "{condensed}");
        let (after, limit) = (condensed["tokens_after"].as_u64(), condensed["limit"].as_u64());
        assert!(after <= limit, "{condensed}");
        assert!(!condensed["steps"].as_array().unwrap().is_empty(), "{condensed}");
        let planned = json_of(&wb(&["plan", SESSION, "--strategy", strategy, "--window", "32k", "--json"]));
        assert_eq!(planned, condensed, "a plan shows what a condense does");
    }
}

/// A Claude Code session with more screenshots than its window fits.
fn screenshots() -> String {
    let line = |id: String, parent: Value, role: &str, content: Value| {
        let message = json!({ "id": id, "role": role, "content": content });
        let line = json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message });
        format!("{line}\n")
    };
    let mut lines = line("u".to_owned(), Value::Null, "user", json!("Look at each page."));
    let mut last = "u".to_owned();
    for nth in 0..12 {
        let (call, result) = (format!("a{nth}"), format!("r{nth}"));
        let shot = json!([{ "type": "tool_use", "id": call, "name": "screenshot", "input": {} }]);
        lines += &line(call.clone(), json!(last), "assistant", shot);
        let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
        let seen = json!([{ "type": "text", "text": "a page" }, { "type": "image", "source": source }]);
        let content = json!([{ "type": "tool_result", "tool_use_id": call, "content": seen }]);
        lines += &line(result.clone(), json!(call), "user", content);
        last = result;
    }
    lines + &line("z".to_owned(), json!(last), "user", json!("And now?"))
}

#[test]
fn images_are_taken_out_of_a_session_in_its_own_format_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shots.jsonl");
    let before = screenshots();
    std::fs::write(&file, &before).unwrap();
    let file = file.to_str().unwrap();
    let args = ["compact", file, "--window", "14k", "--reserve-tokens", "0"];
    let options = ["--images", "marker", "--in-place", "--allow-open", "--json"];
    let done = json_of(&wb(&[&args[..], &options].concat()));
    assert_eq!((&done["steps"], &done["shortened"]), (&json!(["images"]), &json!(12)), "{done}");
    let after = std::fs::read_to_string(file).unwrap();
    assert_eq!(after.matches("[Old image removed]").count(), 12);
    assert_eq!(wb(&["undo", file, "--allow-open"]).code, 0);
    assert_eq!(std::fs::read_to_string(file).unwrap(), before);
    let kept = json_of(&wb(&[&args[..], &["--images", "keep", "--json"]].concat()));
    assert_eq!((&kept["shortened"], kept["steps"][0].as_str()), (&json!(0), Some("digest")), "{kept}");
    let shown = wb(&[&args[..], &["--images", "drop"]].concat()).stdout;
    assert!(shown.contains("takes images out of older tool results"), "{shown}");
    assert!(shown.contains(" --images drop --window 14000"), "{shown}");
}

#[test]
fn settings_decide_on_images_and_formats_are_named() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".config/wb")).unwrap();
    std::fs::write(home.path().join(".config/wb/config.toml"), "images = \"drop\"\n").unwrap();
    let args = ["plan", "-", "--window", "14k", "--reserve-tokens", "0", "--json"];
    let reported = json_of(&wb_of(home.path(), &args, screenshots().as_bytes()));
    assert_eq!(reported["steps"], json!(["images"]), "{reported}");
    let file = "crates/wb-formats/tests/fixtures/opencode/session.json";
    let left_out =
        |words: &[&str]| json_of(&wb(&[&["plan", file, "--json"], words].concat()))["left_out"].clone();
    let why = json!({ "step": "images", "why": "a result is sent unchanged or cleared" });
    assert_eq!(left_out(&["--images", "marker"])[0], why);
    assert!(!left_out(&[]).as_array().unwrap().contains(&why));
}

#[test]
fn what_a_strategy_writes_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    for strategy in STRATEGIES {
        let args = [
            "compact",
            SESSION,
            "--strategy",
            strategy,
            "--window",
            "32k",
            "--overwrite",
            "-o",
            out.to_str().unwrap(),
        ];
        let answer = wb(&args);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let weighed = json_of(&wb(&["weigh", out.to_str().unwrap(), "--json"]));
        assert!(weighed["messages"].as_u64().unwrap() > 0, "{strategy}");
    }
}

#[test]
fn the_report_says_what_each_step_did() {
    let answer = wb(&["compact", SESSION, "--strategy", "three-level", "--window", "32k", "-o", "-"]);
    assert!(answer.stderr.contains("tool-output"), "{}", answer.stderr);
}

#[test]
fn force_means_to_compact_although_it_fits_whatever_the_strategy() {
    for strategy in STRATEGIES {
        // Above the target of seven eighths of the limit, and below the limit.
        let args = ["plan", SESSION, "--strategy", strategy, "--window", "100k", "--json"];
        let plain = json_of(&wb(&args));
        // This one previews oversized results in any case.
        assert!(plain["reason"] == "within budget" || strategy == "policy", "{plain}");
        let forced = json_of(&wb(&[&args[..], &["--force"]].concat()));
        assert_eq!(forced["changed"], true, "{forced}");
        // Below the target a strategy without a digest has nothing left to do.
        let far = json_of(&wb(&["plan", SESSION, "--strategy", strategy, "--force", "--json"]));
        let n_folded = far["cut"].as_u64();
        assert_eq!(n_folded > Some(0), matches!(strategy, "window-budget" | "ladder"), "{far}");
    }
}

#[test]
fn compare_shows_every_strategy_on_one_session() {
    let compared = json_of(&wb(&["compare", SESSION, "--window", "32k", "--json"]));
    let rows = compared["strategies"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, STRATEGIES);
    for row in rows {
        assert_eq!(row["pairs_intact"], true, "{row}");
        assert!(row["tokens_after"].as_u64() <= row["limit"].as_u64(), "{row}");
        assert!(row["messages_after"].as_u64().unwrap() > 0, "{row}");
        let kept = row["user_text_kept"].as_f64().unwrap();
        assert!(kept > 0.0 && kept <= 1.0, "{row}");
        assert!(row["time_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
    let table = wb(&["compare", SESSION, "--window", "32k"]).stdout;
    assert!(STRATEGIES.iter().all(|name| table.contains(name)), "{table}");
}
