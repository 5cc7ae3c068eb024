//! Calls without a result in each format: one, two and three of them, at the end and before a
//! prompt, alone and next to an answered one.

use serde_json::{Value, json};
use wb_formats::{FORMATS, Format, SentAs};
use wb_message::block::shown_text;
use wb_message::{Message, Pairing};

use crate::damage::corrupted::written;
use crate::support::{claude::lines, open};

/// The calls of one answer, and which of them have a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) answered: &'static [bool],
    /// Set if nothing follows; otherwise the user continues.
    pub(crate) is_end: bool,
}

const ANSWERED: [&[bool]; 6] =
    [&[false], &[false, false], &[false, false, false], &[true, false], &[false, true], &[true, false, true]];

const ID: [&str; 3] = ["call_1", "call_2", "call_3"];

const NAME: &str = "ls";

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        ANSWERED.into_iter().flat_map(|answered| [true, false].map(|is_end| Self { answered, is_end }))
    }

    /// Returns the ids of the calls, each with whether it is answered.
    fn calls(self) -> impl Iterator<Item = (&'static str, bool)> {
        ID.into_iter().zip(self.answered.iter().copied())
    }

    /// Returns what each call becomes.
    fn each(self, call: impl Fn(&str) -> Value) -> Vec<Value> {
        self.calls().map(|(id, _)| call(id)).collect()
    }

    /// Returns a session: a prompt, the records of an answer, those of its results, and what the
    /// user says then.
    fn session(
        self,
        user: impl Fn(&str) -> Value,
        answer: impl IntoIterator<Item = Value>,
        result: impl Fn(&str) -> Value,
    ) -> Vec<Value> {
        let mut all = vec![user("Look.")];
        all.extend(answer);
        all.extend(self.calls().filter(|(_, is_answered)| *is_answered).map(|(id, _)| result(id)));
        all.extend((!self.is_end).then(|| user("Go on.")));
        all
    }

    /// Returns a session of messages as the chat completions have them.
    fn chat(self, text: impl Fn(&str) -> Value) -> Vec<Value> {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": NAME, "arguments": "{}" } });
        self.session(
            |said| json!({ "role": "user", "content": text(said) }),
            [json!({ "role": "assistant", "content": text("I look."), "tool_calls": self.each(call) })],
            |id| json!({ "role": "tool", "tool_call_id": id, "name": NAME, "content": text("a.rs") }),
        )
    }

    /// Returns a session of messages as Anthropic has them.
    fn anthropic(self) -> Vec<Value> {
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": NAME, "input": {} });
        self.session(
            |said| json!({ "role": "user", "content": [{ "type": "text", "text": said }] }),
            [json!({ "role": "assistant", "content": self.each(call) })],
            |id| json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "a.rs" }] }),
        )
    }

    /// Returns a session of contents as Gemini has them.
    fn gemini(self) -> Vec<Value> {
        let call = |id: &str| json!({ "functionCall": { "id": id, "name": NAME, "args": {} } });
        let result = |id: &str| json!({ "functionResponse": { "id": id, "name": NAME, "response": { "output": "a.rs" } } });
        self.session(
            |said| json!({ "role": "user", "parts": [{ "text": said }] }),
            [json!({ "role": "model", "parts": self.each(call) })],
            |id| json!({ "role": "user", "parts": [result(id)] }),
        )
    }

    /// Returns a session of items as the responses have them.
    fn items(self) -> Vec<Value> {
        self.session(
            |said| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": said }] }),
            self.each(|id| json!({ "type": "function_call", "call_id": id, "name": NAME, "arguments": "{}" })),
            |id| json!({ "type": "function_call_output", "call_id": id, "output": "a.rs" }),
        )
    }

    fn pi(self) -> Vec<Value> {
        let call = |id: &str| json!({ "type": "toolCall", "id": id, "name": NAME, "arguments": {} });
        let text = |said: &str| json!([{ "type": "text", "text": said }]);
        let messages = self.session(
            |said| json!({ "role": "user", "content": said }),
            [json!({ "role": "assistant", "content": self.each(call), "stopReason": "toolUse" })],
            |id| json!({ "role": "toolResult", "toolCallId": id, "toolName": NAME, "content": text("a.rs"), "isError": false }),
        );
        messages.into_iter().map(|message| json!({ "type": "message", "message": message })).collect()
    }

    /// Returns the answer of Gemini CLI, whose results are in the calls.
    fn gemini_cli(self) -> Vec<Value> {
        let result = |id: &str| json!([{ "functionResponse": { "id": id, "name": NAME, "response": { "output": "a.rs" } } }]);
        let call = |(id, is_answered): (&str, bool)| {
            let mut call = json!({ "id": id, "name": NAME, "args": {}, "status": "success" });
            if is_answered {
                call["result"] = result(id);
            }
            call
        };
        let calls: Vec<Value> = self.calls().map(call).collect();
        let all = Self { answered: &[], ..self }.session(
            |said| json!({ "type": "user", "content": said }),
            [json!({ "type": "gemini", "content": "", "toolCalls": calls })],
            |_| Value::Null,
        );
        numbered(all, |nth| json!({ "id": format!("m{nth}"), "timestamp": TIME }))
    }

    /// Returns the messages of opencode, whose results are in the calls.
    fn opencode(self) -> Vec<Value> {
        let done = json!({ "status": "completed", "input": {}, "output": "a.rs" });
        let state = |is_answered: bool| {
            if is_answered { done.clone() } else { json!({ "status": "pending", "input": {}, "raw": "" }) }
        };
        let call = |(id, is_answered): (&str, bool)| json!({ "type": "tool", "tool": NAME, "callID": id, "id": format!("prt_{id}"), "state": state(is_answered) });
        let user = |said: &str| json!({ "info": { "role": "user" }, "parts": [{ "type": "text", "text": said, "id": format!("prt_{said}") }] });
        let answer =
            json!({ "info": { "role": "assistant" }, "parts": self.calls().map(call).collect::<Vec<_>>() });
        let mut all = Self { answered: &[], ..self }.session(user, [answer], |_| Value::Null);
        for (nth, message) in all.iter_mut().enumerate() {
            message["info"]["id"] = format!("msg_{nth}").into();
            message["info"]["time"] = json!({ "created": 1000 + nth });
        }
        all
    }

    fn copilot(self) -> Vec<Value> {
        let call = |id: &str| json!({ "toolCallId": id, "name": NAME, "arguments": {}, "type": "function" });
        let event = |kind: &str, data: Value| json!({ "type": kind, "data": data, "timestamp": TIME });
        self.session(
            |said| event("user.message", json!({ "content": said })),
            [event(
                "assistant.message",
                json!({ "messageId": "m", "content": "", "toolRequests": self.each(call) }),
            )],
            |id| {
                let result = json!({ "content": "a.rs" });
                event(
                    "tool.execution_complete",
                    json!({ "toolCallId": id, "success": true, "result": result }),
                )
            },
        )
    }

    fn goose(self) -> Vec<Value> {
        let call = |id: &str| json!({ "type": "toolRequest", "id": id, "toolCall": { "status": "success", "value": { "name": NAME, "arguments": {} } } });
        let value = json!([{ "type": "text", "text": "a.rs" }]);
        let result = |id: &str| json!({ "type": "toolResponse", "id": id, "toolResult": { "status": "success", "value": value } });
        self.session(
            |said| json!({ "role": "user", "created": 1, "content": [{ "type": "text", "text": said }] }),
            [json!({ "role": "assistant", "created": 2, "content": self.each(call) })],
            |id| json!({ "role": "user", "created": 3, "content": [result(id)] }),
        )
    }

    /// Returns the events of `OpenHands`: each call is one.
    fn openhands(self) -> Vec<Value> {
        let call = |id: &str| json!({ "id": id, "function": { "name": "execute_bash", "arguments": "{}" } });
        let answer = json!({ "id": "r1", "model": "m", "choices": [{ "message": { "role": "assistant", "content": "", "tool_calls": self.each(call) } }] });
        let about = |id: &str| json!({ "function_name": "execute_bash", "tool_call_id": id });
        let action = |id: &str| {
            let mut about = about(id);
            about["model_response"] = answer.clone();
            json!({ "source": "agent", "action": "run", "args": { "command": NAME, "thought": "" }, "tool_call_metadata": about })
        };
        let all = self.session(
            |said| json!({ "source": "user", "action": "message", "args": { "content": said } }),
            self.each(action),
            |id| json!({ "source": "agent", "observation": "run", "content": "a.rs", "tool_call_metadata": about(id) }),
        );
        numbered(all, |nth| json!({ "id": nth, "timestamp": "2026-01-01T00:00:00" }))
    }

    fn kimi_code(self) -> Vec<Value> {
        let event = |event: Value| json!({ "type": "context.append_loop_event", "event": event, "time": 1 });
        let call = |id: &str| {
            event(
                json!({ "type": "tool.call", "uuid": format!("t_{id}"), "stepUuid": "s", "toolCallId": id, "name": NAME, "args": {} }),
            )
        };
        let begin = event(json!({ "type": "step.begin", "uuid": "s", "turnId": "0", "step": 1 }));
        let mut all = vec![json!({ "type": "metadata", "protocol_version": "1.4", "created_at": 1 })];
        all.extend(self.session(
            |said| {
                let content = json!([{ "type": "text", "text": said }]);
                let message = json!({ "role": "user", "content": content, "toolCalls": [], "origin": { "kind": "user" } });
                json!({ "type": "context.append_message", "message": message, "time": 1 })
            },
            [begin].into_iter().chain(self.each(call)),
            |id| event(json!({ "type": "tool.result", "parentUuid": format!("t_{id}"), "toolCallId": id, "result": { "output": "a.rs" } })),
        ));
        all
    }

    fn swe_agent(self) -> Vec<Value> {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": NAME, "arguments": "{}" } });
        let of = |kind: &str, role: &str, said: &str| json!({ "message_type": kind, "role": role, "content": said, "agent": "main" });
        let mut answer = of("action", "assistant", "I look.");
        answer["tool_calls"] = self.each(call).into();
        let mut all = vec![of("system_prompt", "system", "You are a programmer.")];
        all.extend(self.session(
            |said| of("observation", "user", said),
            [answer],
            |id| {
                let mut result = of("observation", "tool", "a.rs");
                result["tool_call_ids"] = json!([id]);
                result
            },
        ));
        all
    }

    fn inspect(self) -> Vec<Value> {
        let call = |id: &str| json!({ "id": id, "function": NAME, "arguments": {} });
        let all = self.session(
            |said| json!({ "role": "user", "content": said }),
            [json!({ "role": "assistant", "content": "I look.", "tool_calls": self.each(call) })],
            |id| json!({ "role": "tool", "content": "a.rs", "tool_call_id": id, "function": NAME }),
        );
        numbered(all, |nth| json!({ "id": format!("m{nth}") }))
    }

    fn ai_sdk(self) -> Vec<Value> {
        let call = |id: &str| json!({ "type": "tool-call", "toolCallId": id, "toolName": NAME, "input": {} });
        let output = json!({ "type": "text", "value": "a.rs" });
        let result =
            |id: &str| json!({ "type": "tool-result", "toolCallId": id, "toolName": NAME, "output": output });
        self.session(
            |said| json!({ "role": "user", "content": said }),
            [json!({ "role": "assistant", "content": self.each(call) })],
            |id| json!({ "role": "tool", "content": [result(id)] }),
        )
    }

    fn pydantic(self) -> Vec<Value> {
        let call = |id: &str| json!({ "tool_name": NAME, "args": "{}", "tool_call_id": id, "part_kind": "tool-call" });
        let request = |part: Value| json!({ "parts": [part], "kind": "request" });
        self.session(
            |said| request(json!({ "content": said, "timestamp": TIME, "part_kind": "user-prompt" })),
            [json!({ "parts": self.each(call), "kind": "response", "model_name": "m", "timestamp": TIME })],
            |id| request(json!({ "tool_name": NAME, "content": "a.rs", "tool_call_id": id, "timestamp": TIME, "part_kind": "tool-return" })),
        )
    }

    fn langchain(self) -> Vec<Value> {
        let call = |id: &str| json!({ "name": NAME, "args": {}, "id": id, "type": "tool_call" });
        let answer = json!({ "content": "I look.", "type": "ai", "tool_calls": self.each(call) });
        self.session(
            |said| json!({ "type": "human", "data": { "content": said, "type": "human" } }),
            [json!({ "type": "ai", "data": answer })],
            |id| json!({ "type": "tool", "data": { "content": "a.rs", "type": "tool", "tool_call_id": id, "status": "success" } }),
        )
    }

    fn otel(self) -> Vec<Value> {
        let text = |said: &str| json!({ "type": "text", "content": said });
        let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": NAME, "arguments": {} });
        self.session(
            |said| json!({ "role": "user", "parts": [text(said)] }),
            [json!({ "role": "assistant", "parts": self.each(call) })],
            |id| json!({ "role": "tool", "parts": [{ "type": "tool_call_response", "id": id, "response": "a.rs" }] }),
        )
    }

    /// Results are in the step of their calls.
    fn atif(self) -> Vec<Value> {
        let call = |id: &str| json!({ "tool_call_id": id, "function_name": NAME, "arguments": {} });
        let result = |id: &str| json!({ "source_call_id": id, "content": "a.rs" });
        let results = self.calls().filter(|(_, is_answered)| *is_answered).map(|(id, _)| result(id));
        let mut answer = json!({ "source": "agent", "message": "I look.", "tool_calls": self.each(call) });
        answer["observation"] = json!({ "results": results.collect::<Vec<_>>() });
        let user = |said: &str| json!({ "source": "user", "message": said });
        let steps = [user("Look."), answer].into_iter().chain((!self.is_end).then(|| user("Go on.")));
        numbered(steps.collect(), |nth| json!({ "step_id": nth + 1 }))
    }

    fn native(self) -> Vec<Value> {
        let call = |id: &str| json!({ "kind": "tool_call", "id": id, "name": NAME, "input": {} });
        self.session(
            |said| json!({ "role": "user", "content": said }),
            [json!({ "role": "assistant", "content": self.each(call) })],
            |id| json!({ "role": "toolResult", "toolCallId": id, "toolName": NAME, "content": [{ "kind": "text", "text": "a.rs" }] }),
        )
    }
}

