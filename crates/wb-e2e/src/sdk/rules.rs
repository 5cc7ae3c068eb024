//! The rules of providers for a body in shape: pairs, order, numbers.

use serde_json::Value;

use super::shapes::{self, Finding};

/// Returns what the provider would refuse in a body; rules apply where all of it is in shape.
pub(super) fn findings(dialect: &str, model: &str, body: &Value) -> Vec<Finding> {
    let mut found = shapes::findings(dialect, body);
    if found.is_empty() {
        match dialect {
            "openai" => chat(body, &mut found),
            "openai-responses" => responses(body, &mut found),
            "anthropic" => anthropic(body, model, &mut found),
            _ => gemini(body, model, &mut found),
        }
    }
    too_large(dialect, body, &mut found);
    found
}

fn too_large(dialect: &str, body: &Value, found: &mut Vec<Finding>) {
    let (most_pictures, most_mb) = match dialect {
        "anthropic" => (100, 32),
        "gemini" => (3600, 100),
        _ => (1500, 512),
    };
    let n_pictures = count(body, &|value| {
        matches!(value["type"].as_str(), Some("image" | "image_url" | "input_image"))
            || value["inlineData"].is_object()
    });
    if n_pictures > most_pictures {
        found.push(Finding::new("", "pictures", format!("{n_pictures} pictures, at most {most_pictures}")));
    }
    if body.to_string().len() > most_mb << 20 {
        found.push(Finding::new("", "size", format!("more than {most_mb} MB")));
    }
}

/// Counts the objects anywhere in a value that fulfil a condition.
fn count(value: &Value, is_counted: &impl Fn(&Value) -> bool) -> usize {
    match value {
        Value::Array(list) => list.iter().map(|inner| count(inner, is_counted)).sum(),
        Value::Object(map) => {
            let inner: usize = map.values().map(|inner| count(inner, is_counted)).sum();
            inner + usize::from(is_counted(value))
        }
        _ => 0,
    }
}

/// An id and its place.
type Location = (String, String);

fn location(id: &Value, at: &str) -> Location {
    (id.as_str().unwrap_or_default().to_owned(), at.to_owned())
}

/// Checks that the results of a step answer its calls, each once.
fn pairs(calls: &[Location], results: &[Location], found: &mut Vec<Finding>) {
    let has = |list: &[Location], id: &str| list.iter().any(|(other, _)| other == id);
    for (call, at) in calls.iter().filter(|(call, _)| !has(results, call)) {
        found.push(Finding::new(at, "unanswered", format!("call {call} has no result right after it")));
    }
    for (nth, (result, at)) in results.iter().enumerate() {
        if !has(calls, result) {
            found.push(Finding::new(
                at,
                "orphan",
                format!("result of {result}, which no call before it made"),
            ));
        }
        if has(&results[..nth], result) {
            found.push(Finding::new(at, "repeated", format!("a second result of {result}")));
        }
    }
}

