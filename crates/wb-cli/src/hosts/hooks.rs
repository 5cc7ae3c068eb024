//! Edits our hooks in the settings of Claude Code or Codex: entries that run `wb hook`.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};
use wb_record::json::{elements, find, members};

use super::json_edit;
use crate::terminal::escape::shell_word;

/// Seconds that the agent waits for an answer.
const TIMEOUT_S: u32 = 10;

/// An entry below an event.
#[derive(Debug, Serialize)]
struct Group<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'static str>,
    hooks: [Run<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    command: &'a str,
    timeout: u32,
}

/// An event and its matcher.
pub(crate) type HookEvent = (&'static str, Option<&'static str>);

/// When a session resumes after a compaction: no other event of Codex accepts text.
pub(crate) const OF_CODEX: &[HookEvent] = &[("SessionStart", Some("compact"))];
/// Also before a compaction, to list what the summary must contain, and after it.
pub(crate) const OF_CLAUDE_CODE: &[HookEvent] =
    &[("PreCompact", None), ("PostCompact", None), ("SessionStart", Some("compact"))];

/// Returns the command that runs `wb` of a path, for a shell.
pub(super) fn command_of(program: &str) -> String {
    format!("{} hook", shell_word(program))
}

/// Returns the path of `wb` in a command that we wrote.
pub(super) fn program_of(command: &str) -> Option<String> {
    let word = command.strip_suffix(" hook")?;
    let quoted = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let path = quoted.map_or_else(|| word.to_owned(), |word| word.replace(r"'\''", "'"));
    let is_ours = path.starts_with('/') && path.rsplit('/').next() == Some("wb");
    (is_ours && command_of(&path) == command).then_some(path)
}

/// Returns the path itself, if it can be parsed back from the command that runs it.
pub(crate) fn known_again(program: &str) -> Option<String> {
    program_of(&command_of(program))
}

/// Returns the settings with our hooks in them; those that are there get this command.
pub(crate) fn with(text: &str, events: &[HookEvent], program: &str) -> Result<String, String> {
    let command = command_of(program);
    let mut text = checked(text)?.to_owned();
    for (event, matcher) in events {
        let run = Run { kind: "command", command: &command, timeout: TIMEOUT_S };
        let group = Group { matcher: *matcher, hooks: [run] };
        text = with_one(&text, event, &group).ok_or_else(|| format!("its {event} hooks are not a list"))?;
    }
    Ok(text)
}

fn with_one(text: &str, event: &str, group: &Group<'_>) -> Option<String> {
    let text = &with_container(text, &[], "hooks", &json!({}))?;
    let text = &with_container(text, &["hooks"], event, &json!([]))?;
    let list = find(text.as_bytes(), &["hooks", event]).filter(|list| text[list.clone()].starts_with('['))?;
    match ours_in(text, &list).first() {
        // Its position stays the same, since the agent identifies trusted hooks by it.
        Some(ours) if ours.is_alone => as_wanted(text, ours.group.clone(), group),
        Some(ours) => as_wanted(text, ours.run.clone(), &group.hooks[0]),
        None => json_edit::add(text, list, None, group),
    }
}

/// Returns a text with a value at a place, unless it is there already.
fn as_wanted(text: &str, place: Range<usize>, value: &impl Serialize) -> Option<String> {
    let wanted = serde_json::to_value(value).ok()?;
    let is_there = serde_json::from_str::<Value>(&text[place.clone()]).ok() == Some(wanted);
    if is_there { Some(text.to_owned()) } else { json_edit::replaced(text, place, value) }
}

/// Returns a text in which an object has a container at a key: the old one, or an empty one.
fn with_container(text: &str, above: &[&str], key: &str, empty: &Value) -> Option<String> {
    let path: Vec<&str> = above.iter().copied().chain([key]).collect();
    if find(text.as_bytes(), &path).is_some() {
        return Some(text.to_owned());
    }
    json_edit::add(text, place_of(text, above)?, Some(key), empty)
}

fn place_of(text: &str, path: &[&str]) -> Option<Range<usize>> {
    if path.is_empty() { Some(text.find('{')?..text.rfind('}')? + 1) } else { find(text.as_bytes(), path) }
}

