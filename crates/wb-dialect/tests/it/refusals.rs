//! Each kind of violation, made from a valid request, is found and repaired.

use proptest::prelude::*;
use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest, RULES, encode, repair, validate};
use wb_message::{Block, Conversation, Message, ToolDescriptor};

/// The model's answers: whether each has a text, and its number of calls.
fn answers() -> impl Strategy<Value = Vec<(bool, usize)>> {
    prop::collection::vec((any::<bool>(), 0..4_usize), 2..7)
}

/// A transcript that every provider accepts. Its first answer makes two calls.
fn transcript(answers: &[(bool, usize)]) -> Vec<Message> {
    let mut messages = vec![Message::user("Go.")];
    for (nth, (speaks, n_calls)) in [(true, 2)].iter().chain(answers).enumerate() {
        let ids: Vec<String> = (0..*n_calls).map(|call| format!("call_{nth}_{call}")).collect();
        let said = (*speaks || ids.is_empty()).then(|| Block::text(format!("Step {nth}.")));
        let calls = ids.iter().map(|id| Block::call(id, "read", json!({ "path": id })));
        messages.push(Message::assistant_blocks(said.into_iter().chain(calls).collect()));
        messages.extend(ids.iter().map(|id| Message::tool_result(id, "read", format!("body of {id}"))));
        if ids.is_empty() || *speaks {
            messages.push(Message::user(format!("Prompt {nth}.")));
        }
    }
    messages.push(Message::user("And now?"));
    messages
}

/// A request to break.
struct Target {
    dialect: Dialect,
    body: Value,
    pick: usize,
}

impl Target {
    fn messages(&mut self) -> &mut Vec<Value> {
        self.body[self.dialect.messages_key()].as_array_mut().expect("messages")
    }

    /// Returns the picked one of the matching parts: its message, and its index there.
    fn picked(&mut self, matches: fn(&Value) -> bool) -> (usize, Option<usize>) {
        let pick = self.pick;
        let mut found = Vec::new();
        for (at, message) in self.messages().iter().enumerate() {
            found.extend(matches(message).then_some((at, None)));
            for key in ["content", "parts", "tool_calls"] {
                let parts = message[key].as_array().into_iter().flatten().enumerate();
                found.extend(parts.filter(|(_, part)| matches(part)).map(|(nth, _)| (at, Some(nth))));
            }
        }
        found[pick % found.len()]
    }

    fn part(&mut self, (at, nth): (usize, Option<usize>)) -> &mut Value {
        let message = &mut self.messages()[at];
        let Some(nth) = nth else { return message };
        let keys = ["tool_calls", "parts", "content"];
        let key = keys.into_iter().find(|key| message[*key].as_array().is_some_and(|list| nth < list.len()));
        &mut message[key.expect("a list")][nth]
    }

    fn remove(&mut self, (at, nth): (usize, Option<usize>)) -> Value {
        let Some(nth) = nth else { return self.messages().remove(at) };
        let message = &mut self.messages()[at];
        let key = if message["parts"].is_array() { "parts" } else { "content" };
        message[key].as_array_mut().expect("a list").remove(nth)
    }

    /// Appends a part to the last message, or a message to the request.
    fn append(&mut self, part: Value) {
        let is_message = matches!(self.dialect, Dialect::OpenaiChat | Dialect::OpenaiResponses);
        let messages = self.messages();
        if is_message {
            return messages.push(part);
        }
        let last = messages.last_mut().expect("a message");
        let key = if last["parts"].is_array() { "parts" } else { "content" };
        last[key].as_array_mut().expect("a list").push(part);
    }

    fn message(&self, role: &str, text: &str) -> Value {
        match (self.dialect, role) {
            (Dialect::Gemini, "assistant") => json!({ "role": "model", "parts": [{ "text": text }] }),
            (Dialect::Gemini, _) => json!({ "role": "user", "parts": [{ "text": text }] }),
            _ => json!({ "role": role, "content": [{ "type": "text", "text": text }] }),
        }
    }

    fn result(&self, id: &str) -> Value {
        match self.dialect {
            Dialect::Anthropic => json!({ "type": "tool_result", "tool_use_id": id, "content": "x" }),
            Dialect::OpenaiChat => json!({ "role": "tool", "tool_call_id": id, "content": "x" }),
            Dialect::OpenaiResponses => {
                json!({ "type": "function_call_output", "call_id": id, "output": "x" })
            }
            Dialect::Gemini => {
                json!({ "functionResponse": { "id": id, "name": "lost", "response": { "output": "x" } } })
            }
        }
    }

