//! Bodies with one fault each: the provider has to find it by its word.

use serde_json::Value;

use super::requests::made;
use super::rules;
use Fault::{Append, Remove, Set};

/// A change at a path; `?key` or `?key=value` in it is the first item of a list that has it.
enum Fault {
    Remove(&'static str),
    Set(&'static str, &'static str),
    Append(&'static str, &'static str),
}

/// The dialect, the fault, the word for it, and the change of the request that has everything.
const SPOILED: [(&str, &str, &str, Fault); 67] = [
    ("openai", "no model", "missing", Remove("/model")),
    ("openai", "no messages", "missing", Remove("/messages")),
    ("openai", "nothing said", "empty", Set("/messages", "[]")),
    ("openai", "a key that is not known", "unknown", Set("/max_turns", "1")),
    ("openai", "a role that is not known", "enum", Set("/messages/0/role", r#""toolResult""#)),
    ("openai", "a number as content", "type", Set("/messages/1/content", "7")),
    (
        "openai",
        "a part of another dialect",
        "enum",
        Set("/messages/1/content", r#"[{"type":"input_text","text":"x"}]"#),
    ),
    (
        "openai",
        "a picture that is no address",
        "image",
        Set("/messages/1/content", r#"[{"type":"image_url","image_url":{"url":"x"}}]"#),
    ),
    ("openai", "a call without an id", "missing", Remove("/messages/?tool_calls/tool_calls/0/id")),
    ("openai", "a call without a function", "missing", Remove("/messages/?tool_calls/tool_calls/0/function")),
    (
        "openai",
        "arguments as an object",
        "arguments",
        Set("/messages/?tool_calls/tool_calls/0/function/arguments", "{}"),
    ),
    ("openai", "a result without its call's id", "missing", Remove("/messages/?role=tool/tool_call_id")),
    ("openai", "a result of another call", "orphan", Set("/messages/?role=tool/tool_call_id", r#""other""#)),
    ("openai", "a tool without a name", "missing", Remove("/tools/0/function/name")),
    ("openai", "a tool's name with blanks", "pattern", Set("/tools/0/function/name", r#""read it""#)),
    (
        "openai",
        "an answer of nothing",
        "empty",
        Append("/messages", r#"{"role":"assistant","content":null}"#),
    ),
    ("openai-responses", "no model", "missing", Remove("/model")),
    ("openai-responses", "no input", "missing", Remove("/input")),
    ("openai-responses", "a key that is not known", "unknown", Set("/messages", "[]")),
    ("openai-responses", "a role that is not known", "enum", Set("/input/0/role", r#""tool""#)),
    ("openai-responses", "an item that is not known", "enum", Set("/input/0/type", r#""tool_use""#)),
    (
        "openai-responses",
        "an answer as input",
        "enum",
        Set("/input/0/content", r#"[{"type":"output_text","text":"x"}]"#),
    ),
    (
        "openai-responses",
        "a picture that is no address",
        "image",
        Set("/input/0/content", r#"[{"type":"input_image","image_url":"x"}]"#),
    ),
    ("openai-responses", "a call without an id", "missing", Remove("/input/?type=function_call/call_id")),
    ("openai-responses", "a call without a name", "missing", Remove("/input/?type=function_call/name")),
    (
        "openai-responses",
        "arguments as an object",
        "arguments",
        Set("/input/?type=function_call/arguments", "{}"),
    ),
    (
        "openai-responses",
        "an output as an object",
        "type",
        Set("/input/?type=function_call_output/output", "{}"),
    ),
    (
        "openai-responses",
        "an output of another call",
        "orphan",
        Set("/input/?type=function_call_output/call_id", r#""other""#),
    ),
    (
        "openai-responses",
        "an output of the other kind",
        "unanswered",
        Set("/input/?type=function_call_output/type", r#""custom_tool_call_output""#),
    ),
    (
        "openai-responses",
        "reasoning without a summary",
        "missing",
        Append("/input", r#"{"type":"reasoning","encrypted_content":"x"}"#),
    ),
    ("openai-responses", "a tool without a name", "missing", Remove("/tools/0/name")),
    (
        "openai-responses",
        "a tool of chat",
        "missing",
        Set("/tools/0", r#"{"type":"function","function":{"name":"read"}}"#),
    ),
    ("anthropic", "no model", "missing", Remove("/model")),
    ("anthropic", "no limit", "missing", Remove("/max_tokens")),
    ("anthropic", "a limit of nothing", "range", Set("/max_tokens", "0")),
    ("anthropic", "no messages", "missing", Remove("/messages")),
    ("anthropic", "a key that is not known", "unknown", Set("/max_turns", "1")),
    ("anthropic", "a system message", "enum", Set("/messages/0/role", r#""system""#)),
    ("anthropic", "content of blanks", "blank", Set("/messages/0/content", r#"" ""#)),
    ("anthropic", "no content", "missing", Remove("/messages/0/content")),
    (
        "anthropic",
        "a block that is not known",
        "enum",
        Set("/messages/0/content", r#"[{"type":"input_text","text":"x"}]"#),
    ),
    ("anthropic", "a result by the model", "enum", Set("/messages/1/role", r#""user""#)),
    (
        "anthropic",
        "a picture that is no base64",
        "base64",
        Set(
            "/messages/0/content",
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]"#,
        ),
    ),
    (
        "anthropic",
        "a picture of another kind",
        "enum",
        Set(
            "/messages/0/content",
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AAAA"}}]"#,
        ),
    ),
    (
        "anthropic",
        "reasoning without a signature",
        "missing",
        Remove("/messages/1/content/?thinking/signature"),
    ),
    ("anthropic", "a call without an id", "missing", Remove("/messages/1/content/?input/id")),
    ("anthropic", "arguments as a text", "type", Set("/messages/1/content/?input/input", r#""{}""#)),
    ("anthropic", "a result without its call's id", "missing", Remove("/messages/2/content/0/tool_use_id")),
    ("anthropic", "a tool without a schema", "missing", Remove("/tools/0/input_schema")),
    ("anthropic", "a tool whose schema is no object's", "missing", Set("/tools/0/input_schema", "{}")),
    ("gemini", "no contents", "missing", Remove("/contents")),
    ("gemini", "nothing said", "empty", Set("/contents", "[]")),
    ("gemini", "a key that is not known", "unknown", Set("/messages", "[]")),
    ("gemini", "a role that is not known", "enum", Set("/contents/1/role", r#""assistant""#)),
    ("gemini", "no parts", "missing", Remove("/contents/0/parts")),
    ("gemini", "a part of nothing", "empty", Set("/contents/0/parts/0", "{}")),
    ("gemini", "a part of two things", "empty", Set("/contents/1/parts/?functionCall/text", r#""x""#)),
    (
        "gemini",
        "a part of another dialect",
        "unknown",
        Set("/contents/0/parts/0", r#"{"type":"text","text":"x"}"#),
    ),
    (
        "gemini",
        "a call without a name",
        "missing",
        Remove("/contents/1/parts/?functionCall/functionCall/name"),
    ),
    ("gemini", "a call by the user", "first", Set("/contents/1/role", r#""user""#)),
    (
        "gemini",
        "arguments as a text",
        "type",
        Set("/contents/1/parts/?functionCall/functionCall/args", r#""{}""#),
    ),
    ("gemini", "a response without a name", "missing", Remove("/contents/2/parts/0/functionResponse/name")),
    (
        "gemini",
        "a response under another name",
        "orphan",
        Set("/contents/2/parts/0/functionResponse/name", r#""other""#),
    ),
    (
        "gemini",
        "a response as a text",
        "type",
        Set("/contents/2/parts/0/functionResponse/response", r#""x""#),
    ),
    (
        "gemini",
        "a response too many",
        "unanswered",
        Append("/contents/2/parts", r#"{"functionResponse":{"name":"read","response":{}}}"#),
    ),
    (
        "gemini",
        "a signature that is no base64",
        "base64",
        Set("/contents/1/parts/0/thoughtSignature", r#""?""#),
    ),
    ("gemini", "a declaration without a name", "missing", Remove("/tools/0/functionDeclarations/0/name")),
];

impl Fault {
    fn spoil(&self, body: &mut Value) {
        let parsed = |json: &str| serde_json::from_str::<Value>(json).unwrap();
        match self {
            Remove(path) => {
                let (parent, key) = path.rsplit_once('/').unwrap();
                at(body, parent).as_object_mut().unwrap().shift_remove(key).unwrap();
            }
            Set(path, json) => {
                let (parent, key) = path.rsplit_once('/').unwrap();
                *item(at(body, parent), key) = parsed(json);
            }
            Append(path, json) => at(body, path).as_array_mut().unwrap().push(parsed(json)),
        }
    }
}

fn at<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('/').skip(1).fold(body, item)
}

fn item<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    match value {
        Value::Array(list) => {
            let place = place(list, key);
            &mut list[place]
        }
        _ => &mut value[key],
    }
}

fn place(list: &[Value], key: &str) -> usize {
    let Some(wanted) = key.strip_prefix('?') else { return key.parse().unwrap() };
    let (key, value) = wanted.split_once('=').map_or((wanted, None), |(key, value)| (key, Some(value)));
    let is_it = |item: &Value| item.get(key).is_some_and(|it| value.is_none_or(|value| it == value));
    list.iter().position(is_it).unwrap()
}

#[test]
fn each_fault_is_found_by_its_word() {
    let made = made();
    for (dialect, name, word, fault) in &SPOILED {
        let is_it = |line: &&Value| line["dialect"] == *dialect && line["name"] == "made";
        let mut body = made.iter().find(is_it).unwrap()["body"].clone();
        if *dialect != "gemini" {
            body["model"] = "m".into();
        }
        if *dialect == "anthropic" {
            body["max_tokens"] = 9.into();
        }
        assert_eq!(rules::findings(dialect, "m", &body), [], "{dialect}");
        fault.spoil(&mut body);
        let found = rules::findings(dialect, "m", &body);
        assert!(found.iter().any(|it| it.word == *word), "{dialect}: {name}: {found:?}");
    }
}
