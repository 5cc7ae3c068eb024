//! The strategies as a user tries them.

use serde_json::Value;

use crate::support::{Answer, wb};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";
const STRATEGIES: [&str; 4] = ["window-budget", "three-level", "policy", "ladder"];

fn json_of(answer: &Answer) -> Value {
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

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

#[test]
fn what_a_strategy_writes_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    for strategy in STRATEGIES {
        let out = out.to_str().unwrap();
        let args = ["compact", SESSION, "--strategy", strategy, "--window", "32k", "-o", out, "--overwrite"];
        let answer = wb(&args);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let weighed = json_of(&wb(&["weigh", out, "--json"]));
        assert!(weighed["messages"].as_u64().unwrap() > 0, "{strategy}");
    }
}

#[test]
fn the_report_says_what_each_step_did() {
    let answer = wb(&["compact", SESSION, "--strategy", "three-level", "--window", "32k", "-o", "-"]);
    assert!(answer.stderr.contains("tool-output"), "{}", answer.stderr);
}

#[test]
fn a_strategy_without_a_digest_cannot_be_forced() {
    let answer = wb(&["compact", SESSION, "--strategy", "policy", "--force"]);
    assert_eq!(answer.code, 2, "a usage error");
    assert!(answer.stderr.contains("the strategy policy writes none"), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: "), "{}", answer.stderr);
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