/// Returns the settings without our hooks, and without lists that held nothing else.
pub(crate) fn without(text: &str) -> Result<String, String> {
    let mut text = checked(text)?.to_owned();
    while let Some(less) = without_one(&text) {
        text = less;
    }
    Ok(text)
}

fn without_one(text: &str) -> Option<String> {
    let hooks = find(text.as_bytes(), &["hooks"])?;
    for (at, event) in members(&text.as_bytes()[hooks.clone()])?.iter().enumerate() {
        if !is_ours(&event.key) {
            continue;
        }
        let list = hooks.start + event.value.start..hooks.start + event.value.end;
        let ours = ours_in(text, &list);
        let Some(first) = ours.first() else { continue };
        if !first.is_alone {
            return json_edit::remove(text, first.runs.clone(), first.nth_run);
        }
        if elements(&text.as_bytes()[list.clone()])?.len() > 1 {
            return json_edit::remove(text, list, first.nth_group);
        }
        return without_event(text, hooks, at);
    }
    None
}

/// Returns whether our hooks may be under an event; `wb` elsewhere is the user's.
fn is_ours(event: &str) -> bool {
    OF_CODEX.iter().chain(OF_CLAUDE_CODE).any(|(ours, _)| *ours == event)
}

/// Removes an event, and the hooks if there is no other one.
fn without_event(text: &str, hooks: Range<usize>, at: usize) -> Option<String> {
    if members(&text.as_bytes()[hooks.clone()])?.len() > 1 {
        return json_edit::remove(text, hooks, at);
    }
    let root = place_of(text, &[])?;
    let at = members(&text.as_bytes()[root.clone()])?.iter().position(|it| it.key == "hooks")?;
    json_edit::remove(text, root, at)
}

/// Returns the path of `wb` of each of our hooks, with its event and the indices of its entry and
/// of its command there.
pub(crate) fn programs(text: &str) -> Vec<(String, [usize; 2], String)> {
    let Some(hooks) = find(text.as_bytes(), &["hooks"]) else { return Vec::new() };
    let events = members(&text.as_bytes()[hooks.clone()]).unwrap_or_default();
    let of_event = |event: wb_record::json::Member<'_>| {
        let list = hooks.start + event.value.start..hooks.start + event.value.end;
        let key = event.key.into_owned();
        let ours = ours_in(text, &list).into_iter();
        ours.map(move |it| (key.clone(), [it.nth_group, it.nth_run], it.program))
    };
    events.into_iter().filter(|event| is_ours(&event.key)).flat_map(of_event).collect()
}

/// One of our commands in the list of an event.
struct Ours {
    nth_group: usize,
    /// The position of its entry.
    group: Range<usize>,
    /// The position of the entry's list of commands, then the index and position of this one.
    runs: Range<usize>,
    nth_run: usize,
    run: Range<usize>,
    /// Indicates that the entry has no other command.
    is_alone: bool,
    /// The path of `wb`.
    program: String,
}

/// Returns our commands in a list of entries.
fn ours_in(text: &str, list: &Range<usize>) -> Vec<Ours> {
    let within =
        |outer: &Range<usize>, inner: Range<usize>| outer.start + inner.start..outer.start + inner.end;
    let children = |place: &Range<usize>| elements(&text.as_bytes()[place.clone()]).unwrap_or_default();
    let mut ours = Vec::new();
    for (nth_group, group) in children(list).into_iter().enumerate() {
        let group = within(list, group);
        let Some(runs) = find(&text.as_bytes()[group.clone()], &["hooks"]) else { continue };
        let runs = within(&group, runs);
        let all = children(&runs);
        let is_alone = all.len() == 1;
        for (nth_run, run) in all.into_iter().enumerate() {
            let run = within(&runs, run);
            let hook = serde_json::from_str::<Value>(&text[run.clone()]).unwrap_or_default();
            if let Some(program) = hook["command"].as_str().and_then(program_of) {
                let (group, runs) = (group.clone(), runs.clone());
                ours.push(Ours { nth_group, group, runs, nth_run, run, is_alone, program });
            }
        }
    }
    ours
}

