//! Models without a network: one that follows the user's calls literally, and one that plays a
//! script.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_invoke::{Emission, ModelInvoker, Reply, StopReason, StreamOptions};
use wb_message::{Block, Conversation, Turn, text};

/// The reply of the offline model to a prompt without a call.
const HELP: &str = "I am no model, I run what you name. A line is one call:
  read PATH | ls [PATH] | grep TEXT | bash COMMAND | edit PATH: OLD => NEW
Everything around me is real: the tools, the log, the window and what happens when it is full.";

/// A model that runs the tools that the user names. It answers nothing else, so digests are written
/// without it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl ModelInvoker for Offline {
    fn invoke(&self, conversation: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        stream_of(match conversation.turns.last() {
            Some(Turn::Tool { .. }) => vec![Block::text(result_lines(&conversation.turns))],
            Some(Turn::User { blocks }) => {
                let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                let calls: Vec<Block> = texts.iter().flat_map(|text| text.lines()).filter_map(call).collect();
                if calls.is_empty() { vec![Block::text(HELP)] } else { calls }
            }
            _ => vec![Block::text(HELP)],
        })
    }
}

/// Parses one line as a call, without an id.
fn call(line: &str) -> Option<Block> {
    let (name, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let rest = rest.trim();
    let input = match (name, rest) {
        ("ls", "") => json!({}),
        (_, "") => return None,
        ("read" | "ls", path) => json!({ "path": path }),
        ("grep", text) => json!({ "text": text }),
        ("bash", command) => json!({ "command": command }),
        ("edit", rest) => {
            let (path, change) = rest.split_once(':')?;
            let (old, new) = change.split_once("=>")?;
            json!({ "path": path.trim(), "old": old.trim(), "new": new.trim() })
        }
        _ => return None,
    };
    Some(Block::call("", name, input))
}

fn result_lines(turns: &[Turn]) -> String {
    let newest = turns.iter().rev().take_while(|turn| matches!(turn, Turn::Tool { .. }));
    let mut lines = String::new();
    for block in newest.collect::<Vec<_>>().into_iter().rev().flat_map(Turn::blocks) {
        let Block::ToolResult { output, is_error, .. } = block else { continue };
        let shown = output.as_str().unwrap_or("[not text]");
        let how = if *is_error == Some(true) { "That failed" } else { "Done" };
        let _ = writeln!(lines, "{how}, {} bytes: {}", shown.len(), text::one_line(shown, 100));
    }
    lines
}

/// One answer of a script; a file of them is JSON lines.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Line {
    /// The text of the answer.
    say: String,
    /// The tools that are called, each with its arguments.
    calls: Vec<(String, Value)>,
}

/// A model that plays a script, one answer per line, whatever the request.
#[derive(Debug)]
pub struct Script {
    lines: Mutex<VecDeque<Line>>,
}

impl Script {
    /// Reads a script: JSON lines such as `{"say":"I look.","calls":[["read",{"path":"a.rs"}]]}`.
    pub fn read(lines: &str) -> Result<Self, String> {
        let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read =
            |(at, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1));
        Ok(Self { lines: Mutex::new(lines.map(read).collect::<Result<_, String>>()?) })
    }
}

impl ModelInvoker for Script {
    fn invoke(&self, _: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        let next = self.lines.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let line =
            next.unwrap_or_else(|| Line { say: "The script ends here.".to_owned(), calls: Vec::new() });
        let text = (!line.say.is_empty()).then(|| Block::text(line.say));
        let calls = line.calls.into_iter().map(|(name, input)| Block::call("", name, input));
        stream_of(text.into_iter().chain(calls).collect())
    }
}

/// Streams an answer as a provider does.
fn stream_of(blocks: Vec<Block>) -> BoxStream<'static, Emission> {
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
    let stop = if has_calls { StopReason::ToolCalls } else { StopReason::Complete };
    let texts = blocks.iter().filter_map(Block::as_text);
    let mut emissions: Vec<Emission> = texts.map(|text| Emission::Text { delta: text.to_owned() }).collect();
    let reply = Reply { model: "offline".to_owned(), blocks, usage: Usage::EMPTY, stop };
    emissions.push(Emission::Done { reply });
    stream::iter(emissions).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_the_call_that_it_names() {
        let read = |line| match call(line) {
            Some(Block::ToolCall { name, input, .. }) => format!("{name} {input}"),
            _ => "none".to_owned(),
        };
        assert_eq!(read("read src/a.rs"), r#"read {"path":"src/a.rs"}"#);
        assert_eq!(read("ls"), "ls {}");
        assert_eq!(read("edit a: x => y"), r#"edit {"path":"a","old":"x","new":"y"}"#);
        assert_eq!(
            (read("read"), read("please read it"), read("edit a x")),
            ("none".into(), "none".into(), "none".into())
        );
    }

    #[test]
    fn a_script_names_the_line_that_it_cannot_read() {
        assert!(Script::read("{\"say\":\"a\"}\n\nnonsense").unwrap_err().starts_with("line 3: "));
    }
}
