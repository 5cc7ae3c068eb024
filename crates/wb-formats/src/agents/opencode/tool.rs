//! A tool's call and its result, which share one part.

use serde_json::Value;
use wb_message::{Block, markers};
use wb_record::json::{find, remove, set_in};

use crate::kit::fields::Fields;
use crate::kit::json_text::value;

/// The text that the agent sends in place of a missing result.
const INTERRUPTED: &str = "[Tool execution was interrupted]";
/// The path of a cleared failure's text; a result keeps its place.
const KEPT: [&str; 3] = ["state", "metadata", "cleared"];
/// The agent's mark on a cleared result: the time of the clearing.
const CLEARED_AT: [&str; 3] = ["state", "time", "compacted"];

/// A call and its outcome.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The tool has not answered.
    Open,
    /// An answer, sent unchanged.
    Said { content: Vec<Block>, is_error: bool },
    /// A placeholder is sent for it, since a time in milliseconds; 0 if that is not known.
    Cleared { since: i64, is_error: bool },
}

impl Tool {
    /// Reads a part; `None` if it is not a call.
    pub(crate) fn parse(part: &Fields<'_>) -> Option<Self> {
        let state = part.inner("state")?;
        let input = state.get("input").map_or_else(|| Some(Value::Object(serde_json::Map::new())), value)?;
        let outcome = outcome(&state);
        Some(Self { id: part.string("callID")?, name: part.string("tool")?, input, outcome })
    }
}

impl Outcome {
    /// Returns the body that is sent, and whether the tool failed; `None` for an open call.
    pub(crate) fn sent(self) -> Option<(Vec<Block>, bool)> {
        match self {
            Self::Open => None,
            Self::Said { content, is_error } => Some((content, is_error)),
            Self::Cleared { is_error, .. } => Some((markers::cleared_body(), is_error)),
        }
    }

    /// Returns the text sent for an abandoned call.
    pub(crate) fn interrupted() -> (Vec<Block>, bool) {
        (vec![Block::text(INTERRUPTED)], true)
    }
}

fn outcome(state: &Fields<'_>) -> Outcome {
    match state.string("status").as_deref() {
        Some("completed") => {
            let since = state.inner("time").and_then(|time| time.integer("compacted"));
            match since.filter(|since| *since != 0) {
                Some(since) => Outcome::Cleared { since, is_error: false },
                None => Outcome::Said { content: output(state), is_error: false },
            }
        }
        Some("error") => {
            let (content, is_error) = failure(state);
            let is_kept =
                state.inner("metadata").is_some_and(|metadata| metadata.string("cleared").is_some());
            if is_kept && markers::is_cleared(&content) {
                return Outcome::Cleared { since: 0, is_error };
            }
            Outcome::Said { content, is_error }
        }
        _ => Outcome::Open,
    }
}

/// Returns the output of a tool with its pictures.
fn output(state: &Fields<'_>) -> Vec<Block> {
    let attached = state.get("attachments").map(|list| (list, wb_record::json::elements(list)));
    let attached = attached.iter().flat_map(|(list, places)| {
        places.iter().flatten().filter_map(|place| attachment(&Fields::parse(&list[place.clone()])?))
    });
    let text = state.string("output").map(Block::text);
    text.into_iter().chain(attached).collect()
}

/// Returns the text sent for a failure: the output up to the interruption, or the error.
fn failure(state: &Fields<'_>) -> (Vec<Block>, bool) {
    match stopped(state) {
        Some(output) => (vec![Block::text(output)], false),
        None => (vec![Block::text(state.string("error").unwrap_or_default())], true),
    }
}

fn stopped(state: &Fields<'_>) -> Option<String> {
    let metadata = state.inner("metadata")?;
    metadata.is("interrupted", "true").then(|| metadata.string("output"))?
}

/// Returns a file as the model gets it: its bytes, or its name where they are elsewhere.
pub(crate) fn attachment(file: &Fields<'_>) -> Option<Block> {
    let media_type = file.string("mime")?;
    let url = file.string("url").unwrap_or_default();
    if let Some((_, data)) = url.strip_prefix("data:").and_then(|data| data.split_once(',')) {
        return Some(Block::image(media_type, data));
    }
    let name = file.string("filename").unwrap_or_else(|| "file".to_owned());
    Some(Block::text(format!("[Attached {media_type}: {name}]")))
}

