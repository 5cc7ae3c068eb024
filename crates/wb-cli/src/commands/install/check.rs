//! Checks whether what was installed is in place and used.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::change::read;
use crate::hosts::Host;
use crate::hosts::compact_prompt;
use crate::hosts::hooks;
use crate::hosts::host_version::{HostVersion, version_output};
use crate::hosts::place::{InstallPlace, find_program, is_program};
use crate::hosts::plug_in::{self, Embedded, VERSION};
use crate::hosts::switches::by_agent;
use crate::hosts::trust::Untrusted;
use crate::platform::environment::Environment;
use crate::session::config::Config;

/// The findings about an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    pub(crate) host: &'static Host,
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
pub(crate) fn check(host: &'static Host, environment: &Environment) -> Checked {
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
    Checked { host, program, version, tried: host.tried, found: found_here, notes }
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
    (n > 1).then(|| format!("wb runs {n} times here: wb uninstall {}{flag} {effect}", host.name))
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
    let untrusted = Untrusted { host, place, file: &found.file, programs: &[], environment };
    problems.extend((host.distrust)(&untrusted).map(str::to_owned));
    problems.extend(switched_off(host, place, &found.file, environment));
    let ignored = version.and_then(|version| version.never_asks(host));
    problems.extend(
        ignored
            .map(|why| format!("installed, never asked: {}; {}", why.message, why.hint.unwrap_or_default())),
    );
    problems.extend(lacking(host, environment));
    Some(InstalledFile { wb: written.program, problems, ..found }.check_program(environment))
}

/// Returns what is off or unreadable, in the settings of the agent and in ours.
pub(crate) fn switched_off(
    host: &Host,
    place: &InstallPlace,
    file: &Path,
    environment: &Environment,
) -> Vec<String> {
    by_agent(host, place, file, environment).into_iter().chain(by_us(host.name, environment)).collect()
}

/// Returns what our own settings switch off.
fn by_us(host: &str, environment: &Environment) -> Option<String> {
    match Config::read(environment, environment.working.as_deref()) {
        Ok(config) if config.is_on(host) => None,
        Ok(config) => {
            let file = config.from(&format!("hosts.{host}"));
            let file = file.map_or_else(String::new, |path| format!(" in {}", environment.tilde(path)));
            Some(format!("it is switched off: {host} = false under [hosts]{file}"))
        }
        Err(error) => {
            let file = error.file.map(|file| format!("{}: ", environment.tilde(Path::new(&file))));
            let file = file.unwrap_or_default();
            Some(format!("wb can't read its settings and passes: {file}{}", error.message))
        }
    }
}

/// Returns whether a file of the plug-in is in place that is just as it was written.
fn is_begun(files: &[Embedded], place: &InstallPlace) -> bool {
    let text = |file: &Embedded| read(place, &place.file(file.path)).ok().flatten();
    files.iter().any(|file| text(file).is_some_and(|text| file.is_of_any(&text)))
}

/// Returns what has become of a file of the plug-in, if it is not as it was written.
fn not_as_written(file: Embedded, place: &InstallPlace, program: &str, name: &str) -> Option<String> {
    match read(place, &place.file(file.path)) {
        Ok(None) => Some(gone(name)),
        Ok(Some(text)) if file.is_rendered(&text, program) => None,
        Ok(Some(_)) => Some(format!("{name} was changed since: install it again, if it was not you")),
        Err(error) => Some(error.to_string()),
    }
}

fn gone(name: &str) -> String {
    format!("{name} is gone, and the rest of the plug-in is there: install it again")
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
    let untrusted = Untrusted { host, place, file: &found.file, programs: &programs, environment };
    problems.extend((host.distrust)(&untrusted).map(str::to_owned));
    Some(InstalledFile { wb: Some(first), problems, ..found }.check_program(environment))
}

fn prompt_of(host: &Host, place: &InstallPlace) -> Option<InstalledFile> {
    let found = InstalledFile::new(place.prompt(host)?, place);
    let text = read(place, &found.file).ok()?.filter(|text| compact_prompt::is_there(text))?;
    let of_user = match compact_prompt::of_user(&text) {
        Ok(key) => key
            .filter(|_| compact_prompt::has_instructions(&text))
            .map(|key| format!("you added a {key} next to the one of wb: install it again")),
        Err(why) => Some(format!("{why}: repair it")),
    };
    let problems: Vec<String> = compact_prompt::problem(&text).into_iter().chain(of_user).collect();
    Some(InstalledFile { live: problems.is_empty(), problems, ..found })
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
