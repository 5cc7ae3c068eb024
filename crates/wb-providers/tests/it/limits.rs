//! Time limits and cancellation.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use wb_invoke::{Emission, ModelInvoker, StopReason, StreamOptions};
use wb_providers::TimeLimits;
use wb_testkit::loopback::{self, Loopback, Play, begun, piece};

use crate::cases::{CASES, TEXT, conversation, emissions, error, is_disconnected, reply, text};

const SHORT: Duration = Duration::from_millis(150);

fn limits(silence: Duration, total: Option<Duration>) -> TimeLimits {
    TimeLimits { silence, total, ..TimeLimits::default() }
}

#[tokio::test]
async fn a_silent_server_is_disconnected() {
    for case in CASES {
        for begin in [vec![], vec![begun()], vec![begun(), piece(case.half(TEXT).as_bytes())]] {
            let is_begun = begin.len() > 1;
            let server = Loopback::start([[begin, vec![Play::Hang]].concat()]);
            let invoker = case.opts(&server.url()).limits(limits(SHORT, None)).build().unwrap();
            let emissions = emissions(&invoker, StreamOptions::default()).await;
            assert_eq!(error(&emissions).message, "the server was silent for 150ms", "{}", case.name);
            assert_eq!((!text(&emissions).is_empty(), server.asked().len()), (is_begun, 1));
            assert!(is_disconnected(&server).await, "{}", case.name);
        }
    }
}

#[tokio::test]
async fn a_first_byte_in_time_is_awaited() {
    for case in CASES {
        let mut plays = vec![Play::Wait(SHORT)];
        plays.extend(loopback::stream(&case.answer(TEXT, 0), 64));
        let server = Loopback::start([plays]);
        let invoker = case.opts(&server.url()).limits(limits(SHORT * 20, None)).build().unwrap();
        assert_eq!(text(&emissions(&invoker, StreamOptions::default()).await), TEXT);
    }
}

#[tokio::test]
async fn a_slow_server_is_disconnected_at_the_total_limit() {
    let case = CASES[0];
    let drip = [piece(b": still here\n\n"), Play::Wait(SHORT / 5)];
    let drips = drip.iter().cycle().take(120).cloned();
    let server = Loopback::start([std::iter::once(begun()).chain(drips).collect()]);
    let invoker = case.opts(&server.url()).limits(limits(SHORT * 10, Some(SHORT))).build().unwrap();
    let begin = tokio::time::Instant::now();
    let emissions = emissions(&invoker, StreamOptions::default()).await;
    assert_eq!(error(&emissions).message, "the answer took longer than 150ms");
    assert!(begin.elapsed() < SHORT * 8);
}

#[tokio::test]
async fn a_retry_after_the_total_limit_is_not_made() {
    let case = CASES[1];
    let server = Loopback::start([loopback::error(429, &[("retry-after", "30")], "")]);
    let invoker = case.opts(&server.url()).limits(limits(SHORT, Some(SHORT * 10))).build().unwrap();
    let begin = tokio::time::Instant::now();
    let emissions = emissions(&invoker, StreamOptions::default()).await;
    assert_eq!(error(&emissions).message, "HTTP 429");
    assert!(begin.elapsed() < SHORT * 8, "a hopeless retry is not awaited");
}

#[tokio::test]
async fn a_cancel_disconnects_and_keeps_the_output() {
    for case in CASES {
        let server = Loopback::start([vec![begun(), piece(case.half(TEXT).as_bytes()), Play::Hang]]);
        let cancel = CancellationToken::new();
        let options = StreamOptions { cancel: Some(cancel.clone()), ..StreamOptions::default() };
        let mut stream = case.invoker(&server.url()).invoke(conversation(), options);
        let mut emissions = Vec::new();
        while let Some(emission) = stream.next().await {
            if matches!(emission, Emission::Text { .. }) {
                cancel.cancel();
            }
            emissions.push(emission);
        }
        assert_eq!(reply(&emissions).stop, StopReason::Aborted, "{}", case.name);
        assert_eq!(reply(&emissions).blocks[0].as_text(), Some(text(&emissions).as_str()));
        // The stream still exists: only the cancel has closed the connection.
        assert!(is_disconnected(&server).await, "{}", case.name);
    }
}

#[tokio::test]
async fn a_cancel_ends_a_delay_or_prevents_the_request() {
    for case in CASES {
        let server = Loopback::start([loopback::error(429, &[("retry-after", "50")], "")]);
        let cancel = CancellationToken::new();
        let options = StreamOptions { cancel: Some(cancel.clone()), ..StreamOptions::default() };
        let invoker = case.invoker(&server.url());
        let (aborted, ()) = futures::future::join(emissions(&invoker, options.clone()), async {
            tokio::time::sleep(SHORT).await;
            cancel.cancel();
        })
        .await;
        assert_eq!((reply(&aborted).stop, server.asked().len()), (StopReason::Aborted, 1), "{}", case.name);

        assert_eq!(reply(&emissions(&invoker, options).await).stop, StopReason::Aborted);
        assert_eq!(server.asked().len(), 1, "{}", case.name);
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let server = Loopback::start([loopback::stream(&CASES[0].answer(TEXT, 0), 64)]);
    drop(CASES[0].invoker(&server.url()).invoke(conversation(), StreamOptions::default()));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(server.asked().is_empty());
}

#[test]
fn a_missing_runtime_is_an_error() {
    let stream = CASES[0].invoker("http://127.0.0.1:9").invoke(conversation(), StreamOptions::default());
    let emissions: Vec<_> = futures::executor::block_on(stream.collect());
    assert_eq!(error(&emissions).message, "models over HTTP need a tokio runtime around them");
}
