//! Checks the model catalog and its use.

use crate::support::place::json_of;
use crate::support::{wb, wb_of};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";

#[test]
fn a_model_is_shown_as_a_gateway_names_it() {
    let shown = wb(&["models", "anthropic/claude-haiku-5.5"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.starts_with("claude-haiku-5-5\n"), "{}", shown.stdout);
    for word in ["1,000,000 tokens", "above 100,000 tokens: input 0.5", "https://"] {
        assert!(shown.stdout.contains(word), "{word}: {}", shown.stdout);
    }
    let all = json_of(&wb(&["models", "--json"]));
    assert!(all["models"].as_array().unwrap().len() > 30);
}

#[test]
fn a_model_that_its_maker_ends_says_when() {
    let one = wb(&["models", "claude-sonnet-4-5-20250929"]).stdout;
    assert!(one.lines().any(|line| line.split_whitespace().eq(["ends", "2026-11-30"])), "{one}");
    let all = wb(&["models"]).stdout;
    assert!(all.contains("retired on: ") && all.contains("claude-sonnet-4-5 2026-11-30"), "{all}");
    let json = json_of(&wb(&["models", "o3", "--json"]));
    assert_eq!(json["models"][0]["ends"], "2026-12-11");
    let json = json_of(&wb(&["models", "claude-opus-5", "--json"]));
    assert!(json["models"][0].get("ends").is_none(), "{json}");
}

#[test]
fn an_unknown_model_is_an_error_that_says_what_is_assumed() {
    let answer = wb(&["models", "claude-opus-4-9"]);
    assert_eq!(answer.code, 1);
    let words =
        "the model \"claude-opus-4-9\" is not in the catalog (claude-opus-4-8 is): a window of 200000 tokens";
    assert!(answer.stderr.contains(words), "{}", answer.stderr);
}

#[test]
fn the_window_is_that_of_the_model_the_settings_or_the_option() {
    let home = tempfile::tempdir().unwrap();
    let weigh = |args: &[&str]| {
        let line = [&["weigh", SESSION, "--json"], args].concat();
        let weighed = json_of(&wb_of(home.path(), &line, b""));
        (weighed["window"].as_u64().unwrap(), weighed["window_from"].as_str().unwrap().to_owned())
    };
    assert_eq!(weigh(&[]), (200_000, "model".to_owned()));
    let folder = home.path().join(".config/wb");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = "[models.\"claude-sonnet-4-5\"]\ncontext_window = 100000\n";
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    assert_eq!(weigh(&[]), (100_000, "model".to_owned()));
    assert_eq!(weigh(&["--window", "50k"]), (50_000, "option".to_owned()));
    let shown = wb_of(home.path(), &["config"], b"").stdout;
    assert!(shown.contains("models.\"claude-sonnet-4-5\" = "), "{shown}");
}
