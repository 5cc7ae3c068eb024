//! Checks whether what was installed is in place and used.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::change::read;
use super::compact_prompt;
use super::hooks;
use super::host_version::{HostVersion, version_output};
use super::hosts::{self, Host};
use super::place::{InstallPlace, find_program, is_program};
use super::plug_in::{self, Embedded, VERSION};
use super::switches::switched_off;
use crate::args::install::HostName;
use crate::platform::environment::Environment;

/// The findings about an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    pub(crate) host: HostName,
    /// The agent's program, if the search path leads to it.
    pub(crate) program: Option<PathBuf>,
    /// Its version, if it reports one.
    pub(crate) version: Option<String>,
    /// The version of the agent that this was tested with.
    pub(crate) tried: &'static str,
    pub(crate) found: Vec<InstalledFile>,
    /// Further notes.
    pub(crate) notes: Vec<String>,
}

/// An installed file of `wb`, or something else at its place.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledFile {
    pub(crate) file: PathBuf,
    pub(crate) project: bool,
    /// Indicates that it is from `wb`.
    pub(crate) ours: bool,
    /// The path of `wb` that it runs.
    pub(crate) wb: Option<String>,
    /// Indicates that the agent will use it.
    pub(crate) live: bool,
    /// The reasons why the agent will not use it.
    pub(crate) problems: Vec<String>,
}

impl Checked {
    pub(crate) fn is_live(&self) -> bool {
        self.found.iter().all(|found| found.live)
    }
}

/// Finds what is installed for an agent: for the user, and in the project of the working directory.
pub(crate) fn check(host: &Host, environment: &Environment) -> Checked {
    let version = HostVersion::read(host, environment);
    let places = [false, true].map(|is_project| InstallPlace::new(host, environment, is_project));
    let mut found_here: Vec<InstalledFile> = Vec::new();
    for place in places.into_iter().flatten() {
        let (hooks, mut prompt) = (hooks_of(host, &place, environment), prompt_of(host, &place));
        if let (None, Some(prompt), Some(file)) = (&hooks, &mut prompt, place.hooks(host)) {
            prompt.lacks(&environment.tilde(&file));
        }
        let looked = [plug_in(host, &place, environment, version.as_ref()), hooks, prompt];
        let new = looked.into_iter().flatten().filter(|it| found_here.iter().all(|old| old.file != it.file));
        found_here.extend(new.collect::<Vec<_>>());
    }
    let untested = version.as_ref().and_then(|version| version.untested(host));
    let notes = more_than_once(host, &found_here).into_iter().chain(untested).collect();
    let version = version.map(|version| version.as_str().to_owned());
    let program = find_program(environment, host.program);
    Checked { host: host.name, program, version, tried: host.tried, found: found_here, notes }
}

/// Reports that more than one live place runs `wb`, and how to remove one of them.
fn more_than_once(host: &Host, found: &[InstalledFile]) -> Option<String> {
    let live: Vec<&InstalledFile> = found.iter().filter(|it| it.live && it.wb.is_some()).collect();
    let (n, is_first_of_project) = (live.len(), live.first()?.project);
    let flag = if live.last()?.project { " --project" } else { "" };
    let effect = if live.last()?.project == is_first_of_project {
        "removes all of them; then install the one that you want"
    } else {
        "removes one"
    };
    (n > 1).then(|| format!("wb runs {n} times here: wb uninstall {}{flag} {effect}", host.name.word()))
}

impl InstalledFile {
    fn new(file: PathBuf, place: &InstallPlace) -> Self {
        let problems = Vec::new();
        Self { file, project: place.is_project, ours: true, wb: None, live: false, problems }
    }

    /// Notes that the accompanying hooks are missing.
    fn lacks(&mut self, hooks: &str) {
        self.problems.push(format!("its hooks are not in {hooks}: install it again"));
        self.live = false;
    }

