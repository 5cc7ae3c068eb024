//! Measures the function and DataFusion with it on generated sessions, and writes
//! `docs/evaluation/fleet.md`:
//!
//! ```text
//! cargo run --release -p wb-fleet --example figures -- PYTHON OUT ROWS
//! ```
//!
//! PYTHON is an interpreter with DuckDB, ROWS the sessions of each format.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod sessions;
mod measure;
mod page;

use std::error::Error;
use std::path::Path;

use crate::measure::{Figures, memory_of_rows, mutations};
use crate::sessions::FORMATS;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory", rows] => {
            println!("{}", memory_of_rows(rows.parse()?)?);
            Ok(())
        }
        [python, out, rows] => {
            let rows: usize = rows.parse()?;
            let folder = tempfile::tempdir()?;
            let formats = FORMATS.map(|format| Figures::new(format, rows, python, folder.path()));
            let formats: Vec<Figures> = formats.into_iter().collect::<Result<_, _>>()?;
            let memory = [rows / 4, rows, rows * 4].map(memory_in_child);
            let memory: Vec<(usize, u64)> = memory.into_iter().collect::<Result<_, _>>()?;
            std::fs::write(Path::new(out), page::page(&formats, &memory, &mutations(10_000)?))?;
            Ok(())
        }
        _ => Err("usage: figures PYTHON OUT ROWS".into()),
    }
}

/// Measures the memory of a process that analyzes some rows.
fn memory_in_child(rows: usize) -> Result<(usize, u64), Box<dyn Error>> {
    let output =
        std::process::Command::new(std::env::current_exe()?).args(["memory", &rows.to_string()]).output()?;
    Ok((rows, String::from_utf8(output.stdout)?.trim().parse()?))
}
