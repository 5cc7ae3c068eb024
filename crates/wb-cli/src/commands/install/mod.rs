//! `wb install` and `wb uninstall`: installs `wb` in an agent, and removes it.

mod change;
mod plan;
mod check;
mod stays;
mod show;

use std::env::consts::OS;

use anyhow::Result;
use serde::Serialize;

use self::check::{Checked, check, lacking, switched_off};
use self::plan::Plan;
use self::show::{InstallJson, InstallRequest};
use self::stays::what_stays;
use crate::args::install::{Install, Uninstall};
use crate::hosts::host_version::HostVersion;
use crate::hosts::place::{InstallPlace, part_of_project};
use crate::hosts::plug_in::RecallTool;
use crate::hosts::{HOSTS, Host};
use crate::platform::environment::Environment;
use crate::terminal::exit_code::Exit;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// Installs `wb` in an agent, or checks the installation.
pub(crate) fn install(shell: &Shell, args: Install) -> Result<Exit> {
    let Some(host) = args.host.filter(|_| !args.check) else { return checked(shell, args.host) };
    let untried = untried(OS, args.scope.dry_run)?;
    let place = InstallPlace::new(host, &shell.environment, args.scope.project)?;
    let mut plan = planned(host, &place, &shell.environment, args)?;
    plan.notes.extend(untried);
    finish(shell, InstallRequest { host, place: &place, is_install: true, is_dry: args.scope.dry_run }, &plan)
}

/// Removes `wb` from an agent.
pub(crate) fn uninstall(shell: &Shell, args: Uninstall) -> Result<Exit> {
    untried(OS, args.scope.dry_run)?;
    let host = args.host;
    let place = InstallPlace::new(host, &shell.environment, args.scope.project)?;
    let mut plan = plan::uninstall(host, &place)?;
    let stays = |file: String, flag: &str| {
        format!("wb is still in {file}: wb uninstall {}{flag} removes it", host.name)
    };
    note_others(host, &shell.environment, &mut plan, stays);
    plan.notes.extend(part_of_project(host, &place, &shell.environment));
    plan.notes.extend(what_stays(host, &shell.environment));
    finish(
        shell,
        InstallRequest { host, place: &place, is_install: false, is_dry: args.scope.dry_run },
        &plan,
    )
}

fn planned(
    host: &'static Host,
    place: &InstallPlace,
    environment: &Environment,
    args: Install,
) -> Result<Plan, UserError> {
    let wants_hooks = args.hooks;
    let has_server = cfg!(feature = "mcp") || !["claude-code", "codex", "gemini-cli"].contains(&host.name);
    let recall = if args.no_recall || !has_server { RecallTool::Off } else { RecallTool::On };
    let program = this_program(environment)?;
    let is_plug_in = !host.files.is_empty();
    let is_plug_in_wanted = is_plug_in && !wants_hooks;
    let version = if is_plug_in_wanted { HostVersion::read(host, environment) } else { None };
    if let Some(ignored) = version.as_ref().and_then(|version| version.never_asks(host)) {
        return Err(ignored);
    }
    let mut plan = match place.hooks(host).filter(|_| wants_hooks || !is_plug_in) {
        Some(path) => {
            let places = [place, &InstallPlace::new(host, environment, false)?];
            plan::hooks(host, &path, places, program, recall)?
        }
        None if wants_hooks => return Err(no_hooks(host)),
        None => plan::plug_in(host, place, program, recall)?,
    };
    if args.statusline {
        plan::status_line(host, place, program, &mut plan)?;
    }
    let name = host.name;
    let twice = |file: String, flag: &str| {
        let is_here = flag.is_empty() != place.is_project;
        let then = if is_here { " and this one; then install the one that you want" } else { "" };
        format!(
            "wb is also in {file}, so it would run twice here: wb uninstall {name}{flag} removes it{then}"
        )
    };
    note_others(host, environment, &mut plan, twice);
    plan.notes.extend(part_of_project(host, place, environment));
    let file = plan.changes.last().map(|change| change.path.clone()).unwrap_or_default();
    let mut off = switched_off(host, place, &file, environment);
    if is_plug_in_wanted {
        off.extend(lacking(host, environment));
    }
    if !off.is_empty() {
        plan.effect = "";
    }
    plan.notes.extend(off);
    plan.notes.extend(version.and_then(|version| version.untested(host)));
    Ok(plan)
}

