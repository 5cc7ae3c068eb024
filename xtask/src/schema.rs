//! `cargo xtask schema`: writes the JSON Schemas and the table of formats where the documentation
//! keeps them.

use std::path::Path;

use crate::program;

/// The programs that print references, and their files; a test of each crate holds the file against
/// it.
const PRINTED: [(&str, &str); 5] = [
    (
        "run --quiet -p wb-message --features schema --example transcript_schema",
        "docs/reference/transcript.schema.json",
    ),
    (
        "run --quiet -p wb-conductor --features schema --example settings_schema",
        "docs/reference/settings.schema.json",
    ),
    ("run --quiet -p wb-bind --features schema --example api_schema", "docs/reference/api.schema.json"),
    ("run --quiet -p wb-cli --features schema -- hook --schema", "crates/wb-cli/hook.schema.json"),
    ("run --quiet -p wb-formats --all-features --example formats_table", "docs/reference/formats.md"),
];

/// Writes the references.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    PRINTED.into_iter().try_for_each(|(words, file)| {
        program::write(root, file, program::output(&mut program::cargo(root, words.split(' ')))?)
    })
}
