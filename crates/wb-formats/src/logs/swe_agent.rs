//! Trajectories of SWE-agent.

use wb_message::{Content, Message, ToolRole, ToolVocabulary};
use wb_record::json::{find, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, View};

use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Record, Shape, held};
use crate::shapes::chat_message::ChatShape;

const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("bash", ToolRole::Run),
        ("open", ToolRole::Read),
        ("create", ToolRole::Write),
        ("edit", ToolRole::Edit),
        ("insert", ToolRole::Edit),
        ("find_file", ToolRole::Search),
        ("search_dir", ToolRole::Search),
        ("search_file", ToolRole::Search),
    ],
    path_keys: &["path", "filename", "file_name"],
    part_keys: &["line_number", "view_range"],
};

/// Trajectories of SWE-agent (`.traj`): the messages are those of `history`.
///
/// The agent may send less of it, if a history processor elides old observations; those are not
/// known here. Steps under `trajectory` repeat the messages and stay unchanged. There is no usage
/// per request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SweAgent;

impl Format for SweAgent {
    fn name(&self) -> &'static str {
        "swe-agent"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let has = |key: &str| probe.first().is_some_and(|first| first.has(key));
        let is_alone = probe.values.len() == 1;
        let is_trajectory = has("trajectory") && (has("history") || has("environment"));
        if is_trajectory && is_alone { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for SweAgent {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        Ok(vec![List::at_path(held(parts), &["history"])?])
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape { lists_ids: true, more: demonstration, ..ChatShape::PLAIN }
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        let (_, json) = body_of(held(parts));
        view.model = text(json, &["replay_config", "agent", "model", "name"]);
    }
}

/// Pins a demonstration: it is part of the prompt, about another repository.
fn demonstration(record: &[u8], read: &mut Record) {
    if find(record, &["is_demo"]).is_some_and(|place| &record[place] == b"true")
        && let [Message::User { content, .. }] = read.messages.as_mut_slice()
    {
        read.messages = vec![Message::custom(
            "system".to_owned(),
            std::mem::replace(content, Content::Text(String::new())),
        )];
    }
}
