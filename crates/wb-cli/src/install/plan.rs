//! What is to be written, and what is to be taken out.

use std::path::Path;

use super::change::{Change, copy_of, read};
use super::hooks;
use super::hosts::Host;
use super::place::Place;
use super::plug_in::{self, Embedded};
use crate::user_error::UserError;

/// What comes of hooks.
const OF_HOOKS: &str = "Its model still writes the summary, and wb adds what that may have left out. To let wb compact a session \
    between two runs: wb compact FILE --in-place";

/// Changes in their order.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) notes: Vec<String>,
    /// What compactions of the agent are after that.
    pub(super) effect: &'static str,
}

/// Plans the plug-in of an agent.
pub(super) fn plug_in(host: &Host, place: &Place, program: &str) -> Result<Plan, UserError> {
    let files = host.files;
    let is_ours = is_ours(files, place)?;
    // What is read first is written last, so that nothing half is ever loaded.
    let changes = files.iter().rev().map(|file| written(*file, place, program, is_ours));
    Ok(Plan { changes: changes.collect::<Result<_, _>>()?, notes: Vec::new(), effect: host.effect })
}

fn written(file: Embedded, place: &Place, program: &str, is_ours: bool) -> Result<Change, UserError> {
    let path = place.file(file.path);
    let (before, after) = (read(place, &path)?, file.rendered(program));
    match &before {
        Some(there) if !is_ours && *there != after => Err(foreign(&path)),
        _ => Ok(Change { path, before, after: Some(after) }),
    }
}

/// Returns whether the file that says so is there and one of ours.
fn is_ours(files: &[Embedded], place: &Place) -> Result<bool, UserError> {
    let Some(first) = files.first() else { return Ok(false) };
    let text = read(place, &place.file(first.path))?;
    Ok(text.is_some_and(|text| plug_in::read(&text).is_some()))
}

fn foreign(path: &Path) -> UserError {
    let hint =
        "move it to another name, if you want both, or away; wb writes over nothing that it did not write";
    UserError::of_file(path.display().to_string(), "is there already, and not from wb", hint)
}

/// Plans hooks in the settings of an agent.
pub(super) fn hooks(host: &Host, path: &Path, place: &Place, program: &str) -> Result<Plan, UserError> {
    if hooks::known_again(program).is_none() {
        let what = "hooks know wb by its name, and this program has another one";
        return Err(UserError::of_file(program, what, "name it wb, in whatever folder"));
    }
    let before = read(place, path)?;
    let text = before.clone().unwrap_or_else(|| "{}\n".to_owned());
    let after = hooks::with(&text, host.events, program).map_err(|why| broken(path, why))?;
    let mut changes = Vec::new();
    if let Some(text) = before.as_ref().filter(|text| hooks::programs(text).is_empty()) {
        let copy = copy_of(path);
        changes.push(Change { before: read(place, &copy)?, after: Some(text.clone()), path: copy });
    }
    changes.push(Change { path: path.to_owned(), before, after: Some(after) });
    Ok(Plan { changes, notes: Vec::new(), effect: OF_HOOKS })
}

fn broken(path: &Path, why: String) -> UserError {
    let hint = "nothing was changed: repair the file, and do it again";
    UserError::of_file(path.display().to_string(), why, hint)
}

/// Plans to take out whatever of ours is there.
pub(super) fn uninstall(host: &Host, place: &Place) -> Result<Plan, UserError> {
    let files = host.files;
    let mut plan = Plan { changes: Vec::new(), notes: Vec::new(), effect: "" };
    let is_ours = is_ours(files, place)?;
    for file in files.iter().rev() {
        let path = place.file(file.path);
        // Without the file that says so the others are ours if they are just as we wrote them.
        let before = read(place, &path)?.filter(|text| is_ours || *text == file.rendered(""));
        plan.changes.push(Change { before, after: None, path });
    }
    if let Some(first) = files.first().map(|file| place.file(file.path)).filter(|it| !is_ours && it.exists())
    {
        plan.notes.push(format!("{} is not from wb, and stays", first.display()));
    }
    if let Some(path) = place.hooks(host) {
        without_hooks(host, &path, place, &mut plan)?;
    }
    plan.changes.retain(Change::is_one);
    Ok(plan)
}

fn without_hooks(host: &Host, path: &Path, place: &Place, plan: &mut Plan) -> Result<(), UserError> {
    let Some(text) = read(place, path)? else { return Ok(()) };
    let Some((.., program)) = hooks::programs(&text).into_iter().next() else {
        // A file that cannot be read may still hold them.
        return hooks::broken(&text).map_or(Ok(()), |why| Err(broken(path, why)));
    };
    let less = hooks::without(&text).map_err(|why| broken(path, why))?;
    let copy = copy_of(path);
    let kept = read(place, &copy)?;
    let is_all = kept.as_ref().is_some_and(|old| {
        *old == less || hooks::with(old, host.events, &program).is_ok_and(|with| with == text)
    });
    let after = if is_all { kept.clone() } else { Some(less) };
    let is_empty = kept.is_none() && after.as_ref().is_some_and(|text| text.split_whitespace().eq(["{}"]));
    let after = after.filter(|_| !is_empty);
    plan.changes.push(Change { path: path.to_owned(), before: Some(text), after });
    if is_all {
        plan.changes.push(Change { path: copy, before: kept, after: None });
    } else if kept.is_some() {
        let (file, copy) = (path.display(), copy.display());
        plan.notes.push(format!("{file} was changed since by others, so its old copy stays: {copy}"));
    }
    Ok(())
}
