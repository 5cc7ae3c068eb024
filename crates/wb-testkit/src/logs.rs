//! Agent logs in JSON lines of any length for measurements, the same on every run.
//!
//! In each turn the user asks, and the agent reads a file of about 3 kB, edits it and reports that.
//! Every [`TURNS_SEEN`] turns the agent compacts the session if its log can record that, so the
//! visible part of a log of any length fits a window of 200,000 tokens. A log of kimi-cli is
//! visible as a whole, since that agent starts a new file instead.

use std::io::{self, Write};

use serde_json::{Value, json};

/// The log formats.
pub const LOGS: [&str; 7] = ["claude-code", "codex", "pi", "copilot-cli", "kimi-cli", "goose", "gemini-cli"];

/// The number of turns between two compactions.
pub const TURNS_SEEN: usize = 100;

/// Writes a log of `n_turns` in a format of [`LOGS`].
pub fn write_log(format: &str, n_turns: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut log = Log { format, n_turns, n_lines: 0 };
    for line in log.header() {
        log.write(line, out)?;
    }
    for nth in 0..n_turns {
        let is_compacted = nth > 0 && nth % TURNS_SEEN == 0;
        for line in is_compacted.then(|| log.compaction(nth)).into_iter().flatten() {
            log.write(line, out)?;
        }
        for line in log.turn(&Turn::new(nth)) {
            log.write(line, out)?;
        }
    }
    Ok(())
}

struct Turn {
    nth: usize,
    path: String,
    file: String,
    /// The file as the agent reads it.
    shown: String,
    edit: [String; 2],
}

impl Turn {
    fn new(nth: usize) -> Self {
        let code = |n: usize| {
            format!("    let total_{n} = parts.iter().map(|part| part.size + {nth}).sum::<usize>();\n")
        };
        let file: String = (0..40).map(code).collect();
        let shown = (0..40).flat_map(|n| [format!("{n:>6}→"), code(n)]).collect();
        Self { nth, path: format!("src/file_{nth}.rs"), file, shown, edit: [code(7), code(8)] }
    }

    fn request(&self) -> String {
        format!("look at {}", self.path)
    }

    fn reply(&self) -> String {
        format!("In {} the total is right now.", self.path)
    }

    /// Returns the calls: id, which tool, input, result.
    fn calls(&self) -> [(String, usize, Value, &str); 2] {
        let [old, new] = &self.edit;
        let edit = json!({ "path": self.path, "old_string": old, "new_string": new });
        [
            (format!("r{}", self.nth), 0, json!({ "path": self.path }), &self.shown),
            (format!("e{}", self.nth), 1, edit, "The file has been updated."),
        ]
    }
}

const TIME: &str = "2026-01-01T00:00:00.000Z";

const SUMMARY: &str = "All totals were looked at.";

struct Log<'a> {
    format: &'a str,
    n_turns: usize,
    n_lines: usize,
}

impl Log<'_> {
    /// Writes a line, with its id and that of the previous one if the format chains lines.
    fn write(&mut self, mut line: Value, out: &mut dyn Write) -> io::Result<()> {
        let keys = match self.format {
            "claude-code" => Some(("uuid", "parentUuid")),
            "pi" | "copilot-cli" => Some(("id", "parentId")),
            _ => None,
        };
        let id = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
        if let Some((key, parent)) = keys.filter(|_| line["type"] != "session") {
            let is_root = line["subtype"] == "compact_boundary" || self.n_lines == 0;
            self.n_lines += 1;
            line[key] = id(self.n_lines).into();
            line[parent] = if is_root { Value::Null } else { id(self.n_lines - 1).into() };
        }
        writeln!(out, "{line}")
    }

    fn header(&self) -> Vec<Value> {
        match self.format {
            "codex" => vec![codex("session_meta", &json!({ "id": "s", "cwd": "/app" }))],
            "pi" => {
                vec![json!({ "type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/app" })]
            }
            "copilot-cli" => vec![event("session.start", &json!({ "sessionId": "s", "version": 1 }))],
            "kimi-cli" => vec![json!({ "role": "_system_prompt", "content": "You are an agent." })],
            "goose" => vec![json!({ "working_dir": "/app", "description": "totals", "message_count": 0 })],
            "gemini-cli" => {
                vec![json!({ "sessionId": "s", "projectHash": "p", "startTime": TIME, "lastUpdated": TIME })]
            }
            _ => Vec::new(),
        }
    }

    fn compaction(&self, nth: usize) -> Vec<Value> {
        let text = |kind: &str| json!([{ "type": kind, "text": SUMMARY }]);
        match self.format {
            "claude-code" => vec![
                claude(
                    "system",
                    json!({ "subtype": "compact_boundary", "compactMetadata": { "preTokens": 150_000 } }),
                ),
                claude(
                    "user",
                    json!({ "isCompactSummary": true, "message": { "role": "user", "content": SUMMARY } }),
                ),
            ],
            "codex" => {
                let history = json!([{ "type": "message", "role": "user", "content": text("input_text") }]);
                vec![codex("compacted", &json!({ "message": "", "replacement_history": history }))]
            }
            "pi" => vec![
                json!({ "type": "compaction", "timestamp": TIME, "summary": SUMMARY, "tokensBefore": 150_000 }),
            ],
            "copilot-cli" => {
                let data =
                    json!({ "success": true, "preCompactionTokens": 150_000, "summaryContent": SUMMARY });
                vec![event("session.compaction_complete", &data)]
            }
            "gemini-cli" => {
                let summary =
                    json!({ "id": format!("s{nth}"), "timestamp": TIME, "type": "user", "content": SUMMARY });
                vec![json!({ "$set": { "messages": [summary], "lastUpdated": TIME } })]
            }
            _ => Vec::new(),
        }
    }

    fn turn(&self, turn: &Turn) -> Vec<Value> {
        match self.format {
            "claude-code" => claude_turn(turn),
            "codex" => codex_turn(turn),
            "pi" => pi_turn(turn),
            "copilot-cli" => copilot_turn(turn),
            "kimi-cli" => kimi_turn(turn),
            "goose" => goose_turn(turn, turn.nth + TURNS_SEEN >= self.n_turns),
            _ => gemini_turn(turn),
        }
    }
}

