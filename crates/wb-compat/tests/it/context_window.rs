//! Document 3: the recorded answers, and the text of the document.

use serde_json::{Value, json};
use wb_compat::context_window::{
    ChatMessage, ContextWindow, WindowError, estimate_message_tokens, estimate_tokens,
};
use wb_message::{Block, Content, Message};
use wb_testkit::script;
use wb_testkit::vectors::policy::{PolicyRow, TOOL, rows, text_value};

/// Reads `"role:text"` or `[role, kind, id]`.
fn message(label: &Value) -> Message {
    if let [role, kind, id] = label.as_array().map_or(&[][..], Vec::as_slice) {
        let id = id.as_str().unwrap();
        return match (role.as_str().unwrap(), kind.as_str().unwrap()) {
            ("a", "call") => Message::assistant_blocks(vec![Block::call(id, TOOL, json!({}))]),
            ("t", "result") => Message::tool_result(id, TOOL, "ok"),
            other => panic!("unknown message {other:?}"),
        };
    }
    let (role, text) = label.as_str().unwrap().split_once(':').unwrap();
    match role {
        "s" => Message::custom("system", text),
        "u" => Message::user(text),
        "a" => Message::assistant(text),
        "t" => Message::tool_result("", TOOL, text),
        other => panic!("unknown role {other}"),
    }
}

fn label(message: &Message) -> String {
    let text = |content: &Content| content.texts().collect::<String>();
    match message {
        Message::Custom { content, .. } => format!("s:{}", text(content)),
        Message::User { content, .. } => format!("u:{}", text(content)),
        Message::ToolResult { tool_call_id, .. } if !tool_call_id.is_empty() => {
            format!("t:result={tool_call_id}")
        }
        Message::ToolResult { content, .. } => format!("t:{}", content[0].as_text().unwrap()),
        other => match other.calls().next() {
            Some((id, _, _)) => format!("a:call={id}"),
            None => format!("a:{}", other.blocks()[0].as_text().unwrap()),
        },
    }
}

fn labels(messages: &[Message]) -> Value {
    messages.iter().map(label).collect()
}

fn answer<T: Into<Value>>(result: Result<T, WindowError>) -> Value {
    result.map_or_else(|error| json!({ "panic": error.to_string() }), Into::into)
}

fn float(value: &Value) -> f32 {
    if value.is_null() { f32::NAN } else { value.to_string().parse().unwrap() }
}

