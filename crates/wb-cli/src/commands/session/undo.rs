//! `wb session undo`: a compaction is taken back.

use std::io;

use anyhow::Result;
use serde::Serialize;
use wb_host::HostError;
use wb_session::{EntryId, EntryKind, Session, UndoneCompaction};

use super::describe::gist;
use super::session_log::Log;
use super::weight::{Weight, Weights};
use super::write::{Change, Changed, WriteTarget, apply_change};
use crate::args::session::SessionChange;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::wrap::Page;

/// The answer of `wb session undo --json`.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    file: &'a str,
    out: Option<String>,
    written: bool,
    compaction: &'a str,
    text: &'a str,
    old_leaf: &'a str,
    /// The entry that was appended; none in a dry run.
    new_leaf: Option<&'a str>,
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

impl Change for Done {
    fn digest_entry(&self) -> Option<&EntryId> {
        None
    }
}

/// Takes back the last compaction on the path to the leaf.
pub(crate) fn undo(shell: &Shell, args: &SessionChange) -> Result<()> {
    let dest = WriteTarget::of(args);
    let log = Log::open_staged(shell, dest.file)?;
    let changed = apply_change(log, dest, |session, now_ms| run(session, dest, now_ms))?;
    if shell.is_json {
        return shell.print_json(&json_report(&changed, dest));
    }
    shell.print(|page| people(shell, page, &changed, dest))
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
        new_leaf: changed.is_written.then_some(undone.new_leaf_id.as_str()),
        entries_repeated: undone.n_repeated,
        weights: Weights::new(*before, *after),
        notes: changed.all_notes(),
    }
}

fn people(
    shell: &Shell,
    page: &mut Page<'_>,
    changed: &Changed<Done>,
    dest: WriteTarget<'_>,
) -> io::Result<()> {
    let Done { undone, text, before, after, back } = &changed.done;
    let heading = if dest.is_dry {
        "a compaction would be taken back; this is a dry run and writes nothing"
    } else {
        "a compaction is taken back"
    };
    changed.log.heading(page, heading)?;
    changed.log.write_notes(shell, page, &changed.notes)?;
    page.fact("compaction", &format!("{} \"{text}\"", undone.compaction_id))?;
    let repeated = match undone.n_repeated {
        0 => "nothing, for nothing came after it".to_owned(),
        n => format!("{} that came after it", count(n, "entry", "entries")),
    };
    page.fact("repeated", &repeated)?;
    page.fact("context", &before.way_to(*after))?;
    if !changed.is_written {
        return Ok(());
    }
    page.fact("leaf", &dest.appended(&undone.new_leaf_id))?;
    page.fact("go back", back)
}
