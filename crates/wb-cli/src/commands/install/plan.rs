//! Plans what to write and what to remove.

use std::path::Path;

use super::change::{FileChange, copy_of, read};
use crate::hosts::Host;
use crate::hosts::compact_prompt::{self, Instructions};
use crate::hosts::hooks;
use crate::hosts::place::InstallPlace;
use crate::hosts::plug_in::{self, Embedded, RecallTool};
use crate::hosts::status_line::{self, StatusLine};
use crate::terminal::user_error::UserError;

/// The effect of hooks.
const OF_HOOKS: &str = "Its model still writes the summary, and wb adds any facts it left out. To let wb compact a session \
    between two runs: wb compact FILE --in-place";
/// The effect of hooks and instructions.
const OF_BOTH: &str = "Its model still writes the summary, by the instructions of wb, and wb adds any facts it left out. To let \
    wb compact a session between two runs: wb compact FILE --in-place";

/// The fault of settings that cannot take a status line.
const NO_OBJECT: &str = "is not a JSON object";

/// Changes in their order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) changes: Vec<FileChange>,
    pub(crate) notes: Vec<String>,
    /// The state of the agent's compactions afterwards.
    pub(crate) effect: &'static str,
}

/// Plans the plug-in of an agent.
pub(crate) fn plug_in(
    host: &Host,
    place: &InstallPlace,
    program: &str,
    recall: RecallTool,
) -> Result<Plan, UserError> {
    let files = host.files;
    let is_ours = is_ours(files, place)?;
    // The file that is read first is written last, so that no half-written plug-in is ever loaded.
    let changes =
        files.iter().rev().map(|file| written(*file, place, file.rendered(program, recall), is_ours));
    Ok(Plan { changes: changes.collect::<Result<_, _>>()?, notes: Vec::new(), effect: host.effect })
}

fn written(
    file: Embedded,
    place: &InstallPlace,
    after: String,
    is_ours: bool,
) -> Result<FileChange, UserError> {
    let path = place.file(file.path);
    let before = read(place, &path)?;
    match &before {
        Some(there) if !is_ours && *there != after => Err(foreign(&path)),
        _ => Ok(FileChange { path, before, after: Some(after) }),
    }
}

/// Returns whether the first file exists and is ours.
fn is_ours(files: &[Embedded], place: &InstallPlace) -> Result<bool, UserError> {
    let Some(first) = files.first() else { return Ok(false) };
    let text = read(place, &place.file(first.path))?;
    Ok(text.is_some_and(|text| plug_in::read(&text).is_some()))
}

fn foreign(path: &Path) -> UserError {
    let hint = "rename or move it; wb won't overwrite files it didn't create";
    UserError::of_file(path.display().to_string(), "already exists and was not created by wb", hint)
}

/// Plans hooks in the settings of an agent, and instructions if it accepts them. The second place
/// has the user's settings for all projects.
pub(crate) fn hooks(
    host: &Host,
    path: &Path,
    [place, user]: [&InstallPlace; 2],
    program: &str,
    recall: RecallTool,
) -> Result<Plan, UserError> {
    if hooks::known_again(program).is_none() {
        let what = "hooks need a program named wb, and this one has another name";
        return Err(UserError::of_file(program, what, "rename it to wb; any folder works"));
    }
    let mut plan = Plan { changes: Vec::new(), notes: Vec::new(), effect: OF_HOOKS };
    if let Some(path) = place.prompt(host) {
        let server = (recall == RecallTool::On).then_some(program);
        with_prompt(host, &path, [place, user], server, &mut plan)?;
    }
    let before = read(place, path)?;
    let text = before.as_deref().unwrap_or("{}\n");
    let after = hooks::with(text, host.events, program).map_err(|why| broken(path, why))?;
    let has_line = status_line::status_line(text) == StatusLine::Ours;
    let is_first = hooks::programs(text).is_empty() && !has_line;
    plan.changes.extend(settled(path, place, before, after, is_first)?);
    Ok(plan)
}

/// Plans instructions and the server for lookups; instructions of the user stay, without ours.
fn with_prompt(
    host: &Host,
    path: &Path,
    [place, user]: [&InstallPlace; 2],
    server: Option<&str>,
    plan: &mut Plan,
) -> Result<(), UserError> {
    let before = read(place, path)?;
    let text = before.clone().unwrap_or_default();
    let of_user = |path: &Path, text: &str| {
        let key = compact_prompt::of_user(text).map_err(|why| broken(path, why))?;
        Ok::<_, UserError>(key.map(|key| (path.to_owned(), key)))
    };
    let elsewhere = user.prompt(host).filter(|it| it != path);
    let elsewhere =
        elsewhere.map(|path| of_user(&path, &read(user, &path)?.unwrap_or_default())).transpose()?;
    let of_user = of_user(path, &text)?.or(elsewhere.flatten());
    let instructions = if of_user.is_some() { Instructions::OfUser } else { Instructions::Ours };
    match of_user {
        Some((file, key)) => {
            let file = file.display();
            plan.notes.push(format!("{file} has your {key}, which is kept; that of wb is skipped"));
        }
        None => plan.effect = OF_BOTH,
    }
    let is_first = !compact_prompt::is_there(&text);
    let after = compact_prompt::with(&text, instructions, server);
    if server.is_some() && compact_prompt::server(&after).is_none() {
        let file = path.display();
        plan.notes.push(format!("{file} has mcp_servers of its own, so the tool `recall` is left out"));
    }
    if after != text || !is_first {
        plan.changes.extend(settled(path, place, before, after, is_first)?);
    }
    Ok(())
}

