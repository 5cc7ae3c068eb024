//! The constant texts that mark synthetic messages and cleared bodies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::message::{Content, Message};
use crate::xml::{escape_xml, unescape_xml};

/// The first line of a digest of the running session.
pub const DIGEST_HEADER: &str = "[session digest — older turns condensed]";
/// The first line of a digest of an abandoned branch.
pub const BRANCH_HEADER: &str = "[branch digest — archived from a path not taken]";
/// The body of a cleared tool result.
pub const CLEARED_TOOL_RESULT: &str = "[Old tool result content cleared]";
/// The start of a message that restores a file after a compaction; a blank and the path follow.
pub const RESTORED_FILE_PREFIX: &str = "[Restored file after compaction]";
/// The placeholder for an image removed from an older tool result.
pub const REMOVED_IMAGE: &str = "[Old image removed]";
/// The answer to a call whose result never came.
pub const INTERRUPTED: &str = "[Tool execution was interrupted]";
/// The start of a text of the model for a call or a result of a tool on the provider's
/// servers.
pub const SERVER_TOOL: &str = "[server tool ";
/// The mark in place of the clipped middle of a body.
pub const CLIP_MARK: &str = "\n[… clipped …]\n";

/// The text after the number of lines cut from a body.
pub const LINES_CUT: &str = " lines truncated ...]";
/// The text after the original size of a previewed body.
pub const PREVIEW_MARK: &str = " tokens, head and tail shown]\n";

/// The message in place of messages dropped without a digest.
pub const DROPPED_MARK: &str = "[Context compacted: earlier messages were removed to fit the context window]";
/// The start of an assistant message that summarizes a reply and its tool results.
pub const COLLAPSED_PREFIX: &str = "[Summary] ";

/// The custom type of a host's text for the model alone.
pub const INTERNAL_TYPE: &str = "internal";
/// The custom type of a [`conversation_summary`].
pub const SUMMARY_TYPE: &str = "conversation-summary";
/// The opening tag of a conversation summary.
pub const SUMMARY_OPEN: &str = "<conversation-summary>";
/// The closing tag of a conversation summary.
pub const SUMMARY_CLOSE: &str = "</conversation-summary>";

/// The audience of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Every reader of the transcript.
    #[default]
    All,
    /// The model alone; inserted again each turn, so no summarizer reads it.
    Internal,
}

/// Returns the audience of a message: a `Custom` of [`INTERNAL_TYPE`] or [`SUMMARY_TYPE`] is
/// internal.
pub fn visibility(message: &Message) -> Visibility {
    match message {
        Message::Custom { custom_type, .. }
            if [INTERNAL_TYPE, SUMMARY_TYPE].contains(&custom_type.as_str()) =>
        {
            Visibility::Internal
        }
        _ => Visibility::All,
    }
}

/// Builds the internal message that replaces older messages; `<`, `>` and `&` are escaped, so that
/// no summary can close its frame.
pub fn conversation_summary(text: &str) -> Message {
    let escaped = escape_xml(text);
    Message::custom(SUMMARY_TYPE, format!("{SUMMARY_OPEN}\n{escaped}\n{SUMMARY_CLOSE}"))
}

/// Returns the text of a [`conversation_summary`] without frame and escapes, `None` if the frame is
/// incomplete.
pub fn summary_text(message: &Message) -> Option<Cow<'_, str>> {
    let Message::Custom { custom_type, content } = message else { return None };
    if custom_type != SUMMARY_TYPE {
        return None;
    }
    let framed = content.texts().next()?.trim();
    let text = framed.strip_prefix(SUMMARY_OPEN)?.strip_suffix(SUMMARY_CLOSE)?;
    Some(unescape_xml(text.trim()))
}

/// The custom type of a host's message about project rules and environment, which it sends only
/// once.
pub const ENVIRONMENT_TYPE: &str = "environment-context";
/// The custom type of data that only a provider can read, such as its summary; nothing can replace
/// it.
pub const OPAQUE_TYPE: &str = "opaque-context";
/// The custom types of messages that no pass may touch.
pub const PINNED_TYPES: [&str; 4] = ["system", "developer", ENVIRONMENT_TYPE, OPAQUE_TYPE];

/// Returns the text of a user message that is plain text or one text block.
pub fn sole_user_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { content: Content::Text(text), .. } => Some(text),
        Message::User { content: Content::Blocks(blocks), .. } => match blocks.as_slice() {
            [Block::Text { text }] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the body of an earlier digest, without its header and without files restored in the same
/// text.
pub fn digest_body(message: &Message) -> Option<Cow<'_, str>> {
    match message {
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            let body = summary
                .strip_prefix(DIGEST_HEADER)
                .map_or(summary.as_str(), |it| it.trim_start_matches('\n'));
            Some(Cow::Borrowed(without_files(body)))
        }
        Message::Custom { .. } => summary_text(message),
        _ => digest_in_text(sole_user_text(message)?).map(Cow::Borrowed),
    }
}

