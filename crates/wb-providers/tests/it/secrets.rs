//! The key is sent to the provider and appears nowhere else.

use wb_invoke::StreamOptions;
use wb_providers::{Key, ProviderError, ProviderOpts};
use wb_testkit::loopback::{self, Loopback, stream};

use crate::cases::{CASES, KEY, TEXT, emissions, error, sse};

#[tokio::test]
async fn a_key_repeated_by_the_server_is_redacted() {
    for case in CASES {
        let body = format!(r#"{{"error":{{"message":"bad key {KEY}, get another"}}}}"#);
        let refused = Loopback::start([loopback::error(401, &[], &body)]);
        let event = serde_json::json!({"type": "error", "error": {"message": format!("bad key {KEY}")}});
        let streamed = Loopback::start([stream(&(case.half(TEXT) + &sse(&[event])), 64)]);
        for server in [&refused, &streamed] {
            let emissions = emissions(&case.invoker(&server.url()), StreamOptions::default()).await;
            let shown = format!("{} {:?}", error(&emissions), emissions);
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
}

#[test]
fn the_debug_output_of_an_invoker_has_no_secret() {
    for case in CASES {
        let opts = case.opts("http://127.0.0.1:9").header("x-token", "other-secret");
        let shown = format!("{opts:?} {:?}", opts.clone().build().unwrap());
        assert!(!shown.contains(KEY) && !shown.contains("other-secret"), "{shown}");
        assert!(shown.contains("[key]") && shown.contains("x-token"), "{shown}");
    }
}

#[tokio::test]
async fn without_a_key_its_header_is_not_sent() {
    let server = Loopback::start([stream(&CASES[1].answer(TEXT, 0), 64)]);
    let opts = ProviderOpts::openai_compatible("llama3", format!("{}/v1", server.url()));
    emissions(
        &opts.build().unwrap(),
        StreamOptions { max_output_tokens: Some(90), ..StreamOptions::default() },
    )
    .await;
    let request = &server.requests()[0];
    assert_eq!((request.header("authorization"), &request.body["max_tokens"]), ("", &serde_json::json!(90)));
}

#[test]
fn invalid_options_are_refused() {
    let refused = |opts: ProviderOpts| opts.build().unwrap_err().to_string();
    assert_eq!(refused(ProviderOpts::anthropic(" ")), "the model has no name");
    assert!(refused(ProviderOpts::openai("m").base_url("127.0.0.1")).starts_with("invalid base URL"));
    assert!(refused(ProviderOpts::gemini("m").header("a b", "c")).contains("a b"));
    assert_eq!(ProviderOpts::gemini("m").key_names(), ["GEMINI_API_KEY", "GOOGLE_API_KEY"]);
    assert!(Key::new("").is_err());
}

#[test]
fn a_key_goes_unencrypted_to_this_machine_alone() {
    let opts = |base: &str| ProviderOpts::from_name("openai-compatible", "m", Some(base)).unwrap();
    let is_refused = |opts: ProviderOpts| matches!(opts.build(), Err(ProviderError::Unencrypted { .. }));
    for base in [
        "http://192.0.2.7/v1",
        "http://gateway.example/v1",
        "http://127.0.0.1.example/v1",
        "HTTP://gateway.example",
    ] {
        assert!(is_refused(opts(base).key(Key::new("secret").unwrap())), "{base}");
        assert!(is_refused(opts(base).header("Authorization", "secret")), "{base}");
        assert!(!is_refused(opts(base)), "{base} without a secret");
        assert!(!is_refused(opts(base).key(Key::new("secret").unwrap()).insecure()), "{base}");
    }
    for base in
        ["https://gateway.example/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1", "http://localhost:1/v1"]
    {
        assert!(!is_refused(opts(base).key(Key::new("secret").unwrap())), "{base}");
    }
    let error =
        opts("http://gateway.example/v1").key(Key::new("secret").unwrap()).build().unwrap_err().to_string();
    assert_eq!(error, "the key would be sent unencrypted to gateway.example");
}
