use wb_dialect::{Block, Dialect, EncodedRequest, Message, json, repair, validate};

fn main() {
    let messages = [
        Message::user("What is in it?"),
        Message::assistant_blocks(vec![Block::call("c1", "read", json!({"path": "a.rs"}))]),
        Message::user("Never mind."),
    ];
    let mut request = EncodedRequest::from_messages(&messages, Dialect::Anthropic);
    assert_eq!(request.validate().len(), 1);
    repair(&mut request.body, Dialect::Anthropic);
    assert_eq!(validate(&request.body, Dialect::Anthropic), []);
}
