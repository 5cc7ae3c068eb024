//! The `wb` command: weighs, plans and compacts the sessions of coding agents.
//!
//! The transcript or the answer goes to stdout, talk goes to stderr. Exit codes: 0 done, 1 bad input, or findings of an audit,
//! 2 usage.

mod number;
mod escape;
mod strategy;
mod args;
mod session;
mod outcome;
mod json;
mod show;
mod compare;
mod audit;
mod replay;
mod session_cmd;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use wb_record::check_new;

use crate::args::{Cli, Command, Compact, Plan, Weigh};
use crate::json::{Compacted, Weighed};
use crate::outcome::Outcome;
use crate::session::{Session, not_written, write_whole};
use crate::strategy::Strategy;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Weigh(args) => return weigh_all(&args),
        Command::Plan(args) => plan(&args),
        Command::Compact(args) => compact(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Audit(args) => match audit::audit(&args) {
            Ok(n_findings) if n_findings > 0 => return ExitCode::from(1),
            done => done.map(|_| ()),
        },
        Command::Session(command) => session_cmd::run(&command),
    };
    code_of(&done)
}

/// Reports a failure on stderr; a reader that went away is none.
fn code_of(done: &Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    let closed =
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if closed {
        return ExitCode::SUCCESS;
    }
    // Where stderr is gone too, nobody can be told.
    let _ = writeln!(anstream::stderr(), "error: {error:#}");
    ExitCode::from(1)
}

/// Weighs every file; a bad one does not keep the others from being weighed.
fn weigh_all(args: &Weigh) -> ExitCode {
    let codes: Vec<ExitCode> = args.files.iter().map(|file| code_of(&weigh(file, args))).collect();
    codes.into_iter().find(|code| *code != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS)
}

fn weigh(file: &Path, args: &Weigh) -> Result<()> {
    let mut session = Session::open(file, args.policy, Strategy::default())?;
    let mut out = anstream::stdout().lock();
    if args.policy.json {
        let cut = preview(&mut session).report.cut;
        return Ok(print_json(&mut out, &Weighed::of(&session, cut))?);
    }
    show::meter::heading(&mut out, &session, session.opened.messages.len())?;
    show::meter::bar(&mut out, "  ", &session, session.measure.context_tokens)?;
    show::meter::facts(&mut out, &session)?;
    show::meter::breakdown(&mut out, &session)?;
    verdict(&mut out, &preview(&mut session))?;
    Ok(writeln!(out)?)
}

/// Compacts in memory and takes it back, so that the session is as it was.
fn preview(session: &mut Session) -> Outcome {
    let mut outcome = Outcome::of(session);
    outcome.take_back(session);
    outcome
}

fn verdict(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let report = &outcome.report;
    match &report.unchanged {
        Some(unchanged) => writeln!(out, "  would not compact: {unchanged}"),
        None if report.cut == 0 => writeln!(out, "  would clear {} stale tool results", report.cleared.len()),
        None => {
            let stay = report.messages_before - report.folded;
            writeln!(out, "  would compact: {} messages become a digest, {stay} stay", report.folded)
        }
    }
}

fn plan(args: &Plan) -> Result<()> {
    args.strategy.check_force(args.policy.force);
    let mut session = Session::open(&args.file, args.policy, args.strategy)?;
    let outcome = Outcome::of(&mut session);
    let mut out = anstream::stdout().lock();
    if args.policy.json {
        return Ok(print_json(&mut out, &Compacted::of(&session, &outcome))?);
    }
    show::report::summary(&mut out, &session, &outcome)?;
    writeln!(out)?;
    show::outline::legend(&mut out, outcome.digest().is_some())?;
    Ok(show::outline::write(&mut out, &outcome.outline, true)?)
}

fn compact(args: &Compact) -> Result<()> {
    args.strategy.check_force(args.policy.force);
    let mut session = Session::open(&args.file, args.policy, args.strategy)?;
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    let path = args.out.as_deref().filter(|_| !to_stdout);
    if let Some(path) = path {
        refuse_same(&args.file, path, "-o")?;
        check_new(path, args.overwrite).map_err(|error| not_written(&error))?;
    }
    let outcome = Outcome::of(&mut session);
    if let Some(path) = path {
        let content = |out: &mut dyn Write| wb_formats::write_jsonl(&outcome.messages, out);
        write_whole(path, Some(&args.file), args.overwrite, content)?;
    }
    let mut stdout = anstream::stdout().lock();
    if args.policy.json {
        return Ok(print_json(&mut stdout, &Compacted::of(&session, &outcome))?);
    }
    if args.out.is_none() && io::stdout().is_terminal() {
        return Ok(show::report::whole(&mut stdout, &session, &outcome)?);
    }
    let mut talk = anstream::stderr().lock();
    show::report::summary(&mut talk, &session, &outcome)?;
    show::report::digest(&mut talk, &outcome)?;
    if path.is_none() {
        let mut raw = io::BufWriter::new(io::stdout().lock());
        wb_formats::write_jsonl(&outcome.messages, &mut raw)?;
        raw.flush()?;
    }
    Ok(())
}

/// The session that was read is never written over: its format holds more than messages.
pub(crate) fn refuse_same(input: &Path, out: &Path, option: &str) -> Result<()> {
    // What stands for standard input is the file behind it, where the system tells that.
    let input = if input == Path::new("-") { Path::new("/dev/stdin") } else { input };
    let same =
        input.canonicalize().ok().zip(out.canonicalize().ok()).is_some_and(|(input, out)| input == out);
    if same {
        bail!("{}: is the session itself\nhint: write to another file with {option}", out.display());
    }
    Ok(())
}

pub(crate) fn print_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

#[cfg(test)]
mod readme {
    use clap::Parser;

    use super::*;

    const README: &str = include_str!("../../../README.md");

    /// What `[…]` stands for in the README is passed over; every other line is printed, in that order.
    fn shows(block: &str, printed: &str) -> Result<(), String> {
        let mut printed = printed.lines();
        let mut may_skip = false;
        for line in block.lines() {
            if line.trim() == "[…]" {
                may_skip = true;
                continue;
            }
            let next = if may_skip { printed.find(|shown| *shown == line) } else { printed.next() };
            if next != Some(line) {
                return Err(format!("the README says {line:?}, the command {next:?}"));
            }
            may_skip = false;
        }
        Ok(())
    }

    #[test]
    fn the_first_screen_is_what_the_command_prints() {
        let command = README.lines().find_map(|line| line.strip_prefix("cargo wb ")).unwrap();
        let words = command.split_once('#').map_or(command, |(words, _)| words).split_whitespace();
        let Command::Compact(args) = Cli::parse_from(std::iter::once("wb").chain(words)).command else {
            panic!("the first command compacts")
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut session = Session::open(&root.join(&args.file), args.policy, args.strategy).unwrap();
        session.file = args.file.display().to_string();
        let outcome = Outcome::of(&mut session);
        let mut printed = anstream::StripStream::new(Vec::new());
        show::report::whole(&mut printed, &session, &outcome).unwrap();
        let printed = String::from_utf8(printed.into_inner()).unwrap();
        let (_, block) = README.split_once("```text\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        shows(block, &printed).unwrap_or_else(|why| panic!("{why}\n{printed}"));
    }
}