const TIME: &str = "2026-01-01T00:00:00.000Z";

/// Adds members to each record by its number.
fn numbered(records: Vec<Value>, members: impl Fn(usize) -> Value) -> Vec<Value> {
    let each = |(nth, mut record): (usize, Value)| {
        let Value::Object(members) = members(nth) else { return record };
        members.into_iter().for_each(|(key, value)| record[key] = value);
        record
    };
    records.into_iter().enumerate().map(each).collect()
}

/// Adds an id to each record, and that of the one before it.
fn chained(records: Vec<Value>, id: &str, parent: &str) -> Vec<Value> {
    numbered(records, |nth| {
        let before = nth.checked_sub(1).map(|before| format!("e{before}"));
        json!({ id: format!("e{nth}"), parent: before })
    })
}

fn with_head(head: Value, mut records: Vec<Value>) -> Vec<u8> {
    records.insert(0, head);
    lines(&records)
}

fn object(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Returns a session of a format; `None` for a format without one here, whose composed files are
/// broken in [`corrupted`](super::corrupted) all the same.
pub(crate) fn composed(format: &str, case: Case) -> Option<Vec<u8>> {
    let plain = |text: &str| Value::from(text);
    let parts = |text: &str| json!([{ "type": "text", "text": text }]);
    Some(match format {
        "pi" => with_head(
            json!({ "type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/w" }),
            chained(case.pi(), "id", "parentId"),
        ),
        "claude-code" => {
            let line =
                |message: Value| json!({ "type": message["role"], "isSidechain": false, "message": message });
            lines(&chained(case.anthropic().into_iter().map(line).collect(), "uuid", "parentUuid"))
        }
        "codex" => {
            let line = |item: Value| json!({ "timestamp": TIME, "type": "response_item", "payload": item });
            let meta = json!({ "id": "s", "timestamp": TIME, "cwd": "/w", "originator": "o", "cli_version": "0.1.0" });
            let head = json!({ "timestamp": TIME, "type": "session_meta", "payload": meta });
            with_head(head, case.items().into_iter().map(line).collect())
        }
        "opencode" => {
            object(&json!({ "info": { "id": "ses_1", "directory": "/w" }, "messages": case.opencode() }))
        }
        "gemini-cli" => {
            with_head(json!({ "sessionId": "s", "projectHash": "p", "startTime": TIME }), case.gemini_cli())
        }
        "copilot-cli" => {
            let start = json!({ "type": "session.start", "data": { "sessionId": "s", "version": 1, "producer": "copilot-agent" }, "timestamp": TIME });
            lines(&chained([vec![start], case.copilot()].concat(), "id", "parentId"))
        }
        "goose" => with_head(json!({ "working_dir": "/src", "description": "notes" }), case.goose()),
        "gemini-contents" => object(&json!({ "contents": case.gemini() })),
        "qwen-code" => {
            let kind = |content: &Value| match &content["parts"][0] {
                part if part.get("functionResponse").is_some() => "tool_result",
                _ if content["role"] == "model" => "assistant",
                _ => "user",
            };
            let line = |content: Value| json!({ "sessionId": "s", "timestamp": TIME, "type": kind(&content), "cwd": "/w", "version": "0.9.0", "message": content });
            lines(&chained(case.gemini().into_iter().map(line).collect(), "uuid", "parentUuid"))
        }
        "openai-responses" => object(&json!({ "model": "m", "input": case.items() })),
        "mini-swe-agent" => object(
            &json!({ "info": {}, "messages": case.chat(plain), "trajectory_format": "mini-swe-agent-1.1" }),
        ),
        "openhands-llm-completions" => {
            let response = json!({ "id": "r", "model": "m", "choices": [{ "message": { "role": "assistant", "content": "Done." } }] });
            object(
                &json!({ "messages": case.chat(parts), "response": response, "args": [], "kwargs": {}, "timestamp": 1.5 }),
            )
        }
        "openhands-events" => object(&case.openhands().into()),
        "cline" => object(
            &json!({ "version": 1, "updated_at": TIME, "agent": "lead", "sessionId": "s", "messages": numbered(case.anthropic(), |nth| json!({ "id": format!("msg_{nth}"), "ts": 1 })) }),
        ),
        "droid" => {
            let line = |message: Value| json!({ "type": "message", "message": message });
            let records = case.anthropic().into_iter().map(line).collect();
            with_head(
                json!({ "type": "session_start", "id": "d", "version": "0.81.0" }),
                numbered(records, |nth| json!({ "id": format!("m{nth}") })),
            )
        }
        "kimi-cli" => with_head(json!({ "role": "_system_prompt", "content": "Work." }), case.chat(plain)),
        "kimi-code" => lines(&case.kimi_code()),
        "swe-agent" => object(
            &json!({ "environment": "main", "trajectory": [], "history": case.swe_agent(), "info": {} }),
        ),
        "tau-bench" => object(
            &json!([{ "task_id": 0, "reward": 1.0, "trial": 0, "info": {}, "traj": case.chat(plain) }]),
        ),
        "inspect-ai" => {
            let sample =
                json!({ "id": "a", "epoch": 1, "messages": case.inspect(), "output": {}, "events": [] });
            object(
                &json!({ "version": 2, "status": "success", "eval": { "model": "m" }, "plan": {}, "results": {}, "stats": {}, "samples": [sample] }),
            )
        }
        "atif" => object(
            &json!({ "schema_version": "ATIF-v1.7", "agent": { "name": "a", "version": "1" }, "steps": case.atif() }),
        ),
        "ai-sdk" => object(&case.ai_sdk().into()),
        "pydantic-ai" => object(&case.pydantic().into()),
        "langchain" => object(&case.langchain().into()),
        "otel-genai" => object(&case.otel().into()),
        "langfuse" => object(
            &json!([{ "type": "GENERATION", "traceId": "t", "input": case.chat(plain), "output": null }]),
        ),
        "langsmith" => lines(&[
            json!({ "run_type": "llm", "trace_id": "t", "inputs": { "messages": case.chat(plain) } }),
        ]),
        "anthropic-messages" => {
            object(&json!({ "model": "m", "max_tokens": 9, "messages": case.anthropic() }))
        }
        "openai-chat" => object(&json!({ "model": "m", "messages": case.chat(plain) })),
        "native" => lines(&case.native()),
        _ => return None,
    })
}

/// Returns the error of a session's repair.
fn wrong(format: &dyn Format, case: Case) -> Option<String> {
    let (refusal, format) = (format.abilities().fold_head.why_not(), format.name());
    let bytes = composed(format, case)?;
    let before = match open(&bytes) {
        Ok(view) if view.format == format => view,
        other => return Some(format!("read as {:?}", other.map(|view| view.format))),
    };
    let sent = SentAs::from_view(&before);
    let is_found = !sent.violations(&before.messages).is_empty();
    let is_put_right = sent.n_answered(&before.messages) > 0 || format == "opencode";
    match (written(&bytes), refusal) {
        _ if !is_found && !is_put_right => Some("not found".to_owned()),
        (Err(why), Some(known)) if why.contains(known) => None,
        (Err(why), _) => Some(why),
        (Ok(_), Some(_)) => Some("written".to_owned()),
        (Ok((_, is_written)), _) if is_written != is_found => Some(format!("{is_written}, found {is_found}")),
        (Ok((now, _)), _) => {
            let left = SentAs::from_view(&now).violations(&now.messages);
            let is_open =
                !Pairing::new(&now.messages).dangling().is_empty() && sent.n_answered(&now.messages) == 0;
            (is_open || !left.is_empty()).then(|| format!("left: {left:?}"))
        }
    }
}

#[test]
fn calls_without_a_result_are_answered_in_each_format_or_refused_by_name() {
    let all = FORMATS.iter().map(|row| row.format).flat_map(|it| Case::all().map(move |case| (it, case)));
    let wrong = all.filter_map(|(it, case)| Some(format!("{} {case:?}: {}", it.name(), wrong(it, case)?)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_result_before_its_call_answers_it_and_codex_answers_open_calls_itself() {
    let item = |payload: Value| json!({ "timestamp": "2026-03-01T09:00:01Z", "type": "response_item", "payload": payload });
    let user = item(
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Look." }] }),
    );
    let call = |id: &str| {
        item(json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": id }))
    };
    let output = item(json!({ "type": "function_call_output", "call_id": "c1", "output": "a.rs" }));
    let bytes = lines(&[user.clone(), call("c1"), user.clone()]);
    let (view, sent) = (open(&bytes).unwrap(), SentAs::from_format("codex", None));
    assert_eq!((sent.violations(&view.messages), sent.n_answered(&view.messages)), (Vec::new(), 1));
    assert!(!written(&bytes).unwrap().1);

    let repaired = written(&lines(&[user.clone(), output, call("c1"), call("c2"), user])).unwrap().0.messages;
    let bodies: Vec<_> = repaired.iter().filter(|it| matches!(it, Message::ToolResult { .. })).collect();
    let [Message::ToolResult { tool_call_id, content, .. }] = bodies[..] else { panic!("{repaired:?}") };
    assert_eq!((tool_call_id.as_str(), shown_text(content).as_ref()), ("c1", "a.rs"));
    assert_eq!(sent.violations(&repaired), [], "{repaired:?}");

    let event = |kind: &str, data: Value| json!({ "type": kind, "data": data, "timestamp": TIME });
    let request = json!({ "toolCallId": "c1", "name": NAME, "arguments": {}, "type": "function" });
    let events = [
        event("session.start", json!({ "sessionId": "s", "version": 1, "producer": "copilot-agent" })),
        event("user.message", json!({ "content": "Look." })),
        event(
            "tool.execution_complete",
            json!({ "toolCallId": "c1", "success": true, "result": { "content": "a.rs" } }),
        ),
        event("assistant.message", json!({ "messageId": "m", "content": "", "toolRequests": [request] })),
    ];
    let repaired = written(&lines(&chained(events.into(), "id", "parentId"))).unwrap().0.messages;
    let [.., Message::ToolResult { content, .. }] = repaired.as_slice() else { panic!("{repaired:?}") };
    assert_eq!(shown_text(content).as_ref(), "a.rs");
}