    fn check_program(mut self, environment: &Environment) -> Self {
        if self.ours {
            let wrong = wrong_program(self.wb.as_deref(), self.project, environment);
            self.problems.extend(wrong);
        }
        Self { live: self.problems.is_empty(), ..self }
    }
}

fn plug_in(
    host: &Host,
    place: &InstallPlace,
    environment: &Environment,
    version: Option<&HostVersion>,
) -> Option<InstalledFile> {
    let files = host.files;
    let first = files.first()?;
    let found = InstalledFile::new(place.file(first.path), place);
    let text = match read(place, &found.file) {
        Ok(Some(text)) => text,
        Ok(None) => {
            return is_begun(files, place).then(|| InstalledFile { problems: vec![gone("it")], ..found });
        }
        Err(error) => return Some(InstalledFile { ours: false, problems: vec![error.message], ..found }),
    };
    let Some(written) = plug_in::read(&text) else {
        return Some(InstalledFile {
            ours: false,
            problems: vec!["it was not created by wb".to_owned()],
            ..found
        });
    };
    let mut problems = Vec::new();
    if written.version == VERSION {
        let program = written.program.as_deref().unwrap_or_default();
        problems.extend(files.iter().filter_map(|file| {
            let path = place.file(file.path);
            let name = if path == found.file { "it".to_owned() } else { environment.tilde(&path) };
            not_as_written(*file, place, program, &name)
        }));
    } else {
        problems.push(format!(
            "it was written by wb {}, and this is {VERSION}: install it again",
            written.version
        ));
    }
    if host.name == HostName::ClaudeCode && place.is_project && !is_folder_trusted(place, environment) {
        let how = "Claude Code has not asked you yet whether to trust this folder: start claude here";
        problems.push(how.to_owned());
    }
    problems.extend(switched_off(host, place, &found.file, environment));
    let ignored = version.and_then(|version| version.never_asks(host));
    problems.extend(
        ignored
            .map(|why| format!("installed, never asked: {}; {}", why.message, why.hint.unwrap_or_default())),
    );
    problems.extend(lacking(host, environment));
    Some(InstalledFile { wb: written.program, problems, ..found }.check_program(environment))
}

/// Returns whether a file of the plug-in is in place that is just as it was written.
fn is_begun(files: &[Embedded], place: &InstallPlace) -> bool {
    let text = |file: &Embedded| read(place, &place.file(file.path)).ok().flatten();
    files.iter().any(|file| text(file).is_some_and(|text| text == file.rendered("")))
}

/// Returns what has become of a file of the plug-in, if it is not as it was written.
fn not_as_written(file: Embedded, place: &InstallPlace, program: &str, name: &str) -> Option<String> {
    match read(place, &place.file(file.path)) {
        Ok(None) => Some(gone(name)),
        Ok(Some(text)) if text == file.rendered(program) => None,
        Ok(Some(_)) => Some(format!("{name} was changed since: install it again, if it was not you")),
        Err(error) => Some(error.to_string()),
    }
}

fn gone(name: &str) -> String {
    format!("{name} is gone, and the rest of the plug-in is there: install it again")
}

/// Returns whether Claude Code has noted that the user trusts a project, or a folder above it.
fn is_folder_trusted(place: &InstallPlace, environment: &Environment) -> bool {
    let folder = environment.claude_config.as_ref().or(environment.home.as_ref());
    let text = folder.and_then(|folder| std::fs::read(folder.join(".claude.json")).ok());
    let noted: Value = text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let is_trusted = |folder: &Path| {
        let project = noted.get("projects")?.get(folder.to_str()?)?;
        project.get("hasTrustDialogAccepted")?.as_bool()
    };
    place.root.ancestors().any(|folder| is_trusted(folder) == Some(true))
}