/// Returns the lines of a turn: the user's request, the lines of each call, and the agent's reply.
fn turn_lines(
    turn: &Turn,
    text: impl Fn(bool, String) -> Value,
    call: impl FnMut((String, usize, Value, &str)) -> Vec<Value>,
) -> Vec<Value> {
    let (request, reply) = (text(true, turn.request()), text(false, turn.reply()));
    [request].into_iter().chain(turn.calls().into_iter().flat_map(call)).chain([reply]).collect()
}

fn claude(kind: &str, more: Value) -> Value {
    let mut line = json!({ "type": kind, "isSidechain": false, "timestamp": TIME, "cwd": "/home/dev/app" });
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
    line
}

/// Returns the lines of a turn; as in real sessions, `toolUseResult` repeats the file before the
/// edit.
fn claude_turn(turn: &Turn) -> Vec<Value> {
    let answer = |id: String, content: Value| {
        let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": 20_000, "output_tokens": 90 });
        let message =
            json!({ "id": id, "role": "assistant", "model": "claude-x", "content": content, "usage": usage });
        claude("assistant", json!({ "message": message }))
    };
    let text_line = |is_user, text: String| {
        if is_user {
            claude("user", json!({ "message": { "role": "user", "content": text } }))
        } else {
            answer(format!("msg_{}", turn.nth), json!([{ "type": "text", "text": text }]))
        }
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let read = json!({ "file": { "filePath": turn.path, "content": turn.file, "numLines": 40 } });
        let [old, new] = &turn.edit;
        let patch = json!([{ "oldStart": 7, "newStart": 7, "lines": [old, new] }]);
        let edited = json!({ "filePath": turn.path, "originalFile": turn.file, "structuredPatch": patch });
        let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": result }]);
        let name = ["Read", "Edit"][tool];
        let call = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        let shown = [read, edited][tool].clone();
        vec![
            answer(format!("msg_{id}"), call),
            claude("progress", json!({ "data": { "type": "hook_progress", "command": "check" } })),
            claude(
                "user",
                json!({ "message": { "role": "user", "content": content }, "toolUseResult": shown }),
            ),
        ]
    })
}

fn codex(kind: &str, payload: &Value) -> Value {
    json!({ "timestamp": TIME, "type": kind, "payload": payload })
}

fn codex_turn(turn: &Turn) -> Vec<Value> {
    let text_line = |is_user, text| {
        let (role, kind) = if is_user { ("user", "input_text") } else { ("assistant", "output_text") };
        let content = json!([{ "type": kind, "text": text }]);
        codex("response_item", &json!({ "type": "message", "role": role, "content": content }))
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let (name, arguments) = (["read_file", "edit_file"][tool], input.to_string());
        let call = json!({ "type": "function_call", "name": name, "arguments": arguments, "call_id": id });
        let usage = json!({ "input_tokens": 20_000, "cached_input_tokens": 19_000, "output_tokens": 90 });
        vec![
            codex("response_item", &call),
            codex("event_msg", &json!({ "type": "token_count", "info": { "last_token_usage": usage } })),
            codex(
                "response_item",
                &json!({ "type": "function_call_output", "call_id": id, "output": result }),
            ),
        ]
    })
}

