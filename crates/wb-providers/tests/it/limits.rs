//! Time limits and cancelling.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use wb_providers::TimeLimits;
use wb_summarize::{Emission, ModelInvoker, StopReason, StreamOptions};
use wb_testkit::loopback::{self, Loopback, Play, stream_chunk, stream_start};

use crate::cases::{CASES, TEXT, asked, conversation, error, reply, text, was_left};

const SHORT: Duration = Duration::from_millis(150);

fn limits(silence: Duration, total: Option<Duration>) -> TimeLimits {
    TimeLimits { silence, total, ..TimeLimits::default() }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left() {
    for case in CASES {
        for begin in
            [vec![], vec![stream_start()], vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes())]]
        {
            let is_begun = begin.len() > 1;
            let server = Loopback::start([[begin, vec![Play::Hang]].concat()]);
            let invoker = case.opts(&server.url()).limits(limits(SHORT, None)).build().unwrap();
            let emissions = asked(&invoker, StreamOptions::default()).await;
            assert_eq!(error(&emissions).message, "the server was silent for 150ms", "{}", case.name);
            assert_eq!((!text(&emissions).is_empty(), server.requests().len()), (is_begun, 1));
            assert!(was_left(&server).await, "{}", case.name);
        }
    }
}

#[tokio::test]
async fn a_first_byte_that_comes_in_time_is_waited_for() {
    for case in CASES {
        let mut plays = vec![Play::Wait(SHORT)];
        plays.extend(loopback::stream(&case.answer(TEXT, 0), 64));
        let server = Loopback::start([plays]);
        let invoker = case.opts(&server.url()).limits(limits(SHORT * 20, None)).build().unwrap();
        assert_eq!(text(&asked(&invoker, StreamOptions::default()).await), TEXT);
    }
}

#[tokio::test]
async fn a_server_that_drips_is_left_when_the_whole_takes_too_long() {
    let case = CASES[0];
    let drip = [stream_chunk(b": still here\n\n"), Play::Wait(SHORT / 5)];
    let drips = drip.iter().cycle().take(120).cloned();
    let server = Loopback::start([std::iter::once(stream_start()).chain(drips).collect()]);
    let invoker = case.opts(&server.url()).limits(limits(SHORT * 10, Some(SHORT))).build().unwrap();
    let begin = tokio::time::Instant::now();
    let emissions = asked(&invoker, StreamOptions::default()).await;
    assert_eq!(error(&emissions).message, "the answer took longer than 150ms");
    assert!(begin.elapsed() < SHORT * 8);
}

#[tokio::test]
async fn what_would_be_asked_again_too_late_is_not() {
    let case = CASES[1];
    let server = Loopback::start([loopback::error(429, &[("retry-after", "30")], "")]);
    let invoker = case.opts(&server.url()).limits(limits(SHORT, Some(SHORT * 10))).build().unwrap();
    let begin = tokio::time::Instant::now();
    let emissions = asked(&invoker, StreamOptions::default()).await;
    assert_eq!(error(&emissions).message, "HTTP 429");
    assert!(begin.elapsed() < SHORT * 8, "nobody waits for what cannot come in time");
}

#[tokio::test]
async fn a_cancel_closes_the_connection_and_keeps_what_was_said() {
    for case in CASES {
        let server =
            Loopback::start([vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes()), Play::Hang]]);
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
        // The stream is still there: the cancel alone has closed it.
        assert!(was_left(&server).await, "{}", case.name);
    }
}

#[tokio::test]
async fn a_cancel_ends_a_wait_and_what_is_cancelled_before_is_not_sent() {
    for case in CASES {
        let server = Loopback::start([loopback::error(429, &[("retry-after", "50")], "")]);
        let cancel = CancellationToken::new();
        let options = StreamOptions { cancel: Some(cancel.clone()), ..StreamOptions::default() };
        let invoker = case.invoker(&server.url());
        let (emissions, ()) = futures::future::join(asked(&invoker, options.clone()), async {
            tokio::time::sleep(SHORT).await;
            cancel.cancel();
        })
        .await;
        assert_eq!(
            (reply(&emissions).stop, server.requests().len()),
            (StopReason::Aborted, 1),
            "{}",
            case.name
        );

        assert_eq!(reply(&asked(&invoker, options).await).stop, StopReason::Aborted);
        assert_eq!(server.requests().len(), 1, "{}", case.name);
    }
}

#[tokio::test]
async fn nothing_is_sent_before_somebody_listens() {
    let server = Loopback::start([loopback::stream(&CASES[0].answer(TEXT, 0), 64)]);
    drop(CASES[0].invoker(&server.url()).invoke(conversation(), StreamOptions::default()));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(server.requests().is_empty());
}

#[test]
fn without_a_runtime_it_says_so() {
    let stream = CASES[0].invoker("http://127.0.0.1:9").invoke(conversation(), StreamOptions::default());
    let emissions: Vec<_> = futures::executor::block_on(stream.collect());
    assert_eq!(error(&emissions).message, "models over HTTP need a tokio runtime around them");
}
