//! Our instructions for the summary that Codex has its model write: lines in front of its settings,
//! for `compact_prompt`.

use toml::Table;
use wb_summarize::handover_prompt;

use super::plug_in::VERSION;

/// Tokens that the summary may have, as many as a digest has by default at least.
const ROOM_TOKENS: u64 = 2_000;

/// The text before the version in the first line, and the lines around the key.
const FIRST: &str = "# Written by `wb install` of wb ";
const LAST: &str = "# Here ends what wb wrote.\n";

/// The keys for a user's instructions to Codex; ours would override the second.
const KEYS: [&str; 2] = ["compact_prompt", "experimental_compact_prompt_file"];

/// The byte order mark, which must stay first in a text.
const BYTE_ORDER: char = '\u{feff}';

/// A settings file, taken apart.
struct PromptSettings<'a> {
    before: &'a str,
    /// Our lines; none if they are not there.
    ours: &'a str,
    after: &'a str,
}

impl<'a> PromptSettings<'a> {
    fn parse(text: &'a str) -> Self {
        let is_line = |at: &usize| *at == 0 || text[..*at].ends_with(['\n', BYTE_ORDER]);
        let start = text.find(FIRST).filter(is_line);
        let place = start.and_then(|start| Some(start..start + text[start..].find(LAST)? + LAST.len()));
        let place = place.unwrap_or(0..0);
        Self { before: &text[..place.start], ours: &text[place.clone()], after: &text[place.end..] }
    }
}

/// Returns the lines to write. They come first, since top-level keys precede all tables.
fn ours() -> String {
    let prompt = handover_prompt(ROOM_TOKENS);
    let first = format!("{FIRST}{VERSION}, which overwrites it; `wb uninstall` removes it.\n");
    format!("{first}{} = '''\n{prompt}'''\n{LAST}", KEYS[0])
}

/// Returns whether our lines are there.
pub(crate) fn is_there(text: &str) -> bool {
    !PromptSettings::parse(text).ours.is_empty()
}

/// Returns the settings with our lines as they are to be.
pub(crate) fn with(text: &str) -> String {
    let PromptSettings { before, ours: old, after } = PromptSettings::parse(text);
    let n_mark = if after.starts_with(BYTE_ORDER) { BYTE_ORDER.len_utf8() } else { 0 };
    let (before, after) = if old.is_empty() { after.split_at(n_mark) } else { (before, after) };
    [before, &ours(), after].concat()
}

/// Returns the settings without our lines.
pub(crate) fn without(text: &str) -> String {
    let PromptSettings { before, after, .. } = PromptSettings::parse(text);
    [before, after].concat()
}

/// Returns the key of the user's instructions, if there is one, or why the settings cannot be read.
pub(crate) fn of_user(text: &str) -> Result<Option<&'static str>, String> {
    let settings: Table =
        toml::from_str(&without(text)).map_err(|error| format!("is not valid TOML: {}", error.message()))?;
    Ok(KEYS.into_iter().find(|key| settings.contains_key(*key)))
}

/// Returns the problem with our lines.
pub(crate) fn problem(text: &str) -> Option<String> {
    let there = PromptSettings::parse(text).ours;
    let version = there.strip_prefix(FIRST)?.split(',').next()?;
    if version != VERSION {
        return Some(format!("it was written by wb {version}, and this is {VERSION}: install it again"));
    }
    (there != ours()).then(|| "it was changed since: install it again, if it was not you".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_reads_the_prompt_as_it_is_and_the_settings_are_those_of_before_without_it() {
        for before in
            ["", "model = \"x\"\n", "# mine\n[features]\nhooks = true", "a = 1\r\n", "\u{feff}a = 1\n"]
        {
            let with = with(before);
            let settings: Table = toml::from_str(&with).unwrap();
            assert_eq!(settings[KEYS[0]].as_str(), Some(handover_prompt(ROOM_TOKENS).as_str()));
            assert!(is_there(&with) && !is_there(before));
            assert_eq!((without(&with).as_str(), super::with(&with)), (before, with.clone()));
            assert_eq!(problem(&with), None);
        }
    }

    #[test]
    fn instructions_of_the_user_are_found_and_ours_are_none() {
        assert_eq!(of_user(&with("")), Ok(None));
        for key in KEYS {
            assert_eq!(of_user(&with(&format!("{key} = 'x'\n"))), Ok(Some(key)));
        }
        assert_eq!(of_user("[profiles.x]\ncompact_prompt = 'x'\n"), Ok(None));
        assert!(of_user("model = \n").is_err());
    }

    #[test]
    fn lines_that_others_moved_or_changed_are_known_and_lines_without_an_end_are_not_ours() {
        let moved = format!("model = \"x\"\n{}[a]\n", ours());
        assert_eq!(without(&moved), "model = \"x\"\n[a]\n");
        assert!(
            problem(&moved.replace("faithful", "funny")).is_some_and(|why| why.contains("was changed since"))
        );
        assert!(problem(&moved.replace(VERSION, "9.9")).is_some_and(|why| why.contains("written by wb 9.9")));
        let cut = moved.replace(LAST, "");
        assert!(!is_there(&cut) && of_user(&cut) == Ok(Some(KEYS[0])));
    }
}