/// Changes settings, and copies them before the first time.
fn settled(
    path: &Path,
    place: &InstallPlace,
    before: Option<String>,
    after: String,
    is_first: bool,
) -> Result<Vec<FileChange>, UserError> {
    let mut changes = Vec::new();
    if let Some(text) = before.clone().filter(|_| is_first) {
        let copy = copy_of(path);
        changes.push(FileChange { before: read(place, &copy)?, after: Some(text), path: copy });
    }
    changes.push(FileChange { path: path.to_owned(), before, after: Some(after) });
    Ok(changes)
}

fn broken(path: &Path, why: String) -> UserError {
    let hint = "nothing was changed; repair the file and try again";
    UserError::of_file(path.display().to_string(), why, hint)
}

/// Plans the removal of everything we installed.
pub(crate) fn uninstall(host: &Host, place: &InstallPlace) -> Result<Plan, UserError> {
    let files = host.files;
    let mut plan = Plan { changes: Vec::new(), notes: Vec::new(), effect: "" };
    let is_ours = is_ours(files, place)?;
    for file in files.iter().rev() {
        let path = place.file(file.path);
        // Without the marker file, the others are ours only if they are exactly as written.
        let before = read(place, &path)?.filter(|text| is_ours || file.is_of_any(text));
        plan.changes.push(FileChange { before, after: None, path });
    }
    if let Some(first) = files.first().map(|file| place.file(file.path)).filter(|it| !is_ours && it.exists())
    {
        plan.notes.push(format!("{} was not created by wb; kept", first.display()));
    }
    if let Some(path) = place.prompt(host) {
        without_prompt(&path, place, &mut plan)?;
    }
    if let Some(path) = place.hooks(host) {
        without_hooks(host, &path, place, &mut plan)?;
    }
    plan.changes.retain(FileChange::is_one);
    Ok(plan)
}

fn without_prompt(path: &Path, place: &InstallPlace, plan: &mut Plan) -> Result<(), UserError> {
    let Some(text) = read(place, path)?.filter(|text| compact_prompt::is_there(text)) else { return Ok(()) };
    let less = compact_prompt::without(&text);
    let is_of = |old: &str| *old == less;
    taken_out(path, place, plan, &text, &less, is_of, "")
}

/// Plans the status line in the settings, unless the user has one.
pub(crate) fn status_line(
    host: &Host,
    place: &InstallPlace,
    program: &str,
    plan: &mut Plan,
) -> Result<(), UserError> {
    let Some(path) = place.hooks(host).filter(|_| host.name == "claude-code") else {
        let what = format!("{} has no status line that runs a command", host.title);
        return Err(UserError::new(what, "leave out --statusline"));
    };
    let planned = plan.changes.iter().position(|change| change.path == path);
    let before = read(place, &path)?;
    let text = planned.and_then(|at| plan.changes[at].after.clone()).or_else(|| before.clone());
    let text = text.unwrap_or_else(|| "{}\n".to_owned());
    let there = status_line::status_line(&text);
    if there == StatusLine::Other {
        let file = path.display();
        plan.notes.push(format!(
            "{file} has your statusLine, which is kept; to show the meter, have its command run `wb statusline`"
        ));
        return Ok(());
    }
    let after = status_line::with(&text, program).ok_or_else(|| broken(&path, NO_OBJECT.to_owned()))?;
    if let Some(at) = planned {
        plan.changes[at].after = Some(after);
        return Ok(());
    }
    let is_first = there == StatusLine::None && hooks::programs(&text).is_empty();
    let changes = settled(&path, place, before, after, is_first)?;
    // The plug-in's first file stays the last one.
    plan.changes.splice(0..0, changes);
    Ok(())
}

fn without_hooks(host: &Host, path: &Path, place: &InstallPlace, plan: &mut Plan) -> Result<(), UserError> {
    let Some(text) = read(place, path)? else { return Ok(()) };
    let first = hooks::programs(&text).into_iter().next();
    if first.is_none() && status_line::status_line(&text) != StatusLine::Ours {
        // A file that cannot be read may still hold them.
        return hooks::broken(&text).map_or(Ok(()), |why| Err(broken(path, why)));
    }
    let bare = status_line::without(&text).ok_or_else(|| broken(path, NO_OBJECT.to_owned()))?;
    let Some((.., program)) = first else {
        return taken_out(path, place, plan, &text, &bare, |old: &str| *old == bare, "{}");
    };
    let less = hooks::without(&bare).map_err(|why| broken(path, why))?;
    let is_of =
        |old: &str| *old == less || hooks::with(old, host.events, &program).is_ok_and(|with| with == bare);
    taken_out(path, place, plan, &text, &less, is_of, "{}")
}

/// Plans to write reduced settings: the copy, if only our change differs from it, or none, if we
/// created the file and nothing is left in it.
fn taken_out(
    path: &Path,
    place: &InstallPlace,
    plan: &mut Plan,
    text: &str,
    less: &str,
    is_of: impl Fn(&str) -> bool,
    nothing: &str,
) -> Result<(), UserError> {
    let copy = copy_of(path);
    let kept = read(place, &copy)?;
    let is_all = kept.as_deref().is_some_and(is_of);
    let after = if is_all { kept.as_deref() } else { Some(less) };
    let is_empty = kept.is_none() && less.split_whitespace().eq(nothing.split_whitespace());
    let after = after.filter(|_| !is_empty).map(str::to_owned);
    plan.changes.push(FileChange { path: path.to_owned(), before: Some(text.to_owned()), after });
    if is_all {
        plan.changes.push(FileChange { path: copy, before: kept, after: None });
    } else if kept.is_some() {
        let (file, copy) = (path.display(), copy.display());
        plan.notes.push(format!("{file} has changed since, so its old copy is kept: {copy}"));
    }
    Ok(())
}