/// Notes our other parts that are present, by file and by option.
fn note_others(
    host: &'static Host,
    environment: &Environment,
    plan: &mut Plan,
    note: impl Fn(String, &str) -> String,
) {
    let found = check(host, environment).found.into_iter();
    let others =
        found.filter(|it| it.wb.is_some() && plan.changes.iter().all(|change| change.path != it.file));
    let flag = |is_project| if is_project { " --project" } else { "" };
    let notes: Vec<String> = others.map(|it| note(environment.tilde(&it.file), flag(it.project))).collect();
    plan.notes.extend(notes);
}

fn no_hooks(host: &Host) -> UserError {
    let hint = format!("leave --hooks out: wb install {}", host.name);
    UserError::new(format!("{} has a plug-in and takes no hooks", host.name), hint)
}

/// Returns the path of this program, as it is written into the files.
fn this_program(environment: &Environment) -> Result<&str, UserError> {
    let hint = "put wb in a folder whose name is text, such as ~/.local/bin";
    let path = environment.program.as_deref();
    path.and_then(std::path::Path::to_str)
        .ok_or_else(|| UserError::new("the path of this wb is unknown or not valid text", hint))
}

/// Returns a note if the system is untested but has the same paths; refuses to write on others.
fn untried(system: &str, is_dry: bool) -> Result<Option<String>, UserError> {
    let name = match system {
        "linux" => return Ok(None),
        "macos" => return Ok(Some("tested on Linux, not on macOS".to_owned())),
        "windows" => "Windows",
        other => other,
    };
    if is_dry {
        return Ok(Some(format!("tested on Linux, not on {name}")));
    }
    let hint =
        "wb install HOST --dry-run shows the files and their content, to be written by hand at your own risk";
    Err(UserError::new(format!("`wb install` is not supported on {name}"), hint))
}

fn finish(shell: &Shell, asked: InstallRequest<'_>, plan: &Plan) -> Result<Exit> {
    if !asked.is_dry {
        change::make(asked.place, &plan.changes)?;
    }
    if shell.is_json {
        shell.print_json(&InstallJson::new(asked, plan))?;
    } else {
        shell.print(|page| show::done(page, &shell.environment, asked, plan))?;
    }
    Ok(Exit::Done)
}

/// The answer of `wb install --check --json`.
#[derive(Debug, Serialize)]
struct All<'a> {
    live: bool,
    hosts: &'a [Checked],
}

fn checked(shell: &Shell, host: Option<&'static Host>) -> Result<Exit> {
    let wanted = HOSTS.iter().filter(|it| host.is_none_or(|host| host.name == it.name));
    let all: Vec<Checked> = wanted.map(|host| check(host, &shell.environment)).collect();
    // A user who names one agent expects it to be installed.
    let is_missing = host.is_some() && all.iter().all(|checked| checked.found.is_empty());
    let live = !is_missing && all.iter().all(Checked::is_live);
    if shell.is_json {
        shell.print_json(&All { live, hosts: &all })?;
    } else {
        shell.print(|page| show::checked(page, &shell.environment, &all))?;
    }
    Ok(if live { Exit::Done } else { Exit::Found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_was_tried_it_is_refused_by_name_and_shown_in_a_dry_run() {
        assert_eq!((untried("linux", false), untried("linux", true)), (Ok(None), Ok(None)));
        for (system, name) in [("windows", "Windows"), ("freebsd", "freebsd")] {
            let refused = untried(system, false).unwrap_err();
            assert!(refused.message.contains(name) && refused.hint.unwrap().contains("--dry-run"));
            assert!(untried(system, true).unwrap().unwrap().contains(name));
        }
        assert!(untried("macos", false).unwrap().unwrap().contains("not on macOS"));
    }
}
