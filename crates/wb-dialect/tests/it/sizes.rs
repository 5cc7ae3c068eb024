//! The size rules by generated examples.

use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest, repair, validate};
use wb_message::{Block, Message};

/// A request with `n` pictures of `n_bytes` each, one per message.
fn with_pictures(n: usize, n_bytes: usize, dialect: Dialect) -> Value {
    let data = "A".repeat(n_bytes);
    let picture = || Message::user(vec![Block::image("image/png", data.as_str()), Block::text("Look.")]);
    let messages = (0..n).flat_map(|_| [picture(), Message::assistant("Yes.")]);
    let messages: Vec<Message> = messages.chain([Message::user("Well?")]).collect();
    EncodedRequest::from_messages(&messages, dialect).body
}

fn rules(request: &Value, dialect: Dialect) -> Vec<String> {
    validate(request, dialect).iter().map(|violation| violation.rule.to_string()).collect()
}

/// Checks that a request breaks one rule, and that the repair removes `n_removed` pictures.
fn check(mut request: Value, dialect: Dialect, rule: &str, n_removed: usize) {
    assert_eq!(rules(&request, dialect), [rule], "{dialect}");
    repair(&mut request, dialect);
    assert_eq!(request.to_string().matches("[image]").count(), n_removed, "{rule} in {dialect}");
    assert_eq!(rules(&request, dialect), [""; 0]);
    assert!(repair(&mut request, dialect).is_empty());
}

#[test]
fn the_oldest_pictures_are_removed_if_there_are_too_many() {
    for (dialect, max) in [
        (Dialect::Anthropic, 100),
        (Dialect::OpenaiChat, 1500),
        (Dialect::OpenaiResponses, 1500),
        (Dialect::Gemini, 3600),
    ] {
        assert_eq!(rules(&with_pictures(max, 4, dialect), dialect), [""; 0]);
        check(with_pictures(max + 1, 4, dialect), dialect, "picture-count", 1);
    }
}

#[test]
fn a_picture_of_more_than_five_megabytes_is_removed() {
    let dialect = Dialect::Anthropic;
    assert_eq!(rules(&with_pictures(1, 5 << 20, dialect), dialect), [""; 0]);
    check(with_pictures(1, (5 << 20) + 4, dialect), dialect, "picture-size", 1);
}

#[test]
fn the_oldest_pictures_are_removed_from_a_large_request() {
    assert_eq!(rules(&with_pictures(6, 5 << 20, Dialect::Anthropic), Dialect::Anthropic), [""; 0]);
    check(with_pictures(7, 5 << 20, Dialect::Anthropic), Dialect::Anthropic, "request-size", 1);
}

#[test]
fn a_request_with_too_much_text_is_left_and_reported() {
    let text = "x".repeat(33 << 20);
    let mut request = json!({ "messages": [{ "role": "user", "content": text }] });
    assert_eq!(repair(&mut request, Dialect::Anthropic), []);
    assert_eq!(rules(&request, Dialect::Anthropic), ["request-size"]);
}
