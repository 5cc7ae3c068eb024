//! Our lines in front of the settings of Codex: instructions for the summary that it has its model
//! write, and the server with which that model looks up what was folded.

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

/// The instructions that settings are to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    Ours,
    /// The user has some, so ours are left out.
    OfUser,
}

/// Returns the lines to write. They come first, since top-level keys precede all tables.
fn ours(instructions: Instructions, server: Option<&str>) -> String {
    let prompt = match instructions {
        Instructions::Ours => format!("{} = '''\n{}'''\n", KEYS[0], handover_prompt(ROOM_TOKENS)),
        Instructions::OfUser if server.is_none() => return String::new(),
        Instructions::OfUser => String::new(),
    };
    let first = format!("{FIRST}{VERSION}, which overwrites it; `wb uninstall` removes it.\n");
    let server = server.map_or_else(String::new, |program| {
        // A text of JSON is one of TOML.
        let program = serde_json::Value::from(program);
        format!("mcp_servers.wb = {{ command = {program}, args = [\"mcp\", \"--host\", \"codex\"] }}\n")
    });
    format!("{first}{server}{prompt}{LAST}")
}

/// Returns whether our instructions are there.
pub(crate) fn has_instructions(text: &str) -> bool {
    PromptSettings::parse(text).ours.lines().any(|line| line.starts_with(KEYS[0]))
}

/// Returns the program of our server in settings that contain one.
pub(crate) fn server(text: &str) -> Option<String> {
    let ours: Table = toml::from_str(PromptSettings::parse(text).ours).ok()?;
    Some(ours.get("mcp_servers")?.get("wb")?.get("command")?.as_str()?.to_owned())
}

/// Returns whether our lines are there.
pub(crate) fn is_there(text: &str) -> bool {
    !PromptSettings::parse(text).ours.is_empty()
}

/// Returns the settings with our lines as they are to be; without the server where the settings
/// have servers in a form that admits no other.
pub(crate) fn with(text: &str, instructions: Instructions, server: Option<&str>) -> String {
    let PromptSettings { before, ours: old, after } = PromptSettings::parse(text);
    let n_mark = if after.starts_with(BYTE_ORDER) { BYTE_ORDER.len_utf8() } else { 0 };
    let (before, after) = if old.is_empty() { after.split_at(n_mark) } else { (before, after) };
    let with_server = [before, &ours(instructions, server), after].concat();
    match toml::from_str::<Table>(with_server.trim_start_matches(BYTE_ORDER)) {
        Err(_) if server.is_some() => [before, &ours(instructions, None), after].concat(),
        _ => with_server,
    }
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
    let instructions = if has_instructions(text) { Instructions::Ours } else { Instructions::OfUser };
    (there != ours(instructions, server(text).as_deref()))
        .then(|| "it was changed since: install it again, if it was not you".to_owned())
}

#[cfg(test)]
mod tests {
    use super::Instructions::{OfUser, Ours};
    use super::*;

    #[test]
    fn codex_reads_the_prompt_as_it_is_and_the_settings_are_those_of_before_without_it() {
        for before in
            ["", "model = \"x\"\n", "# mine\n[features]\nhooks = true", "a = 1\r\n", "\u{feff}a = 1\n"]
        {
            let with = with(before, Ours, Some("/a b/wb"));
            let settings: Table = toml::from_str(&with).unwrap();
            assert_eq!(settings[KEYS[0]].as_str(), Some(handover_prompt(ROOM_TOKENS).as_str()));
            assert!(is_there(&with) && !is_there(before));
            assert_eq!(
                (without(&with).as_str(), super::with(&with, Ours, Some("/a b/wb"))),
                (before, with.clone())
            );
            assert_eq!((problem(&with), server(&with).as_deref()), (None, Some("/a b/wb")));
            let alone = super::with(&with, Ours, None);
            assert_eq!((problem(&alone), server(&alone)), (None, None));
        }
    }

    #[test]
    fn instructions_of_the_user_are_found_and_ours_are_none() {
        assert_eq!(of_user(&with("", Ours, None)), Ok(None));
        for key in KEYS {
            assert_eq!(of_user(&with(&format!("{key} = 'x'\n"), Ours, None)), Ok(Some(key)));
        }
        assert_eq!(of_user("[profiles.x]\ncompact_prompt = 'x'\n"), Ok(None));
        assert!(of_user("model = \n").is_err());
    }

    #[test]
    fn instructions_of_the_user_leave_room_for_the_server() {
        let mine = "compact_prompt = 'x'\n";
        let with = with(mine, OfUser, Some("wb"));
        assert_eq!((of_user(&with), has_instructions(&with)), (Ok(Some(KEYS[0])), false));
        assert_eq!((server(&with).as_deref(), problem(&with)), (Some("wb"), None));
        assert_eq!((without(&with).as_str(), super::with(&with, OfUser, None).as_str()), (mine, mine));
    }

    #[test]
    fn servers_of_the_user_stay_and_ours_gives_way_to_a_form_without_room() {
        let other = "[mcp_servers.other]\ncommand = \"x\"\n";
        let settings: Table = toml::from_str(&with(other, Ours, Some("wb"))).unwrap();
        assert_eq!(settings["mcp_servers"].as_table().map(Table::len), Some(2));
        for closed in ["[mcp_servers]\n", "[mcp_servers.wb]\ncommand = \"x\"\n", "mcp_servers = {}\n"] {
            let with = with(closed, Ours, Some("wb"));
            assert!(
                is_there(&with) && server(&with).is_none() && toml::from_str::<Table>(&with).is_ok(),
                "{with}"
            );
        }
    }

    #[test]
    fn lines_that_others_moved_or_changed_are_known_and_lines_without_an_end_are_not_ours() {
        let moved = format!("model = \"x\"\n{}[a]\n", ours(Ours, None));
        assert_eq!(without(&moved), "model = \"x\"\n[a]\n");
        assert!(
            problem(&moved.replace("faithful", "funny")).is_some_and(|why| why.contains("was changed since"))
        );
        assert!(problem(&moved.replace(VERSION, "9.9")).is_some_and(|why| why.contains("written by wb 9.9")));
        let cut = moved.replace(LAST, "");
        assert!(!is_there(&cut) && of_user(&cut) == Ok(Some(KEYS[0])));
    }
}