/// Returns why settings that may contain our hooks cannot be read.
pub(crate) fn broken(text: &str) -> Option<String> {
    checked(text).err().filter(|_| text.contains(" hook\""))
}

/// Refuses text that is not a JSON object.
fn checked(text: &str) -> Result<&str, String> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(root)) if root.get("hooks").is_none_or(Value::is_object) => Ok(text),
        Ok(Value::Object(_)) => Err("its hooks are not an object".to_owned()),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"PreCompact\": [\n      {\"hooks\": [{\"type\": \"command\", \
                          \"command\": \"theirs\"}]}\n    ]\n  }\n}\n";

    #[test]
    fn hooks_are_put_behind_those_of_others_and_taken_out_again() {
        for before in [THEIRS, "{\"hooks\":{\"Stop\":[]}}", "{\"a\": 1}", "{ \"model\" : \"x\" }\n"] {
            let with = with(before, OF_CLAUDE_CODE, "/a/wb").unwrap();
            assert_eq!(programs(&with).len(), 3, "{with}");
            assert_eq!(without(&with).unwrap(), before, "{with}");
        }
        let with = with(THEIRS, OF_CLAUDE_CODE, "/a/wb").unwrap();
        assert_eq!(programs(&with)[0], ("PreCompact".to_owned(), [1, 0], "/a/wb".to_owned()));
    }

    #[test]
    fn a_second_time_changes_nothing_and_another_path_takes_the_same_place() {
        let once = with(THEIRS, OF_CLAUDE_CODE, "/a/wb").unwrap();
        assert_eq!(with(&once, OF_CLAUDE_CODE, "/a/wb").unwrap(), once);
        let moved = with(&once, OF_CLAUDE_CODE, "/b c/wb").unwrap();
        assert_eq!(programs(&moved)[0], ("PreCompact".to_owned(), [1, 0], "/b c/wb".to_owned()));
        assert_eq!(with(&moved, OF_CLAUDE_CODE, "/a/wb").unwrap(), once);
    }

    #[test]
    fn commands_of_others_stay_in_every_event() {
        let with_ours = with("{}", OF_CODEX, "/a/wb").unwrap();
        let run = r#"{"type": "command", "command": "echo mine"}"#;
        let mixed = with_ours.replacen("\"hooks\": [", &format!("\"hooks\": [{run},"), 1);
        assert_eq!(with(&mixed, OF_CODEX, "/a/wb").unwrap(), mixed);
        assert_eq!(programs(&mixed), [("SessionStart".to_owned(), [0, 1], "/a/wb".to_owned())]);
        let moved = with(&mixed, OF_CODEX, "/b/wb").unwrap();
        assert_eq!(programs(&moved)[0].2, "/b/wb");
        let left: Value = serde_json::from_str(&without(&moved).unwrap()).unwrap();
        let mine = serde_json::from_str::<Value>(run).unwrap();
        assert_eq!(left["hooks"]["SessionStart"][0]["hooks"], json!([mine]), "{left}");
        let theirs = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/opt/wb hook"}]}]}}"#;
        assert_eq!((without(theirs).unwrap().as_str(), programs(theirs).len()), (theirs, 0));
    }

    #[test]
    fn paths_come_back_from_commands() {
        for path in ["/usr/bin/wb", "/a b/wb", "/it's/wb", "/a\"b\\c/wb", "/Grüße/$x/wb"] {
            assert_eq!(program_of(&command_of(path)).as_deref(), Some(path));
        }
        for theirs in ["wb hook", "/usr/bin/rm hook", "/usr/bin/wb hook --x", "'/a/wb hook", "/a b/wb hook"] {
            assert_eq!(program_of(theirs), None, "{theirs}");
        }
    }

    #[test]
    fn settings_that_cannot_be_read_are_refused() {
        for text in
            ["", "[]", "{\"hooks\": []}", "{\"hooks\": {\"PreCompact\": 1}}", "{\"a\": 1,}", "{} // x"]
        {
            assert!(with(text, OF_CLAUDE_CODE, "/a/wb").is_err(), "{text}");
        }
    }
}