    /// Replaces all occurrences of a text.
    fn replace(&mut self, old: &str, new: &str) {
        let text = self.body.to_string().replace(old, new);
        self.body = serde_json::from_str(&text).expect("JSON");
    }

    fn break_rule(&mut self, rule: &str) {
        match rule {
            "call-unanswered" => {
                let result = self.picked(is_result);
                self.remove(result);
            }
            "role-missing" => {
                self.pick = 0;
                let call = self.picked(is_call);
                let at = if self.dialect == Dialect::OpenaiResponses { 0 } else { call.0 };
                self.messages()[at].as_object_mut().expect("a message").remove("role");
            }
            "role-unknown" => self.messages()[0]["role"] = json!("human"),
            "result-nameless" => {
                let result = self.picked(is_result);
                let is_gemini = self.dialect == Dialect::Gemini;
                let part = self.part(result);
                let result = if is_gemini { &mut part["functionResponse"] } else { part };
                for key in ["tool_use_id", "tool_call_id", "call_id", "id"] {
                    result.as_object_mut().expect("a result").remove(key);
                }
                if is_gemini {
                    result["name"] = json!("");
                }
            }
            "result-orphan" => self.append(self.result("lost")),
            "result-misplaced" if self.dialect == Dialect::OpenaiResponses => {
                let result = self.picked(is_result);
                let result = self.remove(result);
                self.messages().insert(0, result);
            }
            "result-misplaced" => {
                self.pick = 0;
                let result = self.picked(is_result);
                let result = self.remove(result);
                self.append(result);
            }
            "result-repeated" => {
                let (at, nth) = self.picked(is_result);
                let copy = self.part((at, nth)).clone();
                match nth {
                    None => self.messages().insert(at + 1, copy),
                    Some(nth) => {
                        let message = &mut self.messages()[at];
                        let key = if message["parts"].is_array() { "parts" } else { "content" };
                        message[key].as_array_mut().expect("a list").insert(nth + 1, copy);
                    }
                }
            }
            "results-first" => {
                self.pick = 0;
                let (at, _) = self.picked(is_result);
                let text = json!({ "type": "text", "text": "Results:" });
                self.messages()[at]["content"].as_array_mut().expect("a list").insert(0, text);
            }
            "response-object" => {
                let result = self.picked(is_result);
                self.part(result)["functionResponse"]["response"] = json!(["x"]);
            }
            "call-repeated" => self.replace("call_0_1", "call_0_0"),
            "call-id-shape" => {
                let bad = format!("functions.read:0{}", "x".repeat(60));
                self.replace("\"call_0_1\"", &format!("\"{bad}\""));
            }
            _ => self.break_wording_rule(rule),
        }
    }

