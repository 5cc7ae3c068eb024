//! Refused files and edits, with their errors.

use wb_formats::{FORMATS, Format, FormatError, View};
use wb_record::MemoryParts;

use crate::support::{detect, fixture, fixtures, open};

fn refused(bytes: &[u8]) -> String {
    open(bytes).map(|opened: View| opened.format).unwrap_err().to_string()
}

#[test]
fn a_bad_line_is_named() {
    let error = open(fixture("native/bad-middle.jsonl")).unwrap_err();
    assert_eq!(error.line(), Some(2));
    assert!(error.to_string().starts_with("line 2: not a message: missing field `toolCallId`"), "{error}");
    assert!(!error.hint().is_empty());
}

#[test]
fn an_unreadable_line_is_noted_and_hides_no_other() {
    let opened = open(fixture("pi/bad-middle.jsonl")).unwrap();
    assert_eq!(opened.messages.len(), 1);
    assert_eq!(opened.notes[0].to_string(), "unreadable lines left as they are: 1, the first is line 2");
}

#[test]
fn an_empty_file_and_a_file_that_is_no_transcript_list_the_formats() {
    assert_eq!(refused(b""), "the file is empty");
    assert_eq!(refused(b"\xEF\xBB\xBF \n\n"), "the file is empty");
    for (bytes, begins) in [
        (&b"# A readme\nwith text"[..], "# A readme"),
        (b"\x00\x01\x02", "\0\u{1}\u{2}"),
        (b"{\"name\":\"a package\"}", "{\"name\":\"a package\"}"),
        (b"{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}"),
        (b"[1,2]", "[1,2]"),
        (b"\xFF\xFA{", "\u{FFFD}\u{FFFD}{"),
    ] {
        let error = open(bytes).unwrap_err();
        assert_eq!(error.to_string(), format!("unrecognized format (starts with {begins:?})"));
        for row in FORMATS {
            assert!(error.hint().contains(row.format.name()), "{}", row.format.name());
        }
    }
}

#[test]
fn a_zipped_log_of_inspect_is_refused_with_the_command_that_unpacks_it() {
    let error = open(b"PK\x03\x04\x14\0").unwrap_err();
    assert!(error.to_string().contains(".eval") && error.hint().contains("inspect log dump"), "{error}");
}

#[test]
fn what_only_looks_like_a_session_is_not_known() {
    for bytes in [
        "[]",
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user"},{"role":"assistant"}]}"#,
        r#"[{"id":1,"role":"user","name":"A"},{"id":2,"role":"admin","name":"B"}]"#,
        r#"[{"id":1,"role":"user","content":"a profile"},{"id":2,"role":"admin","content":"B"}]"#,
        "{\"role\":\"user\",\"email\":\"a@b\"}\n{\"role\":\"user\",\"email\":\"c@d\"}\n",
        r#"[{"type":"message","user":"U1","text":"hi","ts":"1"},{"type":"message","user":"U2","text":"yo","ts":"2"}]"#,
        "{\"type\":\"session\",\"id\":\"web\"}\n{\"type\":\"message\",\"id\":\"1\",\"message\":\"Hello\"}\n",
        r#"{"simulations":[{"id":1,"t":3}],"tasks":[]}"#,
        concat!(
            r#"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"]}"#,
            "\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"session_id":"s"}"#,
        ),
    ] {
        assert!(refused(bytes.as_bytes()).starts_with("unrecognized format"), "{bytes}");
    }
}

