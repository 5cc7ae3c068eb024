//! Past sessions replayed with every strategy.

mod sources;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use wb_replay::{CAVEAT, Options, Replay, SessionReport};

use self::sources::{Skipped, Source};
use crate::args;
use crate::escape::escaped;
use crate::session::write_whole;

/// The answer of `wb replay --json`.
#[derive(Debug, Serialize)]
struct Replayed<'a> {
    #[serde(flatten)]
    replay: &'a Replay,
    caveat: &'static str,
    skipped: &'a [Skipped],
}

/// Replays all sessions and prints what came out; one that cannot be read is named and left out.
pub(crate) fn replay(args: &args::Replay) -> Result<()> {
    let sources = sources::all(&args.files);
    let page = page_of(args, &sources)?;
    let mut windows = args.window.clone();
    windows.sort_unstable();
    windows.dedup();
    let options = Options {
        windows,
        n_future: args.future as usize,
        max_cuts: args.max_cuts as usize,
        prices: args.price.clone(),
    };
    let (reports, skipped) = replay_all(&sources, &options);
    name_skipped(&skipped);
    if reports.is_empty() {
        bail!(
            "no session could be replayed\nhint: name session files of Claude Code or pi, or folders of them"
        );
    }
    let replay = Replay::of(options, reports);
    if let Page::File(path) = page {
        write_whole(path, None, true, |out| out.write_all(wb_replay::html::page(&replay).as_bytes()))?;
    }
    if let Page::Stdout = page {
        io::stdout().lock().write_all(wb_replay::html::page(&replay).as_bytes())?;
        return Ok(table::write(&mut anstream::stderr().lock(), &replay)?);
    }
    let mut out = anstream::stdout().lock();
    if args.json {
        return Ok(crate::print_json(
            &mut out,
            &Replayed { replay: &replay, caveat: CAVEAT, skipped: &skipped },
        )?);
    }
    Ok(table::write(&mut out, &replay)?)
}

/// Where the page goes.
enum Page<'a> {
    Nowhere,
    Stdout,
    File(&'a Path),
}

/// Says where the page goes; no session that is read is ever written over.
fn page_of<'a>(args: &'a args::Replay, sources: &[Source]) -> Result<Page<'a>> {
    let Some(path) = args.html.as_deref() else { return Ok(Page::Nowhere) };
    if path == Path::new("-") {
        if args.json {
            bail!("the page and the object would both go to standard output\nhint: name a file with --html");
        }
        return Ok(Page::Stdout);
    }
    sources.iter().try_for_each(|source| crate::refuse_same(source.path(), path, "--html"))?;
    Ok(Page::File(path))
}

fn replay_all(sources: &[Source], options: &Options) -> (Vec<SessionReport>, Vec<Skipped>) {
    let progress = progress(sources.len());
    let (mut reports, mut skipped) = (Vec::new(), Vec::new());
    for source in sources {
        if let Some(bar) = &progress {
            bar.set_message(escaped(source.name()).into_owned());
        }
        match source.read() {
            Ok(session) => reports.push(wb_replay::replay(&session, options)),
            Err(why) => skipped.push(why),
        }
        if let Some(bar) = &progress {
            bar.inc(1);
        }
    }
    if let Some(bar) = progress {
        bar.finish_and_clear();
    }
    (reports, skipped)
}

fn progress(n_files: usize) -> Option<ProgressBar> {
    if n_files < 2 || !io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(n_files as u64), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{pos}/{len} {wide_bar} {msg}").ok()?);
    Some(bar)
}

fn name_skipped(skipped: &[Skipped]) {
    let mut talk = anstream::stderr().lock();
    for Skipped { file, error, hint } in skipped {
        // Where stderr is gone, nobody can be told.
        let _ = writeln!(talk, "skipped: {}: {}", escaped(file), escaped(error));
        if skipped.len() == 1 {
            let _ = writeln!(talk, "hint: {hint}");
        }
    }
}
