//! `wb session compact`: a digest takes the place of older messages.

use std::io;

use anyhow::Result;
use futures::executor::block_on;
use serde::Serialize;
use wb_host::{
    CompactError, CompactOpts, CompactionJob, CompactionReason, HookList, HostError, SessionCompaction,
};
use wb_session::{CompactionSettings, EntryId, EntryTag, Session};

use super::find::IdWidth;
use super::session_log::Log;
use super::settings::Settings;
use super::weight::{Summary, Weight, Weights};
use super::write::{Change, Changed, WriteTarget, apply_change};
use crate::args::session::SessionCompact;
use crate::session::model::{Model, Spent, TIMEOUT};
use crate::session::report::digest_text;
use crate::terminal::number::{grouped, messages};
use crate::terminal::shell::Shell;
use crate::terminal::wrap::Page;

/// The answer of `wb session compact --json`.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    file: &'a str,
    out: Option<String>,
    compacted: bool,
    written: bool,
    reason: Option<&'a str>,
    #[serde(flatten)]
    act: Option<ActReport<'a>>,
    #[serde(flatten)]
    weights: Weights,
    keep_recent_tokens: u64,
    reserve_tokens: u64,
    settings_files: &'a [String],
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Spent>,
}

#[derive(Debug, Serialize)]
struct ActReport<'a> {
    entry: Option<&'a EntryId>,
    first_kept_entry: &'a EntryId,
    messages_summarized: usize,
    messages_of_split_turn: usize,
    messages_kept: usize,
    #[serde(flatten)]
    digest: &'a Summary,
}

/// What came of it.
#[derive(Debug)]
struct Done {
    before: Weight,
    act: Result<Act, String>,
    /// What the model was asked, if one was named.
    spent: Option<Spent>,
}

impl Change for Done {
    fn digest_entry(&self) -> Option<&EntryId> {
        self.act.as_ref().ok().map(|act| &act.entry)
    }
}

/// A compaction with its figures.
#[derive(Debug)]
struct Act {
    entry: EntryId,
    first_kept: EntryId,
    digest: Summary,
    n_summarized: usize,
    n_of_split_turn: usize,
    after: Weight,
}

/// Compacts a session at its leaf.
pub(crate) fn compact(shell: &Shell, args: &SessionCompact) -> Result<()> {
    let dest = WriteTarget::of(&args.change);
    let model = Model::of(shell, &args.model)?;
    let log = Log::open_staged(shell, dest.file)?;
    let settings = Settings::of(shell, &log)?;
    let changed = shell.timed("compacting", || {
        let run = |session: &mut Session, now_ms| {
            run(session, &settings.values.compaction, model.as_ref().map(|model| (shell, model)), now_ms)
        };
        apply_change(log, dest, run)
    })?;
    if shell.is_json {
        return shell.print_json(&json_report(&changed, dest, &settings));
    }
    shell.print(|page| people(shell, page, &changed, dest, &settings))
}

/// Who is asked, and where that is shown.
type Asked<'a> = Option<(&'a Shell, &'a Model)>;

fn run(
    session: &mut Session,
    settings: &CompactionSettings,
    asked: Asked<'_>,
    now_ms: i64,
) -> Result<Done, HostError> {
    let before = Weight::at_leaf(session)?;
    let custom_instructions = asked.and_then(|(_, model)| model.instructions.clone());
    let opts = CompactOpts { custom_instructions, timeout: Some(TIMEOUT), ..CompactOpts::default() };
    let reason = CompactionReason::Manual;
    let Some(job) = CompactionJob::prepare(session, session.leaf(), settings, reason, opts)? else {
        return Ok(Done { before, act: Err(why_nothing(session, before, settings)?), spent: None });
    };
    let act = match act(session, job, asked, now_ms) {
        Err(HostError::Compact(error @ (CompactError::Nothing | CompactError::NotLighter { .. }))) => {
            Err(error.to_string())
        }
        act => Ok(act?),
    };
    Ok(Done { before, act, spent: asked.map(|(_, model)| model.spent()) })
}

fn act(session: &mut Session, job: CompactionJob, asked: Asked<'_>, now_ms: i64) -> Result<Act, HostError> {
    let n_of_split_turn = job.preparation().turn_prefix_messages.len();
    let n_summarized = job.preparation().messages_to_summarize.len() + n_of_split_turn;
    let mut hooks = HookList::default();
    let finished = match asked {
        None => block_on(job.run(None, &mut hooks)),
        Some((shell, model)) => {
            model.shown(shell, || model.block_on(job.run(Some(model.invoker()), &mut hooks)))
        }
    };
    let appended = block_on(finished.append(session, &mut hooks, now_ms))?;
    let SessionCompaction { entry_id: entry, outcome, .. } = appended;
    let digest = Summary::new(&outcome.summary, &outcome.source, outcome.details.as_ref());
    let (first_kept, after) = (outcome.first_kept_entry_id, Weight::at_leaf(session)?);
    Ok(Act { entry, first_kept, digest, n_summarized, n_of_split_turn, after })
}

