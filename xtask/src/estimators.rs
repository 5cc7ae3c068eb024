//! `cargo xtask fit-estimators`: fits the estimators of tokens on real sessions, and writes weights
//! and errors.

use std::path::Path;
use std::process::{Command, Stdio};

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
    let date = date.map_or_else(|| crate::figures::date_of_head(root), Ok)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(WORDS.split(' ')).args([root, &folder]).arg(date).current_dir(root).stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {WORDS}: {status}")),
        Err(error) => Err(format!("cargo {WORDS}: {error}")),
    }
}
