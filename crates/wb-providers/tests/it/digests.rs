//! Digests by a model: after any failure the transcript is intact and the report is accurate.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Prices, Usage};
use wb_conductor::{
    AgentContext, CompactionReport, Compactor, CondenseOpts, DigestSource, Summarizer, Unchanged,
    compact_in_place, message_to_turn,
};
use wb_dialect::encode;
use wb_invoke::{Emission, ModelInvoker, StreamOptions};
use wb_message::{Conversation, Message, ToolDescriptor};
use wb_providers::{RetryPolicy, TimeLimits};
use wb_summarize::NoDigest;
use wb_testkit::loopback::{self, Loopback, Play, stream, stream_chunk, stream_start};
use wb_testkit::script;

use crate::cases::{CASES, Case, KEY, TEXT, is_disconnected};

fn transcript() -> Vec<Message> {
    script(
        r#"u"fix the checkout, never touch the schema" [a:read(src/cart.rs) t*250]x20 a u"go on" a u"now the tests" a"#,
    )
}

/// Options that request a digest even if less would suffice.
fn forced() -> CondenseOpts {
    CondenseOpts { force: true, ..CondenseOpts::default() }
}

fn compactor(case: &Case, server: &Loopback) -> Compactor {
    let limits = TimeLimits { silence: Duration::from_millis(200), ..TimeLimits::default() };
    let retry =
        RetryPolicy { max_retries: 1, first_delay: Duration::from_millis(2), ..RetryPolicy::default() };
    let invoker = case.opts(&server.url()).limits(limits).retry(retry).build().unwrap();
    Compactor::new().card(ModelCard::with_window(16_000)).summarizer(invoker)
}

/// Compacts, and checks that undo restores the transcript.
async fn compacted(case: &Case, answer: Vec<Play>) -> (Vec<Message>, CompactionReport) {
    let server = Loopback::start([answer]);
    let before = transcript();
    let mut messages = before.clone();
    let settings = compactor(case, &server);
    let mut report = compact_in_place(&mut messages, &settings, &forced()).await;
    let after = messages.clone();
    if let Some(undo) = report.undo.take() {
        undo.revert(&mut messages);
    }
    assert_eq!(messages, before, "{}", case.name);
    assert!(!format!("{report} {report:?}").contains(KEY));
    (after, report)
}

/// Checks that the local digest is used for this reason and contains the user's words.
async fn falls_back(case: &Case, answer: Vec<Play>, reason: &NoDigest) {
    let (after, report) = compacted(case, answer).await;
    assert_eq!(report.digest, Some(DigestSource::Local(reason.clone())), "{}", case.name);
    assert_eq!(report.fallback_reason(), Some(reason));
    assert!(report.to_string().contains(&format!("local digest: {reason}")), "{report}");
    assert!(format!("{:?}", after[0]).contains("never touch the schema"), "{:?}", after[0]);
    assert!(report.n_requests > 0 && after.len() < transcript().len());
}

fn failed(why: &str) -> NoDigest {
    NoDigest::Failed(why.to_owned())
}

#[tokio::test]
async fn a_complete_answer_becomes_the_digest_with_its_cost() {
    for case in CASES {
        let (after, report) = compacted(&case, stream(&case.answer(TEXT, 0), 3)).await;
        assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{}", case.name);
        assert!(format!("{:?}", after[0]).contains("größe 🦀 prüfen"), "{:?}", after[0]);
        assert_eq!((report.usage, report.n_requests), (case.usage, 1), "{}", case.name);
    }
}

#[tokio::test]
async fn a_truncated_answer_is_used_up_to_its_last_line() {
    for case in CASES {
        let (after, report) =
            compacted(&case, stream(&case.answer(&format!("{TEXT}\n- and then"), 1), 9)).await;
        assert_eq!(report.digest, Some(DigestSource::Model { cut_off: true }), "{}", case.name);
        let digest = format!("{:?}", after[0]);
        assert!(digest.contains("größe 🦀 prüfen") && !digest.contains("and then"), "{digest}");
    }
}

#[tokio::test]
async fn a_refusal_is_reported_and_not_used() {
    for case in CASES {
        falls_back(&case, stream(&case.answer(TEXT, 2), 64), &NoDigest::Refused).await;
    }
}

#[tokio::test]
async fn a_server_error_is_reported() {
    for case in CASES {
        for (status, words) in
            [(429, "; asked 2 times"), (500, "; asked 2 times"), (529, "; asked 2 times"), (400, "")]
        {
            let why = failed(&format!("HTTP {status}: busy{words}"));
            falls_back(&case, loopback::error(status, &[], r#"{"error":"busy"}"#), &why).await;
        }
    }
}

#[tokio::test]
async fn a_broken_stream_is_reported_and_not_used() {
    for case in CASES {
        let half = vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes()), loopback::stream_end()];
        falls_back(&case, half, &failed("the stream ended in the middle of the answer")).await;
        let silent = vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes()), Play::Hang];
        falls_back(&case, silent, &failed("the server was silent for 200ms")).await;
        falls_back(&case, vec![Play::Hang], &failed("the server was silent for 200ms")).await;
    }
}

