//! The `wb` command: weighs, plans and compacts the sessions of coding agents.
//!
//! The transcript or the answer goes to stdout, messages go to stderr. Exit codes: 0 success, 1
//! error, 2 wrong usage, 3 findings.

mod platform;
mod terminal;
mod hosts;
mod args;
mod session;
mod commands;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches};
use mimalloc::MiMalloc;

use crate::args::command_groups::with_groups;
use crate::args::{Cli, Color, Command, Compact, Global};
use crate::args::{database_url, format_option};
use crate::platform::environment::Environment;
use crate::session::find::find_session::choose;
use crate::terminal::escape::{escaped, shell_word};
use crate::terminal::exit_code::Exit;
use crate::terminal::shell::{Shell, Talk};
use crate::terminal::user_error::UserError;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The width from which on help is not made wider.
const HELP_COLUMNS: usize = 100;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let environment = Environment::read();
    colors_of(&words).write_global();
    let is_json = options(&words).any(|word| word == "--json");
    let args = match database_url::take_passwords(words) {
        Ok(args) => args,
        Err(error) => {
            Shell::new(environment, Talk::Normal, is_json).fail(&error);
            return ExitCode::from(2);
        }
    };
    #[cfg(feature = "postgres")]
    database_url::set_sources(&environment);
    let cli = match parse(args.clone(), &environment) {
        Ok(cli) => cli,
        Err(error) => return refuse(&args, environment, &error),
    };
    let shell = Shell::new(environment, talk_of(cli.global), cli.global.json);
    format_option::set(cli.global.format);
    let exit = run(&shell, cli.command, cli.all).unwrap_or_else(|error| failed(&shell, &error));
    shell.say_times();
    exit.into()
}

/// Reports a failure, unless the reader of the output went away.
fn failed(shell: &Shell, error: &anyhow::Error) -> Exit {
    UserError::from_error(error).map_or(Exit::Done, |error| {
        shell.fail(&error);
        Exit::Failed
    })
}

fn run(shell: &Shell, mut command: Option<Command>, is_all: bool) -> Result<Exit> {
    if let Some(command) = &mut command {
        commands::choose_session::choose_sessions(shell, command)?;
    }
    match command {
        None => return commands::overview::overview(shell, is_all),
        Some(Command::Weigh(args)) => return commands::weigh::weigh(shell, &args),
        Some(Command::Plan(args)) => commands::compact::compact(shell, &Compact::preview(args)),
        Some(Command::Compact(args)) => commands::compact::compact(shell, &args),
        Some(Command::Undo(args)) => commands::undo_redo::undo(shell, &args),
        Some(Command::Redo(args)) => commands::undo_redo::redo(shell, &args),
        Some(Command::Log(args)) => commands::log::log(shell, &args),
        Some(Command::Show(args)) => commands::log::show(shell, &args),
        Some(Command::Pin(args)) => commands::pin::pin(shell, &args),
        Some(Command::Unpin(args)) => commands::pin::unpin(shell, &args),
        Some(Command::Drop(args)) => commands::drop::drop_messages(shell, &args),
        Some(Command::Recall(args)) => return commands::recall::recall(shell, &args),
        #[cfg(feature = "view")]
        Some(Command::View(args)) => commands::view::view(shell, &args),
        #[cfg(feature = "mcp")]
        Some(Command::Mcp(args)) => commands::mcp::mcp(shell, &args),
        Some(Command::Compare(args)) => commands::compare::compare(shell, &args),
        Some(Command::Replay(args)) => commands::replay::replay(shell, &args),
        Some(Command::Fleet(args)) => return commands::fleet::fleet(shell, &args),
        Some(Command::Statusline) => commands::statusline::statusline(shell),
        Some(Command::Hook(args)) => commands::hook::hook(shell, &args),
        Some(Command::Models(args)) => commands::models::models(shell, &args),
        Some(Command::Config(it)) => commands::config::config(shell, it.action.as_ref()),
        Some(Command::Install(args)) => return commands::install::install(shell, args),
        Some(Command::Uninstall(args)) => return commands::install::uninstall(shell, args),
        Some(Command::Audit(args)) => return commands::audit::audit(shell, &args),
        Some(Command::Validate(args)) => return commands::validate::validate(shell, &args),
        Some(Command::Repair(args)) => return commands::repair::repair(shell, &args),
        Some(Command::Convert(args)) => commands::convert::convert(shell, &args),
        Some(Command::Api) => return commands::api::api(shell),
        Some(Command::Formats) => commands::formats::formats(shell),
        Some(Command::Doctor(args)) => return commands::doctor::doctor(shell, &args),
        Some(Command::Session(command)) => commands::session::run(shell, &command),
        Some(Command::Completions(args)) => commands::completions_and_man::completions(shell, &args),
        Some(Command::Man(args)) => commands::completions_and_man::manual(shell, &args),
    }?;
    Ok(Exit::Done)
}

