use wb_tokens::{Message, TokenCounter, Vocabulary};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let counter = Vocabulary::of_model("gpt-5.4").ok_or("no vocabulary")?.counter()?;
    assert_eq!(counter.text("tiktoken is great!"), 6);
    assert!(counter.message(&Message::user("why is the build red?")) > 6);
    Ok(())
}
