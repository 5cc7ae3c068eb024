use std::sync::Arc;

use wb_passes::{
    Block, Goal, Message, Microcompact, Pass, TokenCounter, TokenHeuristic, WeighedTranscript, json,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut messages = Vec::new();
    for n in 0..8 {
        let id = format!("call_{n}");
        messages.push(Message::assistant_blocks(vec![Block::call(
            &id,
            "Read",
            json!({"file_path": "a.rs"}),
        )]));
        messages.push(Message::tool_result(&id, "Read", "fn main() {}\n".repeat(40)));
    }
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let view = WeighedTranscript::new(&messages, &counter);
    let patch = Microcompact::default().plan(&view, Goal::target(0)).ok_or("nothing to clear")?;
    let before = messages.clone();
    let undo = patch.apply(&mut messages)?;
    assert_ne!(messages, before);
    undo.revert(&mut messages);
    assert_eq!(messages, before);
    Ok(())
}
