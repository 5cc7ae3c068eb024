//! Digests written by a model: the request, the output, and the fallback when it fails.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use wb_testkit::loopback::{self, Loopback, Play, stream};

use crate::support::place::ten_turns;
use crate::support::{Answer, root, wb_in};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";
const KEY: &str = "sk-cli-0123456789";
/// The model's reply.
const SAID: &str = "# Objective\n- Mend the checkout, said the model.";

/// Runs `wb` with keys in its environment.
fn wb(words: &[&str], variables: &[(&str, &str)]) -> Answer {
    wb_in(Path::new("/nowhere"), variables, words, b"")
}

const KEYS: [(&str, &str); 3] =
    [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY), ("GOOGLE_API_KEY", KEY)];

/// Compacts the session by a server.
fn compacted(server: &Loopback, provider: &str, more: &[&str]) -> Answer {
    let model = format!("{provider}:small-model");
    let url = format!("{}/v1", server.url());
    let url = if provider == "gemini" { server.url() } else { url };
    let words = ["compact", SESSION, "--force", "--model", &model, "--base-url", &url];
    wb(&[&words, more].concat(), &KEYS)
}

fn json_of(answer: &Answer) -> Value {
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{}", answer.stdout);
    serde_json::from_str(&answer.stdout).unwrap()
}

/// The events by which a provider says something.
fn says(provider: &str, text: &str) -> Vec<Play> {
    let events = match provider {
        "anthropic" => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1200, "output_tokens": 1}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}),
            json!({"type": "message_stop"}),
        ],
        "openai-responses" => {
            let usage = json!({"input_tokens": 1200, "output_tokens": 40});
            vec![
                json!({"type": "response.output_text.delta", "delta": text}),
                json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}}),
            ]
        }
        "gemini" => {
            let usage = json!({"promptTokenCount": 1200, "candidatesTokenCount": 40});
            let candidate = json!({"content": {"parts": [{"text": text}]}, "finishReason": "STOP"});
            vec![json!({"candidates": [candidate], "usageMetadata": usage})]
        }
        _ => vec![
            json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 40}}),
        ],
    };
    let events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    stream(&events.concat(), 50)
}

