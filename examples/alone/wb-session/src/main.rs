use wb_session::{SessionLog, build_context, outline};

const FILE: &str = r##"{"type":"session","version":3,"id":"s","cwd":"/"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"list"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":"a.rs"}}
{"type":"compaction","id":"c","parentId":"b","summary":"# Goal","firstKeptEntryId":"b"}
"##;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = SessionLog::read(FILE.as_bytes())?;
    let context = build_context(&log, log.leaf())?;
    assert_eq!(context.messages.len(), 2, "{}", outline(&context.messages));
    Ok(())
}
