//! The shape of a request body in each dialect, as the providers document it.
//!
//! This shares no code with `wb-dialect`. It was written from memory of these pages, with what
//! providers are known to accept beyond them; compare when in doubt:
//! <https://platform.openai.com/docs/api-reference/chat/create>,
//! <https://platform.openai.com/docs/api-reference/responses/create>,
//! <https://platform.claude.com/docs/en/api/messages>, <https://ai.google.dev/api/generate-content>.

use serde_json::Value;

use Shape::{Any, Check, Filled, Nullable, Number, Object, OneOf, Text};

/// A place in a body, a word for the kind of fault, and a reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) at: String,
    pub(super) word: &'static str,
    pub(super) why: String,
}

impl Finding {
    pub(super) fn new(at: impl Into<String>, word: &'static str, why: impl Into<String>) -> Self {
        Self { at: at.into(), word, why: why.into() }
    }
}

/// A kind of value.
#[derive(Clone, Debug)]
enum Shape {
    Any,
    Object,
    Boolean,
    Number,
    /// A whole number that is not less.
    Least(i64),
    /// A string.
    Text,
    /// A string that is not blank.
    Filled,
    /// A string of at most this many characters.
    Short(usize),
    OneOf(&'static [&'static str]),
    /// A list with at least this many items.
    List(Box<Shape>, usize),
    /// An object with all of the first keys, maybe some of the second, and no others.
    Record(Vec<(&'static str, Shape)>, Vec<(&'static str, Shape)>),
    /// One of several objects by the text under a key, and the text where the key is missing.
    ByKey(&'static str, Vec<(&'static str, Shape)>, Option<&'static str>),
    /// A string or something else.
    TextOr(Box<Shape>),
    Nullable(Box<Shape>),
    All(Vec<Shape>),
    /// A word and a reason where a value is wrong.
    Check(fn(&Value) -> Option<(&'static str, &'static str)>),
}

impl Shape {
    fn find(&self, value: &Value, at: &str, found: &mut Vec<Finding>) {
        let fault = match self {
            Any => None,
            Object => wrong_type(value.is_object(), value),
            Self::Boolean => wrong_type(value.is_boolean(), value),
            Number => wrong_type(value.is_number(), value),
            Self::Least(least) => wrong_type(value.as_i64().is_some(), value)
                .or((value.as_i64() < Some(*least)).then(|| ("range", format!("less than {least}")))),
            Text => wrong_type(value.is_string(), value),
            Filled => wrong_type(value.is_string(), value).or(blank(value)),
            Self::Short(longest) => wrong_type(value.is_string(), value)
                .or((text(value).chars().count() > *longest)
                    .then(|| ("length", format!("longer than {longest}")))),
            OneOf(words) => (!value.as_str().is_some_and(|word| words.contains(&word)))
                .then(|| ("enum", format!("{value} is none of {}", words.join(", ")))),
            Check(check) => check(value).map(|(word, why)| (word, why.to_owned())),
            Self::TextOr(_) if value.is_string() => None,
            Nullable(_) if value.is_null() => None,
            Self::TextOr(shape) | Nullable(shape) => return shape.find(value, at, found),
            Self::All(shapes) => return shapes.iter().for_each(|shape| shape.find(value, at, found)),
            Self::List(shape, least) => return find_in_list(shape, *least, value, at, found),
            Self::Record(required, optional) => return find_in_record(required, optional, value, at, found),
            Self::ByKey(key, shapes, otherwise) => {
                return find_by_key(key, shapes, *otherwise, value, at, found);
            }
        };
        found.extend(fault.map(|(word, why)| Finding::new(at, word, why)));
    }
}

fn find_in_list(shape: &Shape, least: usize, value: &Value, at: &str, found: &mut Vec<Finding>) {
    let Some(list) = value.as_array() else {
        return found.push(Finding::new(at, "type", type_fault(value)));
    };
    if list.len() < least {
        found.push(Finding::new(at, "empty", "a list with nothing in it"));
    }
    for (nth, item) in list.iter().enumerate() {
        shape.find(item, &format!("{at}/{nth}"), found);
    }
}

