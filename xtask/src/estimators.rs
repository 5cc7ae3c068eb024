//! `cargo xtask fit-estimators`: fits the estimators of tokens on real sessions, and writes weights
//! and errors.

use std::path::Path;

use crate::program;

/// The program that fits.
const WORDS: &str = "run --quiet -p wb-tokens --example fit_estimators --";

/// Fits on the sessions in a folder; the date is that of the last commit unless it is named.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (folder, date) = match words {
        [folder] => (*folder, None),
        [folder, date] => (*folder, Some((*date).to_owned())),
        _ => return Err("usage: cargo xtask fit-estimators FOLDER [DATE]".to_owned()),
    };
    let folder = root.join(folder);
    if !folder.is_dir() {
        return Err(format!("there is no folder {}\nhint: name a folder of session files", folder.display()));
    }
    let date = date.map_or_else(|| program::date_of_head(root), Ok)?;
    program::run(program::cargo(root, WORDS.split(' ')).args([root, &folder]).arg(date))
}
