//! Past sessions replayed with every strategy.

mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use wb_replay::{CAVEAT, Options, Replay, SessionReport};

use crate::args::replay;
use crate::session::config::catalog;
use crate::session::input_files::{self, InputSource};
use crate::session::output_file::{check_target, write_whole};
use crate::session::past_session;
use crate::terminal::escape::escaped;
use crate::terminal::file_error::folder_without_sessions;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb replay --json`.
#[derive(Debug, Serialize)]
struct Replayed<'a> {
    #[serde(flatten)]
    replay: &'a Replay,
    caveat: &'static str,
    skipped: &'a [Skipped],
}

/// A file that could not be read.
#[derive(Debug, Serialize)]
struct Skipped {
    file: String,
    error: String,
    hint: Option<String>,
}

/// Replays all sessions and prints the results; an unreadable one is named and left out.
pub(crate) fn replay(shell: &Shell, args: &replay::Replay) -> Result<()> {
    let sources = input_files::all(&shell.environment, &args.files);
    let html = target_of(shell, args, &sources)?;
    let mut windows = args.window.clone();
    windows.sort_unstable();
    windows.dedup();
    let options = Options {
        windows,
        n_future: args.future as usize,
        max_cuts: args.max_cuts as usize,
        prices: args.price.clone(),
        model: None,
    };
    let options = match &args.model {
        Some(id) => of_model(shell, options, id)?,
        None => options,
    };
    let (reports, skipped) = replay_all(shell, &sources, &options);
    if reports.is_empty() {
        return Err(nothing_replayed(shell, &args.files, skipped).into());
    }
    name_skipped(shell, &skipped);
    let replay = Replay::new(options, reports);
    if let HtmlTarget::File(path) = html {
        write_whole(path, None, args.overwrite, |out| {
            out.write_all(wb_replay::html::page(&replay).as_bytes())
        })?;
    }
    if let HtmlTarget::Stdout = html {
        let mut out = io::stdout().lock();
        out.write_all(wb_replay::html::page(&replay).as_bytes()).and_then(|()| out.flush())?;
        shell.say(|page| table::write(page, &replay));
        return Ok(());
    }
    if shell.is_json {
        return shell.print_json(&Replayed { replay: &replay, caveat: CAVEAT, skipped: &skipped });
    }
    shell.print(|page| table::write(page, &replay))
}

/// Applies a catalog model's prices.
fn of_model(shell: &Shell, options: Options, id: &str) -> Result<Options, UserError> {
    let catalog = catalog(shell)?;
    let hint = "name its prices with --price, or another model; wb models shows them all";
    let model = catalog.look_up(id).map_err(|error| UserError::new(error.to_string(), hint))?;
    if model.card.prices.is_none() {
        return Err(UserError::new(format!("no prices known for {id}"), hint));
    }
    Ok(options.with_model(model))
}

/// Explains why no session was replayed: names the problem of the only file, if there is one.
fn nothing_replayed(shell: &Shell, files: &[PathBuf], mut skipped: Vec<Skipped>) -> UserError {
    if let ([folder, ..], true) = (files, skipped.is_empty()) {
        return folder_without_sessions(folder);
    }
    if let [only] = skipped.as_mut_slice() {
        let hint = only.hint.take();
        return UserError { hint, ..UserError::of_file(&only.file, &only.error, "") };
    }
    name_skipped(shell, &skipped);
    let hint = "name session files of an agent, or folders of them";
    UserError::new("no session could be replayed", hint)
}

/// The destination of the page.
enum HtmlTarget<'a> {
    Nowhere,
    Stdout,
    File(&'a Path),
}

/// Returns the destination of the page; a session that is read is never overwritten.
fn target_of<'a>(
    shell: &Shell,
    args: &'a replay::Replay,
    sources: &[InputSource],
) -> Result<HtmlTarget<'a>, UserError> {
    let Some(path) = args.html.as_deref() else { return Ok(HtmlTarget::Nowhere) };
    if path == Path::new("-") {
        if shell.is_json {
            let what = "the page and the object would both go to standard output";
            return Err(UserError::new(what, "name a file with --html"));
        }
        return Ok(HtmlTarget::Stdout);
    }
    let sessions = sources.iter().map(|source| source.path.as_path());
    check_target(path, sessions, args.overwrite, "--html")?;
    Ok(HtmlTarget::File(path))
}

fn replay_all(
    shell: &Shell,
    sources: &[InputSource],
    options: &Options,
) -> (Vec<SessionReport>, Vec<Skipped>) {
    let progress = shell.progress_of_files(sources.len());
    let (mut reports, mut skipped) = (Vec::new(), Vec::new());
    for source in sources {
        progress.set_name(&source.name());
        match shell.timed("reading", || past_session(&source.path)) {
            Ok(session) => {
                reports.push(shell.timed("replaying", || wb_replay::replay(&session, options)));
            }
            Err(UserError { message, hint, .. }) => {
                skipped.push(Skipped { file: source.name(), error: message, hint });
            }
        }
        progress.step();
    }
    (reports, skipped)
}

fn name_skipped(shell: &Shell, skipped: &[Skipped]) {
    for Skipped { file, error, .. } in skipped {
        shell.say(|page: &mut Page<'_>| page.cut("skipped: ", &escaped(&format!("{file}: {error}")), ""));
    }
}
