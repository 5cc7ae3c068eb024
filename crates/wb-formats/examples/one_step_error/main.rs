//! Prints, as a Markdown table, how well the next prompt's tokens are foretold on session files
//! with real usage:
//!
//! ```text
//! cargo run --release -p wb-formats --example one_step_error -- FILE…
//! ```
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example reads files and prints")]

mod errors;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use errors::{one_step_errors, percentile, percents};

fn main() {
    println!("| file | requests | p50 % | p90 % | p99 % | worst % |");
    println!("|---|---:|---:|---:|---:|---:|");
    for path in std::env::args().skip(1) {
        match row(Path::new(&path)) {
            Ok(Some(row)) => println!("{row}"),
            Ok(None) => {}
            Err(error) => println!("| {path} | {error} | | | | |"),
        }
    }
}

/// Returns the row of a file; `None` if it has fewer than two requests.
fn row(path: &Path) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let segments = wb_formats::segments(&mut BufReader::new(File::open(path)?))?;
    let errors = percents(&one_step_errors(segments));
    if errors.is_empty() {
        return Ok(None);
    }
    let [p50, p90, p99, worst] = [50, 90, 99, 100].map(|percent| percentile(&errors, percent));
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().display();
    let name = path.file_name().unwrap_or_default().display();
    Ok(Some(format!("| {folder}/{name} | {} | {p50:.2} | {p90:.2} | {p99:.2} | {worst:.2} |", errors.len())))
}