/// Returns why there is nothing to summarize.
fn why_nothing(
    session: &Session,
    before: Weight,
    settings: &CompactionSettings,
) -> Result<String, HostError> {
    let path = session.path()?;
    if before.n_messages == 0 {
        return Ok("nothing to summarize: the session has no messages for a model".to_owned());
    }
    if let Some(last) = path.last().filter(|node| node.tag == EntryTag::Compaction) {
        return Ok(format!("nothing to summarize: nothing was said since the compaction {}", last.id));
    }
    let keep = grouped(settings.keep_recent_tokens);
    Ok(format!(
        "nothing to summarize: all messages are among the recent {keep} tokens that stay; \
         keepRecentTokens in settings.json says how many"
    ))
}

fn json_report<'a>(
    changed: &'a Changed<Done>,
    dest: WriteTarget<'_>,
    settings: &'a Settings,
) -> JsonReport<'a> {
    let Done { before, act, spent } = &changed.done;
    let act = act.as_ref();
    JsonReport {
        file: &changed.log.file,
        out: dest.out_name(),
        compacted: act.is_ok(),
        written: changed.is_written,
        reason: act.err().map(String::as_str),
        act: act.ok().map(|act| act_report(act, changed.is_written)),
        weights: Weights::new(*before, act.map_or(*before, |act| act.after)),
        keep_recent_tokens: settings.values.compaction.keep_recent_tokens,
        reserve_tokens: settings.values.compaction.reserve_tokens,
        settings_files: &settings.files,
        notes: changed.all_notes(),
        model: spent.as_ref(),
    }
}

fn act_report(act: &Act, is_written: bool) -> ActReport<'_> {
    ActReport {
        entry: is_written.then_some(&act.entry),
        first_kept_entry: &act.first_kept,
        messages_summarized: act.n_summarized,
        messages_of_split_turn: act.n_of_split_turn,
        messages_kept: act.n_kept(),
        digest: &act.digest,
    }
}

impl Act {
    /// Returns how many messages stay: all but the digest.
    fn n_kept(&self) -> usize {
        self.after.n_messages.saturating_sub(1)
    }
}

fn people(
    shell: &Shell,
    page: &mut Page<'_>,
    changed: &Changed<Done>,
    dest: WriteTarget<'_>,
    settings: &Settings,
) -> io::Result<()> {
    let (log, Done { before, act, spent }) = (&changed.log, &changed.done);
    let heading = match act {
        Err(_) => "not compacted",
        Ok(_) if dest.is_dry => "would be compacted; this is a dry run and writes nothing",
        Ok(_) => "compacted",
    };
    log.heading(page, heading)?;
    log.write_notes(shell, page, &changed.notes)?;
    settings.write(page)?;
    if let Some(spent) = spent {
        page.fact("model", &spent.to_string())?;
    }
    match act {
        Err(reason) => page.prose("  ", 4, reason),
        Ok(act) => people_act(page, changed, *before, act, dest),
    }
}

fn people_act(
    page: &mut Page<'_>,
    changed: &Changed<Done>,
    before: Weight,
    act: &Act,
    dest: WriteTarget<'_>,
) -> io::Result<()> {
    let width = IdWidth::of(changed.log.session.tree());
    let summarized = messages(act.n_summarized);
    let summarized = match act.n_of_split_turn {
        0 => summarized,
        n if n == act.n_summarized => format!("{summarized}, the start of a split turn"),
        n => format!("{summarized}, {} of them the start of a split turn", grouped(n as u64)),
    };
    page.fact("summarized", &summarized)?;
    let first = width.short(act.first_kept.as_str());
    page.fact("kept", &format!("{}, from {first} on", messages(act.n_kept())))?;
    page.fact("context", &before.way_to(act.after))?;
    act.digest.write_facts(page)?;
    if !changed.is_written {
        return digest_text(page, act.digest.text());
    }
    let file = dest.shell_name();
    page.fact("entry", &dest.appended(&act.entry))?;
    page.fact("read it", &format!("wb session show {file} {}", act.entry))?;
    page.fact("take it back", &format!("wb session undo {file}"))
}
