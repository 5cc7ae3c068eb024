use wb_message::{Block, Edit, Message, Pairing, Patch, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut messages = vec![
        Message::user("What does lib.rs do?"),
        Message::assistant_blocks(vec![Block::call("c1", "read", json!({"path": "lib.rs"}))]),
        Message::tool_result("c1", "read", "pub fn answer() -> u8 { 42 }"),
        Message::assistant("It answers."),
    ];
    assert!(!Pairing::new(&messages).is_legal(2));
    let digest = Message::user("[digest]");
    let undo = Patch::new(vec![Edit::Fold { range: 0..3, with: vec![digest] }]).apply(&mut messages)?;
    assert_eq!(messages.len(), 2);
    undo.revert(&mut messages);
    assert_eq!(messages.len(), 4);
    Ok(())
}