#[tokio::test]
async fn malformed_json_is_reported() {
    for case in CASES {
        let (_, report) = compacted(&case, stream("data: {\n\n", 64)).await;
        let Some(NoDigest::Failed(why)) = report.fallback_reason() else { panic!("{report}") };
        assert!(why.starts_with("the stream holds malformed JSON"), "{why}");
    }
}

#[tokio::test]
async fn the_time_limit_of_a_digest_closes_the_connection() {
    for case in CASES {
        let server =
            Loopback::start([vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes()), Play::Hang]]);
        let invoker = Arc::new(case.invoker(&server.url()));
        let summarizer = Summarizer::new(invoker).timeout(Duration::from_millis(150));
        let settings = Compactor::new().card(ModelCard::with_window(16_000)).summarizer(summarizer);
        let mut messages = transcript();
        let report = compact_in_place(&mut messages, &settings, &forced()).await;
        assert_eq!(report.fallback_reason(), Some(&NoDigest::TimedOut), "{}", case.name);
        assert!(is_disconnected(&server).await, "{}", case.name);
        if case.name == "anthropic" {
            assert_eq!(report.usage, Usage { output_tokens: 1, ..case.usage }, "what is known is counted");
        }
    }
}

#[tokio::test]
async fn a_cancel_restores_the_transcript_and_disconnects() {
    for case in CASES {
        let server =
            Loopback::start([vec![stream_start(), stream_chunk(case.half(TEXT).as_bytes()), Play::Hang]]);
        let cancel = CancellationToken::new();
        let opts = CondenseOpts { cancel: Some(cancel.clone()), ..forced() };
        let settings = compactor(&case, &server);
        let mut messages = transcript();
        let (report, ()) = futures::future::join(compact_in_place(&mut messages, &settings, &opts), async {
            tokio::time::sleep(Duration::from_millis(80)).await;
            cancel.cancel();
        })
        .await;
        assert_eq!(report.unchanged, Some(Unchanged::Cancelled), "{}", case.name);
        assert_eq!(messages, transcript());
        assert!(is_disconnected(&server).await, "{}", case.name);
    }
}

/// A context that continues a conversation with a model, whose card has prices.
fn context(case: &Case, server: &Loopback, head: Conversation) -> AgentContext {
    let prices = Prices { input: 3.0, cached: 0.3, write: 3.0, output: 15.0, ..Prices::default() };
    let card = ModelCard { prices: Some(prices), ..ModelCard::with_window(200_000) };
    let compactor = Compactor::new().card(card).summarizer(case.invoker(&server.url()));
    AgentContext::from_compactor(compactor).same_model(head, None)
}

#[tokio::test]
async fn a_digest_after_the_conversation_starts_with_cached_bytes() {
    let tool = ToolDescriptor {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let head =
        Conversation { system: Some("You are an agent.".into()), turns: vec![], tools: Some(vec![tool]) };
    for case in CASES {
        let server = Loopback::start([(); 2].map(|()| stream(&case.answer(TEXT, 0), 64)));
        let mut context = context(&case, &server, head.clone());
        let mut messages = transcript();
        let conversation = |messages: &[Message]| {
            let turns = messages.iter().cloned().map(message_to_turn).collect();
            Conversation { turns, ..head.clone() }
        };
        let turn = conversation(&messages[..messages.len() - 1]);
        let options = StreamOptions { prompt_cache: true, ..StreamOptions::default() };
        let answered: Vec<Emission> = case.invoker(&server.url()).invoke(turn, options).collect().await;
        assert!(matches!(answered.last(), Some(Emission::Done { .. })), "{answered:?}");
        let cached = context.estimate(&messages).context_tokens;
        let usage = Usage { output_tokens: 1, cache_read_tokens: Some(cached), ..Usage::EMPTY };
        context.after_response(&messages, &usage);

        let before = messages.clone();
        let report = context.compact(&mut messages, &forced()).await;
        assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{}: {report}", case.name);
        let asked = server.requests();
        let (was, now) = (&asked[0].body, &asked[1].body);
        for key in
            ["system", "instructions", "systemInstruction", "tools", "model", "cache_control", "thinking"]
        {
            assert_eq!(was[key].to_string(), now[key].to_string(), "{}: {key}", case.name);
        }
        assert_eq!(now["cache_control"].is_object(), case.name == "anthropic");
        let dialect = case.opts(&server.url()).dialect();
        let list = dialect.messages_key();
        // The question may join the last message.
        let shared = encode(&conversation(&before[..report.cut - 1]), dialect)[list].to_string();
        let shared = shared.trim_end_matches([']', '}']);
        assert!(was[list].to_string().starts_with(shared), "{}", case.name);
        let (behind, n_bytes) = (now[list].to_string(), shared.len());
        assert!(behind.starts_with(shared) && n_bytes > 4_000, "{}: {n_bytes}", case.name);
        assert!(behind[n_bytes..].contains("You write the record"), "{}", &behind[n_bytes..]);
    }
}
