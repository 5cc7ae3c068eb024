//! Finds what in an agent's settings keeps it from using what is installed: switches and
//! unreadable files.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Host;
use super::place::{InstallPlace, project_folders};
use crate::platform::environment::Environment;
use crate::terminal::user_error::in_words;

/// By which name Gemini CLI knows the plug-in and its hook.
const NAME: &str = "wb-compact";
/// By which name Claude Code knows the plug-in.
const IN_CLAUDE_CODE: &str = "wb-compact@skills-dir";

/// A settings file of an agent.
struct Settings {
    /// The path, for display.
    name: String,
    is_project: bool,
    value: Value,
}

/// Returns what is off or unreadable in the settings of the agent, for an installed file.
pub(crate) fn by_agent(
    host: &Host,
    place: &InstallPlace,
    file: &Path,
    environment: &Environment,
) -> Vec<String> {
    let (settings, mut problems) = read_all(host, environment);
    problems.extend((host.off)(&Switches { settings: &settings, place, file, environment }));
    problems
}

/// Returns the settings of an agent that can be read, those that count most last.
pub(crate) fn settings_of(host: &Host, environment: &Environment) -> Vec<Value> {
    read_all(host, environment).0.into_iter().map(|settings| settings.value).collect()
}

/// Reads the settings of an agent, those that count most last.
fn read_all(host: &Host, environment: &Environment) -> (Vec<Settings>, Vec<String>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    let user = InstallPlace::new(host, environment, false).ok().map(|place| place.root);
    let roots = [user.as_deref().into_iter().collect(), project_folders(host, environment)];
    for ((is_project, roots), names) in [false, true].into_iter().zip(roots).zip(host.settings) {
        // In the home folder, both are the same file.
        let paths = roots.iter().rev().flat_map(|root| names.iter().map(|name| root.join(name)));
        for path in paths.filter(|path| known.insert(path.canonicalize().unwrap_or(path.clone()))) {
            match read(&path) {
                Ok(Some(value)) => {
                    all.push(Settings { name: environment.tilde(&path), is_project, value });
                }
                Ok(None) => {}
                Err(why) => {
                    problems.push(format!("settings file {} {why}: repair it", environment.tilde(&path)));
                }
            }
        }
    }
    (all, problems)
}

/// Reads one settings file; none if it is missing or empty.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read ({})", in_words(&error))),
        Ok(text) if text.trim().is_empty() => return Ok(None),
        Ok(text) => text,
    };
    let end = path.extension().unwrap_or_default();
    if end == "toml" {
        return toml::from_str(&text)
            .map(Some)
            .map_err(|error| format!("is not valid TOML ({})", error.message()));
    }
    let is_lenient = end == "jsonc"
        || path.parent().is_some_and(|folder| folder.ends_with(".gemini"))
        || path.file_name().is_some_and(|name| name == "opencode.json");
    let text = if is_lenient { without_comments(&text) } else { text };
    serde_json::from_str(&text).map(Some).map_err(|error| format!("is not valid JSON ({error})"))
}

/// Returns JSON with comments as plain JSON: blanks replace comments and trailing commas.
fn without_comments(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let n = match c {
            '"' => string_len(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            _ => c.len_utf8(),
        };
        let (piece, next) = rest.split_at(n);
        rest = next;
        match c {
            '/' if n > 1 => plain.extend(piece.chars().filter(|c| *c == '\n')),
            '}' | ']' => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                let blanks = plain.split_off(kept).replace(',', " ");
                plain = plain + &blanks + piece;
            }
            _ => plain += piece,
        }
    }
    plain
}

/// Returns how many bytes the string has that a text begins with.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The settings of an agent, for one installed file.
pub(crate) struct Switches<'a> {
    settings: &'a [Settings],
    place: &'a InstallPlace,
    file: &'a Path,
    environment: &'a Environment,
}

impl Switches<'_> {
    /// Reports a switch with this value; the file with precedence decides.
    fn is(&self, path: &[&str], off: bool) -> Option<String> {
        let asked = |it: &Settings| path.iter().try_fold(&it.value, |value, key| value.get(*key))?.as_bool();
        let (it, is) = self.settings.iter().rev().find_map(|it| Some((it, asked(it)?)))?;
        (is == off).then(|| format!("it is switched off: {} = {off} in {}", path.join("."), it.name))
    }
}

pub(crate) fn of_claude_code(switches: &Switches<'_>) -> Option<String> {
    let is_plug_in = switches.file.extension().is_some_and(|end| end == "ts");
    let plug_in = || switches.is(&["enabledPlugins", IN_CLAUDE_CODE], false).filter(|_| is_plug_in);
    switches.is(&["disableAllHooks"], true).or_else(plug_in)
}

pub(crate) fn of_codex(switches: &Switches<'_>) -> Option<String> {
    let feature = ["hooks", "codex_hooks"].iter().find_map(|key| switches.is(&["features", key], false));
    feature.or_else(|| switches.settings.iter().find_map(|it| hook_off(it, switches.file)))
}