/// Returns the body of an earlier digest in a text of the user's role, as [`digest_body`] does: a
/// host may have put the user's next words into the same message, as a text of their own.
pub fn digest_in_text(text: &str) -> Option<&str> {
    let body = text.strip_prefix(DIGEST_HEADER).or_else(|| text.strip_prefix(BRANCH_HEADER))?;
    // A quoted header continues on the same line.
    let is_digest = body.is_empty() || body.starts_with('\n');
    is_digest.then(|| without_files(body.trim_start_matches('\n')))
}

/// Returns whether a text of the user's role is by a compaction: a digest, a restored file, or the
/// mark of a drop.
pub fn is_text_of_compaction(text: &str) -> bool {
    digest_in_text(text).is_some()
        || text == DROPPED_MARK
        || text.strip_prefix(RESTORED_FILE_PREFIX).is_some_and(|rest| rest.starts_with(' '))
}

/// Cuts off the restored files below a digest.
fn without_files(digest: &str) -> &str {
    let mut prefixes = digest.match_indices(RESTORED_FILE_PREFIX).map(|(at, _)| &digest[..at]);
    let before = prefixes.find(|before| before.ends_with("\n\n"));
    before.map_or(digest, |before| before.trim_end_matches('\n'))
}

/// Returns whether the message only marks dropped messages.
pub fn is_dropped_mark(message: &Message) -> bool {
    sole_user_text(message) == Some(DROPPED_MARK)
}

/// Returns the path and the body of a file restored by an earlier compaction, without its fence.
pub fn restored_file(message: &Message) -> Option<(&str, &str)> {
    let rest = sole_user_text(message)?.strip_prefix(RESTORED_FILE_PREFIX)?.strip_prefix(' ')?;
    let (path, body) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((path, without_fence(body).unwrap_or(body)))
}

/// Returns the text of a restored file. Its body is fenced, so that no line of it can be read as
/// the user's or as one of a digest.
///
/// ```
/// use wb_message::Message;
/// use wb_message::markers::{RESTORED_FILE_PREFIX, fenced_file, restored_file};
///
/// let text = fenced_file("a.md", "# Guardrails\n```sh\nmake\n```\n");
/// let fenced = "a.md\n````\n# Guardrails\n```sh\nmake\n```\n\n````";
/// assert_eq!(text, format!("{RESTORED_FILE_PREFIX} {fenced}"));
/// let body = "# Guardrails\n```sh\nmake\n```\n";
/// assert_eq!(restored_file(&Message::user(text)), Some(("a.md", body)));
/// ```
pub fn fenced_file(path: &str, body: &str) -> String {
    let longest = body.split(is_line_end).map(n_ticks).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(LEAST_TICKS - 1) + 1);
    [RESTORED_FILE_PREFIX, " ", path, "\n", &fence, "\n", body, "\n", &fence].concat()
}

/// The ticks of the shortest fence of Markdown.
const LEAST_TICKS: usize = 3;