#[test]
fn each_provider_writes_a_digest() {
    for provider in ["anthropic", "openai", "openai-responses", "gemini", "openai-compatible"] {
        let server = Loopback::start([says(provider, SAID)]);
        let answer = compacted(&server, provider, &["--instructions", "Keep the names of the tests."]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{provider}: {}", answer.stdout);
        assert!(
            answer.stdout.contains("Mend the checkout, said the model."),
            "{provider}: {}",
            answer.stdout
        );
        let spent = format!(
            "model: {provider}:small-model in 1 request: 1,200 tokens read, 40 written, price unknown"
        );
        assert!(answer.stdout.contains(&spent), "{provider}: {}", answer.stdout);
        assert!(answer.stdout.contains("tokens, by the model"), "{provider}: {}", answer.stdout);
        let asked = &server.requests()[0];
        assert!(asked.body.to_string().contains("besides: Keep the names of the tests."), "{}", asked.body);
        let has_key = asked.headers.iter().any(|(_, value)| value.contains(KEY));
        assert_eq!(has_key, provider != "openai-compatible", "the key of one provider is not for another");
    }
}

#[test]
fn the_command_that_saves_it_says_the_same() {
    let server = Loopback::start([says("openai", SAID)]);
    let answer = compacted(&server, "openai", &["--instructions", "be short"]);
    let saved = format!(
        "--force --model openai:small-model --base-url {}/v1 --instructions 'be short' --in-place",
        server.url()
    );
    assert!(answer.stdout.contains(&saved), "{}", answer.stdout);
}

#[test]
fn the_cost_is_shown_if_prices_are_known() {
    let server = Loopback::start([says("openai", SAID)]);
    let answer = compacted(&server, "openai", &["--price", "input=1,output=10"]);
    assert!(answer.stdout.contains("40 written, $0.0016"), "{}", answer.stdout);
    let report = json_of(&compacted(&server, "openai", &["--price", "input=1,output=10", "--json"]));
    let spent = &report["model"];
    assert_eq!((&spent["name"], &spent["requests"]), (&json!("openai:small-model"), &json!(1)));
    assert_eq!((&spent["usage"]["inputTokens"], &spent["cost_usd"]), (&json!(1200), &json!(0.0016)));
    assert_eq!((&report["degraded"], &report["reason"]), (&json!(false), &json!(null)));
    let unknown = json_of(&compacted(&server, "openai", &["--json"]));
    assert_eq!(unknown["model"]["cost_usd"], json!(null));
}

#[test]
fn a_model_without_a_digest_is_reported_and_the_local_one_stays() {
    let refused =
        stream("data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},\"finish_reason\":\"stop\"}]}\n\n", 9);
    let bad_key = format!(r#"{{"error":{{"message":"bad key {KEY}","code":"invalid_api_key"}}}}"#);
    for (answer, why) in [
        (loopback::error(401, &[], &bad_key), "the model failed: HTTP 401: bad key [key] (invalid_api_key)"),
        (loopback::error(503, &[("retry-after", "0")], ""), "the model failed: HTTP 503; asked 4 times"),
        (stream("data: {\"choices\":[\n\n", 9), "the model failed: the stream holds malformed JSON"),
        (refused, "the model refused"),
        (says("openai", "no headings here"), "the reply had no headings"),
    ] {
        let server = Loopback::start([answer]);
        let shown = compacted(&server, "openai", &[]);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{}", shown.stdout);
        let flat = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(why) && flat.contains("`wb` built the digest"), "{why}: {flat}");
        assert!(flat.contains("built locally") && flat.contains("price unknown"), "{flat}");
        assert!(!flat.contains(KEY), "{flat}");
        let report = json_of(&compacted(&server, "openai", &["--json"]));
        assert_eq!(report["degraded"], json!(true));
        assert!(report["reason"].as_str().unwrap().contains(why), "{report}");
    }
}

#[test]
fn without_a_key_it_says_which_variable_to_set_and_that_it_works_without() {
    for (provider, names, first) in [
        ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY or GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ] {
        let model = format!("{provider}:m");
        let answer = wb(&["compact", SESSION, "--model", &model], &[]);
        let said =
            format!("error: {model} can't be used: no API key: {names} is not set in the environment\n");
        assert!(answer.stderr.starts_with(&said), "{}", answer.stderr);
        let hint = answer.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let reported =
            format!("hint: set {first}, or name a file that holds the key with --key-file; without --model");
        assert!(hint.contains(&reported) && hint.contains("works offline"), "{hint}");
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
    }
}

#[test]
fn a_key_may_stand_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, format!("{KEY}-of-file\n")).unwrap();
    let server = Loopback::start([says("openai", SAID)]);
    for provider in ["openai", "openai-compatible"] {
        let answer = compacted(&server, provider, &["--key-file", file.to_str().unwrap()]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
    for asked in server.requests() {
        assert_eq!(asked.header("authorization"), format!("Bearer {KEY}-of-file"));
    }
    let gone = compacted(&server, "openai", &["--key-file", "/no/such/key"]);
    assert!(gone.stderr.starts_with("error: /no/such/key: cannot read the key file: "), "{}", gone.stderr);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_sent() {
    let server = Loopback::start([says("openai", SAID)]);
    let url = server.url();
    for (words, said) in [
        (&["--model", "mistral:x"][..], "unknown provider `mistral`"),
        (&["--model", "openai:"], "expected a provider and a model"),
        (&["--model", "openai-compatible:x"], "needs a base URL"),
        (&["--model", "openai:x", "--base-url", "127.0.0.1"], "invalid base URL"),
        (&["--model", "openai:x", "--base-url", &url, "--strategy", "policy"], "writes no digest"),
        (&["--base-url", &url], "required arguments were not provided"),
        (&["--instructions", "x"], "required arguments were not provided"),
    ] {
        let answer = wb(&[&["compact", SESSION][..], words].concat(), &KEYS);
        assert!(answer.code != 0 && answer.stderr.contains(said), "{words:?}: {}", answer.stderr);
    }
    assert!(server.requests().is_empty());
}

/// A copy of the session that was written some time ago, unless it is fresh.
fn copy(is_fresh: bool) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.jsonl");
    fs::copy(root().join(SESSION), &file).unwrap();
    let seconds = if is_fresh { 0 } else { 60 };
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
    (folder, file)
}

#[test]
fn a_digest_is_written_in_place_and_undone() {
    let server = Loopback::start([says("openai", SAID)]);
    let url = format!("{}/v1", server.url());
    let (_folder, file) = copy(false);
    let (path, before) = (file.to_str().unwrap(), fs::read(&file).unwrap());
    let words = ["compact", path, "--force", "--in-place", "--model", "openai:m", "--base-url", &url];
    let answer = wb(&words, &KEYS);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains("Mend the checkout, said the model."));
    assert!(!fs::read_to_string(&file).unwrap().contains(KEY));
    assert_eq!(wb(&["undo", path], &[]).code, 0);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_session_that_is_in_use_costs_nothing() {
    let server = Loopback::start([says("openai", SAID)]);
    let url = format!("{}/v1", server.url());
    let (_folder, file) = copy(true);
    let path = file.to_str().unwrap();
    let answer =
        wb(&["compact", path, "--force", "--in-place", "--model", "openai:m", "--base-url", &url], &KEYS);
    assert_eq!((answer.code, server.requests().len()), (1, 0), "{}", answer.stderr);
}

#[test]
fn a_session_within_its_budget_costs_nothing() {
    let server = Loopback::start([says("openai", SAID)]);
    let url = format!("{}/v1", server.url());
    let answer = wb(&["compact", SESSION, "--model", "openai:m", "--base-url", &url], &KEYS);
    assert!(answer.stdout.contains("model: openai:m was not asked"), "{}", answer.stdout);
    assert!(server.requests().is_empty());
}

#[test]
fn a_branch_that_is_left_gets_a_digest_by_a_model() {
    let server = Loopback::start([says("openai", "## Goal\nMend the parts, said the model.")]);
    let place = ten_turns();
    let (file, url) = (place.file.to_str().unwrap(), format!("{}/v1", server.url()));
    let words = ["session", "branch", file, "00001003", "--model", "openai:m", "--base-url", &url];
    let refused = wb(&words, &KEYS);
    assert!(refused.stderr.contains("without --summarize no digest is written"), "{}", refused.stderr);
    let answer = wb(&[&words[..], &["--summarize"]].concat(), &KEYS);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("tokens, the model's"), "{}", answer.stdout);
    assert!(answer.stdout.contains("openai:m in 1 request"), "{}", answer.stdout);
}
