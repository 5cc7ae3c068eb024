//! One item of the Responses API, and its meaning in a conversation.

use serde_json::Value;
use wb_message::markers::{DIGEST_HEADER, ENVIRONMENT_TYPE, OPAQUE_TYPE, SERVER_TOOL};
use wb_message::{Block, Content, Message};
use wb_record::Span;

use super::content_value::content_of;
use crate::kit::draft::Draft;
use crate::kit::fields::{take_text, text_of};
use crate::kit::json_text::arguments_in;
use crate::kit::picture::picture;

/// The custom type of host content in the user's place: skills, notices about subagents and
/// interrupted turns.
const HOST_TYPE: &str = "meta";
/// The start of the host's own summaries; this line says that another model wrote the rest.
const SUMMARY_START: &str = "Another language model started to solve this problem";
/// Elements around the host's texts about the rules of the project and the place where it runs.
const ENVIRONMENT_TAGS: [&str; 2] = ["environment_context", "user_instructions"];
/// Elements around other host content in the user's place.
const HOST_TAGS: [&str; 10] = [
    "turn_aborted",
    "skill",
    "subagent_notification",
    "user_shell_command",
    "extension_context",
    "goal_context",
    "hook_prompt",
    "codex_internal_context",
    "recommended_plugins",
    "model_switch",
];

/// The meaning of an item in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ItemContent {
    /// A part of an answer of the model.
    Answer(Vec<Block>),
    /// The result of a tool.
    Result { call_id: String, content: Vec<Block> },
    /// Text from the user.
    User(Content),
    /// A command that the user ran.
    Shell { command: String, output: String, exit_code: Option<i32> },
    /// Text from the host, by the custom type of the message.
    Host { kind: String, content: Content },
    /// The host's digest of earlier messages.
    Summary(String),
    /// An item that no model sees; it stays with the one before it.
    Hidden,
}

impl ItemContent {
    /// Reads an item; `None` if it is not one.
    pub(crate) fn parse(mut item: Value) -> Option<Self> {
        let kind = text_of(item.as_object()?.get("type")).to_owned();
        Some(match kind.as_str() {
            "message" | "" if item.get("role").is_some() => message(&mut item),
            "reasoning" => Self::Answer(vec![reasoning(&mut item)]),
            "ghost_snapshot" => Self::Hidden,
            "compaction" | "compaction_summary" | "context_compaction" => {
                let signature = take_text(&mut item, "encrypted_content");
                let block = Block::Thinking { text: String::new(), signature };
                Self::Host { kind: OPAQUE_TYPE.to_owned(), content: vec![block].into() }
            }
            "agent_message" => Self::Host { kind, content: content(take(&mut item, &["content"])) },
            "tool_search_output" if is_of_provider(&item) => {
                Self::Answer(vec![found_tools("tool_search", &item)])
            }
            "mcp_list_tools" => Self::Answer(vec![found_tools(&kind, &item)]),
            _ if kind.ends_with("_output") || kind == "function_result" => result(&kind, &mut item),
            _ if kind.ends_with("_call") => Self::Answer(vec![call(&kind, &mut item)]),
            // A message without a known speaker.
            "message" | "" => return None,
            _ => Self::Host { kind, content: Content::Text(item.to_string()) },
        })
    }

    /// Adds it to the messages before it.
    pub(crate) fn add_to(
        self,
        draft: &mut Draft,
        item: Span,
        timestamp: i64,
        result: impl FnOnce(&mut Draft, Span, String, Vec<Block>),
    ) {
        let message = match self {
            Self::Answer(blocks) => return draft.answer(item, blocks),
            Self::Hidden => return draft.hide(item),
            Self::Result { call_id, content } => return result(draft, item, call_id, content),
            Self::User(content) => Message::User { content, timestamp },
            Self::Shell { command, output, exit_code } => {
                Message::BashExecution { command, output, exit_code }
            }
            Self::Host { kind, content } => Message::custom(kind, content),
            Self::Summary(summary) => Message::CompactionSummary { summary, tokens_before: 0 },
        };
        draft.add(item, message);
    }

    /// Returns whether the user begins a turn with it.
    pub(crate) fn begins_turn(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// Returns whether it is text from the host.
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }
}

/// Returns the digest in a summary of the host: without the line about its source, and without our
/// digest header.
pub(crate) fn digest_of(summary: &str) -> &str {
    let text = match summary.split_once('\n') {
        Some((line, rest)) if line.starts_with(SUMMARY_START) => rest,
        _ => summary,
    };
    text.strip_prefix(DIGEST_HEADER).map_or(text, |body| body.trim_start_matches('\n'))
}