fn pi_turn(turn: &Turn) -> Vec<Value> {
    let line = |message: Value| json!({ "type": "message", "timestamp": TIME, "message": message });
    let usage = json!({ "input": 3, "output": 90, "cacheRead": 20_000, "cacheWrite": 0 });
    let answer = |content: Value| {
        line(json!({ "role": "assistant", "content": content, "model": "m", "usage": usage }))
    };
    let text_line = |is_user, text| {
        let content = json!([{ "type": "text", "text": text }]);
        if is_user { line(json!({ "role": "user", "content": content })) } else { answer(content) }
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let name = ["read", "edit"][tool];
        let content = json!([{ "type": "text", "text": result }]);
        vec![
            answer(json!([{ "type": "toolCall", "id": id, "name": name, "arguments": input }])),
            line(
                json!({ "role": "toolResult", "toolCallId": id, "toolName": name, "content": content, "isError": false }),
            ),
        ]
    })
}

fn event(kind: &str, data: &Value) -> Value {
    json!({ "type": kind, "data": data, "timestamp": TIME })
}

fn copilot_turn(turn: &Turn) -> Vec<Value> {
    let answer = |text: &str, calls: Value| {
        event(
            "assistant.message",
            &json!({ "messageId": "m", "model": "x", "content": text, "toolRequests": calls }),
        )
    };
    let text_line = |is_user, text: String| {
        if is_user {
            event("user.message", &json!({ "content": text, "attachments": [] }))
        } else {
            answer(&text, json!([]))
        }
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let name = ["view", "edit"][tool];
        let shown = json!({ "content": result, "detailedContent": turn.file });
        let call = json!([{ "toolCallId": id, "name": name, "arguments": input, "type": "function" }]);
        vec![
            answer("", call),
            event("tool.execution_start", &json!({ "toolCallId": id, "toolName": name, "arguments": input })),
            event("tool.execution_complete", &json!({ "toolCallId": id, "success": true, "result": shown })),
        ]
    })
}

fn kimi_turn(turn: &Turn) -> Vec<Value> {
    let text_line =
        |is_user, text| json!({ "role": if is_user { "user" } else { "assistant" }, "content": text });
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let name = ["ReadFile", "StrReplaceFile"][tool];
        let function = json!({ "name": name, "arguments": input.to_string() });
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        vec![
            json!({ "role": "assistant", "content": [], "tool_calls": calls }),
            json!({ "role": "_usage", "token_count": 20_000 }),
            json!({ "role": "tool", "content": result, "tool_call_id": id }),
        ]
    })
}

fn goose_turn(turn: &Turn, is_seen: bool) -> Vec<Value> {
    let line = |role: &str, content: Value| {
        let metadata = json!({ "userVisible": true, "agentVisible": is_seen });
        json!({ "role": role, "created": 1_767_225_600, "content": [content], "metadata": metadata })
    };
    let text_line = |is_user, text| {
        line(if is_user { "user" } else { "assistant" }, json!({ "type": "text", "text": text }))
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let name = ["developer__read", "developer__edit"][tool];
        let call = json!({ "status": "success", "value": { "name": name, "arguments": input } });
        let value = json!({ "status": "success", "value": [{ "type": "text", "text": result }] });
        vec![
            line("assistant", json!({ "type": "toolRequest", "id": id, "toolCall": call })),
            line("user", json!({ "type": "toolResponse", "id": id, "toolResult": value })),
        ]
    })
}

fn gemini_turn(turn: &Turn) -> Vec<Value> {
    let tokens =
        json!({ "input": 20_000, "output": 90, "cached": 19_000, "thoughts": 0, "tool": 0, "total": 20_090 });
    let answer = |id: &str, text: &str| json!({ "id": id, "timestamp": TIME, "type": "gemini", "content": text, "thoughts": [], "tokens": tokens, "model": "m" });
    let nth = turn.nth;
    let text_line = |is_user, text: String| {
        if is_user {
            json!({ "id": format!("u{nth}"), "timestamp": TIME, "type": "user", "content": [{ "text": text }] })
        } else {
            answer(&format!("g{nth}"), &text)
        }
    };
    turn_lines(turn, text_line, |(id, tool, input, result)| {
        let name = ["read_file", "replace"][tool];
        let response =
            json!({ "functionResponse": { "id": id, "name": name, "response": { "output": result } } });
        let call = json!({ "id": id, "name": name, "args": input, "result": [response], "status": "success", "resultDisplay": turn.file });
        // The agent writes an answer again when its calls are answered.
        let mut whole = answer(&format!("g{id}"), "");
        whole["toolCalls"] = json!([call]);
        vec![answer(&format!("g{id}"), ""), whole]
    })
}
