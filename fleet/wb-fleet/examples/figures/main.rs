//! Measures the function and engines with it on generated sessions, and writes
//! `docs/evaluation/fleet.md`. In `fleet/`, with an interpreter that has the requirements of the
//! package's tests:
//!
//! ```text
//! cargo run --release -p wb-fleet --example figures -- page PYTHON OUT ROWS
//! cargo run --release -p wb-fleet --example figures -- runs PYTHON OUT SMALL LARGE SHARE
//! ```
//!
//! `page` measures ROWS sessions of each format and writes the page OUT. `runs` carries out the
//! long runs over SMALL sessions of 4 kB and LARGE ones of 1 MB, with all parts over one in SHARE
//! of them. It adds each to the files next to the page when it ends and skips those that are there,
//! so it can be interrupted. DuckDB needs `window_budget_arrow` in `PYTHONPATH`.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod sessions;
mod process;
mod rows;
mod measure;
mod overhead;
mod scale;
mod recorded;
mod simulation;
mod page;

use std::error::Error;
use std::path::Path;
use std::process::Command;

use crate::measure::{Figures, memory_of_rows, mutations};
use crate::overhead::Overheads;
use crate::page::{ALL, Page};
use crate::recorded::Recorded;
use crate::rows::Rows;
use crate::scale::data_folder;
use crate::sessions::FORMATS;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory", rows] => {
            println!("{}", memory_of_rows(rows.parse()?)?);
            Ok(())
        }
        ["rows", n, n_bytes] => {
            Rows { n: n.parse()?, n_bytes: n_bytes.parse()? }.write(std::io::stdout().lock())
        }
        ["run", python, out, ref run @ ..] => scale::record(&data_folder(Path::new(out)), python, run),
        ["runs", python, out, small, large, share] => {
            let share: usize = share.parse()?;
            runs(python, out, [(small.parse()?, 4_000), (large.parse()?, 1_000_000)], share)
        }
        ["page", python, out, rows] => write_page(python, Path::new(out), rows.parse()?),
        _ => Err("usage: figures page PYTHON OUT ROWS | figures runs PYTHON OUT SMALL LARGE SHARE".into()),
    }
}

fn write_page(python: &str, out: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let formats = FORMATS.map(|format| Figures::new(format, rows, python, folder.path()));
    let formats: Vec<Figures> = formats.into_iter().collect::<Result<_, _>>()?;
    let memory = [rows / 4, rows, rows * 4].map(memory_in_child);
    let page = Page {
        formats,
        memory: memory.into_iter().collect::<Result<_, _>>()?,
        mutations: mutations(10_000)?,
        overheads: Overheads::new(python, folder.path())?,
        recorded: Recorded::read(&data_folder(out))?,
    };
    Ok(std::fs::write(out, page.text())?)
}

/// Measures the memory of a process that analyzes some rows.
fn memory_in_child(rows: usize) -> Result<(usize, f64), Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(["memory", &rows.to_string()]).output()?;
    Ok((rows, String::from_utf8(output.stdout)?.trim().parse()?))
}

/// Carries out all long runs, each in a process of its own.
fn runs(python: &str, out: &str, sizes: [(usize, usize); 2], share: usize) -> Result<(), Box<dyn Error>> {
    const ENGINES: [(&str, usize); 7] = [
        ("generate", 1),
        ("receive", 1),
        ("loop", 1),
        ("datafusion", 2),
        ("duckdb", 2),
        ("datafusion", 1),
        ("datafusion", 7),
    ];
    for (parts, share) in [(ALL, share), ("weigh", 1)] {
        for (n, n_bytes) in sizes {
            for (engine, partitions) in ENGINES {
                let [partitions, n, n_bytes] =
                    [partitions, n / share.max(1), n_bytes].map(|it| it.to_string());
                let run = [engine, &partitions, parts, &n, &n_bytes];
                println!("{}", run.join(" "));
                let status =
                    Command::new(std::env::current_exe()?).args(["run", python, out]).args(run).status()?;
                if !status.success() {
                    return Err(format!("{}: {status}", run.join(" ")).into());
                }
            }
        }
    }
    Ok(())
}
