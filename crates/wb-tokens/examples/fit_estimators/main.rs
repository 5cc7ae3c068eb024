//! Fits token weights of character counts to the texts and reported usage of real sessions, and
//! writes the weights and a page with their errors into the repository:
//!
//! ```text
//! cargo xtask fit-estimators FOLDER
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example reads sessions, writes two files and prints"
)]

mod samples;
mod fit;
mod composed;
mod measure;
mod page;

use std::path::Path;

use measure::Fitted;
use samples::Samples;

const WEIGHTS: &str = "crates/wb-budget/src/count/fitted_weights.rs";
const PAGE: &str = "docs/evaluation/estimators.md";
const DATA: &str = "docs/evaluation/data/estimators.tsv";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, folder, date] = &words[..] else {
        return Err("usage: fit_estimators ROOT FOLDER DATE".into());
    };
    let samples = Samples::read(Path::new(folder))?;
    let fitted = Fitted::new(&samples)?;
    let root = Path::new(root);
    std::fs::write(root.join(WEIGHTS), page::weights(&fitted, date))?;
    std::fs::write(root.join(PAGE), page::page(&fitted, date))?;
    std::fs::write(root.join(DATA), page::composed(&fitted))?;
    println!("{WEIGHTS}, {PAGE}, {DATA}: written");
    Ok(())
}
