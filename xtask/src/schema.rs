//! `cargo xtask schema`: writes the JSON Schema of the settings where the documentation keeps it.

use std::path::Path;
use std::process::{Command, Stdio};

/// The program that prints the schema; a test of its crate holds the file against it.
const WORDS: &str = "run --quiet -p wb-conductor --features schema --example settings_schema";
const FILE: &str = "docs/reference/settings.schema.json";

/// Writes the schema.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(WORDS.split(' '))
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo {WORDS}: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {WORDS}: {}", output.status));
    }
    let file = root.join(FILE);
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(&file, output.stdout)).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}: written");
    Ok(())
}
