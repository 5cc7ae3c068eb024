//! `wb session undo`: a compaction is taken back.

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use serde::Serialize;
use wb_host::HostError;
use wb_session::{EntryKind, Session, UndoneCompaction};

use super::describe::gist;
use super::opened::Log;
use super::show::fact;
use super::weight::{Weight, Weights};
use super::write::{Changed, WriteTarget, apply_change};
use crate::args::SessionChange;
use crate::number::count;

/// The answer of `wb session undo --json`.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    file: &'a str,
    out: Option<String>,
    written: bool,
    compaction: &'a str,
    text: &'a str,
    old_leaf: &'a str,
    new_leaf: &'a str,
    entries_repeated: usize,
    #[serde(flatten)]
    weights: Weights,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Done {
    undone: UndoneCompaction,
    /// The first words of the digest.
    text: String,
    before: Weight,
    after: Weight,
    /// How to go on from where the session stood.
    back: String,
}

/// Takes back the last compaction on the path to the leaf.
pub(crate) fn undo(args: &SessionChange) -> Result<()> {
    let dest = WriteTarget::of(args, false);
    let log = Log::to_change(dest.file)?;
    let changed = apply_change(log, dest, |session, now_ms| run(session, dest, now_ms))?;
    let mut out = BufWriter::new(anstream::stdout().lock());
    if args.json {
        crate::print_json(&mut out, &json_report(&changed, dest))?;
    } else {
        people(&mut out, &changed, dest)?;
    }
    Ok(out.flush()?)
}

fn run(session: &mut Session, dest: WriteTarget<'_>, now_ms: i64) -> Result<Done, HostError> {
    let before = Weight::at_leaf(session)?;
    let undone = session.undo_compaction(now_ms)?;
    let text = match session.entry(&undone.compaction_id)?.kind {
        EntryKind::Compaction(it) => gist(&it.summary),
        _ => String::new(),
    };
    let back = dest.way_back(session, &undone.old_leaf_id)?;
    Ok(Done { undone, text, before, after: Weight::at_leaf(session)?, back })
}

fn json_report<'a>(changed: &'a Changed<Done>, dest: WriteTarget<'_>) -> JsonReport<'a> {
    let Done { undone, text, before, after, .. } = &changed.done;
    JsonReport {
        file: &changed.log.file,
        out: dest.out_name(),
        written: changed.is_written,
        compaction: undone.compaction_id.as_str(),
        text,
        old_leaf: undone.old_leaf_id.as_str(),
        new_leaf: undone.new_leaf_id.as_str(),
        entries_repeated: undone.n_repeated,
        weights: Weights::new(*before, *after),
        notes: changed.all_notes(),
    }
}

fn people(out: &mut dyn Write, changed: &Changed<Done>, dest: WriteTarget<'_>) -> io::Result<()> {
    let Done { undone, text, before, after, back } = &changed.done;
    changed.log.heading(out, "a compaction is taken back")?;
    changed.log.write_notes(out, &changed.notes)?;
    fact(out, "compaction", &format!("{} \"{text}\"", undone.compaction_id))?;
    let repeated = match undone.n_repeated {
        0 => "nothing, for nothing came after it".to_owned(),
        n => format!("{} that came after it", count(n, "entry", "entries")),
    };
    fact(out, "repeated", &repeated)?;
    fact(out, "context", &before.way_to(*after))?;
    fact(out, "leaf", &dest.appended(&undone.new_leaf_id))?;
    fact(out, "go back", back)
}
