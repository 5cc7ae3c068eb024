//! The constant texts by which synthetic messages and cleared bodies are known.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::message::{Content, Message};
use crate::xml::{escape_xml, unescape_xml};

/// First line of a digest of the running session.
pub const DIGEST_HEADER: &str = "[session digest — older turns condensed]";
/// First line of a digest of a branch that was left.
pub const BRANCH_HEADER: &str = "[branch digest — archived from a path not taken]";
/// The body that stands for a cleared tool result.
pub const CLEARED_TOOL_RESULT: &str = "[Old tool result content cleared]";
/// The start of a message that gives a file back after a compaction; a blank and the path follow.
pub const RESTORED_FILE_PREFIX: &str = "[Restored file after compaction]";
/// What stands for an image that was taken out of an older tool result.
pub const REMOVED_IMAGE: &str = "[Old image removed]";
/// What a call is answered with whose result never came.
pub const INTERRUPTED: &str = "[Tool execution was interrupted]";
/// Stands where the middle of a body was cut out.
pub const CLIP_MARK: &str = "\n[… clipped …]\n";

/// Stands behind the number of lines that were cut out of a body.
pub const LINES_CUT: &str = " lines truncated ...]";
/// Stands behind the size of a body of which a preview is left.
pub const PREVIEW_MARK: &str = " tokens, head and tail shown]\n";

/// Stands where messages were dropped without a digest.
pub const DROPPED_MARK: &str = "[Context compacted: earlier messages were removed to fit the context window]";
/// The start of an assistant message that stands for a reply and its tool results.
pub const COLLAPSED_PREFIX: &str = "[Summary] ";

/// The custom type of a text that a host gives to the model and shows to nobody else.
pub const INTERNAL_TYPE: &str = "internal";
/// The custom type of a [`conversation_summary`].
pub const SUMMARY_TYPE: &str = "conversation-summary";
/// Opens the text of a conversation summary.
pub const SUMMARY_OPEN: &str = "<conversation-summary>";
/// Closes the text of a conversation summary.
pub const SUMMARY_CLOSE: &str = "</conversation-summary>";

/// Who a message is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everybody who reads the transcript.
    #[default]
    All,
    /// The model alone; put in anew each turn, so no summarizer is shown it.
    Internal,
}

/// Tells who a message is for: a `Custom` of [`INTERNAL_TYPE`] or [`SUMMARY_TYPE`] is internal.
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

/// Builds the internal message that stands for older messages; `<`, `>` and `&` of the text are escaped, so that
/// no summary can end its own frame.
pub fn conversation_summary(text: &str) -> Message {
    let escaped = escape_xml(text);
    Message::custom(SUMMARY_TYPE, format!("{SUMMARY_OPEN}\n{escaped}\n{SUMMARY_CLOSE}"))
}

/// Returns what a [`conversation_summary`] says, without its frame and escapes; nothing if the frame is not
/// complete.
pub fn summary_text(message: &Message) -> Option<Cow<'_, str>> {
    let Message::Custom { custom_type, content } = message else { return None };
    if custom_type != SUMMARY_TYPE {
        return None;
    }
    let framed = content.texts().next()?.trim();
    let text = framed.strip_prefix(SUMMARY_OPEN)?.strip_suffix(SUMMARY_CLOSE)?;
    Some(unescape_xml(text.trim()))
}

/// The custom type of what a host tells of the rules of the project and of the place where it runs, and does not tell
/// again.
pub const ENVIRONMENT_TYPE: &str = "environment-context";
/// The custom type of what only a provider can read, such as its own summary; nothing could stand for it.
pub const OPAQUE_TYPE: &str = "opaque-context";
/// The custom types of system and developer texts and of what a host counts on, which no pass may touch.
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

/// Returns what an earlier digest says: without its header, and without the files that were given back below it in the
/// same text, as a host keeps them that has one text for both.
pub fn digest_body(message: &Message) -> Option<Cow<'_, str>> {
    match message {
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            let body = summary
                .strip_prefix(DIGEST_HEADER)
                .map_or(summary.as_str(), |it| it.trim_start_matches('\n'));
            Some(Cow::Borrowed(without_files(body)))
        }
        Message::Custom { .. } => summary_text(message),
        _ => {
            let text = sole_user_text(message)?;
            let body = text.strip_prefix(DIGEST_HEADER).or_else(|| text.strip_prefix(BRANCH_HEADER))?;
            // A user who quotes the header goes on in the same line.
            let is_ours = body.is_empty() || body.starts_with('\n');
            is_ours.then(|| Cow::Borrowed(without_files(body.trim_start_matches('\n'))))
        }
    }
}

/// Cuts the files off that stand below a digest.
fn without_files(digest: &str) -> &str {
    let mut places = digest.match_indices(RESTORED_FILE_PREFIX).map(|(at, _)| &digest[..at]);
    let before = places.find(|before| before.ends_with("\n\n"));
    before.map_or(digest, |before| before.trim_end_matches('\n'))
}

/// Returns whether the message only says that others were dropped.
pub fn is_dropped_mark(message: &Message) -> bool {
    sole_user_text(message) == Some(DROPPED_MARK)
}

/// Returns the path and the body of a file that an earlier compaction gave back.
pub fn restored_file(message: &Message) -> Option<(&str, &str)> {
    let rest = sole_user_text(message)?.strip_prefix(RESTORED_FILE_PREFIX)?.strip_prefix(' ')?;
    Some(rest.split_once('\n').unwrap_or((rest, "")))
}

