use wb_formats::{Message, outline};

const FILE: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"list"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","model":"claude-x","content":[{"type":"text","text":"a.rs"}]}}
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let opened = wb_formats::read(&mut FILE.as_bytes())?;
    assert_eq!(opened.format, "claude-code");
    assert_eq!(opened.messages[0], Message::user("list"), "{}", outline(&opened.messages));
    Ok(())
}