    fn break_wording_rule(&mut self, rule: &str) {
        match rule {
            "call-arguments" => {
                let call = self.picked(is_call);
                match self.dialect {
                    Dialect::Anthropic => self.part(call)["input"] = json!("ls"),
                    Dialect::OpenaiChat => self.part(call)["function"]["arguments"] = json!({ "a": 1 }),
                    Dialect::OpenaiResponses => self.part(call)["arguments"] = json!({ "a": 1 }),
                    Dialect::Gemini => self.part(call)["functionCall"]["args"] = json!([1]),
                }
            }
            "call-untyped" => {
                let call = self.picked(is_call);
                self.part(call).as_object_mut().expect("a call").remove("type");
            }
            "item-repeated" => {
                let pick = self.pick;
                let items = self.messages();
                let n_items = items.len();
                items[pick % (n_items - 1)]["id"] = json!("item_1");
                items[n_items - 1]["id"] = json!("item_1");
            }
            "call-last" => self.insert_into_answer(usize::MAX, json!({ "type": "text", "text": "There." })),
            "thinking-unsigned" => {
                self.insert_into_answer(0, json!({ "type": "thinking", "thinking": "Hm." }));
            }
            "thinking-textless" => {
                self.insert_into_answer(0, json!({ "type": "thinking", "signature": "s" }));
            }
            "text-blank" => self.insert_into_answer(0, json!({ "type": "text", "text": "\n " })),
            "thinking-first" | "thought-signature" => {
                self.pick = 0;
                let (at, _) = self.picked(is_result);
                self.messages().truncate(at + 1);
                self.body["thinking"] = json!({ "type": "enabled" });
                self.body["model"] = json!("gemini-3-pro");
            }
            "reasoning-alone" => {
                let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
                self.messages().push(item);
            }
            "message-empty" if self.dialect == Dialect::Gemini => {
                self.messages().push(json!({ "role": "model", "parts": [] }));
            }
            "message-empty" => self.messages().insert(0, json!({ "role": "user", "content": null })),
            "request-empty" => self.messages().clear(),
            "encrypted-content" => {
                self.messages()
                    .insert(1, json!({ "type": "compaction", "encrypted_content": { "data": "g" } }));
            }
            "reasoning-content" => {
                let content = json!([{ "type": "reasoning_text", "text": "Hm." }]);
                let item = json!({ "type": "reasoning", "summary": [], "content": content, "encrypted_content": "g" });
                self.messages().insert(1, item);
            }
            "alternation" => {
                let more = self.message("user", "Quick!");
                self.messages().push(more);
            }
            "user-first" => {
                let (call, result) =
                    (json!({ "functionCall": { "name": "ls", "args": {} } }), self.result(""));
                let mut first = self.message("assistant", "Hello.");
                if self.dialect == Dialect::Gemini {
                    first["parts"] = json!([call]);
                    let mut answer = json!({ "role": "user", "parts": [result] });
                    answer["parts"][0]["functionResponse"] = json!({ "name": "ls", "response": {} });
                    let next = self.message("assistant", "Well.");
                    self.messages().splice(0..0, [first, answer, next]);
                } else {
                    self.messages().insert(0, first);
                }
            }
            "user-last" => {
                let last = self.message("assistant", "Bye.");
                self.messages().push(last);
            }
            "tool-name" if self.pick.is_multiple_of(2) => self.replace("\"read\"", "\"fs/read\""),
            "tool-name" => {
                let parameters = json!({ "type": "object" });
                let tools =
                    [ToolDescriptor { name: "fs/read".into(), description: "Reads.".into(), parameters }];
                let offered = Conversation { tools: Some(tools.into()), ..Conversation::default() };
                self.body["tools"] = encode(&offered, self.dialect)["tools"].clone();
            }
            "cache-breakpoints" => {
                let blocks = (0..5).map(
                    |_| json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }),
                );
                blocks.for_each(|block| self.append(block));
            }
            _ => self.break_block_rule(rule),
        }
    }

    fn break_block_rule(&mut self, rule: &str) {
        match rule {
            "server-call-unanswered" => {
                let call =
                    json!({ "type": "server_tool_use", "id": "s2", "name": "web_search", "input": {} });
                self.insert_into_answer(0, call);
                let (prompt, answer) = (self.message("user", "And?"), self.message("assistant", "Done."));
                let next = self.message("user", "Thanks.");
                self.messages().extend([prompt, answer, next]);
            }
            "compaction-alone" => {
                self.body["compaction"] = json!({ "type": "summarize" });
                self.body["context_management"] = json!({ "edits": [] });
            }
            "tool-reference" => {
                self.body["tools"] = json!([{ "name": "read", "input_schema": { "type": "object" } }]);
                let result = self.picked(is_result);
                self.part(result)["content"] = json!([{ "type": "tool_reference", "tool_name": "lost" }]);
            }
            "tool-deferred" => {
                self.body["tools"] = json!([{ "name": "read", "defer_loading": true }]);
            }
            "picture-empty" => self.append_picture(""),
            // A BMP that says it is a PNG, and a GIF of 9000 by 9 pixels.
            "picture-type" => self.append_picture("Qk0AAAAAAAAAAAAAAAAAAA=="),
            "picture-pixels" => {
                self.append_picture("R0lGODlhKCMJAAAAAA==");
                self.replace("image/png", "image/gif");
            }
            rule => self.insert_into_answer(0, server_block(rule)),
        }
    }

    /// Appends a picture that says it is a PNG.
    fn append_picture(&mut self, data: &str) {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
        let url = format!("data:image/png;base64,{data}");
        let part = match self.dialect {
            Dialect::Anthropic => json!({ "type": "image", "source": source }),
            Dialect::OpenaiChat => {
                let part = json!({ "type": "image_url", "image_url": { "url": url } });
                json!({ "role": "user", "content": [part] })
            }
            Dialect::OpenaiResponses => {
                let part = json!({ "type": "input_image", "image_url": url });
                json!({ "type": "message", "role": "user", "content": [part] })
            }
            Dialect::Gemini => json!({ "inlineData": { "mimeType": "image/png", "data": data } }),
        };
        self.append(part);
    }

    /// Inserts a block into the first answer.
    fn insert_into_answer(&mut self, nth: usize, block: Value) {
        let answer = self.messages()[1]["content"].as_array_mut().expect("a list");
        answer.insert(nth.min(answer.len()), block);
    }
}