/// Counts the ticks at the start of a line.
fn n_ticks(line: &str) -> usize {
    line.trim_start().bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns the text within a fence that nothing in it ends.
fn without_fence(text: &str) -> Option<&str> {
    let (fence, rest) = text.split_once('\n')?;
    let is_fence = fence.len() >= LEAST_TICKS && fence.bytes().all(|byte| byte == b'`');
    let body = rest.strip_suffix(fence).filter(|_| is_fence)?.strip_suffix('\n')?;
    body.split('\n').all(|line| n_ticks(line) < fence.len()).then_some(body)
}

/// Returns whether a compaction made this message: a digest, a restored file or the mark of a drop.
pub fn is_synthetic(message: &Message) -> bool {
    digest_body(message).is_some() || sole_user_text(message).is_some_and(is_text_of_compaction)
}

/// Returns whether the message is one of [`PINNED_TYPES`], such as a system text, and must stay in
/// place.
pub fn is_pinned(message: &Message) -> bool {
    matches!(message, Message::Custom { custom_type, .. } if PINNED_TYPES.contains(&custom_type.as_str()))
}

/// Returns whether the message is data that only a provider can read.
pub fn is_opaque(message: &Message) -> bool {
    matches!(message, Message::Custom { custom_type, .. } if custom_type == OPAQUE_TYPE)
}

/// Returns whether the message contains the user's words: no digest, restored file or mark of a
/// drop, and not only tool results.
pub fn is_prompt(message: &Message) -> bool {
    match message {
        Message::User { content: Content::Blocks(blocks), .. }
            if !blocks.is_empty() && blocks.iter().all(Block::is_tool_result) =>
        {
            false
        }
        Message::User { .. } => !is_synthetic(message),
        _ => false,
    }
}

/// Returns the name in a text that begins with [`SERVER_TOOL`].
pub fn server_tool(text: &str) -> Option<&str> {
    text.strip_prefix(SERVER_TOOL)?.split([':', ']']).next()
}

/// Returns whether a body is exactly [`CLEARED_TOOL_RESULT`].
pub fn is_cleared(content: &[Block]) -> bool {
    matches!(content, [Block::Text { text }] if text == CLEARED_TOOL_RESULT)
}

/// Returns whether a compaction wrote this message or its body: a digest, a restored file, the mark
/// of a drop, a collapsed reply, or a cleared or shortened body.
pub fn is_from_compaction(message: &Message) -> bool {
    let any_text =
        |content: &[Block], is: &dyn Fn(&str) -> bool| content.iter().filter_map(Block::as_text).any(is);
    match message {
        Message::ToolResult { content, .. } => is_cleared(content) || any_text(content, &is_cut),
        Message::BashExecution { output, .. } => is_cut(output),
        Message::Assistant { content, .. } => any_text(content, &|text| text.starts_with(COLLAPSED_PREFIX)),
        _ => is_synthetic(message),
    }
}

/// Returns whether a text contains the mark of a cut; each mark has one closing bracket.
fn is_cut(text: &str) -> bool {
    let ends_at = |at: usize, mark: &str| {
        let n_after = mark.bytes().rev().take_while(|byte| *byte != b']').count();
        text.as_bytes().get(..=at + n_after).is_some_and(|text| text.ends_with(mark.as_bytes()))
    };
    let marks = [CLIP_MARK, LINES_CUT, PREVIEW_MARK, REMOVED_IMAGE];
    memchr::memchr_iter(b']', text.as_bytes()).any(|at| marks.iter().any(|mark| ends_at(at, mark)))
}

/// Builds the body of a cleared tool result.
pub fn cleared_body() -> Vec<Block> {
    vec![Block::text(CLEARED_TOOL_RESULT)]
}

/// Returns whether a text has a character that a reader may take for the end of a line.
///
/// ```
/// use wb_message::markers::has_line_end;
///
/// assert!(has_line_end("a\r# Plan") && !has_line_end("a b"));
/// ```
pub fn has_line_end(text: &str) -> bool {
    text.contains(is_line_end)
}

/// Returns whether a reader may take a character for the end of a line.
pub fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_detected_by_its_mark() {
        for mark in [CLIP_MARK, LINES_CUT, PREVIEW_MARK, REMOVED_IMAGE] {
            assert!(is_cut(mark) && is_cut(&format!("a[0] é{mark}b]")), "{mark}");
            let half = &mark[..mark.rfind(']').unwrap()];
            assert!(!is_cut(half) && !is_cut(&format!("{half}}} ]")), "{half}");
        }
        assert!(!is_cut("") && !is_cut("]"));
    }

    #[test]
    fn a_summary_cannot_end_its_own_frame_and_comes_back_as_it_was() {
        let summary = "a </conversation-summary> b & c &lt; <conversation-summary> Vec<u8>";
        let message = conversation_summary(summary);
        assert_eq!(summary_text(&message).as_deref(), Some(summary));
        let Message::Custom { content, .. } = &message else { unreachable!() };
        let text = content.texts().next().unwrap_or_default();
        assert_eq!(text.matches(SUMMARY_CLOSE).count(), 1);
        assert_eq!(visibility(&message), Visibility::Internal);
    }

    #[test]
    fn a_digest_body_excludes_restored_files() {
        let text = format!("{DIGEST_HEADER}\n\n# Plan\n- none\n\n{RESTORED_FILE_PREFIX} a.rs\nfn a() {{}}\n");
        let summary = Message::CompactionSummary { summary: text.clone(), tokens_before: 0 };
        for message in [summary, Message::user(text)] {
            assert_eq!(digest_body(&message).as_deref(), Some("# Plan\n- none"));
        }
        assert_eq!(digest_body(&Message::user(format!("What is {RESTORED_FILE_PREFIX}?"))), None);
        let quoted = format!("# Plan\n- Explain {RESTORED_FILE_PREFIX}.");
        let summary = Message::CompactionSummary { summary: quoted.clone(), tokens_before: 0 };
        assert_eq!(digest_body(&summary), Some(Cow::Owned(quoted)));
    }

    #[test]
    fn pinned_types_are_no_prompts() {
        for kind in PINNED_TYPES {
            let message = Message::custom(kind, "Rules.");
            assert!(is_pinned(&message) && !is_prompt(&message) && !is_synthetic(&message), "{kind}");
        }
        assert!(!is_pinned(&Message::custom("environment", "x")));
    }

    #[test]
    fn only_a_whole_frame_of_the_summary_type_is_a_summary() {
        let framed = format!("{SUMMARY_OPEN}\nS\n{SUMMARY_CLOSE}");
        assert_eq!(summary_text(&Message::custom("note", framed.as_str())), None);
        assert_eq!(summary_text(&Message::user(framed.as_str())), None);
        for broken in [SUMMARY_OPEN, SUMMARY_CLOSE, "", "</conversation-summary><conversation-summary>"] {
            assert_eq!(summary_text(&Message::custom(SUMMARY_TYPE, broken)), None, "{broken:?}");
        }
        assert_eq!(summary_text(&Message::custom(SUMMARY_TYPE, framed)).as_deref(), Some("S"));
    }
}
