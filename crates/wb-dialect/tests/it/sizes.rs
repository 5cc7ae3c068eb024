//! The rules about sizes by example; these are built, for they are large.

use serde_json::{Value, json};
use wb_dialect::{Dialect, Encoded, repair, validate};
use wb_message::{Block, Message};

/// A request with this many pictures of this many bytes, each in a message of its own.
fn with_pictures(n: usize, n_bytes: usize, dialect: Dialect) -> Value {
    let data = "A".repeat(n_bytes);
    let picture = || Message::user(vec![Block::image("image/png", data.as_str()), Block::text("Look.")]);
    let messages = (0..n).flat_map(|_| [picture(), Message::assistant("Yes.")]);
    let messages: Vec<Message> = messages.chain([Message::user("Well?")]).collect();
    Encoded::of_messages(&messages, dialect).body
}

fn rules(request: &Value, dialect: Dialect) -> Vec<String> {
    validate(request, dialect).iter().map(|violation| violation.rule.to_string()).collect()
}

/// Checks that a request breaks one rule, and that so many pictures go to mend it.
fn check(mut request: Value, dialect: Dialect, rule: &str, n_taken_out: usize) {
    assert_eq!(rules(&request, dialect), [rule], "{dialect}");
    repair(&mut request, dialect);
    assert_eq!(request.to_string().matches("[image]").count(), n_taken_out, "{rule} in {dialect}");
    assert_eq!(rules(&request, dialect), [""; 0]);
    assert!(repair(&mut request, dialect).is_empty());
}

#[test]
fn the_oldest_pictures_go_where_there_are_too_many() {
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
fn a_picture_of_more_than_five_megabytes_goes() {
    let dialect = Dialect::Anthropic;
    assert_eq!(rules(&with_pictures(1, 5 << 20, dialect), dialect), [""; 0]);
    check(with_pictures(1, (5 << 20) + 4, dialect), dialect, "picture-size", 1);
}

#[test]
fn the_oldest_pictures_go_where_a_request_is_too_large() {
    assert_eq!(rules(&with_pictures(6, 5 << 20, Dialect::Anthropic), Dialect::Anthropic), [""; 0]);
    check(with_pictures(7, 5 << 20, Dialect::Anthropic), Dialect::Anthropic, "request-size", 1);
}

#[test]
fn a_request_too_large_for_its_texts_is_left_and_found_again() {
    let text = "x".repeat(33 << 20);
    let mut request = json!({ "messages": [{ "role": "user", "content": text }] });
    assert_eq!(repair(&mut request, Dialect::Anthropic), []);
    assert_eq!(rules(&request, Dialect::Anthropic), ["request-size"]);
}

#[test]
#[ignore = "takes more than a gigabyte of memory"]
fn requests_of_others_may_be_larger() {
    check(with_pictures(4, 26 << 20, Dialect::Gemini), Dialect::Gemini, "request-size", 1);
    for dialect in [Dialect::OpenaiChat, Dialect::OpenaiResponses] {
        check(with_pictures(5, 110 << 20, dialect), dialect, "request-size", 1);
    }
}
