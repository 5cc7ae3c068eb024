//! Entries in words: one line each.

use serde_json::Value;
use wb_message::text::one_line;
use wb_message::{Message, outline};
use wb_session::{Compaction, ContextEdit, EntryKind, EntryTag, Logged};

use super::find::IdWidth;
use crate::terminal::number::grouped;

/// Characters of a text that a line shows, as in the outline.
const SHOWN_CHARS: usize = 60;

/// Returns the name of an entry's kind, as its file has it.
pub(crate) fn kind(kind: &EntryKind) -> &str {
    match kind.tag() {
        EntryTag::Answer | EntryTag::Message => "message",
        EntryTag::ModelChange => "model_change",
        EntryTag::ThinkingLevelChange => "thinking_level_change",
        EntryTag::Compaction => "compaction",
        EntryTag::BranchSummary => "branch_summary",
        EntryTag::CustomMessage => "custom_message",
        EntryTag::ContextEdit => "context_edit",
        EntryTag::Custom => "custom",
        EntryTag::Label => "label",
        EntryTag::SessionInfo => "session_info",
        _ => match kind {
            EntryKind::Other(members) => members.get("type").and_then(Value::as_str).unwrap_or("other"),
            _ => "other",
        },
    }
}

/// Returns the role of a message's entry as the outline names it.
pub(crate) fn role(kind: &EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Message(logged) => Some(outline::role(&logged.message)),
        EntryKind::CustomMessage(_) => Some("custom"),
        _ => None,
    }
}

/// Returns one line about an entry: its kind in nine characters, then its first words.
pub(crate) fn line(kind: &EntryKind, width: IdWidth) -> String {
    let (what, words) = match kind {
        EntryKind::Message(logged) => return message(logged),
        EntryKind::CustomMessage(it) => {
            return outline::line(&Message::custom(it.custom_type.clone(), it.content.clone()));
        }
        EntryKind::ModelChange(it) => ("model", format!("{}/{}", it.provider, it.model_id)),
        EntryKind::ThinkingLevelChange(it) => ("thinking", it.thinking_level.clone()),
        EntryKind::Compaction(it) => ("compacted", compaction(it, width)),
        EntryKind::BranchSummary(it) => {
            ("branch", format!("\"{}\" left at {}", gist(&it.summary), width.short(&it.from_id)))
        }
        EntryKind::ContextEdit(it) => ("edit", edit(it, width)),
        EntryKind::Custom(it) => ("note", note(&it.custom_type, it.data.as_ref())),
        EntryKind::Label(it) => {
            let label = it.label.as_deref().filter(|label| !label.is_empty());
            let label = label.map_or_else(|| "none".to_owned(), |label| format!("[{label}]"));
            ("label", format!("{} for {}", one_line(&label, SHOWN_CHARS), width.short(it.target_id.as_str())))
        }
        EntryKind::SessionInfo(it) => ("name", it.name.as_deref().map_or_else(|| "none".to_owned(), quoted)),
        EntryKind::Other(members) => {
            let role = members.get("message").and_then(|message| message.get("role")?.as_str());
            let role = role.map_or_else(String::new, |role| format!(" of role {role}"));
            ("other", format!("{}{role}", self::kind(kind)))
        }
        other => ("other", self::kind(other).to_owned()),
    };
    format!("{what:<9} {}", one_line(&words, SHOWN_CHARS * 2)).trim_end().to_owned()
}

fn message(logged: &Logged) -> String {
    let mut line = outline::line(&logged.message);
    let failed = logged.request.as_ref().is_some_and(|request| request.stop_reason.is_failure());
    if failed && matches!(&logged.message, Message::Assistant { error_message: None, .. }) {
        line.push_str(" (cut off)");
    }
    if logged.is_excluded {
        line.push_str(" (kept from the model)");
    }
    line
}

fn compaction(it: &Compaction, width: IdWidth) -> String {
    let kept = it.first_kept_entry_id.as_ref();
    let kept = kept.map_or_else(|| "nothing".to_owned(), |id| format!("from {}", width.short(id.as_str())));
    format!("\"{}\" {} tokens before, keeps {kept}", gist(&it.summary), grouped(it.tokens_before))
}

/// Returns the first words of a digest, without its headings if it has other text.
pub(crate) fn gist(summary: &str) -> String {
    let said: Vec<&str> = summary.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let said = said.join("\n");
    one_line(if said.trim().is_empty() { summary } else { &said }, SHOWN_CHARS)
}

fn edit(it: &ContextEdit, width: IdWidth) -> String {
    let target = width.short(it.target_id.as_str());
    match &it.replacement {
        None => format!("hides {target}"),
        Some(new) => {
            let text: Vec<&str> = new.content.texts().collect();
            let n_chars: usize = text.iter().map(|text| text.chars().count()).sum();
            let plural = if n_chars == 1 { "" } else { "s" };
            let n_chars = grouped(n_chars as u64);
            format!("replaces {target} by {n_chars} character{plural} {}", quoted(&text.join(" ")))
        }
    }
}

fn note(custom_type: &str, data: Option<&Value>) -> String {
    let data = data.map(ToString::to_string).unwrap_or_default();
    format!("({custom_type}) {}", one_line(&data, SHOWN_CHARS))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text, SHOWN_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_shown_by_its_words_and_not_by_its_headings() {
        for (summary, expected) in [
            ("## Goal\n\n## Progress\n### Done\n- Shipped: a.rs", "- Shipped: a.rs"),
            ("Ported it.\n# Next\nTest it.", "Ported it. Test it."),
            ("## Goal\n## Progress", "## Goal ## Progress"),
            ("", ""),
        ] {
            assert_eq!(gist(summary), expected);
        }
    }
}
