//! `wb session branch`: moves a session to another entry.

use std::io;

use anyhow::Result;
use futures::executor::block_on;
use serde::Serialize;
use wb_session::{BranchSummaryOpts, DriverError, HookList, NavigateOpts, navigate_tree};
use wb_session::{EntryId, EntryKind, LEAF_MARK, Session, SessionError};

use super::find;
use super::session_log::OpenLog;
use super::settings::SummarySettings;
use super::show::{body, no_entries};
use super::weight::{Summary, Weight, Weights};
use super::write::{Changed, WriteTarget, apply_change};
use crate::args::session::SessionBranch;
use crate::session::model::{Model, Spent, TIMEOUT};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb session branch --json`.
#[derive(Debug, Serialize)]
struct BranchJson<'a> {
    file: &'a str,
    out: Option<String>,
    moved: bool,
    written: bool,
    reason: Option<&'a str>,
    target: &'a EntryId,
    /// The entry that the next one follows, through `entry`; none before the first one.
    follows: Option<&'a EntryId>,
    old_leaf: Option<&'a EntryId>,
    entry: Option<&'a EntryId>,
    editor_text: Option<&'a str>,
    #[serde(flatten)]
    weights: Weights,
    #[serde(flatten)]
    digest: Option<&'a Summary>,
    /// The settings files that were read for a digest.
    settings_files: &'a [String],
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Spent>,
}

#[derive(Debug)]
struct Done {
    target: EntryId,
    follows: Option<EntryId>,
    old_leaf: Option<EntryId>,
    /// The entry that was appended; none if the session was there already.
    entry: Option<EntryId>,
    editor_text: Option<String>,
    digest: Option<Summary>,
    before: Weight,
    after: Weight,
    back: Option<String>,
    /// The model's usage and cost, if one was named.
    spent: Option<Spent>,
}

/// Moves a session to an entry.
pub(crate) fn branch(shell: &Shell, args: &SessionBranch) -> Result<()> {
    let dest = WriteTarget::from_args(&args.change);
    let model = model(shell, args)?;
    let log = OpenLog::open_staged(shell, dest.file)?;
    let Some(target) = find::entry(&log, Some(&args.entry))? else {
        return Err(no_entries(&log).into());
    };
    let settings = args.summarize.then(|| SummarySettings::read(shell, &log)).transpose()?;
    let branch_summary = settings.as_ref().map(|it| it.values.branch_summary).unwrap_or_default();
    let custom_instructions = model.as_ref().and_then(|model| model.instructions.clone());
    let timeout = Some(TIMEOUT);
    let summary =
        BranchSummaryOpts { settings: branch_summary, custom_instructions, timeout, ..Default::default() };
    let opts = NavigateOpts { user_wants_summary: args.summarize, label: None, summary };
    let asked = model.as_ref().map(|model| (shell, model));
    let mut changed =
        apply_change(log, dest, |session, now_ms| run(session, &target, opts, (dest, asked), now_ms))?;
    if args.summarize && changed.done.entry.is_some() && changed.done.digest.is_none() {
        changed.notes.push("nothing to summarize: no messages are left behind".to_owned());
    }
    let reason = changed.done.reason();
    if shell.is_json {
        return shell.print_json(&render_json(&changed, dest, settings.as_ref(), reason.as_deref()));
    }
    shell.print(|page| render_text(shell, page, &changed, dest, settings.as_ref(), reason.as_deref()))
}

/// Finds the model, if one is named and has something to write.
fn model(shell: &Shell, args: &SessionBranch) -> Result<Option<Model>, UserError> {
    if args.model.model.is_some() && !args.summarize {
        let what = "without --summarize no digest is written, so there is nothing to ask";
        return Err(UserError::new(what, "add --summarize, or leave out --model"));
    }
    Model::new(shell, &args.model)
}

fn run(
    session: &mut Session,
    target: &EntryId,
    opts: NavigateOpts,
    (dest, asked): (WriteTarget<'_>, Option<(&Shell, &Model)>),
    now_ms: i64,
) -> Result<(Done, Option<EntryId>), DriverError> {
    let before = Weight::at_leaf(session)?;
    let old_leaf = session.leaf().cloned();
    let current = unmarked(session)?;
    let mut hooks = HookList::default();
    let gone = match asked {
        None => block_on(navigate_tree(session, target, None, &mut hooks, opts, now_ms)),
        Some((shell, model)) => {
            let going = navigate_tree(session, target, Some(model.invoker()), &mut hooks, opts, now_ms);
            model.with_progress(shell, || model.block_on(going))
        }
    }?;
    let spent = asked.map(|(_, model)| model.spent());
    let goes_to = gone.new_leaf_id;
    let digest = gone.summary.map(|it| Summary::new(&it.summary, &it.source, it.details.as_ref()));
    let entry = match gone.summary_entry_id {
        Some(entry) => Some(entry),
        None if goes_to == old_leaf || goes_to == current => None,
        None => Some(session.mark_leaf(goes_to.as_ref(), now_ms)?),
    };
    let follows = match entry.as_ref().and_then(|entry| session.tree().node(entry)) {
        Some(node) => node.parent_id.clone(),
        None => current,
    };
    let back = old_leaf.as_ref().map(|leaf| dest.way_back(session, leaf)).transpose()?;
    let (target, editor_text, after) = (target.clone(), gone.editor_text, Weight::at_leaf(session)?);
    let digest_entry = entry.clone().filter(|_| digest.is_some());
    Ok((
        Done { target, follows, old_leaf, entry, editor_text, digest, before, after, back, spent },
        digest_entry,
    ))
}

/// Returns the current entry of a session: its leaf, or the target of the marks at its end.
fn unmarked(session: &Session) -> Result<Option<EntryId>, SessionError> {
    let leaf = session.leaf();
    for node in leaf.into_iter().flat_map(|leaf| session.tree().ancestors(leaf)) {
        match session.entry(&node.id)?.kind {
            EntryKind::Custom(it) if it.custom_type == LEAF_MARK => {}
            _ => return Ok(Some(node.id)),
        }
    }
    Ok(None)
}

impl Done {
    /// Returns why nothing was written.
    fn reason(&self) -> Option<String> {
        let place = self.follows.as_ref().map_or("the beginning", EntryId::as_str);
        self.entry.is_none().then(|| format!("the session is at {place} already"))
    }
}

fn render_json<'a>(
    changed: &'a Changed<Done>,
    dest: WriteTarget<'_>,
    settings: Option<&'a SummarySettings>,
    reason: Option<&'a str>,
) -> BranchJson<'a> {
    let done = &changed.done;
    BranchJson {
        file: &changed.log.file,
        out: dest.out_name(),
        moved: done.entry.is_some(),
        written: changed.is_written,
        reason,
        target: &done.target,
        follows: done.follows.as_ref(),
        old_leaf: done.old_leaf.as_ref(),
        entry: done.entry.as_ref().filter(|_| changed.is_written),
        editor_text: done.editor_text.as_deref(),
        weights: Weights::new(done.before, done.after),
        digest: done.digest.as_ref(),
        settings_files: settings.map_or(&[], |settings| &settings.files),
        notes: changed.all_notes(),
        model: done.spent.as_ref(),
    }
}

fn render_text(
    shell: &Shell,
    page: &mut Page<'_>,
    changed: &Changed<Done>,
    dest: WriteTarget<'_>,
    settings: Option<&SummarySettings>,
    reason: Option<&str>,
) -> io::Result<()> {
    let done = &changed.done;
    let place =
        done.follows.as_ref().map_or_else(|| "before the first entry".to_owned(), |id| format!("from {id}"));
    let dry = if dest.is_dry { "; this is a dry run and writes nothing" } else { "" };
    changed.log.heading(page, &reason.map_or_else(|| format!("goes on {place}{dry}"), str::to_owned))?;
    changed.log.write_notes(shell, page, &changed.notes)?;
    if let Some(settings) = settings.filter(|_| done.digest.is_some()) {
        settings.write(page)?;
    }
    if let Some(entry) = &done.entry {
        let left = done.old_leaf.as_ref().map_or("none", EntryId::as_str);
        page.fact("left", left)?;
        page.fact("context", &done.before.way_to(done.after))?;
        let kind = if done.digest.is_some() { "the digest of what was left" } else { "a mark" };
        if changed.is_written {
            page.fact("leaf", &format!("{}, {kind}", dest.appended(entry)))?;
        }
    }
    if let Some(spent) = &done.spent {
        page.fact("model", &spent.to_string())?;
    }
    if let Some(digest) = &done.digest {
        digest.write_facts(page)?;
    }
    if let Some(back) = done.back.as_ref().filter(|_| changed.is_written) {
        page.fact("go back", back)?;
    }
    match &done.editor_text {
        Some(text) => body(page, "Prompt", text),
        None => Ok(()),
    }
}