/// Takes the first value that is not null.
fn take(from: &mut Value, keys: &[&str]) -> Value {
    let key = keys.iter().find(|key| from.get(**key).is_some_and(|value| !value.is_null()));
    key.and_then(|key| from.get_mut(*key)).map(Value::take).unwrap_or_default()
}

fn message(item: &mut Value) -> ItemContent {
    let role = take_text(item, "role").unwrap_or_default();
    let body = take(item, &["content", "message"]);
    match role.as_str() {
        "assistant" => ItemContent::Answer(blocks(body)),
        "user" => {
            let kinds = item.pointer("/internal_chat_message_metadata_passthrough/content_item_kinds");
            let kinds: Vec<&str> =
                kinds.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
            in_place_of_user(content(body), &kinds)
        }
        _ => ItemContent::Host { kind: role, content: content(body) },
    }
}

/// Identifies the speaker of a message of the role `user`: by the host's notes on its parts, else
/// by its texts.
pub(crate) fn in_place_of_user(content: Content, kinds: &[&str]) -> ItemContent {
    // An empty part has no content, and does not change the speaker.
    let texts: Vec<&str> = content.texts().map(str::trim).filter(|text| !text.is_empty()).collect();
    let has_others = content.blocks().iter().any(|block| block.as_text().is_none());
    let is_all = |is_so: &dyn Fn(&str) -> bool| {
        !texts.is_empty() && !has_others && texts.iter().all(|text| is_so(text))
    };
    let is_noted =
        !kinds.is_empty() && !kinds.iter().any(|kind| kind.starts_with("user") || *kind == "unknown");
    if kinds.contains(&"compaction.summary")
        || texts.first().is_some_and(|text| text.starts_with(SUMMARY_START))
    {
        return ItemContent::Summary(digest_of(&content.texts().collect::<Vec<_>>().join("\n")).to_owned());
    }
    if let [text] = texts.as_slice()
        && let Some(shell) = shell(text)
    {
        return shell;
    }
    let kind = match () {
        () if is_all(&is_environment) => ENVIRONMENT_TYPE,
        () if is_noted || is_all(&is_host) => HOST_TYPE,
        () => return ItemContent::User(content),
    };
    ItemContent::Host { kind: kind.to_owned(), content }
}

fn is_environment(text: &str) -> bool {
    let is_rules = text.starts_with("# AGENTS.md instructions") && text.contains("<INSTRUCTIONS>");
    is_rules || ENVIRONMENT_TAGS.iter().any(|tag| is_element(text, tag))
}

fn is_host(text: &str) -> bool {
    is_environment(text) || HOST_TAGS.iter().any(|tag| is_element(text, tag))
}

/// Returns whether a text is one element of this name.
fn is_element(text: &str, tag: &str) -> bool {
    let opens = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(tag));
    let closes = text.strip_suffix('>').and_then(|rest| rest.strip_suffix(tag));
    opens.is_some_and(|rest| rest.starts_with(['>', ' '])) && closes.is_some_and(|rest| rest.ends_with("</"))
}

/// Reads a command that the user ran: the command, then its exit code and its output.
fn shell(text: &str) -> Option<ItemContent> {
    let inner = text.strip_prefix("<user_shell_command>")?.strip_suffix("</user_shell_command>")?;
    let (command, rest) = inner.trim_start().strip_prefix("<command>")?.split_once("</command>")?;
    let result = rest.trim_start().strip_prefix("<result>")?.trim_end().strip_suffix("</result>")?;
    let (head, output) = result.split_once("Output:\n")?;
    let exit_code = head.lines().find_map(|line| line.strip_prefix("Exit code: ")?.trim().parse().ok());
    let output = output.strip_suffix('\n').unwrap_or(output).to_owned();
    Some(ItemContent::Shell { command: command.trim().to_owned(), output, exit_code })
}

fn reasoning(item: &mut Value) -> Block {
    let parts = [take(item, &["summary"]), take(item, &["content"])].map(blocks);
    let texts: Vec<&str> = parts.iter().flatten().filter_map(Block::as_text).collect();
    Block::Thinking { text: texts.join("\n"), signature: take_text(item, "encrypted_content") }
}

