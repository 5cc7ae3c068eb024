//! The abilities of each format to write, as a page.

use std::fmt::Write as _;

use wb_record::Abilities;

use crate::formats::{FORMATS, FormatRow};

/// The page's text about traces.
const TRACES: &str = "
Of each trace in `otel-genai`, `langfuse`, `langsmith` and `openinference` the session is one row: the request with the
most messages, the last of equals; once one was compacted, that one. Its system text and an answer without calls are
read with it and stay as they are, as do other rows. Flat attributes of `openinference` are written if they are in the
order of their messages.
";

/// The page's text about new sessions.
const NEW_SESSIONS: &str = "
`wb convert FILE --to claude-code|codex|pi` writes a new session of one of these agents from the messages of any
format. Texts, calls, results, their order and marks of failures survive. System texts, definitions of tools, counts and
thoughts that the provider did not sign (except in pi) are lost; `wb convert` lists all losses before it writes. No
agent was tried with a converted session yet.
";

/// Returns the page on the formats: what cannot be written in each and why, and a table of files.
pub fn formats_table() -> String {
    let mut page = String::from(
        "# Formats\n\nThe formats that are read; `wb formats --json` says the same, and `cargo xtask schema` writes this page. A compaction\n\
         and a repair can write in each: a digest for the oldest messages, one in the middle, cleared and shortened results,\n\
         restored files, renamed call IDs. Not written are:\n\n",
    );
    for FormatRow { format, .. } in FORMATS {
        for (why, parts) in refused_parts(&format.abilities()) {
            let _ = writeln!(page, "- `{}`, {}: {why}", format.name(), parts.join(", "));
        }
    }
    page + &files_table() + TRACES + NEW_SESSIONS
}

/// Returns the parts of a compaction or repair that cannot be written, by the reason.
fn refused_parts(abilities: &Abilities) -> Vec<(&'static str, Vec<&'static str>)> {
    let parts = [
        ("a digest for the oldest messages", abilities.fold_head),
        ("a digest in the middle", abilities.fold_inside),
        ("cleared results", abilities.clear),
        ("shortened results", abilities.body),
        ("restored files", abilities.insert),
        ("renamed call IDs", abilities.call_ids),
    ];
    let mut refused: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    for (part, why) in parts.into_iter().filter_map(|(part, can)| Some((part, can.why_not()?))) {
        match refused.iter_mut().find(|(known, _)| *known == why) {
            Some((_, parts)) => parts.push(part),
            None => refused.push((why, vec![part])),
        }
    }
    refused
}

/// Returns the table of files, compactions, usage and versions.
fn files_table() -> String {
    let mut table = String::from(
        "\nThe newest version is that of the agent whose records were read; at a date, it also continued a session \
         ([runs](../evaluation/hosts.md)).\n\n\
         format | files | compactions | usage | newest version\n--- | --- | --- | --- | ---\n",
    );
    for FormatRow { format, files, compactions, usage, newest, .. } in FORMATS {
        let newest = newest.unwrap_or("–");
        let _ = writeln!(table, "`{}` | {files} | {compactions} | {usage} | {newest}", format.name());
    }
    table
}
