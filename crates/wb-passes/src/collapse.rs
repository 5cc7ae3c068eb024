//! Collapses older replies with the results of their calls to a summary each.

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{COLLAPSED_PREFIX, is_prompt};
use wb_message::{Block, Edit, Message, Patch, text};

use crate::groups::Groups;
use crate::pass::{Goal, Pass};

/// Messages at the end to keep by default.
const COLLAPSE_KEEP_RECENT: usize = 10;

/// The most characters of one text in a summary.
const MAX_TEXT_CHARS: usize = 200;
/// The most characters of all texts in a summary.
const MAX_TEXTS_CHARS: usize = 1000;
/// The most characters of the line for a failed result.
const MAX_FAILURE_CHARS: usize = 160;
/// The most failed results of a reply with a line each.
const MAX_FAILURES: usize = 5;

/// Collapses older replies with the results of their calls, each to one assistant message that
/// starts with [`COLLAPSED_PREFIX`]: its texts, clipped if long, or else the number of calls, and a
/// line for each failed result.
///
/// The oldest go first, and only as many as the target requires; a reply that would not become
/// lighter stays. Messages of the user and the host and calls in flight stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Collapse {
    /// The number of messages at the end to keep; more if the cut would separate a pair.
    pub keep_recent: usize,
}

impl Default for Collapse {
    fn default() -> Self {
        Self { keep_recent: COLLAPSE_KEEP_RECENT }
    }
}

impl Collapse {
    /// Returns the index of the first message to keep.
    fn boundary(self, view: &WeighedTranscript<'_>) -> usize {
        let at = view.messages.len().saturating_sub(self.keep_recent);
        view.pairing.legal_at_or_before(at).unwrap_or(0)
    }
}

impl Pass for Collapse {
    fn name(&self) -> &'static str {
        "collapse"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let mut excess = view.total_tokens().checked_sub(goal.target_tokens).filter(|excess| *excess > 0)?;
        let boundary = self.boundary(view);
        let groups = Groups::new(view);
        let mut edits = Vec::new();
        for (group, members) in groups.members.iter().enumerate() {
            if excess == 0 || members[0] >= boundary {
                break;
            }
            let Some(summary) = summary(&view.messages, members) else { continue };
            let saved = groups.tokens[group].saturating_sub(view.counter.as_ref().message(&summary));
            if saved > 0 {
                excess = excess.saturating_sub(saved);
                edits.extend(folds(members, summary));
            }
        }
        (!edits.is_empty()).then(|| Patch::new(edits))
    }
}

/// Returns a fold for each run of members; the summary replaces the first run.
fn folds(members: &[usize], summary: Message) -> impl Iterator<Item = Edit> {
    let mut summary = Some(summary);
    let runs = members.chunk_by(|at, next| at + 1 == *next);
    runs.map(move |run| Edit::Fold {
        range: run[0]..run[0] + run.len(),
        with: summary.take().into_iter().collect(),
    })
}

/// Summarizes a reply and the results of its calls; returns `None` for other groups and collapsed
/// replies.
fn summary(messages: &[&Message], members: &[usize]) -> Option<Message> {
    let (&reply, results) = members.split_first()?;
    let Message::Assistant { content, error_message } = messages[reply] else { return None };
    let foldable = |&at: &usize| is_only_results(messages[at]);
    if is_collapsed(content) || !results.iter().all(foldable) {
        return None;
    }
    let failures = failure_lines(content, results.iter().map(|&at| messages[at]));
    let summary = [COLLAPSED_PREFIX, &reply_text(content), &failures].concat();
    Some(Message::Assistant { content: vec![Block::text(summary)], error_message: error_message.clone() })
}

fn is_collapsed(content: &[Block]) -> bool {
    matches!(content, [Block::Text { text }] if text.starts_with(COLLAPSED_PREFIX))
}

fn is_only_results(message: &Message) -> bool {
    message.answered_ids().next().is_some() && !is_prompt(message)
}

/// Returns the texts of a reply within [`MAX_TEXTS_CHARS`], else the number of its calls.
fn reply_text(content: &[Block]) -> String {
    let texts = content.iter().filter_map(Block::as_text).map(str::trim).filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.map(|text| clip(text, MAX_TEXT_CHARS)).collect();
    let n_calls = content.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count();
    match (texts.is_empty(), n_calls) {
        (false, _) => clip(&texts.join(" "), MAX_TEXTS_CHARS),
        (true, 0) => "[Assistant response]".to_owned(),
        (true, n_calls) => format!("[Assistant used {n_calls} tool(s)]"),
    }
}

fn clip(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) => text::one_line(text, max_chars),
    }
}

/// A failed result.
#[derive(Debug)]
struct Failure<'a> {
    call_id: &'a str,
    /// The tool's name, if the result contains it.
    tool: Option<&'a str>,
    error: &'a str,
}

impl Failure<'_> {
    fn line(&self, reply: &[Block]) -> String {
        let called = reply.iter().find_map(|block| match block {
            Block::ToolCall { id, name, .. } if id == self.call_id => Some(name.as_str()),
            _ => None,
        });
        let tool = self.tool.or(called).unwrap_or_default();
        ["\n", &text::one_line(&format!("{tool} failed: {}", self.error), MAX_FAILURE_CHARS)].concat()
    }
}

/// Returns a line for each of the first [`MAX_FAILURES`] failed results, and one that counts the
/// others.
fn failure_lines<'a>(reply: &[Block], results: impl Iterator<Item = &'a Message>) -> String {
    let mut failures = results.flat_map(failures);
    let lines: String = failures.by_ref().take(MAX_FAILURES).map(|failure| failure.line(reply)).collect();
    match failures.count() {
        0 => lines,
        n_more => format!("{lines}\n{n_more} more failed"),
    }
}

fn failures(message: &Message) -> Vec<Failure<'_>> {
    match message {
        Message::ToolResult { tool_call_id, tool_name, content, is_error: true, .. } => vec![Failure {
            call_id: tool_call_id,
            tool: Some(tool_name),
            error: first_line(content.iter().filter_map(Block::as_text)),
        }],
        _ => message.blocks().iter().filter_map(nested_failure).collect(),
    }
}

fn nested_failure(block: &Block) -> Option<Failure<'_>> {
    let Block::ToolResult { call_id, output, is_error: Some(true) } = block else { return None };
    Some(Failure { call_id, tool: None, error: first_line(output.as_str().into_iter()) })
}

fn first_line<'a>(texts: impl Iterator<Item = &'a str>) -> &'a str {
    texts.flat_map(str::lines).find(|line| !line.trim().is_empty()).unwrap_or_default()
}
