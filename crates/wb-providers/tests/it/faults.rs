//! Failures, and which of them are retried.

use std::time::Duration;

use serde_json::Value;
use wb_budget::Usage;
use wb_invoke::{Emission, StopReason, StreamOptions};
use wb_providers::RetryPolicy;
use wb_testkit::loopback::{self, Loopback, Play, begun, ended, piece, stream};

use crate::cases::{CASES, Case, TEXT, emissions, error, is_disconnected, reply, sse, text};

async fn ask(case: &Case, server: &Loopback) -> Vec<Emission> {
    emissions(&case.invoker(&server.url()), StreamOptions::default()).await
}

/// Starts a stream with a text, followed by `then`.
fn broken(text: &str, then: Option<Play>) -> Vec<Play> {
    [begun(), piece(text.as_bytes())].into_iter().chain(then).collect()
}

#[tokio::test]
async fn a_stream_broken_in_the_middle_ends_with_an_error() {
    for case in CASES {
        for (then, words) in [(None, "broke off in the middle"), (Some(ended()), "ended in the middle")] {
            let server = Loopback::start([broken(&case.half(TEXT), then)]);
            let emissions = ask(&case, &server).await;
            assert!(error(&emissions).message.contains(words), "{}: {:?}", case.name, error(&emissions));
            let output = text(&emissions);
            assert!(!output.is_empty() && TEXT.starts_with(&output), "{output}");
            assert_eq!(server.asked().len(), 1, "output is never repeated");
        }
    }
}

#[tokio::test]
async fn a_stream_broken_before_any_output_is_retried() {
    for case in CASES {
        let server = Loopback::start([broken(": hold on\n\n", None), stream(&case.answer(TEXT, 0), 64)]);
        let emissions = ask(&case, &server).await;
        assert_eq!((text(&emissions).as_str(), server.asked().len()), (TEXT, 2), "{}", case.name);
        assert_eq!(server.asked()[0], server.asked()[1], "the retry is identical");
    }
}

#[tokio::test]
async fn usage_before_a_retry_is_kept() {
    let case = CASES[0];
    let first = sse(&case.events(TEXT, 0)[..1]);
    let server = Loopback::start([broken(&first, None), stream(&case.answer(TEXT, 0), 64)]);
    let spent = Usage { output_tokens: 1, ..case.usage };
    assert_eq!(reply(&ask(&case, &server).await).usage, spent.plus(case.usage));
}

#[tokio::test]
async fn transient_failures_are_retried() {
    for case in CASES {
        for status in [429, 500, 502, 503, 504, 529] {
            let busy = loopback::error(status, &[("retry-after", "0")], "{}");
            let server = Loopback::start([busy.clone(), busy, stream(&case.answer(TEXT, 0), 64)]);
            let emissions = ask(&case, &server).await;
            assert_eq!(
                (text(&emissions).as_str(), server.asked().len()),
                (TEXT, 3),
                "{} {status}",
                case.name
            );
        }
    }
}

#[tokio::test]
async fn repeated_failures_are_an_error_with_the_status() {
    for case in CASES {
        for status in [429, 500, 529] {
            let body = r#"{"error":{"type":"overloaded_error","message":"too much to do"}}"#;
            let server = Loopback::start([loopback::error(status, &[], body)]);
            let emissions = ask(&case, &server).await;
            let message = format!("HTTP {status}: too much to do (overloaded_error); asked 4 times");
            assert_eq!(
                (error(&emissions).message.as_str(), error(&emissions).status),
                (message.as_str(), Some(status))
            );
            assert_eq!(server.asked().len(), 4);
        }
    }
}

