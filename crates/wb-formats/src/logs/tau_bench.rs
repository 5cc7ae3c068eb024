//! Results of tau-bench and tau2-bench: many runs in one document.

use std::collections::HashSet;

use wb_message::Message;
use wb_record::json::{elements, get, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Record, Shape, held};
use crate::shapes::chat_message::{ChatShape, usage};

/// Results of tau-bench (a list of runs with their `traj`) and of tau2-bench (`simulations`), each
/// run a conversation.
///
/// A conversation is named by its task and its trial. The simulated user's tool calls and results
/// are not visible to the agent and stay in place. tau2-bench counts each request of the agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TauBench;

impl Format for TauBench {
    fn name(&self) -> &'static str {
        "tau-bench"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_run = |run: &ProbedValue| run.has("traj") && run.has("task_id");
        // Another list of simulations has no conversations.
        let is_simulation = |run: &ProbedValue| run.has("messages") || run.has("task_id");
        let is_second = |first: &ProbedValue| {
            let runs = first.listed.as_deref().filter(|_| first.has("simulations"));
            runs.is_some_and(|runs| runs.elements().next().is_some_and(is_simulation))
        };
        match probe.values.as_slice() {
            [first] if is_second(first) && (first.has("tasks") || first.has("info")) => Confidence::Sure,
            [first] if first.is_list && first.elements().next().is_some_and(is_run) => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for TauBench {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let text = held(parts);
        let is_second = body_of(text).1.starts_with(b"{");
        let (runs, key) =
            if is_second { (["simulations"].as_slice(), "messages") } else { ([].as_slice(), "traj") };
        let runs = List::at_path(text, runs)?.records;
        let lists = runs.into_iter().map(|run| history_path(text, &text[run], key));
        let mut lists = lists.collect::<Result<Vec<_>, _>>()?;
        let mut names = HashSet::new();
        for (at, list) in lists.iter_mut().enumerate() {
            if !names.insert(list.name.clone()) {
                list.name = format!("{}/{at}", list.name);
            }
        }
        Ok(lists)
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape { more: of_agent, ..ChatShape::PLAIN }
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        let (_, json) = body_of(held(parts));
        view.model = text(json, &["info", "agent_info", "llm"]);
    }
}

fn history_path(text: &[u8], run: &[u8], key: &str) -> Result<List, FormatError> {
    let list = List::of_array(text, get(run, key).filter(|list| elements(list).is_some()).unwrap_or(b"[]"))?;
    let part = |key: &str| {
        let value = get(run, key).unwrap_or(b"0");
        String::from_utf8_lossy(value).trim_matches('"').to_owned()
    };
    Ok(List { name: format!("{}/{}", part("task_id"), part("trial")), ..list })
}

/// Removes the exchange between the simulated user and its tools, and reads the usage.
fn of_agent(record: &[u8], read: &mut Record) {
    let is_absent =
        |value: Option<&[u8]>| value.is_none_or(|value| matches!(value, b"null" | b"[]" | b"\"\""));
    let is_unseen = match read.messages.as_slice() {
        [Message::User { .. }] => is_absent(get(record, "content")) && !is_absent(get(record, "tool_calls")),
        [Message::ToolResult { .. }] => text(record, &["requestor"]).is_some_and(|it| it == "user"),
        [Message::Assistant { .. }] => {
            read.usage = get(record, "usage").and_then(usage);
            false
        }
        _ => false,
    };
    if is_unseen {
        read.messages.clear();
    }
}