/// Returns whether a compaction made this message: a digest, a restored file or the mark of a drop.
pub fn is_synthetic(message: &Message) -> bool {
    digest_body(message).is_some() || restored_file(message).is_some() || is_dropped_mark(message)
}

/// Returns whether the message is a system or developer text or one that a host counts on, which stays where it is.
pub fn is_pinned(message: &Message) -> bool {
    matches!(message, Message::Custom { custom_type, .. } if PINNED_TYPES.contains(&custom_type.as_str()))
}

/// Returns whether the user's own words stand in this message: not a digest, not a restored file, not the mark of a
/// drop and not only tool results.
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

/// Returns whether this body is exactly the mark of a cleared result.
pub fn is_cleared(content: &[Block]) -> bool {
    matches!(content, [Block::Text { text }] if text == CLEARED_TOOL_RESULT)
}

/// Returns whether a compaction wrote this message or its body: a digest, a file that was given back, what stands for
/// what was dropped, cleared or collapsed, or a body that was shortened.
pub fn is_of_a_compaction(message: &Message) -> bool {
    let texts =
        |content: &[Block], is: &dyn Fn(&str) -> bool| content.iter().filter_map(Block::as_text).any(is);
    match message {
        Message::ToolResult { content, .. } => is_cleared(content) || texts(content, &is_cut),
        Message::BashExecution { output, .. } => is_cut(output),
        Message::Assistant { content, .. } => texts(content, &|text| text.starts_with(COLLAPSED_PREFIX)),
        _ => is_synthetic(message),
    }
}

/// Returns whether a text holds the mark of something left out of it; each mark has one bracket that closes.
fn is_cut(text: &str) -> bool {
    let ends_at = |at: usize, mark: &str| {
        let n_behind = mark.bytes().rev().take_while(|byte| *byte != b']').count();
        text.as_bytes().get(..=at + n_behind).is_some_and(|text| text.ends_with(mark.as_bytes()))
    };
    let marks = [CLIP_MARK, LINES_CUT, PREVIEW_MARK, REMOVED_IMAGE];
    memchr::memchr_iter(b']', text.as_bytes()).any(|at| marks.iter().any(|mark| ends_at(at, mark)))
}

/// Returns the body that stands for a cleared tool result.
pub fn cleared_body() -> Vec<Block> {
    vec![Block::text(CLEARED_TOOL_RESULT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_of_a_text_is_found_by_its_mark() {
        for mark in [CLIP_MARK, LINES_CUT, PREVIEW_MARK, REMOVED_IMAGE] {
            assert!(is_cut(mark) && is_cut(&format!("a[0] é{mark}b]")), "{mark}");
            let half = &mark[..mark.rfind(']').unwrap()];
            assert!(!is_cut(half) && !is_cut(&format!("{half}}} ]")), "{half}");
        }
        assert!(!is_cut("") && !is_cut("]"));
    }

    #[test]
    fn a_summary_cannot_end_its_own_frame_and_comes_back_as_it_was() {
        let said = "a </conversation-summary> b & c &lt; <conversation-summary> Vec<u8>";
        let message = conversation_summary(said);
        assert_eq!(summary_text(&message).as_deref(), Some(said));
        let Message::Custom { content, .. } = &message else { unreachable!() };
        let text = content.texts().next().unwrap_or_default();
        assert_eq!(text.matches(SUMMARY_CLOSE).count(), 1);
        assert_eq!(visibility(&message), Visibility::Internal);
    }

    #[test]
    fn of_an_earlier_digest_only_what_it_says_itself_is_read() {
        let told = format!("{DIGEST_HEADER}\n\n# Plan\n- none\n\n{RESTORED_FILE_PREFIX} a.rs\nfn a() {{}}\n");
        let summary = Message::CompactionSummary { summary: told.clone(), tokens_before: 0 };
        for message in [summary, Message::user(told)] {
            assert_eq!(digest_body(&message).as_deref(), Some("# Plan\n- none"));
        }
        assert_eq!(digest_body(&Message::user(format!("What is {RESTORED_FILE_PREFIX}?"))), None);
        let quoted = format!("# Plan\n- Tell what {RESTORED_FILE_PREFIX} is.");
        let summary = Message::CompactionSummary { summary: quoted.clone(), tokens_before: 0 };
        assert_eq!(digest_body(&summary), Some(Cow::Owned(quoted)));
    }

    #[test]
    fn what_a_host_counts_on_is_pinned_and_is_no_prompt() {
        for kind in PINNED_TYPES {
            let message = Message::custom(kind, "Rules.");
            assert!(is_pinned(&message) && !is_prompt(&message) && !is_synthetic(&message), "{kind}");
        }
        assert!(!is_pinned(&Message::custom("environment", "x")));
    }

    #[test]
    fn only_a_whole_frame_that_we_wrote_is_a_summary() {
        let framed = format!("{SUMMARY_OPEN}\nS\n{SUMMARY_CLOSE}");
        assert_eq!(summary_text(&Message::custom("note", framed.as_str())), None);
        assert_eq!(summary_text(&Message::user(framed.as_str())), None);
        for broken in [SUMMARY_OPEN, SUMMARY_CLOSE, "", "</conversation-summary><conversation-summary>"] {
            assert_eq!(summary_text(&Message::custom(SUMMARY_TYPE, broken)), None, "{broken:?}");
        }
        assert_eq!(summary_text(&Message::custom(SUMMARY_TYPE, framed)).as_deref(), Some("S"));
    }
}
