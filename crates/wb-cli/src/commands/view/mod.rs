//! `wb view`: the context on a terminal, or as a page.

mod shown_session;
mod live;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::args::view::ViewArgs;
use crate::commands::recall::find_session;
use crate::commands::view::shown_session::Loaded;
use crate::session::output_file::{check_target, write_whole};
use crate::terminal::escape::escaped;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// The answer of `wb view --html OUT --json`.
#[derive(Debug, Serialize)]
struct WrittenPage<'a> {
    file: &'a str,
    html: String,
    bytes: usize,
    /// The verdict, a sentence each.
    verdict: Vec<String>,
}

/// Shows a session until a key ends it, or writes its page.
pub(crate) fn view(shell: &Shell, args: &ViewArgs) -> Result<()> {
    let path = subject(shell, args)?;
    if let Some(out) = &args.html {
        return write_page(shell, args, &path, out);
    }
    check_terminal(shell)?;
    live::show(shell, args, &path)
}

/// Returns the session that is meant.
fn subject(shell: &Shell, args: &ViewArgs) -> Result<PathBuf, UserError> {
    let environment = &shell.environment;
    let Some(word) = &args.session else {
        let hint = "name a session: wb view SESSION; `wb -v` lists sessions";
        let newest = find_session::of_project(environment, Path::new("."), None).into_iter().next();
        return newest.ok_or_else(|| UserError::new("no session of this folder was found", hint));
    };
    if word == "-" {
        let hint = "name the session's file, or save what the pipe holds first";
        return Err(UserError::new("standard input cannot be followed", hint));
    }
    if Path::new(word).exists() && !Path::new(word).is_dir() {
        return Ok(PathBuf::from(word));
    }
    Ok(find_session::choose(environment, Path::new(word))?.path)
}

fn check_terminal(shell: &Shell) -> Result<(), UserError> {
    if shell.is_json {
        let hint = "`wb weigh --json` and `wb plan --json` print the figures";
        return Err(UserError::new("a screen has no JSON form", hint));
    }
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    let hint = "write a page with --html OUT, or print an outline with `wb plan --outline`";
    Err(UserError::new("standard input and output are no terminal", hint))
}

fn write_page(shell: &Shell, args: &ViewArgs, path: &Path, out: &Path) -> Result<()> {
    let is_stdout = out == Path::new("-");
    if is_stdout && shell.is_json {
        let what = "the page and the object would both go to standard output";
        return Err(UserError::new(what, "name a file with --html").into());
    }
    if !is_stdout {
        check_target(out, std::iter::once(path), args.overwrite, "--html")?;
    }
    let Loaded { context, session } = shown_session::open(shell, args, path)?;
    let (details, _) = shown_session::details(shell, args, path, session, true)?;
    let page = shell.timed("rendering", || wb_view::html::page(&context, &details));
    if is_stdout {
        io::stdout().lock().write_all(page.as_bytes())?;
    } else {
        // It has the content of the session, and may be copied elsewhere.
        write_whole(out, None, args.overwrite, |file| file.write_all(page.as_bytes()))?;
    }
    let verdict = wb_view::verdict(&context, &details);
    if shell.is_json {
        let html = out.display().to_string();
        return shell.print_json(&WrittenPage { file: &context.file, html, bytes: page.len(), verdict });
    }
    shell.say(|page| {
        verdict.iter().try_for_each(|sentence| page.prose("", 0, &escaped(sentence)))?;
        if is_stdout { Ok(()) } else { writeln!(page, "written to: {}", escaped(&out.display().to_string())) }
    });
    Ok(())
}