fn hooks_of(host: &Host, place: &InstallPlace, environment: &Environment) -> Option<InstalledFile> {
    let found = InstalledFile::new(place.hooks(host)?, place);
    let text = read(place, &found.file).ok()??;
    if let Some(why) = hooks::broken(&text) {
        return Some(InstalledFile { problems: vec![format!("{why}: repair it")], ..found });
    }
    let programs = hooks::programs(&text);
    let (.., first) = programs.first()?.clone();
    let mut problems = switched_off(host, place, &found.file, environment);
    if programs.len() < host.events.len() || programs.iter().any(|(.., program)| *program != first) {
        problems.push("some of its hooks are gone or run another wb: install it again".to_owned());
    }
    if host.name == HostName::Codex && !is_trusted(&found.file, &programs, environment) {
        let how = "Codex has not asked you yet whether to trust it: start codex and enter /hooks";
        problems.push(how.to_owned());
    }
    Some(InstalledFile { wb: Some(first), problems, ..found }.check_program(environment))
}

fn prompt_of(host: &Host, place: &InstallPlace) -> Option<InstalledFile> {
    let found = InstalledFile::new(place.prompt(host)?, place);
    let text = read(place, &found.file).ok()?.filter(|text| compact_prompt::is_there(text))?;
    let of_user = match compact_prompt::of_user(&text) {
        Ok(key) => key.map(|key| format!("you added a {key} next to the one of wb: install it again")),
        Err(why) => Some(format!("{why}: repair it")),
    };
    let problems: Vec<String> = compact_prompt::problem(&text).into_iter().chain(of_user).collect();
    Some(InstalledFile { live: problems.is_empty(), problems, ..found })
}

/// Returns whether Codex has noted that the user trusts hooks of a file; whether they changed since
/// it alone knows.
fn is_trusted(file: &Path, programs: &[(String, [usize; 2], String)], environment: &Environment) -> bool {
    let Ok(place) = InstallPlace::new(hosts::host(HostName::Codex), environment, false) else { return false };
    let settings = std::fs::read_to_string(place.file("config.toml")).unwrap_or_default();
    let is_noted = |event: &str, [at, nth]: [usize; 2]| {
        let key = format!("{}:{}:{at}:{nth}", file.display(), snake(event));
        settings.contains(&key)
    };
    programs.iter().all(|(event, at, _)| is_noted(event, *at))
}

fn snake(event: &str) -> String {
    let words = event.split_inclusive(|_: char| true);
    let lower = words.map(|c| {
        let is_upper = c.chars().all(char::is_uppercase);
        if is_upper { format!("_{}", c.to_lowercase()) } else { c.to_owned() }
    });
    lower.collect::<String>().trim_start_matches('_').to_owned()
}

/// Returns the problem with the `wb` that is run.
fn wrong_program(program: Option<&str>, is_project: bool, environment: &Environment) -> Option<String> {
    let Some(program) = program else { return Some("it does not say which wb it runs".to_owned()) };
    let path = Path::new(program);
    if environment.program.as_deref() == Some(path) {
        return None;
    }
    let shown = environment.tilde(path);
    if !is_program(path) {
        return Some(format!("the wb that it runs is gone: {shown}"));
    }
    if is_project {
        // A program named by a project is not run for inspection.
        return Some(format!("it runs another wb than this one: {shown}"));
    }
    let version = version_of(path);
    let reported = version.as_deref().unwrap_or("no version");
    (version.as_deref() != Some(VERSION))
        .then(|| format!("the wb that it runs reports {reported}, and this is {VERSION}: {shown}"))
}

/// Names the programs that the plug-in runs and the search path does not lead to.
pub(crate) fn lacking(host: &Host, environment: &Environment) -> Vec<String> {
    let gone = host.runs.iter().filter(|program| find_program(environment, program).is_none());
    gone.map(|program| {
        format!("it runs {program}, which is not on the PATH: install it, or add its folder to the PATH")
    })
    .collect()
}

/// Runs a `wb` to get its version; none if it does not answer in time.
fn version_of(path: &Path) -> Option<String> {
    version_output(path)?.strip_prefix("wb ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_as_codex_notes_them() {
        assert_eq!(
            (snake("PreCompact"), snake("SessionStart")),
            ("pre_compact".into(), "session_start".into())
        );
    }
}