pub(crate) fn of_gemini_cli(switches: &Switches<'_>) -> Option<String> {
    let noted =
        || not_here(&switches.place.file("extensions/extension-enablement.json"), switches.environment);
    let hooks = switches.is(&["hooksConfig", "enabled"], false);
    hooks.or_else(|| switches.settings.iter().find_map(hook_named)).or_else(noted)
}

pub(crate) fn of_pi(switches: &Switches<'_>) -> Option<String> {
    let here = switches.settings.iter().filter(|it| it.is_project == switches.place.is_project);
    here.into_iter().find_map(|it| {
        let entry = left_out(it.value.get("extensions")?.as_array()?, switches.place, switches.file)?;
        Some(format!("it is switched off: extensions has {entry} in {}", it.name))
    })
}

/// Returns what Codex has noted of a hook of the file that the user switched off.
fn hook_off(settings: &Settings, file: &Path) -> Option<String> {
    let of_file = format!("{}:", file.display());
    let hooks = settings.value.pointer("/hooks/state")?.as_object()?;
    let mut ours = hooks.iter().filter(|(key, _)| key.starts_with(&of_file));
    ours.find(|(_, state)| state.get("enabled") == Some(&Value::Bool(false)))?;
    Some(format!("it is switched off: enabled = false below hooks.state in {}", settings.name))
}

/// Returns where Gemini CLI has noted that the user switched our hook off.
fn hook_named(settings: &Settings) -> Option<String> {
    let disabled = settings.value.pointer("/hooksConfig/disabled")?.as_array()?;
    disabled.iter().find(|name| *name == NAME)?;
    Some(format!("it is switched off: hooksConfig.disabled has {NAME} in {}", settings.name))
}

/// Returns where Gemini CLI has noted that the plug-in is off in a folder; of its rules the last
/// that fits counts.
fn not_here(file: &Path, environment: &Environment) -> Option<String> {
    let noted = read(file).ok()??;
    let folder = format!("{}/", environment.working.as_deref()?.display());
    let rules = noted.get(NAME)?.get("overrides")?.as_array()?.iter().filter_map(Value::as_str);
    let is_here = |rule: &&str| {
        let path = rule.trim_start_matches('!');
        path.strip_suffix('*').map_or(path == folder, |above| folder.starts_with(above))
    };
    let last = rules.rev().find(is_here)?;
    last.starts_with('!')
        .then(|| format!("it is switched off: {NAME} has {last} in {}", environment.tilde(file)))
}

/// Returns the entry of pi's list by which a file is left out: `!pattern`, over it `+path`, and
/// over that `-path`.
fn left_out<'a>(entries: &'a [Value], place: &InstallPlace, file: &Path) -> Option<&'a str> {
    let full = file.to_str()?;
    let below = file.strip_prefix(place.file("")).ok()?.to_str()?;
    let name = file.file_name()?.to_str()?;
    let entry = |mark: char, fits: &dyn Fn(&str) -> bool| {
        let entries = entries.iter().filter_map(Value::as_str);
        entries.rev().find(|entry| entry.strip_prefix(mark).is_some_and(fits))
    };
    let is_it = |path: &str| [full, below].contains(&path.strip_prefix("./").unwrap_or(path));
    let is_like = |pattern: &str| [full, below, name].iter().any(|path| fits(pattern, path));
    entry('-', &is_it).or_else(|| entry('!', &is_like).filter(|_| entry('+', &is_it).is_none()))
}

/// Returns whether a path fits a pattern: `*` stands for all but a slash, `**` for that too.
fn fits(pattern: &str, path: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(before) else { return false };
    let (after, is_deep) = after.strip_prefix('*').map_or((after, false), |after| (after, true));
    let end = if is_deep { rest.len() } else { rest.find('/').unwrap_or(rest.len()) };
    let mut ends = (0..=end).filter(|at| rest.is_char_boundary(*at));
    ends.any(|at| fits(after, &rest[at..]) || is_deep && fits(after.trim_start_matches('/'), &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_comments_is_read_and_strings_stay_as_they_are() {
        let text = "{ // a, }\n \"k\": [1, /* , */ 2, ],\n \"u\": \"http://x/*\\\", ]\", /* é */\n}";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"k": [1, 2], "u": "http://x/*\", ]"}));
        for open in ["{\"a", "/*", "//", "\"\\", "é/"] {
            assert!(serde_json::from_str::<Value>(&without_comments(open)).is_err(), "{open}");
        }
    }

    #[test]
    fn a_pattern_fits_as_in_the_lists_of_pi() {
        for (pattern, is_it) in [
            ("extensions/wb-compact.ts", true),
            ("extensions/*", true),
            ("*", false),
            ("**", true),
            ("**/wb-*.ts", true),
            ("extensions/*.js", false),
            ("*/*/wb-compact.ts", false),
        ] {
            assert_eq!(fits(pattern, "extensions/wb-compact.ts"), is_it, "{pattern}");
        }
    }
}
