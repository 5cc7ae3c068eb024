//! The key, which only the provider may see.

use wb_providers::{Key, ProviderOpts};
use wb_summarize::StreamOptions;
use wb_testkit::loopback::{self, Loopback, stream};

use crate::cases::{CASES, KEY, TEXT, asked, error, written};

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_make_it_known() {
    for case in CASES {
        let body = format!(r#"{{"error":{{"message":"bad key {KEY}, get another"}}}}"#);
        let refused = Loopback::start([loopback::error(401, &[], &body)]);
        let event = serde_json::json!({"type": "error", "error": {"message": format!("bad key {KEY}")}});
        let told = Loopback::start([stream(&(case.half(TEXT) + &written(&[event])), 64)]);
        for server in [&refused, &told] {
            let emissions = asked(&case.invoker(&server.url()), StreamOptions::default()).await;
            let shown = format!("{} {:?}", error(&emissions), emissions);
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
}

#[test]
fn what_is_shown_of_an_invoker_holds_no_secret() {
    for case in CASES {
        let opts = case.opts("http://127.0.0.1:9").header("x-token", "other-secret");
        let shown = format!("{opts:?} {:?}", opts.clone().build().unwrap());
        assert!(!shown.contains(KEY) && !shown.contains("other-secret"), "{shown}");
        assert!(shown.contains("[key]") && shown.contains("x-token"), "{shown}");
    }
}

#[tokio::test]
async fn without_a_key_no_header_is_sent_for_it() {
    let server = Loopback::start([stream(&CASES[1].answer(TEXT, 0), 64)]);
    let opts = ProviderOpts::openai_compatible("llama3", format!("{}/v1", server.url()));
    asked(&opts.build().unwrap(), StreamOptions { max_output_tokens: Some(90), ..StreamOptions::default() })
        .await;
    let request = &server.requests()[0];
    assert_eq!((request.header("authorization"), &request.body["max_tokens"]), ("", &serde_json::json!(90)));
}

#[test]
fn what_cannot_be_asked_is_refused_before() {
    let refused = |opts: ProviderOpts| opts.build().unwrap_err().to_string();
    assert_eq!(refused(ProviderOpts::anthropic(" ")), "the model has no name");
    assert!(refused(ProviderOpts::openai("m").base_url("127.0.0.1")).starts_with("the base URL is none"));
    assert!(refused(ProviderOpts::gemini("m").header("a b", "c")).contains("a b"));
    assert_eq!(ProviderOpts::gemini("m").key_names(), ["GEMINI_API_KEY", "GOOGLE_API_KEY"]);
    assert!(Key::new("").is_err());
}
