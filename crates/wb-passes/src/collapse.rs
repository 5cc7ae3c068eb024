//! Folds older replies with the results of their calls to a line each.

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::{COLLAPSED_PREFIX, is_prompt};
use wb_message::{Block, Edit, Message, Patch, text};

use crate::groups::Groups;
use crate::pass::{Goal, Pass};

/// Messages at the end that no reply is collapsed in by default.
const COLLAPSE_KEEP_RECENT: usize = 10;

/// Characters up to which a text is kept as it is.
const SHORT_CHARS: usize = 200;
/// The most characters of all texts of a reply.
const SAID_CHARS: usize = 1000;
/// The most characters of the line that stands for a failed result.
const FAILED_CHARS: usize = 160;
/// The most failed results of a reply that have a line each.
const MAX_FAILED: usize = 5;

/// Folds older replies with the results of their calls, each to one assistant message that starts with
/// [`COLLAPSED_PREFIX`]: its texts, long ones clipped, or else how many tools it used, and a line for each result
/// that failed.
///
/// The oldest go first, and no more than the target asks for; one that would not become lighter stays. What the
/// user said, hosts' messages and calls in flight stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Collapse {
    /// How many messages at the end stay as they are; more where the cut would separate a pair.
    pub keep_recent: usize,
}

impl Default for Collapse {
    fn default() -> Self {
        Self { keep_recent: COLLAPSE_KEEP_RECENT }
    }
}

impl Collapse {
    /// Returns the index of the first message that stays as it is.
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
        let groups = Groups::of(view);
        let mut edits = Vec::new();
        for (group, members) in groups.members.iter().enumerate() {
            if excess == 0 || members[0] >= boundary {
                break;
            }
            let Some(summary) = collapsed(&view.messages, members) else { continue };
            let saved = groups.tokens[group].saturating_sub(view.counter.as_ref().message(&summary));
            if saved > 0 {
                excess = excess.saturating_sub(saved);
                edits.extend(folds(members, summary));
            }
        }
        (!edits.is_empty()).then(|| Patch::new(edits))
    }
}

/// Folds each run of members, the first one to the summary.
fn folds(members: &[usize], summary: Message) -> impl Iterator<Item = Edit> {
    let mut summary = Some(summary);
    let runs = members.chunk_by(|at, next| at + 1 == *next);
    runs.map(move |run| Edit::Fold {
        range: run[0]..run[0] + run.len(),
        with: summary.take().into_iter().collect(),
    })
}

/// Returns the message that stands for a reply and the results of its calls; nothing for any other group and for
/// what is collapsed already.
fn collapsed(messages: &[&Message], members: &[usize]) -> Option<Message> {
    let (&reply, results) = members.split_first()?;
    let Message::Assistant { content, error_message } = messages[reply] else { return None };
    let foldable = |&at: &usize| is_only_results(messages[at]);
    if is_collapsed(content) || !results.iter().all(foldable) {
        return None;
    }
    let failed = failed_lines(content, results.iter().map(|&at| messages[at]));
    let summary = [COLLAPSED_PREFIX, &said(content), &failed].concat();
    Some(Message::Assistant { content: vec![Block::text(summary)], error_message: error_message.clone() })
}

fn is_collapsed(content: &[Block]) -> bool {
    matches!(content, [Block::Text { text }] if text.starts_with(COLLAPSED_PREFIX))
}

fn is_only_results(message: &Message) -> bool {
    message.answered_ids().next().is_some() && !is_prompt(message)
}

/// Returns what a reply said, within [`SAID_CHARS`].
fn said(content: &[Block]) -> String {
    let texts = content.iter().filter_map(Block::as_text).map(str::trim).filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.map(|text| clipped(text, SHORT_CHARS)).collect();
    let n_calls = content.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count();
    match (texts.is_empty(), n_calls) {
        (false, _) => clipped(&texts.join(" "), SAID_CHARS),
        (true, 0) => "[Assistant response]".to_owned(),
        (true, n_calls) => format!("[Assistant used {n_calls} tool(s)]"),
    }
}

fn clipped(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) => text::one_line(text, max_chars),
    }
}

/// A result that failed.
#[derive(Debug)]
struct Failed<'a> {
    call_id: &'a str,
    /// The tool's name, if the result tells it.
    tool: Option<&'a str>,
    line: &'a str,
}

impl Failed<'_> {
    fn line(&self, reply: &[Block]) -> String {
        let called = reply.iter().find_map(|block| match block {
            Block::ToolCall { id, name, .. } if id == self.call_id => Some(name.as_str()),
            _ => None,
        });
        let tool = self.tool.or(called).unwrap_or_default();
        ["\n", &text::one_line(&format!("{tool} failed: {}", self.line), FAILED_CHARS)].concat()
    }
}

/// Returns a line for each of the first [`MAX_FAILED`] results that failed, and one that counts the others.
fn failed_lines<'a>(reply: &[Block], results: impl Iterator<Item = &'a Message>) -> String {
    let mut failed = results.flat_map(failures);
    let lines: String = failed.by_ref().take(MAX_FAILED).map(|failed| failed.line(reply)).collect();
    match failed.count() {
        0 => lines,
        n_more => format!("{lines}\n{n_more} more failed"),
    }
}

/// Returns the failed results in a message.
fn failures(message: &Message) -> Vec<Failed<'_>> {
    match message {
        Message::ToolResult { tool_call_id, tool_name, content, is_error: true } => vec![Failed {
            call_id: tool_call_id,
            tool: Some(tool_name),
            line: first_line(content.iter().filter_map(Block::as_text)),
        }],
        _ => message.blocks().iter().filter_map(nested_failure).collect(),
    }
}

fn nested_failure(block: &Block) -> Option<Failed<'_>> {
    let Block::ToolResult { call_id, output, is_error: Some(true) } = block else { return None };
    Some(Failed { call_id, tool: None, line: first_line(output.as_str().into_iter()) })
}

fn first_line<'a>(texts: impl Iterator<Item = &'a str>) -> &'a str {
    texts.flat_map(str::lines).find(|line| !line.trim().is_empty()).unwrap_or_default()
}
