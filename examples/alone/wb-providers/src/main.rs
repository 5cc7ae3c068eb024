use wb_providers::{Conversation, Key, ProviderOpts, StreamOptions, Turn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ProviderOpts::anthropic("claude-haiku-4-5").key(Key::new("sk-not-a-real-one")?).build()?;
    let conversation = Conversation { turns: vec![Turn::user("Hello")], ..Conversation::default() };
    let body = model.body(&conversation, &StreamOptions::default());
    assert_eq!(body["messages"][0]["role"], "user");
    Ok(())
}
