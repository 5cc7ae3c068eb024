//! Edits the status line in the settings of Claude Code: a command that runs `wb statusline`.

use std::ops::Range;

use serde_json::{Value, json};
use wb_record::json::{find, members};

use super::json_edit;
use crate::terminal::escape::shell_word;

/// The key of the settings.
const KEY: &str = "statusLine";

/// The status line in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusLine {
    None,
    /// One that runs `wb`.
    Ours,
    /// One of the user.
    Other,
}

/// Returns the status line that settings have.
pub(crate) fn status_line(text: &str) -> StatusLine {
    let value = find(text.as_bytes(), &[KEY]).and_then(|place| serde_json::from_str(&text[place]).ok());
    match value.as_ref().map(|value: &Value| value["command"].as_str().unwrap_or_default()) {
        None => StatusLine::None,
        Some(command) if is_ours(command) => StatusLine::Ours,
        Some(_) => StatusLine::Other,
    }
}

fn is_ours(command: &str) -> bool {
    let program = command.strip_suffix(" statusline").map(|word| word.trim_matches('\''));
    program.is_some_and(|path| path.starts_with('/') && path.rsplit('/').next() == Some("wb"))
}

/// Returns settings with our status line; none if they have another, or are no object.
pub(crate) fn with(text: &str, program: &str) -> Option<String> {
    let value = json!({"type": "command", "command": format!("{} statusline", shell_word(program))});
    match status_line(text) {
        StatusLine::None => json_edit::add(text, root(text)?, Some(KEY), &value),
        StatusLine::Ours => json_edit::replaced(text, find(text.as_bytes(), &[KEY])?, &value),
        StatusLine::Other => None,
    }
}

/// Returns settings without our status line.
pub(crate) fn without(text: &str) -> Option<String> {
    if status_line(text) != StatusLine::Ours {
        return Some(text.to_owned());
    }
    let root = root(text)?;
    let at = members(&text.as_bytes()[root.clone()])?.iter().position(|member| member.key == KEY)?;
    json_edit::remove(text, root, at)
}

fn root(text: &str) -> Option<Range<usize>> {
    let is_object = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    is_object.then(|| text.find('{').unwrap_or(0)..text.rfind('}').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_line_is_added_and_removed_and_another_one_is_kept() {
        for before in ["{}", "{\n  \"model\": \"x\"\n}\n", "{\"a\":1}"] {
            let with = with(before, "/a b/wb").unwrap();
            assert_eq!(status_line(&with), StatusLine::Ours, "{with}");
            assert!(with.contains("'/a b/wb' statusline"), "{with}");
            assert_eq!(super::with(&with, "/a b/wb").unwrap(), with);
            if before != "{}" {
                assert_eq!(without(&with).unwrap(), before);
            }
        }
        let other = "{\"statusLine\": {\"type\": \"command\", \"command\": \"~/line.sh\"}}";
        assert_eq!((status_line(other), with(other, "/a/wb")), (StatusLine::Other, None));
        assert_eq!(without(other).unwrap(), other);
        assert_eq!(with("[]", "/a/wb"), None);
    }
}