/// Returns a block that an answer must not begin with.
fn server_block(rule: &str) -> Value {
    match rule {
        "server-result-orphan" => {
            json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] })
        }
        "compaction-first" => json!({ "type": "compaction", "content": "So far.", "signature": "s" }),
        "compaction-empty" => json!({ "type": "compaction", "content": "" }),
        rule => panic!("{rule} has no test"),
    }
}

fn is_result(part: &Value) -> bool {
    let kind = part["type"].as_str().unwrap_or_default();
    kind == "tool_result"
        || kind.ends_with("_output")
        || part["role"] == "tool"
        || part.get("functionResponse").is_some()
}

fn is_call(part: &Value) -> bool {
    ["tool_use", "function", "function_call"].iter().any(|kind| part["type"] == *kind)
        || part.get("functionCall").is_some()
}

/// The size rules, which `sizes.rs` tests.
const SIZES: [&str; 3] = ["picture-size", "picture-count", "request-size"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn each_kind_of_violation_is_found_and_repaired(answers in answers(), pick in 0..64_usize) {
        let messages = transcript(&answers);
        for rule in RULES.iter().filter(|rule| !SIZES.contains(&rule.id)) {
            for (dialect, _) in rule.sources {
                let good = EncodedRequest::from_messages(&messages, *dialect).body;
                prop_assert_eq!(validate(&good, *dialect), []);
                let mut request = Target { dialect: *dialect, body: good, pick };
                request.break_rule(rule.id);
                let (broken, mut body) = (request.body.clone(), request.body);
                let found = validate(&body, *dialect);
                let is_found = found.iter().any(|violation| violation.rule == rule.id);
                prop_assert!(is_found, "{} in {dialect}: {found:#?}\n{broken:#}", rule.id);
                let repaired = repair(&mut body, *dialect);
                prop_assert!(!repaired.is_empty());
                let left = validate(&body, *dialect);
                prop_assert_eq!(&left, &[], "{} in {}: {:#}\n{:#}", rule.id, dialect, broken, body);
                let once = body.clone();
                prop_assert_eq!(repair(&mut body, *dialect), []);
                prop_assert_eq!(body, once);
            }
        }
    }

    #[test]
    fn several_violations_are_repaired_together(
        answers in answers(),
        pick in 0..64_usize,
        rules in prop::sample::subsequence((0..RULES.len()).collect::<Vec<_>>(), 2..5),
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
    ) {
        let body = EncodedRequest::from_messages(&transcript(&answers), dialect).body;
        let mut request = Target { dialect, body, pick };
        // A request broken by these cannot be broken again.
        let last = ["request-empty", "thinking-first", "thought-signature", "message-empty", "user-first", "user-last", "reasoning-alone"];
        let rules = rules.into_iter().map(|at| RULES[at]).filter(|rule| rule.source(dialect).is_some());
        let rules: Vec<_> = rules.filter(|rule| !SIZES.contains(&rule.id) && !last.contains(&rule.id)).collect();
        for rule in &rules {
            request.break_rule(rule.id);
        }
        let mut body = request.body;
        let broken = body.clone();
        repair(&mut body, dialect);
        prop_assert_eq!(validate(&body, dialect), [], "{:?}: {:#}", rules.iter().map(|rule| rule.id).collect::<Vec<_>>(), broken);
        let once = body.clone();
        prop_assert_eq!(repair(&mut body, dialect), []);
        prop_assert_eq!(body, once);
    }
}