fn distinct(calls: &[Location], found: &mut Vec<Finding>) {
    for (nth, (call, at)) in calls.iter().enumerate() {
        if calls[..nth].iter().any(|(other, _)| other == call) {
            found.push(Finding::new(at, "repeated", format!("a second call with the id {call}")));
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn chat(body: &Value, found: &mut Vec<Finding>) {
    let messages = list(&body["messages"]);
    let is_tool = |nth: usize| messages.get(nth).is_some_and(|message| message["role"] == "tool");
    let result = |nth: usize| location(&messages[nth]["tool_call_id"], &format!("/messages/{nth}"));
    let mut nth = 0;
    while nth < messages.len() {
        let at = format!("/messages/{nth}");
        let calls: Vec<Location> =
            list(&messages[nth]["tool_calls"]).iter().map(|call| location(&call["id"], &at)).collect();
        // Results follow their calls directly; the first message may be a result without any.
        let start = if is_tool(nth) { nth } else { nth + 1 };
        nth += 1;
        while is_tool(nth) {
            nth += 1;
        }
        let results: Vec<Location> = (start..nth).map(result).collect();
        distinct(&calls, found);
        pairs(&calls, &results, found);
    }
}

fn responses(body: &Value, found: &mut Vec<Finding>) {
    let items = list(&body["input"]);
    let at = |nth: usize| format!("/input/{nth}");
    for kind in ["function_call", "custom_tool_call"] {
        let of_kind = |kind: &str| {
            let kind = kind.to_owned();
            items.iter().enumerate().filter(move |(_, item)| item["type"] == kind.as_str())
        };
        let calls: Vec<Location> =
            of_kind(kind).map(|(nth, item)| location(&item["call_id"], &at(nth))).collect();
        distinct(&calls, found);
        let output = format!("{kind}_output");
        for (nth, item) in of_kind(&output) {
            let is_made = of_kind(kind).any(|(call, made)| call < nth && made["call_id"] == item["call_id"]);
            if !is_made {
                let why = format!("output of {}, which no call before it made", item["call_id"]);
                found.push(Finding::new(at(nth), "orphan", why));
            }
        }
        for (call, at) in calls {
            if !of_kind(&output).any(|(_, item)| item["call_id"] == call.as_str()) {
                found.push(Finding::new(at, "unanswered", format!("no tool output found for {call}")));
            }
        }
    }
    let with_id =
        || items.iter().enumerate().filter(|(_, item)| item["id"].as_str().is_some_and(|id| !id.is_empty()));
    distinct(&with_id().map(|(nth, item)| location(&item["id"], &at(nth))).collect::<Vec<_>>(), found);
    for (nth, _) in with_id().filter(|(_, item)| item["type"] == "reasoning") {
        let next = items.get(nth + 1).unwrap_or(&Value::Null);
        let is_call = next["type"].as_str().is_some_and(|kind| kind.ends_with("_call"));
        if next["role"] != "assistant" && !is_call {
            found.push(Finding::new(at(nth), "reasoning", "reasoning without the item that it belongs to"));
        }
    }
}

/// Consecutive messages of one side, which the provider joins: the role, and parts with their
/// places.
type Round<'a> = (&'a str, Vec<(String, &'a Value)>);

fn rounds(messages: &[Value]) -> Vec<Round<'_>> {
    let mut rounds: Vec<Round<'_>> = Vec::new();
    for (nth, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let at = |part: usize| format!("/messages/{nth}/content/{part}");
        let parts: Vec<(String, &Value)> = match &message["content"] {
            Value::Array(parts) => parts.iter().enumerate().map(|(part, value)| (at(part), value)).collect(),
            text => vec![(at(0), text)],
        };
        match rounds.last_mut() {
            Some((last, joined)) if *last == role => joined.extend(parts),
            _ => rounds.push((role, parts)),
        }
    }
    rounds
}

/// Returns the type of a part; a text on its own is one too.
fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or("text")
}

fn anthropic(body: &Value, model: &str, found: &mut Vec<Finding>) {
    let rounds = rounds(list(&body["messages"]));
    let (mut calls, mut all_calls): (Vec<Location>, Vec<Location>) = (Vec::new(), Vec::new());
    for (role, parts) in &rounds {
        let ids = |wanted: &str, key: &str| -> Vec<Location> {
            let wanted = parts.iter().filter(|(_, part)| kind(part) == wanted);
            wanted.map(|(at, part)| location(&part[key], at)).collect()
        };
        if *role == "user" {
            let results = ids("tool_result", "tool_use_id");
            pairs(&calls, &results, found);
            if parts[results.len()..].iter().any(|(_, part)| kind(part) == "tool_result") {
                found.push(Finding::new(&parts[0].0, "order", "results come before everything else"));
            }
            calls = Vec::new();
        } else {
            pairs(&calls, &[], found);
            calls = ids("tool_use", "id");
            all_calls.extend(calls.iter().cloned());
            let after_call = parts.iter().skip_while(|(_, part)| kind(part) != "tool_use");
            if after_call.into_iter().any(|(_, part)| kind(part) == "text") {
                found.push(Finding::new(&parts[0].0, "order", "a text after a call"));
            }
        }
    }
    pairs(&calls, &[], found);
    distinct(&all_calls, found);
    if rounds.first().is_some_and(|(role, _)| *role != "user") {
        found.push(Finding::new("/messages/0", "first", "the user speaks first"));
    }
    if rounds.last().is_some_and(|(role, _)| *role != "user") && !continues_answers(model) {
        found.push(Finding::new("/messages", "last", "the conversation must end with a message of the user"));
    }
    thinking(body, &rounds, found);
    let n_breakpoints = count(body, &|value| value["cache_control"].is_object());
    if n_breakpoints > 4 {
        found.push(Finding::new(
            "",
            "cache",
            format!("{n_breakpoints} blocks with cache_control, at most 4"),
        ));
    }
}

/// Returns whether a model continues an answer: those before Claude Opus 4.6 do. A date is no
/// version.
fn continues_answers(model: &str) -> bool {
    let Some((_, name)) = model.split_once("claude-") else { return false };
    let numbers =
        name.split(['-', '.']).map(|part| (part.len() <= 2).then(|| part.parse::<u32>().ok()).flatten());
    let mut numbers = numbers.skip_while(Option::is_none);
    let version = (numbers.next().flatten(), numbers.next().flatten().unwrap_or(0));
    version.0.is_some_and(|major| (major, version.1) < (4, 6))
}

/// With thinking, the answer whose results come now begins with it.
fn thinking(body: &Value, rounds: &[Round<'_>], found: &mut Vec<Finding>) {
    let [.., (_, answer), (_, results)] = rounds else { return };
    let is_running = results.iter().any(|(_, part)| kind(part) == "tool_result");
    let is_wanted = body["thinking"]["type"] == "enabled" && is_running;
    if is_wanted && !kind(answer[0].1).contains("thinking") {
        found.push(Finding::new(&answer[0].0, "thinking", "expected thinking before the calls"));
    }
}

fn gemini(body: &Value, model: &str, found: &mut Vec<Finding>) {
    let contents = list(&body["contents"]);
    let at = |nth: usize| format!("/contents/{nth}");
    for nth in 1..contents.len() {
        if contents[nth]["role"] == contents[nth - 1]["role"] {
            found.push(Finding::new(at(nth), "alternation", "the same side speaks twice"));
        }
    }
    if contents.last().is_some_and(|content| content["role"] != "user") {
        found.push(Finding::new("/contents", "last", "the conversation must end with the user"));
    }
    let mut calls: Vec<Location> = Vec::new();
    for (nth, content) in contents.iter().enumerate() {
        let ids = |key: &str| -> Vec<Location> {
            let parts = list(&content["parts"]).iter().filter(|part| part[key].is_object());
            // Calls are distinguished by id, else by the name of their function.
            parts.map(|part| (format!("{} {}", part[key]["id"], part[key]["name"]), at(nth))).collect()
        };
        let results = ids("functionResponse");
        if results.len() != calls.len() {
            let why = format!("{} function responses after {} function calls", results.len(), calls.len());
            found.push(Finding::new(at(nth), "unanswered", why));
        }
        pairs(&calls, &results, found);
        calls = ids("functionCall");
        if !calls.is_empty() && (nth == 0 || content["role"] != "model") {
            found.push(Finding::new(at(nth), "first", "a call follows the user or a function response"));
        }
    }
    if !calls.is_empty() {
        found.push(Finding::new("/contents", "unanswered", "calls without responses"));
    }
    signatures(contents, model, found);
}

/// Since Gemini 3 the first call of each step of the running turn is signed.
fn signatures(contents: &[Value], model: &str, found: &mut Vec<Finding>) {
    if !model.starts_with("gemini-3") {
        return;
    }
    let is_prompt = |content: &Value| {
        let has_result = list(&content["parts"]).iter().any(|part| part["functionResponse"].is_object());
        content["role"] == "user" && !has_result
    };
    let start = contents.iter().rposition(is_prompt).map_or(0, |prompt| prompt + 1);
    for (nth, content) in contents.iter().enumerate().skip(start) {
        let first = list(&content["parts"]).iter().find(|part| part["functionCall"].is_object());
        if first.is_some_and(|call| call["thoughtSignature"].is_null()) {
            let why = "function call is missing a thought_signature";
            found.push(Finding::new(format!("/contents/{nth}"), "signature", why));
        }
    }
}