fn tokens(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Runs one recorded step and returns the answer in the recorded form.
fn step(window: &mut ContextWindow, op: &[Value]) -> Value {
    match op[0].as_str().unwrap() {
        "push" => json!(window.push(message(&op[1]), tokens(&op[2]))),
        "push_est" => {
            let message = message(&op[1]);
            let tokens = estimate_message_tokens(&message);
            window.push(message, tokens);
            json!(tokens)
        }
        "protect" => answer(window.try_protect(index(&op[1]))),
        "unprotect" => answer(window.try_unprotect(index(&op[1]))),
        "protect_recent" => json!(window.protect_recent(index(&op[1]))),
        "is_protected" => answer(window.try_is_protected(index(&op[1]))),
        "token_count" => answer(window.try_token_count(index(&op[1]))),
        "update" => answer(window.try_update_token_count(index(&op[1]), tokens(&op[2]))),
        "needs" => json!(window.needs_compaction(float(&op[1]))),
        "available" => json!(window.available()),
        "total" => json!(window.total_tokens()),
        "budget" => json!(window.input_budget()),
        "len" => json!(window.len()),
        "is_empty" => json!(window.is_empty()),
        "clear" => json!(window.clear()),
        "compact" => labels(&window.compact()),
        "force_fit" => labels(&window.force_fit()),
        other => panic!("unknown operation {other}"),
    }
}

fn replay(row: &PolicyRow) -> Value {
    let mut window = match ContextWindow::try_new(tokens(&row.input["max"]), tokens(&row.input["reserved"])) {
        Ok(window) => window,
        Err(error) => return json!({ "new": { "panic": error.to_string() } }),
    };
    let ops = row.input["ops"].as_array().unwrap();
    let results: Vec<_> = ops.iter().map(|op| step(&mut window, op.as_array().unwrap())).collect();
    let messages = window
        .iter()
        .enumerate()
        .map(|(at, message)| json!([label(message), window.token_count(at), window.is_protected(at)]));
    json!({
        "results": results,
        "total": window.total_tokens(),
        "available": window.available(),
        "budget": window.input_budget(),
        "messages": messages.collect::<Vec<_>>(),
    })
}

#[test]
fn every_recorded_window_is_equal() {
    let rows = rows("ls.window");
    for row in &rows {
        assert_eq!(replay(row), row.output, "{} {}", row.id, row.tag);
    }
    assert_eq!(rows.len(), 29);
}

/// Reads a message with blocks, which are tagged `k`.
fn block_message(value: &Value) -> Message {
    let text = |block: &Value| text_value(&block["t"]);
    let word = |block: &Value, key: &str| block[key].as_str().unwrap().to_owned();
    let block = |block: &Value| match block["k"].as_str().unwrap() {
        "text" => Block::text(text(block)),
        "image" => Block::image("image/png", text(block)),
        "reasoning" => Block::Thinking { text: text(block), signature: None },
        "call" => Block::call(word(block, "id"), word(block, "n"), block["a"].clone()),
        "result" => {
            Block::ToolResult { call_id: word(block, "id"), output: json!(text(block)), is_error: None }
        }
        other => panic!("unknown block {other}"),
    };
    let blocks: Vec<_> = value["b"].as_array().unwrap().iter().map(block).collect();
    if value["r"] == "u" { Message::user(blocks) } else { Message::assistant_blocks(blocks) }
}

#[test]
fn every_recorded_estimate_is_equal() {
    let rows = rows("ls.estimate");
    for row in &rows {
        let tokens = match &row.input["b"] {
            Value::Array(_) => estimate_message_tokens(&block_message(&row.input)),
            _ => estimate_tokens(&text_value(&row.input["t"])),
        };
        assert_eq!(row.output, tokens, "{} {}", row.id, row.tag);
    }
    assert_eq!(rows.len(), 7);
}

/// Fills a window of a budget; every message has ten tokens.
fn window(budget: u32, line: &str) -> ContextWindow {
    let mut window = ContextWindow::new(budget, 0);
    for message in script(line) {
        window.push(message, 10);
    }
    window
}

#[test]
fn protect_recent_marks_the_current_messages_for_good() {
    let mut window = window(1000, "u a");
    window.protect_recent(2);
    for message in script("u a u a u a u a u a") {
        window.push(message, 10);
    }
    assert_eq!(window.compact().len(), 10);
    assert_eq!(window.messages_owned(), script("u a"), "the two that were recent when it was called");
    let mut empty = ContextWindow::new(1000, 0);
    empty.protect_recent(2);
    empty.push(ChatMessage::user("later"), 10);
    assert!(!empty.is_protected(0));
    empty.protect_recent(usize::MAX);
    assert!(empty.is_protected(0) && empty.compact().is_empty());
    empty.protect_recent(0);
    assert!(empty.is_protected(0), "no protection is lost");
}

#[test]
fn the_buffer_reports_a_threshold() {
    let mut window = ContextWindow::new(1000, 200);
    window.push(ChatMessage::user("Hello"), 700);
    assert!(window.needs_compaction(0.8) && !window.needs_compaction(0.9));
    assert_eq!((window.input_budget(), window.available(), window.total_tokens()), (800, 100, 700));
    assert_eq!((window.max_tokens(), window.reserved_for_output()), (1000, 200));
    assert_eq!(window.messages(), [&ChatMessage::user("Hello")]);
}

#[test]
fn compact_separates_pairs_and_removes_system_texts() {
    let mut window = window(1000, "s u a:read t a");
    window.protect_recent(2);
    let removed = window.compact();
    assert!(matches!(
        removed.as_slice(),
        [Message::Custom { .. }, Message::User { .. }, Message::Assistant { .. }]
    ));
    assert!(matches!(window.messages()[0], Message::ToolResult { .. }));
}

#[test]
fn force_fit_removes_the_oldest_until_the_budget_fits() {
    let mut window = window(25, "u a u a");
    window.protect(0);
    assert_eq!(window.force_fit(), script("u a u a")[1..3]);
    window.protect_recent(2);
    window.update_token_count(0, 30);
    assert!(window.force_fit().is_empty() && window.needs_compaction(1.0));
}

#[test]
fn every_panic_has_a_twin_with_an_error() {
    let panic = |call: &mut dyn FnMut()| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        caught.downcast_ref::<String>().unwrap().clone()
    };
    let error = ContextWindow::try_new(5, 5).unwrap_err();
    assert_eq!(panic(&mut || drop(ContextWindow::new(5, 5))), error.to_string());
    let mut window = window(10, "u");
    let error = WindowError::NoMessage { index: 1, len: 1 };
    assert_eq!(window.try_protect(1), Err(error));
    assert_eq!(panic(&mut || window.protect(1)), error.to_string());
    assert_eq!(panic(&mut || window.unprotect(1)), error.to_string());
    assert_eq!(panic(&mut || assert!(window.is_protected(1))), error.to_string());
    assert_eq!(panic(&mut || assert_eq!(window.token_count(1), 0)), error.to_string());
    assert_eq!(panic(&mut || window.update_token_count(1, 0)), error.to_string());
}
