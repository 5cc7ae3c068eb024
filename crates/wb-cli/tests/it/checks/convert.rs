//! `wb convert`: what it converts, and that it lists every loss.

use std::path::Path;

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::support::wb;

const REQUESTS: [&str; 4] = ["anthropic", "openai", "openai-responses", "gemini"];
const SESSIONS: [&str; 3] = ["claude-code", "codex", "pi"];

/// Signatures as Anthropic and Gemini make them.
const OF_CLAUDE: &str = "EqoBCkgIARABGAIi";
const OF_GEMINI: &str = "EuYBCuMBAb4+9vth";

/// A file in a separate folder.
struct Source(tempfile::TempDir);

impl Source {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in"), text).unwrap();
        Self(folder)
    }

    fn of_messages(messages: &[Message]) -> Self {
        let mut bytes = Vec::new();
        wb_formats::write_jsonl(messages, &mut bytes).unwrap();
        Self::new(&String::from_utf8(bytes).unwrap())
    }

    /// Returns the conversion to another format, and the reported losses.
    fn to(&self, target: &str) -> (String, String) {
        let (file, out) = (self.0.path().join("in"), self.0.path().join(target));
        let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
        let answer = wb(&["convert", file, "--to", target, "-o", out]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let words = answer.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        (std::fs::read_to_string(out).unwrap(), words)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A request to Anthropic's API with an answer between user messages, a system text of two parts,
/// and a tool.
fn request_of_anthropic(answer: &Value) -> Source {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let body = json!({
        "model": "claude-sonnet-4-5",
        "system": [{ "type": "text", "text": "Be short." }, { "type": "text", "text": "Be kind." }],
        "tools": [{ "name": "read", "input_schema": { "type": "object" } }],
        "messages": [user("Look."), { "role": "assistant", "content": answer }, user("Go on.")]
    });
    Source::new(&body.to_string())
}

#[test]
fn the_system_text_of_a_request_goes_over_and_its_tools_are_listed() {
    let source = request_of_anthropic(&json!("I look."));
    for target in REQUESTS.into_iter().chain(["native"]) {
        let (written, lost) = source.to(target);
        assert!(written.contains("Be short.") && written.contains("Be kind."), "{target}: {written}");
        assert!(lost.contains("lost: 1 tool definition") && !lost.contains("system"), "{target}: {lost}");
    }
    for target in SESSIONS {
        let (written, lost) = source.to(target);
        assert!(!written.contains("Be short."), "{written}");
        assert!(lost.contains("lost: 1 system text: the agent adds its own"), "{target}: {lost}");
        assert!(lost.contains("lost: 1 tool definition"), "{target}: {lost}");
    }
    let again = source.path().join("gemini");
    let native = wb(&["convert", again.to_str().unwrap(), "--to", "native"]).stdout;
    assert!(native.contains("Be short.") && native.contains("I look."), "{native}");
}

#[test]
fn reasoning_that_only_anthropic_can_read_is_kept_whole_or_listed() {
    let redacted = r#"{"type":"redacted_thinking","data":"b3BhcXVl+/="}"#;
    let answer = json!([
        serde_json::from_str::<Value>(redacted).unwrap(),
        { "type": "thinking", "thinking": "Hm.", "signature": OF_CLAUDE },
        { "type": "text", "text": "I look." }
    ]);
    let source = request_of_anthropic(&answer);
    for target in ["anthropic", "claude-code", "pi", "native"] {
        let (written, lost) = source.to(target);
        assert!(written.contains("b3BhcXVl+/=") && written.contains(OF_CLAUDE), "{target}: {written}");
        assert!(!lost.contains("thought") && !written.contains("[redacted"), "{target}: {lost}");
        let back = source.path().join(target);
        let back = wb(&["convert", back.to_str().unwrap(), "--to", "anthropic"]);
        let back: Value = serde_json::from_str(&back.stdout).unwrap();
        let blocks = back["messages"][1]["content"].as_array().unwrap();
        assert_eq!((blocks.len(), blocks[0].to_string().as_str()), (3, redacted), "{target}: {back}");
    }
    for target in ["openai", "openai-responses", "gemini", "codex"] {
        let (written, lost) = source.to(target);
        assert!(!written.contains("b3BhcXVl") && !written.contains("redacted"), "{target}: {written}");
        assert!(!written.contains(OF_CLAUDE) && !written.contains("Hm."), "{target}: {written}");
        assert!(lost.contains("lost: 2 thoughts that this provider"), "{target}: {lost}");
    }
}

#[test]
fn a_signature_is_passed_on_to_the_provider_that_made_it_alone() {
    let thought = |text: &str, signature: &str| Block::Thinking {
        text: text.into(),
        signature: Some(signature.into()),
    };
    let of = |signature: &str| {
        let said = vec![thought("Hm.", signature), Block::text("I look."), thought("", signature)];
        Source::of_messages(&[
            Message::user("Look."),
            Message::assistant_blocks(said),
            Message::user("Go on."),
        ])
    };
    for (signature, target) in [(OF_CLAUDE, "anthropic"), (OF_GEMINI, "gemini")] {
        for other in REQUESTS.into_iter().chain(["claude-code", "codex"]) {
            let is_own = other == target || (target, other) == ("anthropic", "claude-code");
            let (written, lost) = of(signature).to(other);
            assert_eq!(written.matches(signature).count(), if is_own { 2 } else { 0 }, "{other}: {written}");
            assert_eq!(lost.contains("lost: 2 thoughts"), !is_own, "{other}: {lost}");
        }
    }
    // A signature of unknown shape belongs to the provider of its request.
    let odd = json!([{ "type": "thinking", "thinking": "Hm.", "signature": "SIGX" }, { "type": "text", "text": "I look." }]);
    let (written, lost) = request_of_anthropic(&odd).to("gemini");
    assert!(!written.contains("SIGX") && lost.contains("lost: 1 thought that"), "{written} {lost}");
}

#[test]
fn a_request_of_gemini_comes_back_with_all_its_thoughts() {
    let parts = json!([
        { "text": "Hm.", "thought": true, "thoughtSignature": OF_GEMINI },
        { "text": "I look.", "thoughtSignature": "AAAA" },
        { "text": "", "thoughtSignature": "BBBB" }
    ]);
    let user = |text: &str| json!({ "role": "user", "parts": [{ "text": text }] });
    let contents = json!([user("Look."), { "role": "model", "parts": parts }, user("Go on.")]);
    let system = json!({ "parts": [{ "text": "Be short." }] });
    let source = Source::new(&json!({ "systemInstruction": system, "contents": contents }).to_string());
    let (written, lost) = source.to("gemini");
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!((&written["contents"], &written["systemInstruction"]), (&contents, &system));
    assert!(!lost.contains("thought"), "{lost}");
    assert!(source.to("anthropic").1.contains("lost: 3 thoughts"));
}

#[test]
fn a_mark_of_a_failure_is_kept_where_there_is_one_and_else_listed() {
    let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "ls", json!({}))]);
    let source = Source::of_messages(&[
        Message::user("Look."),
        call("c1"),
        Message::tool_error("c1", "ls", "It is not there."),
        call("c2"),
        Message::tool_error("c2", "ls", "Exit code: 2\nOutput:\nno"),
        Message::user("Go on."),
    ]);
    for (target, n_lost) in [
        ("anthropic", 0),
        ("gemini", 0),
        ("claude-code", 0),
        ("pi", 0),
        ("codex", 1),
        ("openai", 2),
        ("openai-responses", 2),
    ] {
        let lost = source.to(target).1;
        let again = source.path().join(target);
        let again = wb(&["convert", again.to_str().unwrap(), "--to", "native"]).stdout;
        assert_eq!(again.matches("\"isError\":true").count(), 2 - n_lost, "{target}: {again}");
        let reported = ["error flags", "error flags of 1 result (", "error flags of 2 results ("][n_lost];
        assert_eq!(lost.contains(reported), n_lost > 0, "{target}: {lost}");
    }
}

#[test]
fn what_becomes_a_note_or_a_text_is_listed_and_what_the_user_pastes_is_not() {
    let search =
        json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "q" } });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] });
    let thinking = json!({ "type": "thinking", "thinking": "", "signature": OF_CLAUDE });
    let pdf = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "aGk=" } });
    let pasted = |text: String| json!({ "type": "text", "text": text });
    let user = json!([pdf, pasted("[document: mine]".into()), pasted(search.to_string())]);
    let body = json!({ "system": "S.", "messages": [
        { "role": "user", "content": user },
        { "role": "assistant", "content": [search, found, thinking, pasted("Found.".into())] },
        { "role": "user", "content": "Go on." }
    ] });
    let source = Source::new(&body.to_string());
    for target in REQUESTS.into_iter().chain(SESSIONS).chain(["native"]) {
        let lost = source.to(target).1;
        assert!(
            lost.contains("lost: 1 document, file or picture: each replaced by a note"),
            "{target}: {lost}"
        );
        let others = "lost: 2 blocks of other kinds that become text: web_search, web_search_tool_result";
        assert!(lost.contains(others), "{target}: {lost}");
    }
}