/// Turns a call into a block. One that its provider carries out itself has no id and no result; it
/// is shown as a text.
fn call(kind: &str, item: &mut Value) -> Block {
    let tool = kind.strip_suffix("_call").unwrap_or(kind);
    let is_own = matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call");
    let id = take_text(item, "call_id").filter(|_| !is_of_provider(item));
    let Some(id) = id.or_else(|| is_own.then(|| take_text(item, "id").unwrap_or_default())) else {
        return of_provider(tool, item);
    };
    let name = take_text(item, "name").or_else(|| take_text(item.get_mut("function")?, "name"));
    let name = name.unwrap_or_else(|| tool.to_owned());
    let name = match text_of(item.get("namespace")) {
        "" => name,
        space => format!("{space}__{name}"),
    };
    let input = match take(item, &["arguments", "action", "operation", "input"]) {
        Value::String(text) if kind != "custom_tool_call" => arguments_in(text),
        input => input,
    };
    Block::ToolCall { id, name, input }
}

/// Shows a call that the provider carried out, with its arguments and its output.
fn of_provider(tool: &str, item: &Value) -> Block {
    const ABOUT: [&str; 9] = [
        "/action/query",
        "/action/url",
        "/action/pattern",
        "/queries/0",
        "/revised_prompt",
        "/code",
        "/arguments",
        "/output",
        "/error",
    ];
    let name = if tool == "mcp" { text_of(item.get("name")) } else { "" };
    let texts: Vec<&str> = ABOUT.iter().filter_map(|path| item.pointer(path)?.as_str()).collect();
    let name = if name.is_empty() { tool } else { name };
    Block::text([SERVER_TOOL, name, ": ", &texts.join(" · "), "]"].concat())
}

/// Returns whether the provider itself carries out a search for tools.
fn is_of_provider(item: &Value) -> bool {
    text_of(item.get("execution")) == "server"
}

/// Names the tools that the provider found.
fn found_tools(by: &str, item: &Value) -> Block {
    let tools = item.get("tools").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = tools.map(|tool| text_of(tool.get("name"))).collect();
    Block::text([SERVER_TOOL, by, ": ", &names.join(", "), "]"].concat())
}

/// Reads the result of a call; that of a local shell may name its call by `id`.
fn result(kind: &str, item: &mut Value) -> ItemContent {
    let call_id = take_text(item, "call_id")
        .or_else(|| take_text(item, "id").filter(|_| kind == "local_shell_call_output"));
    let content = match take(item, &["output", "result", "tools"]) {
        Value::Object(mut fields) if !fields.contains_key("type") => {
            match fields.get_mut("content").map(Value::take) {
                Some(body @ (Value::String(_) | Value::Array(_))) => blocks(body),
                _ => vec![Block::text(Value::Object(fields).to_string())],
            }
        }
        body => blocks(body),
    };
    ItemContent::Result { call_id: call_id.unwrap_or_default(), content }
}

/// Returns a body, in which a single text is plain.
fn content(body: Value) -> Content {
    content_of(blocks(body))
}

/// Returns the blocks of a body: of a text one, of an empty text none.
fn blocks(body: Value) -> Vec<Block> {
    match body {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::Array(values) => values.into_iter().map(block).collect(),
        value => vec![block(value)],
    }
}

