//! Errors and counts that show an overflow, and those that show something else.

use serde_json::Value;
use wb_budget::Usage;
use wb_invoke::{Reply, StopReason};
use wb_providers::{is_overflow_error, is_overflow_reply};
use wb_testkit::session_rows::{NEWEST, judge, replay};

/// They take a throttled request for an overflow, though waiting repairs it.
const THROTTLED: &str = "a throttled request is no overflow";

fn reply(stop: StopReason, usage: Usage) -> Reply {
    Reply { model: "m".to_owned(), blocks: Vec::new(), usage, stop }
}

fn answer(stop: StopReason, input_tokens: u64, output_tokens: u64) -> Reply {
    reply(stop, Usage { input_tokens, output_tokens, ..Usage::EMPTY })
}

/// Judges what a row asks about.
fn is_overflow(params: &Value) -> bool {
    let tokens = |key: &str| params["usage"][key].as_u64();
    let usage = Usage {
        input_tokens: tokens("input").unwrap_or(0),
        output_tokens: tokens("output").unwrap_or(0),
        cache_read_tokens: tokens("cacheRead"),
        cache_write_tokens: tokens("cacheWrite"),
    };
    let stop = match params["stopReason"].as_str() {
        Some("error") => {
            let error = params["errorMessage"].as_str();
            return error.is_some_and(|error| is_overflow_error(error, params["provider"].as_str()));
        }
        Some("stop") => StopReason::Complete,
        Some("length") => StopReason::MaxOutput,
        Some("toolUse") => StopReason::ToolCalls,
        _ => StopReason::Aborted,
    };
    is_overflow_reply(&reply(stop, usage), params["contextWindow"].as_u64().unwrap_or(0))
}

#[test]
fn the_recorded_answers_are_given_but_for_a_throttled_request() {
    replay("is_overflow", NEWEST, (45, 44), &[(THROTTLED, 1)], |row| {
        let ours = is_overflow(row.params);
        let error = row.params["errorMessage"].as_str();
        let is_throttled = error.is_some_and(|error| error.starts_with("ThrottlingException"));
        judge(row.output.as_bool() == Some(ours), THROTTLED, is_throttled, ours)
    });
}

#[test]
fn rate_limits_and_quotas_are_no_overflow() {
    for error in [
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "Too many tokens, please wait before trying again.",
        "Too many tokens per day, please wait before trying again.",
        "Throttling error: Too many tokens, please wait",
        "Request was throttled: too many tokens in flight",
        "429 rate limit exceeded: too many tokens",
        "Service unavailable: too many tokens in flight",
        "429 Too Many Requests: token limit exceeded",
        r#"429 {"error":{"type":"rate_limit_error","message":"too many tokens"}}"#,
        "litellm.RateLimitError: AnthropicException - too many tokens",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input must be reduced.",
        "413 Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size.",
        "Token limit exceeded: 100000 tokens per day",
        "Token limit exceeded: 30000 tokens per minute",
        "You exceeded your current quota, please check your plan and billing details.",
        "Quota of the team is used up: token limit exceeded",
        "Your credit balance is too low to access the API. Please go to Plans & Billing.",
        "402 Insufficient Balance",
        "Extra usage is required for long context requests.",
        "429 (no body)",
        "529 overloaded",
    ] {
        assert!(!is_overflow_error(error, None), "{error}");
    }
}

#[test]
fn other_errors_and_plain_sentences_are_no_overflow() {
    for error in [
        "",
        " \n\t",
        "fetch failed",
        "read ECONNRESET",
        "socket hang up",
        "connect ECONNREFUSED 127.0.0.1:11434",
        "Request was aborted.",
        "401 invalid x-api-key",
        "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens",
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens.",
        "messages.1: `tool_use` ids were found without `tool_result` blocks",
        "The model has a context window of 200000 tokens and answers with 64000 tokens at most.",
        "maximum context length (262144)",
        "Most tokens of the prompt are read from the cache; the input is long.",
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>The server returned an invalid response.</body></html>",
        "<html>\n<head><title>503 Service Temporarily Unavailable</title></head>\n<body>Try again later</body>\n</html>",
        "prompt token count of 9\nexceeds the limit of 8",
        "exceeds the limit of 8: prompt token count of 9",
    ] {
        assert!(!is_overflow_error(error, Some("cerebras")), "{error}");
    }
}

#[test]
fn a_status_without_a_body_counts_as_its_provider_means_it() {
    for error in ["413 (no body)", "413 status code (no body)", " 413  Status Code  (NO BODY)\n"] {
        assert!(is_overflow_error(error, None) && is_overflow_error(error, Some("anthropic")), "{error}");
        let error = error.replace("413", "400");
        assert!(is_overflow_error(&error, Some("cerebras")) && is_overflow_error(&error, Some("Cerebras")));
        assert!(!is_overflow_error(&error, None) && !is_overflow_error(&error, Some("openai")), "{error}");
    }
    for error in ["4130 (no body)", "413", "413 nobody", "500 status code (no body)", "in 413 (no body)"] {
        assert!(!is_overflow_error(error, Some("cerebras")), "{error}");
    }
}

#[test]
fn a_complete_answer_overflows_above_the_window_and_not_at_it() {
    let stopped = |input, cached, window| {
        let mut reply = answer(StopReason::Complete, input, 9);
        reply.usage.cache_read_tokens = Some(cached);
        is_overflow_reply(&reply, window)
    };
    assert!(!stopped(1, 99, 100) && stopped(1, 100, 100) && stopped(101, 0, 100));
    assert!(!stopped(u64::MAX, u64::MAX, 0), "the window is not known");
    assert!(stopped(u64::MAX, u64::MAX, u64::MAX - 1));
    assert!(!is_overflow_reply(&answer(StopReason::ToolCalls, 200, 9), 100), "it has calls to run");
}

#[test]
fn an_answer_without_room_overflows_from_99_percent_on() {
    let cut =
        |input, output, window| is_overflow_reply(&answer(StopReason::MaxOutput, input, output), window);
    assert!(!cut(98, 0, 100) && cut(99, 0, 100) && !cut(99, 1, 100));
    assert!(!cut(98, 0, 99) && cut(99, 0, 99), "99 % of 99 are more than 98");
    assert!(cut(u64::MAX, 0, u64::MAX) && !cut(u64::MAX / 100 * 98, 0, u64::MAX));
    assert!(!cut(0, 0, 0), "the window is not known");
}

#[test]
fn a_megabyte_of_text_is_read_to_its_end_and_half_said_sentences_cost_no_more() {
    let hard = ["x", "input token count ", "prompt (length ", "exceeds the \n", "é"];
    for piece in hard {
        let text = piece.repeat((1 << 20) / piece.len());
        assert!(!is_overflow_error(&text, None), "{piece}");
        assert!(is_overflow_error(&format!("{text}\nprompt is too long"), None), "{piece}");
        assert!(!is_overflow_error(&format!("prompt is too long {text} rate limit"), None), "{piece}");
    }
}
