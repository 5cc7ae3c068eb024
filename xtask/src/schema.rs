//! `cargo xtask schema`: writes the JSON Schemas and the table of formats where the documentation
//! keeps them.

use std::path::Path;
use std::process::{Command, Stdio};

/// The programs that print references, and their files; a test of each crate holds the file against
/// it.
const PRINTED: [(&str, &str); 3] = [
    (
        "run --quiet -p wb-conductor --features schema --example settings_schema",
        "docs/reference/settings.schema.json",
    ),
    ("run --quiet -p wb-cli --features schema -- hook --schema", "docs/reference/hook.schema.json"),
    ("run --quiet -p wb-formats --all-features --example formats_table", "docs/reference/formats.md"),
];

/// Writes the references.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    PRINTED.into_iter().try_for_each(|(words, file)| write(root, words, file))
}

fn write(root: &Path, words: &str, name: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(words.split(' '))
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo {words}: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {words}: {}", output.status));
    }
    let file = root.join(name);
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(&file, output.stdout)).map_err(|error| format!("{name}: {error}"))?;
    println!("{name}: written");
    Ok(())
}
