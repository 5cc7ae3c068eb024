//! The program `wb-fleet`, which `wb fleet` runs.
#![expect(clippy::print_stderr, reason = "a program for the terminal")]

mod args;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use wb_fleet::{FleetError, Job, Report, write_answers};
use wb_record::write_new;

use crate::args::{Cli, Command, Input, MapArgs, ReportArgs};

/// The columns of a terminal, if it does not say.
const COLUMNS: u16 = 100;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no threads: {error}; try again")),
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Report(args) => report(&args).await,
            Command::Map(args) => map(&args).await,
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("wb fleet: {}", wb_message::text::escape_controls(why));
    ExitCode::FAILURE
}

async fn report(args: &ReportArgs) -> Result<(), String> {
    let job = job(&args.input)?;
    let report = Report::new(&job, args.price).await.map_err(|error| error.to_string())?;
    if let Some(path) = &args.html {
        write(path, &report.html(), args.input.overwrite)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        print(&(text + "\n"))
    } else if args.html.is_none() {
        print(&report.text(columns()))
    } else {
        Ok(())
    }
}

async fn map(args: &MapArgs) -> Result<(), String> {
    write_answers(&job(&args.input)?, &args.output).await.map_err(|error| error.to_string())
}

fn job(input: &Input) -> Result<Job, String> {
    Ok(Job {
        inputs: input.inputs.clone(),
        options: input.options().map_err(|error| FleetError::from(error).to_string())?,
        partitions: input.partitions,
    })
}

/// Writes a whole page or nothing, readable for its owner.
fn write(path: &Path, text: &str, overwrite: bool) -> Result<(), String> {
    let place = |source| wb_record::FileError::Io { path: path.to_owned(), doing: "writing it", source };
    write_new(path, None, overwrite, |file| file.write_all(text.as_bytes()).map_err(place))
        .map_err(|error| format!("{error}; name another file, or pass --overwrite"))
}

/// Prints a text; a reader that goes away has read enough.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("the output: {error}")),
        _ => Ok(()),
    }
}

fn columns() -> u16 {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    set.unwrap_or(COLUMNS).max(40)
}