#[test]
fn messages_for_the_screen_are_refused_with_the_call_that_gives_those_of_a_model() {
    let user = r#"{"id":"u","role":"user","parts":[{"type":"text","text":"weather?"}]}"#;
    let system = r#"{"id":"s","role":"system","parts":[{"type":"text","text":"Be short."}]}"#;
    let call = r#"{"type":"tool-weather","toolCallId":"c","state":"output-available","input":{},"output":7}"#;
    let answer = format!(r#"{{"id":"a","role":"assistant","parts":[{{"type":"step-start"}},{call}]}}"#);
    let plain = r#"{"id":"u","role":"user","content":"weather?"}"#;
    let called = r#"{"state":"result","toolCallId":"c","toolName":"weather","args":{},"result":7}"#;
    let old = format!(r#"{{"id":"a","role":"assistant","content":"7","toolInvocations":[{called}]}}"#);
    for list in [
        format!("[{user}]"),
        format!("[{user},{answer}]"),
        format!("[{system},{user},{answer}]"),
        format!("[{plain},{old}]"),
        format!(r#"{{"id":"chat","messages":[{user},{answer}],"trigger":"submit-message"}}"#),
        format!("{user}\n{answer}\n"),
    ] {
        let error = open(list.as_bytes()).unwrap_err();
        let is_reported =
            error.to_string().contains("UIMessage") && error.hint().contains("convertToModelMessages");
        assert!(is_reported && detect(list.as_bytes()).is_none(), "{list}: {error}");
    }
}

#[test]
fn the_format_is_identified_by_the_content() {
    for (name, bytes) in fixtures() {
        let format = detect(bytes).unwrap().name();
        assert!(name.starts_with(format), "{name} is taken for {format}");
        let with_blanks = [b"\xEF\xBB\xBF\n \r\n", *bytes].concat();
        assert_eq!(detect(&with_blanks).unwrap().name(), format, "{name}");
        assert_eq!(open(&with_blanks).is_ok(), open(bytes).is_ok(), "{name}");
    }
}

#[test]
fn a_first_line_that_is_longer_than_the_head_is_recognized_all_the_same() {
    let long = "x".repeat(200_000);
    for (format, line) in [
        (
            "claude-code",
            format!(r#"{{"parentUuid":null,"message":{{"role":"user","content":"{long}"}},"type":"user"}}"#),
        ),
        (
            "claude-code",
            format!(r#"{{"type":"user","uuid":"u","message":{{"role":"user","content":"{long}"}}}}"#),
        ),
        ("native", format!(r#"{{"role":"user","content":"{long}"}}"#)),
        ("native", format!(r#"[{{"role":"user","content":"{long}"}}]"#)),
        ("native", format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}]}}"#)),
    ] {
        let opened = open(line.as_bytes()).unwrap();
        assert_eq!((opened.format, opened.messages.len()), (format, 1), "{}", &line[..60]);
    }
}

#[test]
fn an_input_that_gives_one_byte_at_a_time_is_recognized_too() {
    let mut slow = std::io::BufReader::with_capacity(1, fixture("claude-code/split.jsonl"));
    assert_eq!(wb_formats::read(&mut slow).unwrap().format, "claude-code");
}

#[test]
fn formats_and_errors_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<FormatError>();
    check::<View>();
    check::<Box<dyn Format>>();
}

/// Each block, key and tool that only Anthropic has identifies a body by itself.
#[test]
fn a_request_is_recognized_by_anything_that_only_its_provider_writes() {
    let read = |body: &str| {
        let document = wb_formats::open(Box::new(MemoryParts::from_bytes(body.as_bytes().to_vec()))).unwrap();
        document.format().name()
    };
    let with = |content: &str, more: &str| {
        format!(r#"{{"model":"m","max_tokens":9{more},"messages":[{{"role":"user","content":{content}}}]}}"#)
    };
    let blocks = [
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#,
        r#"{"type":"document","source":{"type":"text","data":"a"}}"#,
        r#"{"type":"search_result","source":"a","title":"b","content":[]}"#,
        r#"{"type":"text","text":"a","citations":[]}"#,
        r#"{"type":"server_tool_use","id":"a","name":"web_search","input":{}}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"a","content":[]}"#,
        r#"{"type":"mcp_tool_use","id":"a","name":"b","server_name":"c","input":{}}"#,
        r#"{"type":"code_execution_tool_result","tool_use_id":"a","content":{}}"#,
        r#"{"type":"container_upload","file_id":"a"}"#,
        r#"{"type":"tool_reference","tool_name":"a"}"#,
    ];
    for block in blocks {
        assert_eq!(read(&with(&format!("[{block}]"), "")), "anthropic-messages", "{block}");
    }
    for more in [
        r#","container":"a""#,
        r#","mcp_servers":[]"#,
        r#","context_management":{"edits":[]}"#,
        r#","tools":[{"type":"web_search_20250305","name":"web_search"}]"#,
        r#","tools":[{"name":"a","input_schema":{},"defer_loading":true}]"#,
    ] {
        assert_eq!(read(&with("\"go\"", more)), "anthropic-messages", "{more}");
    }
    let function = r#","tools":[{"type":"function","function":{"name":"a"}}]"#;
    for (content, more) in [
        (r#"[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]"#, ""),
        (r#"[{"type":"file","file":{"file_id":"a"}}]"#, ""),
        ("\"go\"", function),
    ] {
        assert_eq!(read(&with(content, more)), "openai-chat", "{content}{more}");
    }
}

#[test]
fn a_file_in_utf_16_is_named_as_such() {
    let text = "{\"type\":\"user\"}\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &little].concat();
    for bytes in [little, big, marked] {
        let error = open(&bytes).unwrap_err().to_string();
        assert!(error.contains("UTF-16"), "{error}");
    }
}
