//! Trajectories in the Agent Trajectory Interchange Format (ATIF), which Harbor writes.

mod step_reader;
mod step_writer;

use wb_message::Message;
use wb_record::json::{elements, get, set, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, Stamp, View};

use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};

/// Trajectories of ATIF 1.0 to 1.8: one document with numbered steps, each of which holds the
/// results of its calls.
///
/// Embedded trajectories of subagents are conversations by their id. System texts are pinned. An
/// observation that answers no call is a text of the environment, not of the user. Steps are
/// numbered anew when one is added or removed; the totals of the run stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Atif;

impl Format for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        match probe.values.as_slice() {
            [first] if ["schema_version", "agent", "steps"].iter().all(|key| first.has(key)) => {
                Confidence::Sure
            }
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Atif {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let whole = held(parts);
        let main = List::at_path(whole, &["steps"])?;
        let subagents = List::at_path(whole, &["subagent_trajectories"])?.records;
        let lists = subagents.into_iter().map(|place| subagent(whole, &whole[place]));
        lists.chain([Ok(main)]).collect()
    }

    fn shape(&self) -> &dyn Shape {
        self
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        let (_, json) = body_of(held(parts));
        view.model = view.model.take().or_else(|| text(json, &["agent", "model_name"]));
    }

    /// A result joins the step of its call.
    fn joined(&self, one: &[u8], next: &[u8]) -> Option<Vec<u8>> {
        step_writer::with_result(one, next)
    }

    fn number(&self, record: &[u8], nth: usize) -> Result<Option<Vec<u8>>, String> {
        if get(record, "source").is_none() {
            return Err("a result apart from the step of its call".to_owned());
        }
        let number = (nth + 1).to_string();
        let is_same = get(record, STEP_ID) == Some(number.as_bytes());
        Ok((!is_same).then(|| set(record, STEP_ID, number.as_bytes())))
    }
}

/// The key of a step's number, counted from 1.
const STEP_ID: &str = "step_id";

/// Returns the steps of an embedded trajectory.
fn subagent(whole: &[u8], trajectory: &[u8]) -> Result<List, FormatError> {
    let steps = get(trajectory, "steps").filter(|list| elements(list).is_some());
    let name = text(trajectory, &["trajectory_id"]).unwrap_or_else(|| "subagent".to_owned());
    Ok(List { name, ..List::of_array(whole, steps.unwrap_or(b"[]"))? })
}

impl Shape for Atif {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        step_reader::read(record, into)
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        step_writer::write(message, stamp).map(|value| value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        step_writer::rewrite(record, messages, fates)
    }
}