#[tokio::test]
async fn permanent_failures_are_not_retried() {
    for case in CASES {
        for status in [302, 400, 401, 403, 404, 413, 422] {
            let elsewhere = [("location", "http://127.0.0.1:9/"), ("retry-after", "0")];
            let server =
                Loopback::start([loopback::error(status, &elsewhere, r#"{"error":{"message":"no"}}"#)]);
            let emissions = ask(&case, &server).await;
            assert_eq!(error(&emissions).message, format!("HTTP {status}: no"), "{}", case.name);
            assert_eq!(server.asked().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_requested_delay_is_kept() {
    let case = CASES[0];
    for asks in [("retry-after", "1"), ("retry-after-ms", "300")] {
        let server =
            Loopback::start([loopback::error(429, &[asks], "{}"), stream(&case.answer(TEXT, 0), 64)]);
        let begin = tokio::time::Instant::now();
        assert_eq!(text(&ask(&case, &server).await), TEXT);
        let least = if asks.1 == "1" { 1_000 } else { 300 };
        assert!(begin.elapsed() >= Duration::from_millis(least), "{:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn a_delay_until_a_date_is_kept() {
    let dates = [("date", "Sun, 22 Nov 2026 10:00:00 GMT"), ("retry-after", "Sun, 22 Nov 2026 10:00:01 GMT")];
    let case = CASES[1];
    let server = Loopback::start([loopback::error(503, &dates, ""), stream(&case.answer(TEXT, 0), 64)]);
    let begin = tokio::time::Instant::now();
    assert_eq!(text(&ask(&case, &server).await), TEXT);
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_requested_delay_of_an_hour_is_an_error() {
    for case in CASES {
        let server = Loopback::start([loopback::error(429, &[("retry-after", "3600")], "")]);
        let emissions = ask(&case, &server).await;
        assert_eq!(error(&emissions).message, "HTTP 429; it asks to wait 3600s");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn an_overload_in_the_stream_is_retried_before_output_only() {
    for case in CASES {
        let overloaded = (case.overloaded)();
        let early = stream(&sse(std::slice::from_ref(&overloaded)), 64);
        let server = Loopback::start([early, stream(&case.answer(TEXT, 0), 64)]);
        assert_eq!(
            (text(&ask(&case, &server).await).as_str(), server.asked().len()),
            (TEXT, 2),
            "{}",
            case.name
        );

        let late = case.half(TEXT) + &sse(&[overloaded]);
        let server = Loopback::start([stream(&late, 64)]);
        let emissions = ask(&case, &server).await;
        assert!(error(&emissions).message.starts_with("Overloaded ("), "{:?}", error(&emissions));
        assert!(!text(&emissions).is_empty());
        assert_eq!(server.asked().len(), 1, "{}", case.name);
    }
}

#[tokio::test]
async fn malformed_json_is_an_error_after_the_output() {
    for case in CASES {
        let stream_text = case.half(TEXT) + "data: {\"type\":\n\n";
        let server = Loopback::start([stream(&stream_text, 7)]);
        let emissions = ask(&case, &server).await;
        let message = &error(&emissions).message;
        assert!(message.starts_with("the stream holds malformed JSON: "), "{}: {message}", case.name);
        assert!(!text(&emissions).is_empty());
    }
}

#[tokio::test]
async fn json_of_unknown_shape_is_skipped() {
    for case in CASES {
        let odd = [
            Value::Null,
            serde_json::json!([1]),
            serde_json::json!({"type": 7, "choices": 3, "candidates": {}}),
        ];
        let server = Loopback::start([stream(&(sse(&odd) + &case.answer(TEXT, 0)), 64)]);
        assert_eq!(text(&ask(&case, &server).await), TEXT, "{}", case.name);
    }
}

#[tokio::test]
async fn a_refused_connection_is_retried_and_then_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for case in CASES {
        let emissions = emissions(&case.invoker(&url), StreamOptions::default()).await;
        let message = &error(&emissions).message;
        assert!(message.starts_with("no connection to 127.0.0.1: "), "{message}");
        assert!(message.ends_with("; asked 4 times"), "{message}");
    }
}

#[tokio::test]
async fn retries_may_be_turned_off() {
    let case = CASES[2];
    let server = Loopback::start([loopback::error(503, &[], "")]);
    let invoker = case.opts(&server.url()).retry(RetryPolicy::NEVER).build().unwrap();
    let emissions = emissions(&invoker, StreamOptions::default()).await;
    assert_eq!((error(&emissions).message.as_str(), server.asked().len()), ("HTTP 503", 1));
}

#[tokio::test]
async fn a_stream_that_continues_after_its_end_is_closed() {
    for case in CASES.into_iter().filter(|case| case.name != "gemini") {
        let mut plays = broken(&case.answer(TEXT, 0), Some(Play::Hang));
        plays.push(ended());
        let server = Loopback::start([plays]);
        assert_eq!(reply(&ask(&case, &server).await).stop, StopReason::Complete);
        assert!(is_disconnected(&server).await, "{}", case.name);
    }
}

#[tokio::test]
async fn a_server_without_tls_gets_no_request() {
    for case in CASES {
        let server = Loopback::start([stream(&case.answer(TEXT, 0), 64)]);
        let url = server.url().replace("http:", "https:");
        let invoker = case.opts(&url).retry(RetryPolicy::NEVER).build().unwrap();
        let emissions = emissions(&invoker, StreamOptions::default()).await;
        let message = &error(&emissions).message;
        assert!(message.starts_with("no connection to 127.0.0.1: "), "{message}");
        assert!(server.asked().is_empty());
    }
}