/// Turns a part of a body into a block; one without a matching block becomes a text with its JSON.
fn block(mut part: Value) -> Block {
    let known = match text_of(part.get("type")) {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            take_text(&mut part, "text").map(Block::text)
        }
        "refusal" => take_text(&mut part, "refusal").map(Block::text),
        "input_image" => Some(picture(text_of(part.get("image_url")))),
        "encrypted_content" => {
            let signature = take_text(&mut part, "encrypted_content");
            Some(Block::Thinking { text: String::new(), signature })
        }
        _ => None,
    };
    known.unwrap_or_else(|| match part {
        Value::String(text) => Block::Text { text },
        part => Block::text(part.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn user(text: &str) -> ItemContent {
        ItemContent::parse(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}),
        )
        .unwrap()
    }

    fn kind(text: &str) -> String {
        match user(text) {
            ItemContent::Host { kind, .. } => kind,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_the_host_puts_in_the_users_place_is_known_by_its_element() {
        assert_eq!(kind("<environment_context>\n<cwd>/a</cwd>\n</environment_context>"), ENVIRONMENT_TYPE);
        assert_eq!(
            kind("# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"),
            ENVIRONMENT_TYPE
        );
        assert_eq!(kind("<turn_aborted>\nstop\n</turn_aborted>\n"), "meta");
        assert_eq!(kind("<codex_internal_context source=\"goal\">\nx\n</codex_internal_context>"), "meta");
        for text in ["<skill> is what?", "<skills>x</skills>", "# AGENTS.md instructions are long", ""] {
            assert!(user(text).begins_turn(), "{text}");
        }
    }

    #[test]
    fn what_the_host_notes_of_a_part_goes_before_its_text() {
        let noted = |kinds: Value| {
            ItemContent::parse(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}],
                "internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}),
            )
            .unwrap()
        };
        assert!(noted(json!(["user.text"])).begins_turn() && noted(json!(["unknown"])).begins_turn());
        assert!(noted(json!(["reminders.time"])).is_of_host());
        assert_eq!(noted(json!(["compaction.summary"])), ItemContent::Summary("x".to_owned()));
    }

    #[test]
    fn a_command_of_the_user_is_read_with_its_exit_code() {
        let text = "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nExit code: 2\nDuration: 0.1 seconds\n\
                    Output:\nno\n\n</result>\n</user_shell_command>";
        let ItemContent::Shell { command, output, exit_code } = user(text) else { panic!("no command") };
        assert_eq!((command.as_str(), output.as_str(), exit_code), ("ls -l", "no\n", Some(2)));
        assert_eq!(kind("<user_shell_command>\nls\n</user_shell_command>"), "meta");
    }

    #[test]
    fn arguments_are_an_object_or_the_string_that_they_are() {
        let call = |item| match ItemContent::parse(item) {
            Some(ItemContent::Answer(blocks)) => blocks[0].clone(),
            other => panic!("{other:?}"),
        };
        let one = json!({"type": "function_call", "name": "f", "call_id": "c", "arguments": "{\"a\":1}"});
        assert_eq!(call(one), Block::call("c", "f", json!({"a": 1})));
        let bad = json!({"type": "function_call", "name": "f", "namespace": "n", "call_id": "c", "arguments": "{\"a\":"});
        assert_eq!(call(bad), Block::call("c", "n__f", json!("{\"a\":")));
        let free = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "{}"});
        assert_eq!(call(free), Block::call("c", "apply_patch", json!("{}")));
        let shell =
            json!({"type": "local_shell_call", "id": "l", "call_id": null, "action": {"command": ["ls"]}});
        assert_eq!(call(shell), Block::call("l", "local_shell", json!({"command": ["ls"]})));
        let search =
            json!({"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}});
        assert_eq!(call(search), Block::text("[server tool web_search: q]"));
    }

    #[test]
    fn results_have_all_their_shapes() {
        let content = |output: Value| match ItemContent::parse(
            json!({"type": "function_call_output", "call_id": "c", "output": output}),
        ) {
            Some(ItemContent::Result { content, .. }) => content,
            other => panic!("{other:?}"),
        };
        assert_eq!(content(json!("a")), [Block::text("a")]);
        assert_eq!(content(json!({"content": "a", "success": false})), [Block::text("a")]);
        assert_eq!(content(json!({"type": "input_text", "text": "a"})), [Block::text("a")]);
        assert_eq!(content(json!({"a": 1})), [Block::text("{\"a\":1}")]);
        let parts = json!([{"type": "input_image", "image_url": "data:image/png;base64,aGk="}, {"type": "new", "x": 1}]);
        assert_eq!(
            content(parts),
            [Block::image("image/png", "aGk="), Block::text(r#"{"type":"new","x":1}"#)]
        );
        assert_eq!(content(Value::Null), []);
    }

    #[test]
    fn what_is_not_known_is_shown_and_what_no_model_sees_is_hidden() {
        let item = json!({"type": "memory_trace", "x": 1});
        let content = Content::Text(item.to_string());
        assert_eq!(
            ItemContent::parse(item),
            Some(ItemContent::Host { kind: "memory_trace".to_owned(), content })
        );
        assert_eq!(ItemContent::parse(json!({"type": "ghost_snapshot"})), Some(ItemContent::Hidden));
        assert_eq!((ItemContent::parse(json!([])), ItemContent::parse(json!({}))), (None, None));
    }

    #[test]
    fn a_digest_is_freed_of_what_precedes_it() {
        assert_eq!(digest_of(&format!("{SUMMARY_START} and wrote:\nWe are here.")), "We are here.");
        assert_eq!(digest_of(&format!("{DIGEST_HEADER}\n# Goal")), "# Goal");
        assert_eq!(digest_of("Plain\ntext"), "Plain\ntext");
    }
}