/// Reads the command line; help is as wide as the page.
fn parse(args: Vec<OsString>, environment: &Environment) -> Result<Cli, clap::Error> {
    let columns = environment.columns.min(HELP_COLUMNS);
    let mut command = with_groups(Cli::command(), columns).term_width(columns);
    let cli = Cli::from_arg_matches(&command.try_get_matches_from_mut(args)?)?;
    match &cli.command {
        Some(_) if cli.all => {
            let what = "--all is for the list of sessions, which `wb --all` shows";
            Err(command.error(clap::error::ErrorKind::ArgumentConflict, what))
        }
        Some(Command::Completions(_) | Command::Man(_)) if cli.global.json => {
            let what = "it has no JSON form, since a shell or man reads it";
            Err(command.error(clap::error::ErrorKind::ArgumentConflict, what))
        }
        _ => Ok(cli),
    }
}

/// Reports an error in a command line, or prints the requested help.
fn refuse(args: &[OsString], environment: Environment, error: &clap::Error) -> ExitCode {
    let is_json = options(args).any(|arg| arg == "--json");
    if let Some(unknown) = unknown_word(&environment, error) {
        Shell::new(environment, Talk::Normal, is_json).fail(&unknown);
        return ExitCode::from(2);
    }
    if !error.use_stderr() {
        let shell = Shell::new(environment, Talk::Normal, false);
        return error.print().map_or_else(|error| failed(&shell, &error.into()), |()| Exit::Done).into();
    }
    if !is_json {
        // If the stream is gone, the error is lost.
        let text = error.render().to_string();
        let _ = if text.lines().all(|line| escaped(line) == line) {
            error.print()
        } else {
            text.lines().try_for_each(|line| writeln!(anstream::stderr(), "{}", escaped(line)))
        };
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    let (message, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let hint = rest.split("\n\n").map(str::trim).find(|part| !part.is_empty()).unwrap_or("try --help");
    let hint = hint.strip_prefix("tip: ").unwrap_or(hint);
    let message = message.trim_start_matches("error: ").trim();
    Shell::new(environment, Talk::Normal, true).fail(&UserError::new(message, hint));
    ExitCode::from(2)
}

/// Explains a first word that is no command: it may be a mistyped one, or a session.
fn unknown_word(environment: &Environment, error: &clap::Error) -> Option<UserError> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else { return None };
    let is_session = choose(environment, Path::new(word)).is_ok_and(|it| it.path.exists());
    let hint = match nearest_command(word) {
        _ if is_session => {
            let word = shell_word(word);
            format!("it names a session: `wb weigh {word}` weighs it, `wb view {word}` shows it")
        }
        Some(name) => format!("did you mean `wb {name}`? `wb --help` lists the commands"),
        None => "`wb --help` lists the commands, and `wb` the sessions that they take".to_owned(),
    };
    Some(UserError::new(format!("`{word}` is no command"), hint))
}

/// Returns the command whose name differs from a word by a few typos.
fn nearest_command(word: &str) -> Option<String> {
    let command = Cli::command();
    let names = command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
    let best = names.min_by_key(|name| strsim::osa_distance(word, name))?;
    let most = 1 + best.len() / 4;
    (strsim::osa_distance(word, best) <= most).then(|| best.to_owned())
}

/// Returns the words of a command line that may be options.
fn options(args: &[OsString]) -> impl Iterator<Item = &str> {
    args.iter().skip(1).map_while(|arg| (arg != "--").then(|| arg.to_str().unwrap_or_default()))
}

/// Finds `--color` before the command line is parsed, so that its errors use that setting.
fn colors_of(args: &[OsString]) -> anstream::ColorChoice {
    let words: Vec<&str> = options(args).collect();
    let separate = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let when = separate.chain(joined).find_map(|when| <Color as clap::ValueEnum>::from_str(when, false).ok());
    match when.unwrap_or_default() {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
}

fn talk_of(global: Global) -> Talk {
    match (global.quiet, global.verbose) {
        (true, _) => Talk::Quiet,
        (_, true) => Talk::Verbose,
        _ => Talk::Normal,
    }
}

#[cfg(test)]
mod readme {
    use clap::Parser;

    use super::*;
    use crate::session::Session;
    use crate::session::outcome::Outcome;
    use crate::terminal::wrap::Page;

    const README: &str = include_str!("../../../README.md");

    /// A line `[…]` of the README skips printed lines; every other line is printed, in that order.
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
        let cli = Cli::parse_from(std::iter::once("wb").chain(words));
        let Some(Command::Compact(args)) = cli.command else { panic!("the first command compacts") };
        let shell = Shell::new(Environment::default(), Talk::Quiet, false);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let input = args.compaction;
        let mut session =
            Session::open(&shell, &root.join(&input.file), input.policy, input.strategy).unwrap();
        session.file = input.file.display().to_string();
        let outcome = Outcome::new(&mut session, None);
        let mut printed = anstream::StripStream::new(Vec::new());
        session::report::preview(
            &mut Page::new(&mut printed, HELP_COLUMNS),
            &session,
            &outcome,
            false,
            &session::report::NextStep::default(),
        )
        .unwrap();
        let printed = String::from_utf8(printed.into_inner()).unwrap();
        let (_, block) = README.split_once("```text\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        shows(block, &printed).unwrap_or_else(|why| panic!("{why}\n{printed}"));
    }
}
