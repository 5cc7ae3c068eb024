//! `wb formats`: lists the readable and writable formats.

use anyhow::Result;
use serde::Serialize;
use wb_formats::FORMATS;
use wb_record::{Abilities, Ability};

use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::table::{Cell, Table};

/// The answer of `wb formats --json`.
#[derive(Debug, Serialize)]
struct FormatsJson {
    formats: Vec<FormatRow>,
}

/// A format, and what cannot be written in it.
#[derive(Debug, Serialize)]
struct FormatRow {
    name: &'static str,
    /// For each change that a compaction or a repair may need: why it cannot be written, or none if
    /// it can.
    cannot: Cannot,
}

#[derive(Debug, Serialize)]
struct Cannot {
    fold_head: Option<&'static str>,
    fold_inside: Option<&'static str>,
    clear: Option<&'static str>,
    body: Option<&'static str>,
    insert: Option<&'static str>,
    call_ids: Option<&'static str>,
}

/// Lists the formats.
pub(crate) fn formats(shell: &Shell) -> Result<()> {
    let known: Vec<(&str, Abilities)> =
        FORMATS.iter().map(|row| (row.format.name(), row.format.abilities())).collect();
    if shell.is_json {
        let formats =
            known.iter().map(|(name, abilities)| FormatRow { name, cannot: cannot(abilities) }).collect();
        return shell.print_json(&FormatsJson { formats });
    }
    let mut table = Table::new(["format", "digest", "inside", "cleared", "shortened", "files", "ids"]);
    for (name, it) in &known {
        let all = [it.fold_head, it.fold_inside, it.clear, it.body, it.insert, it.call_ids];
        let cells = std::iter::once((*name).into()).chain(all.map(cell));
        table.push(cells.collect(), "");
    }
    shell.print(|page| {
        table.write(page)?;
        let legend = "what can be written: a digest for the oldest messages, one for messages in the middle, tool results \
            cleared, tool results shortened, files restored, renamed call IDs; --json says why not";
        page.prose("", 0, &format!("{DIM}{legend}{DIM:#}"))
    })
}

fn cell(ability: Ability) -> Cell {
    if ability.is_there() { "yes" } else { "no" }.into()
}

fn cannot(it: &Abilities) -> Cannot {
    Cannot {
        fold_head: it.fold_head.why_not(),
        fold_inside: it.fold_inside.why_not(),
        clear: it.clear.why_not(),
        body: it.body.why_not(),
        insert: it.insert.why_not(),
        call_ids: it.call_ids.why_not(),
    }
}