type Fields = [(&'static str, Shape)];

fn find_in_record(required: &Fields, optional: &Fields, value: &Value, at: &str, found: &mut Vec<Finding>) {
    let Some(object) = value.as_object() else {
        return found.push(Finding::new(at, "type", type_fault(value)));
    };
    let missing = required.iter().filter(|(key, _)| !object.contains_key(*key));
    found.extend(missing.map(|(key, _)| Finding::new(at, "missing", format!("has no `{key}`"))));
    for (key, inner) in object {
        match required.iter().chain(optional).find(|(name, _)| name == key) {
            Some((_, shape)) => shape.find(inner, &format!("{at}/{key}"), found),
            None => found.push(Finding::new(at, "unknown", format!("no key is named `{key}`"))),
        }
    }
}

fn find_by_key(
    key: &str,
    shapes: &Fields,
    otherwise: Option<&str>,
    value: &Value,
    at: &str,
    found: &mut Vec<Finding>,
) {
    let tag = value.get(key).map_or(otherwise, |tag| Some(tag.as_str().unwrap_or_default()));
    let shape = tag.and_then(|tag| shapes.iter().find(|(name, _)| *name == tag));
    match (tag, shape) {
        _ if !value.is_object() => found.push(Finding::new(at, "type", type_fault(value))),
        (None, _) => found.push(Finding::new(at, "missing", format!("has no `{key}`"))),
        (Some(tag), None) => found.push(Finding::new(at, "enum", format!("`{key}` is `{tag}`"))),
        (Some(_), Some((_, shape))) => shape.find(value, at, found),
    }
}

fn wrong_type(is_right: bool, value: &Value) -> Option<(&'static str, String)> {
    (!is_right).then(|| ("type", type_fault(value)))
}

fn type_fault(value: &Value) -> String {
    let name = match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::String(_) => "a string",
        Value::Bool(_) => "a Boolean",
        Value::Null => "null",
        Value::Number(_) => "a number",
    };
    format!("{name} is of another type")
}

fn blank(value: &Value) -> Option<(&'static str, String)> {
    text(value).trim().is_empty().then(|| ("blank", BLANK.to_owned()))
}

const BLANK: &str = "a text of blanks alone";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(shape: Shape) -> Shape {
    Shape::List(Box::new(shape), 0)
}

fn filled_list(shape: Shape) -> Shape {
    Shape::List(Box::new(shape), 1)
}

fn text_or(shape: Shape) -> Shape {
    Shape::TextOr(Box::new(shape))
}

fn nullable(shape: Shape) -> Shape {
    Nullable(Box::new(shape))
}

fn record<const N: usize, const M: usize>(
    required: [(&'static str, Shape); N],
    optional: [(&'static str, Shape); M],
) -> Shape {
    Shape::Record(required.into(), optional.into())
}

/// Builds a record that was chosen by its type.
fn tagged<const N: usize, const M: usize>(
    required: [(&'static str, Shape); N],
    optional: [(&'static str, Shape); M],
) -> Shape {
    let required = [("type", Any)].into_iter().chain(required);
    Shape::Record(required.collect(), optional.into())
}

fn by_key<const N: usize>(key: &'static str, shapes: [(&'static str, Shape); N]) -> Shape {
    Shape::ByKey(key, shapes.into(), None)
}

fn by_type<const N: usize>(shapes: [(&'static str, Shape); N]) -> Shape {
    by_key("type", shapes)
}

const COUNT: Shape = Shape::Least(1);
const BOOLEAN: Shape = Shape::Boolean;
const DETAIL: Shape = OneOf(&["auto", "low", "high"]);
const STATUS: Shape = OneOf(&["in_progress", "completed", "incomplete"]);

/// Checks a name of up to `longest` letters, digits and these signs.
fn is_name(value: &Value, longest: usize, signs: &str) -> Option<(&'static str, &'static str)> {
    let name = text(value);
    let is_sign = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    let is_fine = (1..=longest).contains(&name.len()) && name.chars().all(is_sign);
    (!is_fine).then_some(("pattern", "a name with signs that are not allowed, or too long"))
}

const NAME: Shape = Check(|value| is_name(value, 64, "_-"));
const ANTHROPIC_ID: Shape = Check(|value| is_name(value, usize::MAX, "_-"));
const GEMINI_NAME: Shape = Check(|value| is_name(value, 128, "_.:-"));

/// Checks a JSON object in a string: the arguments of a function.
const ARGUMENTS: Shape = Check(|value| {
    let parsed: Option<Value> = serde_json::from_str(text(value)).ok();
    let is_object = parsed.is_some_and(|parsed| parsed.is_object());
    (!is_object).then_some(("arguments", "no JSON object in a string"))
});

const BASE64: Shape = Check(|value| {
    let is_fine = value.as_str().is_some_and(is_base64);
    (!is_fine).then_some(("base64", "no base64"))
});

fn is_base64(text: &str) -> bool {
    let data = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    text.len().is_multiple_of(4) && data.bytes().all(is_digit)
}

const IMAGE_URL: Shape = Check(|value| {
    let url = text(value);
    let is_picture = ["png", "jpeg", "gif", "webp"]
        .iter()
        .any(|kind| url.strip_prefix(&format!("data:image/{kind};base64,")).is_some_and(is_base64));
    let is_fine = is_picture || url.starts_with("http://") || url.starts_with("https://");
    (!is_fine).then_some(("image", "neither an address nor a picture in base64"))
});

/// Returns what is out of shape in a Chat Completions, Responses, Messages or generateContent body.
pub(super) fn findings(dialect: &str, body: &Value) -> Vec<Finding> {
    let shape = match dialect {
        "openai" => chat(),
        "openai-responses" => responses(),
        "anthropic" => anthropic(),
        _ => gemini(),
    };
    let mut found = Vec::new();
    shape.find(body, "", &mut found);
    found
}

fn chat() -> Shape {
    let function = [("description", Text), ("parameters", Object), ("strict", BOOLEAN)];
    let tool = tagged([("function", record([("name", NAME)], function))], []);
    record(
        [("model", Filled), ("messages", filled_list(chat_message()))],
        [
            ("tools", filled_list(by_type([("function", tool)]))),
            ("tool_choice", Any),
            ("max_completion_tokens", COUNT),
            ("max_tokens", COUNT),
            ("temperature", Number),
            ("reasoning_effort", OneOf(&["none", "minimal", "low", "medium", "high", "xhigh"])),
            ("stream", BOOLEAN),
            ("stream_options", record([], [("include_usage", BOOLEAN)])),
        ],
    )
}

fn chat_message() -> Shape {
    let text_part = || ("text", tagged([("text", Text)], []));
    let texts = || text_or(filled_list(by_type([text_part()])));
    let image = record([("url", IMAGE_URL)], [("detail", DETAIL)]);
    let parts = by_type([text_part(), ("image_url", tagged([("image_url", image)], []))]);
    let call = record([("name", NAME), ("arguments", ARGUMENTS)], []);
    let call = by_type([("function", tagged([("id", Shape::Short(40)), ("function", call)], []))]);
    let says = |content| record([("role", Any), ("content", content)], [("name", Text)]);
    let answer = record(
        [("role", Any)],
        [("content", nullable(texts())), ("tool_calls", filled_list(call)), ("name", Text)],
    );
    let has_something = Check(|value| {
        let is_empty = value["content"].is_null() && value["tool_calls"].as_array().is_none_or(Vec::is_empty);
        is_empty.then_some(("empty", "an answer with neither content nor calls"))
    });
    by_key(
        "role",
        [
            ("system", says(texts())),
            ("developer", says(texts())),
            ("user", says(text_or(filled_list(parts)))),
            ("assistant", Shape::All(vec![answer, has_something])),
            ("tool", record([("role", Any), ("content", texts()), ("tool_call_id", Shape::Short(40))], [])),
        ],
    )
}

/// Answers come without id and annotations, and reasoning without its id where nothing is stored.
fn responses() -> Shape {
    let function = tagged(
        [("name", NAME), ("parameters", nullable(Object))],
        [("description", nullable(Text)), ("strict", nullable(BOOLEAN))],
    );
    let custom = tagged([("name", NAME)], [("description", Text), ("format", Object)]);
    record(
        [("model", Filled), ("input", text_or(filled_list(responses_item())))],
        [
            ("instructions", nullable(Text)),
            ("tools", list(by_type([("function", function), ("custom", custom)]))),
            ("tool_choice", Any),
            ("max_output_tokens", Shape::Least(16)),
            ("temperature", Number),
            ("reasoning", Object),
            ("include", list(Text)),
            ("store", BOOLEAN),
            ("stream", BOOLEAN),
        ],
    )
}

fn responses_item() -> Shape {
    let call_id = || ("call_id", Shape::All(vec![Filled, Shape::Short(64)]));
    let input = || {
        by_type([
            ("input_text", tagged([("text", Text)], [])),
            ("input_image", tagged([("image_url", IMAGE_URL)], [("detail", DETAIL)])),
        ])
    };
    let output = by_type([
        (
            "output_text",
            tagged([("text", Text)], [("annotations", list(Object)), ("logprobs", list(Object))]),
        ),
        ("refusal", tagged([("refusal", Text)], [])),
    ]);
    let says = |parts| {
        let content = text_or(filled_list(parts));
        record([("role", Any), ("content", content)], [("type", Any), ("id", Text), ("status", STATUS)])
    };
    let result = || ("output", text_or(filled_list(input())));
    let ended = || [("id", Text), ("status", STATUS)];
    let reasoning =
        [("id", Text), ("encrypted_content", nullable(Text)), ("content", list(Object)), ("status", STATUS)];
    let summary = by_type([("summary_text", tagged([("text", Text)], []))]);
    let message = by_key(
        "role",
        [
            ("user", says(input())),
            ("system", says(input())),
            ("developer", says(input())),
            ("assistant", says(output)),
        ],
    );
    let items = vec![
        ("message", message),
        ("function_call", tagged([call_id(), ("name", NAME), ("arguments", ARGUMENTS)], ended())),
        ("function_call_output", tagged([call_id(), result()], ended())),
        ("custom_tool_call", tagged([call_id(), ("name", NAME), ("input", Text)], [("id", Text)])),
        ("custom_tool_call_output", tagged([call_id(), result()], [("id", Text)])),
        ("reasoning", tagged([("summary", list(summary))], reasoning)),
        ("compaction", tagged([("encrypted_content", Text)], [("id", Text)])),
    ];
    Shape::ByKey("type", items, Some("message"))
}

fn cache() -> (&'static str, Shape) {
    let ttl = ("ttl", OneOf(&["5m", "1h"]));
    ("cache_control", nullable(record([("type", OneOf(&["ephemeral"]))], [ttl])))
}

fn anthropic() -> Shape {
    let is_object = Check(|schema| {
        let is_other = schema.is_object() && schema["type"] != "object";
        is_other.then_some(("missing", "the schema of a tool has the type `object`"))
    });
    let tool = record(
        [
            ("name", Check(|value| is_name(value, 128, "_-"))),
            ("input_schema", Shape::All(vec![Object, is_object])),
        ],
        [("description", Text), ("type", nullable(OneOf(&["custom"]))), cache()],
    );
    let thinking = by_type([
        ("enabled", tagged([("budget_tokens", Shape::Least(1024))], [])),
        ("disabled", tagged([], [])),
        ("adaptive", tagged([], [])),
    ]);
    record(
        [("model", Filled), ("max_tokens", COUNT), ("messages", filled_list(anthropic_message()))],
        [
            ("system", text_or(list(by_type([anthropic_text()])))),
            ("tools", list(tool)),
            ("tool_choice", Any),
            ("temperature", Number),
            ("thinking", thinking),
            ("stream", BOOLEAN),
            cache(),
        ],
    )
}

fn anthropic_text() -> (&'static str, Shape) {
    ("text", tagged([("text", Filled)], [cache()]))
}

fn anthropic_image() -> (&'static str, Shape) {
    let kinds = OneOf(&["image/png", "image/jpeg", "image/gif", "image/webp"]);
    let data = Shape::All(vec![Shape::Short(5 << 20), BASE64]);
    let is_address = Check(|url| {
        let is_fine = ["http://", "https://"].iter().any(|start| text(url).starts_with(start));
        (!is_fine).then_some(("pattern", "no address"))
    });
    let source = by_type([
        ("base64", tagged([("media_type", kinds), ("data", data)], [])),
        ("url", tagged([("url", is_address)], [])),
    ]);
    ("image", tagged([("source", source)], [cache()]))
}

fn anthropic_message() -> Shape {
    let content = text_or(list(by_type([anthropic_text(), anthropic_image()])));
    let result =
        tagged([("tool_use_id", ANTHROPIC_ID)], [("content", content), ("is_error", BOOLEAN), cache()]);
    let name = Check(|value| is_name(value, 200, "_-"));
    let call = tagged([("id", ANTHROPIC_ID), ("name", name), ("input", Object)], [cache()]);
    let not_blank = || {
        Check(|value| {
            let is_blank = value.is_string() && text(value).trim().is_empty();
            is_blank.then_some(("blank", BLANK))
        })
    };
    let says = |parts| {
        let content = Shape::All(vec![text_or(filled_list(parts)), not_blank()]);
        record([("role", Any), ("content", content)], [])
    };
    by_key(
        "role",
        [
            ("user", says(by_type([anthropic_text(), anthropic_image(), ("tool_result", result)]))),
            (
                "assistant",
                says(by_type([
                    anthropic_text(),
                    ("tool_use", call),
                    ("thinking", tagged([("thinking", Text), ("signature", Filled)], [])),
                    ("redacted_thinking", tagged([("data", Text)], [])),
                ])),
            ),
        ],
    )
}

/// The members of a part of Gemini: one of these.
const GEMINI_DATA: [&str; 5] = ["text", "functionCall", "functionResponse", "inlineData", "fileData"];

fn gemini() -> Shape {
    let declaration = record(
        [("name", GEMINI_NAME), ("description", Text)],
        [("parameters", Object), ("parametersJsonSchema", Object)],
    );
    let tool = record([], [("functionDeclarations", filled_list(declaration))]);
    let parts = || ("parts", filled_list(gemini_part()));
    record(
        [("contents", filled_list(record([("role", OneOf(&["user", "model"])), parts()], [])))],
        [
            ("systemInstruction", record([parts()], [("role", Any)])),
            ("tools", list(tool)),
            ("toolConfig", Object),
            ("generationConfig", Object),
            ("safetySettings", list(Object)),
        ],
    )
}

fn gemini_part() -> Shape {
    let one_datum = Check(|part| {
        let n_data = GEMINI_DATA.iter().filter(|key| part.get(**key).is_some()).count();
        (part.is_object() && n_data != 1)
            .then_some(("empty", "a part has one of text, call, response and data"))
    });
    let media = Check(|value| {
        let is_fine = text(value).split_once('/').is_some_and(|(kind, form)| {
            let is_sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".+-".contains(c);
            !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase()) && form.chars().all(is_sign)
        });
        (!is_fine).then_some(("pattern", "no media type"))
    });
    let response = [("id", Text), ("parts", list(Object))];
    let part = record(
        [],
        [
            ("text", Text),
            ("functionCall", record([("name", GEMINI_NAME)], [("id", Text), ("args", Object)])),
            ("functionResponse", record([("name", GEMINI_NAME), ("response", Object)], response)),
            ("inlineData", record([("mimeType", media), ("data", BASE64)], [("displayName", Text)])),
            ("fileData", record([("fileUri", Text)], [("mimeType", Text)])),
            ("thought", BOOLEAN),
            ("thoughtSignature", BASE64),
        ],
    );
    Shape::All(vec![part, one_datum])
}
