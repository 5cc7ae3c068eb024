//! Texts of real sessions by kind, with the usage that providers reported.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use wb_budget::count::fitted::Family;
use wb_formats::Segment;
use wb_message::{Block, Content, Message};

/// The size of the shortest measured text; in shorter ones a single token matters too much.
const MIN_BYTES: usize = 200;
/// The smallest measured growth in tokens, so that unrecorded reminders matter little.
const MIN_GROWTH: u64 = 400;

/// A text and its kind.
pub(crate) struct Text {
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// The texts added to a prompt between two requests, and their reported tokens.
pub(crate) struct Growth {
    pub(crate) family: Family,
    /// The folder of the session, which is the agent.
    pub(crate) agent: String,
    pub(crate) texts: Vec<String>,
    pub(crate) n_messages: usize,
    pub(crate) tokens: u64,
}

/// The texts and growths of sessions.
#[derive(Default)]
pub(crate) struct Samples {
    pub(crate) texts: Vec<Text>,
    pub(crate) growths: Vec<Growth>,
    seen: HashSet<u64>,
}

impl Samples {
    /// Reads every session below a folder; other files are skipped.
    pub(crate) fn read(folder: &Path) -> std::io::Result<Self> {
        let mut samples = Self::default();
        for path in files_below(folder)? {
            let agent = path.parent().and_then(Path::file_name).unwrap_or_default().display().to_string();
            let opened = File::open(&path)?;
            for segment in wb_formats::segments(&mut BufReader::new(opened)).unwrap_or_default() {
                samples.add_texts(&segment.messages);
                samples.add_growths(&agent, &segment);
            }
        }
        Ok(samples)
    }

    fn add_texts(&mut self, messages: &[Message]) {
        let mut tools = BTreeMap::new();
        for message in messages {
            for (kind, text) in texts_of(message, &mut tools) {
                let is_new = self.seen.insert(xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
                if text.len() >= MIN_BYTES && is_new {
                    self.texts.push(Text { kind, text });
                }
            }
        }
    }

    fn add_growths(&mut self, agent: &str, segment: &Segment) {
        for pair in segment.usage.windows(2) {
            let [one, two] = pair else { continue };
            let Some(added) = segment.messages.get(one.at + 1..two.at) else { continue };
            let grown = two.usage.prompt_tokens().saturating_sub(one.usage.context_tokens());
            let model = two.model.as_deref().unwrap_or_default();
            let has_images = added.iter().any(has_image);
            if grown < MIN_GROWTH || has_images || one.model != two.model || model.is_empty() {
                continue;
            }
            let mut tools = BTreeMap::new();
            let texts: Vec<String> =
                added.iter().flat_map(|it| texts_of(it, &mut tools)).map(|(_, text)| text).collect();
            let n_bytes = texts.iter().map(String::len).sum::<usize>() as f64;
            // Outside this range the file omits something sent or contains something not sent.
            if (1.5..8.0).contains(&(n_bytes / grown as f64)) {
                let Some(family) = Family::from_model_id(model) else { continue };
                let growth =
                    Growth { family, agent: agent.to_owned(), texts, n_messages: added.len(), tokens: grown };
                self.growths.push(growth);
            }
        }
    }
}

fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn has_image(message: &Message) -> bool {
    let blocks = match message {
        Message::ToolResult { content, .. } | Message::Assistant { content, .. } => &content[..],
        Message::User { content: Content::Blocks(blocks), .. } => blocks,
        _ => &[],
    };
    blocks.iter().any(|block| matches!(block, Block::Image { .. }))
}

/// Returns the texts of a message with their kinds; `tools` are the names of the calls so far.
fn texts_of(message: &Message, tools: &mut BTreeMap<String, String>) -> Vec<(String, String)> {
    match message {
        Message::User { content, .. } => all("prompts", content.texts()),
        Message::Custom { content, .. } => all("what hosts add", content.texts()),
        Message::Assistant { content, .. } => {
            content.iter().filter_map(|block| answer_text(block, tools)).collect()
        }
        Message::ToolResult { content, tool_call_id, tool_name, .. } => {
            let name = tools.get(tool_call_id).unwrap_or(tool_name);
            let texts = content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            });
            all(kind_of(name), texts)
        }
        Message::BashExecution { command, output, .. } => {
            all("output of commands", [command.as_str(), output])
        }
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            all("summaries", [summary.as_str()])
        }
    }
}

fn all<'a>(kind: &str, texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    texts.into_iter().map(|text| (kind.to_owned(), text.to_owned())).collect()
}

fn answer_text(block: &Block, tools: &mut BTreeMap<String, String>) -> Option<(String, String)> {
    match block {
        Block::Text { text } => Some(("answers".to_owned(), text.clone())),
        Block::Thinking { text, .. } => Some(("thinking".to_owned(), text.clone())),
        Block::ToolCall { id, name, input } => {
            tools.insert(id.clone(), name.clone());
            Some(("arguments of calls".to_owned(), input.to_string()))
        }
        _ => None,
    }
}

/// Returns the kind of a result by its tool's name.
fn kind_of(tool: &str) -> &'static str {
    let tool = tool.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    match () {
        () if has(&["read", "view", "cat", "open"]) => "files that were read",
        () if has(&["bash", "shell", "exec", "command", "run", "terminal"]) => "output of commands",
        () if has(&["grep", "glob", "search", "find", "ls", "list"]) => "results of searches",
        () if has(&["web", "fetch", "browser"]) => "pages of the web",
        () => "other results",
    }
}