/// Returns a part with its result cleared as the agent does it. A failure has no such mark: its
/// text is kept next to it, and the placeholder takes its place.
pub(crate) fn cleared(part: &[u8], now_ms: i64) -> Option<Vec<u8>> {
    let state = Fields::parse(part)?.inner("state")?;
    match outcome(&state) {
        Outcome::Said { .. } if state.string("status")? == "completed" => {
            Some(set_in(part, &CLEARED_AT, now_ms.to_string().as_bytes()))
        }
        Outcome::Said { .. } => {
            let place = place_of_failure(&state);
            let before = part.get(find(part, place)?)?;
            let placeholder = Value::from(markers::CLEARED_TOOL_RESULT).to_string();
            Some(set_in(&set_in(part, &KEPT, before), place, placeholder.as_bytes()))
        }
        Outcome::Open | Outcome::Cleared { .. } => None,
    }
}

/// Returns a part whose result is sent again.
pub(crate) fn uncleared(part: &[u8]) -> Option<Vec<u8>> {
    let state = Fields::parse(part)?.inner("state")?;
    let without = |path: &[&str; 3]| {
        let inner = &part[find(part, &path[..2])?];
        Some(set_in(part, &path[..2], &remove(inner, path[2])))
    };
    match outcome(&state) {
        Outcome::Cleared { is_error: false, .. } if state.string("status")? == "completed" => {
            without(&CLEARED_AT)
        }
        Outcome::Cleared { .. } => {
            let before = part.get(find(part, &KEPT)?)?.to_vec();
            Some(set_in(&without(&KEPT)?, place_of_failure(&state), &before))
        }
        Outcome::Open | Outcome::Said { .. } => None,
    }
}

fn place_of_failure(state: &Fields<'_>) -> &'static [&'static str] {
    if stopped(state).is_some() { &["state", "metadata", "output"] } else { &["state", "error"] }
}

/// Returns the body that is sent if the result is not cleared.
pub(crate) fn body(part: &[u8]) -> Option<Vec<Block>> {
    let part = uncleared(part).unwrap_or_else(|| part.to_vec());
    Some(Tool::parse(&Fields::parse(&part)?)?.outcome.sent()?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &str = r#"{"type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt","attachments":[{"mime":"image/png","url":"data:image/png;base64,aGk="}],"time":{"start":1, "end":2}},"more":[1.50]}"#;
    const FAILED: &str = r#"{"type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"no \u00e9","time":{"start":1,"end":2}}}"#;
    const STOPPED: &str = r#"{"callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"stopped","metadata":{"interrupted":true,"output":"half"}}}"#;

    fn sent(part: &[u8]) -> Option<(Vec<Block>, bool)> {
        Tool::parse(&Fields::parse(part).unwrap()).unwrap().outcome.sent()
    }

    #[test]
    fn a_result_is_what_the_model_gets() {
        let picture = Block::image("image/png", "aGk=");
        assert_eq!(sent(DONE.as_bytes()), Some((vec![Block::text("a.txt"), picture], false)));
        assert_eq!(sent(FAILED.as_bytes()), Some((vec![Block::text("no é")], true)));
        assert_eq!(sent(STOPPED.as_bytes()), Some((vec![Block::text("half")], false)));
        let open = r#"{"callID":"c","tool":"bash","state":{"status":"running","input":{}}}"#;
        assert_eq!(sent(open.as_bytes()), None);
        assert_eq!(cleared(open.as_bytes(), 9), None);
    }

    #[test]
    fn a_result_is_cleared_and_restored_with_every_other_byte() {
        for part in [DONE, FAILED, STOPPED] {
            let gone = cleared(part.as_bytes(), 9).unwrap();
            assert_eq!(sent(&gone).unwrap().0, markers::cleared_body());
            assert_eq!(cleared(&gone, 10), None, "it is cleared already");
            assert_eq!(body(&gone), sent(part.as_bytes()).map(|(body, _)| body));
            let back: Value = serde_json::from_slice(&uncleared(&gone).unwrap()).unwrap();
            let mut before: Value = serde_json::from_str(part).unwrap();
            if part == FAILED {
                before["state"]["metadata"] = serde_json::json!({});
            }
            assert_eq!(back, before);
        }
        let gone = String::from_utf8(cleared(DONE.as_bytes(), 9).unwrap()).unwrap();
        assert_eq!(gone, DONE.replace("\"end\":2", "\"end\":2,\"compacted\":9"));
    }
}
