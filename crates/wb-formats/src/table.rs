//! The abilities of each format to write, as a page.

use std::fmt::Write as _;

use wb_record::Ability;

use crate::formats::{FORMATS, FormatRow};

/// The page's text about new sessions.
const NEW_SESSIONS: &str = "
`wb convert FILE --to claude-code|codex|pi` writes a new session of one of these agents from the messages of any
format. Texts, calls, results, their order and marks of failures survive; Codex marks a failure only in the text of
the result. System texts, definitions of tools and counts are lost, and thoughts that the provider did not sign, except
in pi. `wb convert` lists all losses with counts before it writes. No agent was tried with a converted session yet. There
is no conversion to opencode, whose sessions are rows of a database that it creates itself, nor to agents whose format is
only known from reading it.
";

/// Returns the page on the writable parts of each format: a table, and the reasons below it.
pub fn formats_table() -> String {
    let mut page = String::from(
        "# Formats\n\nThe formats that are read, and what a compaction and a repair can write in each. `wb formats --json` says the same; \
         `cargo xtask schema` writes this page.\n\n\
         | format | a digest for the oldest messages | one in the middle | results cleared | results shortened | files restored | renamed call IDs |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut reasons = String::new();
    for FormatRow { format, .. } in FORMATS {
        let it = format.abilities();
        let named = [
            ("a digest for the oldest messages", it.fold_head),
            ("a digest in the middle", it.fold_inside),
            ("clearing a result", it.clear),
            ("shortening a result", it.body),
            ("restoring files", it.insert),
            ("renamed call IDs", it.call_ids),
        ];
        let cells: Vec<&str> =
            named.iter().map(|(_, can)| if can.is_there() { "yes" } else { "no" }).collect();
        let _ = writeln!(page, "| `{}` | {} |", format.name(), cells.join(" | "));
        for (what, why) in named.iter().filter_map(|(what, can)| Some((what, Ability::why_not(*can)?))) {
            let _ = writeln!(reasons, "- `{}`, {what}: {why}", format.name());
        }
    }
    if !reasons.is_empty() {
        page = format!("{page}\nWhat cannot be written, and why:\n\n{reasons}");
    }
    page + &files_table() + NEW_SESSIONS
}

/// Returns the table of files, compactions, usage and versions.
fn files_table() -> String {
    let mut table = String::from(
        "\nThe newest version is that of the agent whose records were read; at a date, it also continued a session \
         ([runs](../evaluation/hosts.md)).\n\n\
         | format | files | compactions | usage | newest version |\n|---|---|---|---|---|\n",
    );
    for FormatRow { format, files, compactions, usage, newest, .. } in FORMATS {
        let newest = newest.unwrap_or("–");
        let _ = writeln!(table, "| `{}` | {files} | {compactions} | {usage} | {newest} |", format.name());
    }
    table
}
