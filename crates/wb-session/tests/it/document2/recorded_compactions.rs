//! Recorded answers to running a compaction: the requests, the use of the replies, and the model's
//! view afterwards.
//!
//! We follow the newest version. Its model answered `LLM-REPLY-1` and so on; ours gives the same
//! below a heading.

use std::collections::HashSet;
use wb_invoke::scripted::Script;
use wb_invoke::scripted::ScriptedInvoker;

use futures::executor::block_on;
use serde_json::Value;
use wb_budget::ModelCard;
use wb_message::{Message, Pairing};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactError, CompactOpts, CompactionOutcome, SummarySource, SummaryTask, append_compaction, compact,
};
use wb_session::{
    CompactionPreparation, CompactionSettings, Context, Entry, EntryKind, IdSource, Logged, NEWEST_VERSION,
    SESSION_PRESET, Session, estimate_context, find_turn_start, prepare_compaction, split_file_tags,
};
use wb_summarize::NoDigest;
use wb_testkit::session_rows::{
    EXCLUDED, JSON, MOVED, NEWEST, PAIR, Row, SUMMARY_FILES, TOTAL, Verdict, WHOLE_TURN, boundary_reason,
    excluded_message, files_reason, gives_message, has_excluded, has_special_json, is_message, is_text,
    judge, replay, tokens_reason, with_all_commands,
};
use wb_testkit::shared::bytes_of;

use crate::document2::recorded_requests::{
    GUARDED, LONG_RESULT, RecordedRequest, SHELL, THINKING, says, without_headings,
};
use crate::talks::read_path;

use crate::support::estimate_tokens;

const NOT_LIGHTER: &str = "a summary that is not lighter than what it stands for is not taken";
const FAILED: &str = "a failed answer that says nothing, and calls of one, are not sent";

const LOST: &str =
    "a call that is neither answered nor in flight, and a result without its call, are not sent";

/// The reasons why the text of a conversation differs from the recorded one.
const OF_TEXTS: [&str; 5] = [JSON, SHELL, THINKING, LONG_RESULT, GUARDED];

/// The requests in order, each with its previous summary and focus; the merged summary, its files,
/// the kept messages, and the tokens before.
#[test]
fn compactions_are_run_as_recorded() {
    let reasons = [
        (MOVED, 36),
        (SUMMARY_FILES, 35),
        (TOTAL, 11),
        (NOT_LIGHTER, 10),
        (EXCLUDED, 2),
        (PAIR, 2),
        (WHOLE_TURN, 1),
    ];
    replay("compact", NEWEST, (444, 356), &reasons, |row| {
        let mut reasons = with_and_without_commands(&row, |path, unseen| compare_run(&row, path, unseen))?;
        reasons.retain(|reason| !OF_TEXTS.contains(reason));
        Ok(reasons)
    });
}

/// The text of each recorded request is what our messages give when they are written as recorded.
#[test]
fn requests_for_compactions_show_the_recorded_conversations() {
    let reasons = [(LONG_RESULT, 322), (THINKING, 287), (JSON, 23), (PAIR, 2), (SHELL, 1), (WHOLE_TURN, 1)];
    replay("compact", NEWEST, (444, 80), &reasons, |row| {
        let mut reasons = with_and_without_commands(&row, |path, unseen| compare_run(&row, path, unseen))?;
        reasons.retain(|reason| OF_TEXTS.contains(reason) || [PAIR, WHOLE_TURN].contains(reason));
        Ok(reasons)
    });
}

/// Compares as the path is, and where that fails with the commands that were kept from the model.
fn with_and_without_commands(row: &Row<'_>, compare: impl Fn(&[&Entry], &[Message]) -> Verdict) -> Verdict {
    let path = row.path();
    let verdict = compare(&path, &[]);
    if verdict.is_err() && has_excluded(&path) {
        let unseen: Vec<_> = path.iter().filter_map(|entry| excluded_message(entry)).collect();
        let all = with_all_commands(&path);
        let mut reasons = compare(&all.iter().collect::<Vec<_>>(), &unseen)?;
        reasons.push(EXCLUDED);
        return Ok(reasons);
    }
    verdict
}

/// A run with the recorded replies.
struct Run {
    preparation: CompactionPreparation,
    result: Result<CompactionOutcome, CompactError>,
    prompts: Vec<String>,
}

impl Run {
    fn new(row: &Row<'_>, path: &[&Entry]) -> Result<Self, String> {
        let settings: CompactionSettings = serde_json::from_value(row.params["settings"].clone()).unwrap();
        let preparation =
            prepare_compaction(path, &settings, &SESSION_PRESET).ok_or("nothing is prepared")?;
        let tasks = tasks(&preparation).into_iter().enumerate();
        let scripts = tasks.map(|(at, task)| says(task, &format!("LLM-REPLY-{}", at + 1)));
        // Separate tests cover the fitting of an input to a window.
        let card = ModelCard::with_window(1_000_000);
        let invoker = ScriptedInvoker::new(scripts.collect::<Vec<Script>>()).with_card(card);
        let custom_instructions = row.params["custom"].as_str().map(str::to_owned);
        let opts = CompactOpts { custom_instructions, ..CompactOpts::default() };
        let result = block_on(compact(preparation.clone(), Some(&invoker), opts));
        Ok(Self { preparation, result, prompts: invoker.prompts() })
    }

    fn requests<'a>(&'a self, row: &Row<'a>) -> Vec<RecordedRequest<'a>> {
        let focus = row.params["custom"].as_str();
        let it = &self.preparation;
        let asked = |task| {
            let (messages, previous) = if task == SummaryTask::TurnPrefix {
                (&it.turn_prefix_messages, None)
            } else {
                (&it.messages_to_summarize, it.previous_summary.as_deref())
            };
            RecordedRequest { task, messages, previous, focus, replaces: false }
        };
        tasks(it).into_iter().map(asked).collect()
    }

    /// Returns the summary as the recorded model would have made it; none where it was not taken.
    fn summary(&self) -> Result<Option<String>, String> {
        let not_lighter = NoDigest::Failed("the summary was not lighter than what it stands for".to_owned());
        match &self.result {
            Ok(outcome) if outcome.source == SummarySource::Model => {
                Ok(Some(without_headings(&outcome.summary)))
            }
            Ok(outcome) if outcome.source == SummarySource::Local(not_lighter) => Ok(None),
            Err(CompactError::NotLighter { .. }) => Ok(None),
            other => Err(format!("{other:?}")),
        }
    }

    /// Returns whether a text weighs less than the text it would replace; new lists of files count
    /// as well.
    fn is_lighter(&self, recorded: &str) -> bool {
        let it = &self.preparation;
        let given = it.messages_to_summarize.iter().chain(&it.turn_prefix_messages);
        let given: u64 = given.map(estimate_tokens).sum();
        let previous = it.previous_summary.as_deref();
        let tags = if previous.is_some() { String::new() } else { it.file_ops.tags() };
        let headings = "## Goal\n## Original Request\n";
        let made = [headings, split_file_tags(recorded).0].concat();
        SESSION_PRESET.text_tokens(&made) + SESSION_PRESET.text_tokens(&tags)
            < given + previous.map_or(0, |text| SESSION_PRESET.text_tokens(text))
    }
}

fn tasks(preparation: &CompactionPreparation) -> Vec<SummaryTask> {
    let of = |messages: &[Message], task| (!messages.is_empty()).then_some(task);
    let history = of(&preparation.messages_to_summarize, SummaryTask::History);
    let prefix = of(&preparation.turn_prefix_messages, SummaryTask::TurnPrefix);
    history.into_iter().chain(prefix).collect()
}

fn compare_run(row: &Row<'_>, path: &[&Entry], unseen: &[Message]) -> Verdict {
    let theirs = &row.output["result"];
    let run = Run::new(row, path)?;
    let it = &run.preparation;
    let mut reasons =
        boundary_reason(path, theirs["firstKeptEntryId"].as_str().unwrap(), &it.first_kept_entry_id)?;
    let at = path.iter().position(|entry| entry.id == it.first_kept_entry_id).unwrap();
    let requests = row.output["requests"].as_array().unwrap();
    let is_whole_turn = !it.is_split_turn && find_turn_start(path, at, 0) == Some(at);
    if reasons == [MOVED] && is_whole_turn && requests.len() > run.prompts.len() {
        return Ok(vec![WHOLE_TURN]);
    }
    if reasons == [PAIR] {
        return Ok(reasons);
    }
    reasons.extend(tokens_reason(row, path, &theirs["tokensBefore"], it.tokens_before)?);
    let asked = run.requests(row);
    if (asked.len(), asked.len()) != (requests.len(), run.prompts.len()) {
        return Err(format!("{} requests, {} prompts", asked.len(), run.prompts.len()));
    }
    for ((asked, request), prompt) in asked.iter().zip(requests).zip(&run.prompts) {
        reasons.extend(asked.compare(row, &request["prompt"], prompt, unseen)?);
    }
    let files = files_reason(&theirs["details"], &path[..at], &it.file_ops.lists())?;
    reasons.extend(compare_summary(theirs["summary"].as_str().unwrap(), &run, &files)?);
    reasons.extend(files);
    reasons.sort_unstable();
    reasons.dedup();
    Ok(reasons)
}

fn compare_summary(theirs: &str, run: &Run, files: &[&str]) -> Verdict {
    let Some(ours) = run.summary()? else {
        return judge(false, NOT_LIGHTER, !run.is_lighter(theirs), &run.result);
    };
    let is_same = if files.is_empty() {
        ours == theirs
    } else {
        ours == [split_file_tags(theirs).0, &run.preparation.file_ops.tags()].concat()
    };
    judge(is_same, "", false, (ours, theirs))
}

#[test]
fn a_compacted_session_shows_the_model_what_is_recorded() {
    let reasons = [
        (SUMMARY_FILES, 28),
        (LOST, 24),
        (NOT_LIGHTER, 10),
        (TOTAL, 9),
        (EXCLUDED, 4),
        (PAIR, 2),
        (JSON, 2),
        (FAILED, 1),
        (WHOLE_TURN, 1),
    ];
    replay("context_after_compaction", NEWEST, (345, 272), &reasons, |row| {
        with_and_without_commands(&row, |path, _| compare_context(&row, path))
    });
}

fn compare_context(row: &Row<'_>, path: &[&Entry]) -> Verdict {
    let run = Run::new(row, path)?;
    let it = &run.preparation;
    let recorded = row.output["messages"].as_array().unwrap();
    let (digest, kept) = recorded.split_first().ok_or("no messages")?;
    // Of a long one its length, start and end are recorded; those have no other files than ours.
    let ours = run.summary()?.unwrap_or_default();
    let theirs = match digest["summary"].as_str() {
        None if is_text(&digest["summary"], &ours) => &ours,
        theirs => theirs.ok_or("another summary")?,
    };
    let at = path.iter().position(|entry| entry.id == it.first_kept_entry_id).unwrap();
    let is_whole_turn = !it.is_split_turn && find_turn_start(path, at, 0) == Some(at);
    if is_whole_turn && !gives_message(path[at - 1]) && theirs.contains("**Turn Context (split turn):**") {
        return Ok(vec![WHOLE_TURN]);
    }
    let seen: Vec<_> = path.iter().filter(|entry| gives_message(entry)).collect();
    if let Some(first) = kept.len().checked_sub(1).and_then(|n_after| seen.iter().rev().nth(n_after))
        && boundary_reason(path, first.id.as_str(), &it.first_kept_entry_id)? == [PAIR]
    {
        return Ok(vec![PAIR]);
    }
    let mut reasons = tokens_reason(row, path, &digest["tokensBefore"], it.tokens_before)?;
    let lists = serde_json::to_value(split_file_tags(theirs).1).unwrap();
    let files = files_reason(&lists, &path[..at], &it.file_ops.lists())?;
    reasons.extend(compare_summary(theirs, &run, &files)?);
    reasons.extend(files);
    let Some(summary) = run.summary()? else { return Ok(reasons) };
    let mut outcome = run.result.unwrap();
    outcome.summary = summary;
    let own_weight = SESSION_PRESET.text_tokens(&outcome.summary);
    let (context, tokens) = after_appending(row, outcome);
    let is_hidden = |kept: &&Value| hidden_tokens(row, kept).is_some();
    let (hidden, kept): (Vec<_>, Vec<_>) = kept.iter().partition(is_hidden);
    reasons.extend(compare_kept(row, &kept, &context)?);
    reasons.extend((!hidden.is_empty()).then_some(EXCLUDED));
    let hidden: u64 = hidden.into_iter().filter_map(|kept| hidden_tokens(row, kept)).sum();
    let theirs =
        row.output["estimatedTokensAfter"].as_u64().unwrap() - hidden - SESSION_PRESET.text_tokens(theirs);
    let is_special =
        context.messages.iter().any(has_special_json) && theirs.abs_diff(tokens - own_weight) < 16;
    reasons.extend(judge(theirs == tokens - own_weight, JSON, is_special, (theirs, tokens, own_weight))?);
    Ok(reasons)
}

/// Compares the messages after the digest; ours may lack those that no provider takes.
fn compare_kept(row: &Row<'_>, recorded: &[&Value], context: &Context) -> Verdict {
    let mut ours = context.messages.iter().zip(&context.entries).skip(1).peekable();
    let lost = lost_entries(row, recorded);
    let mut reasons = Vec::new();
    for theirs in recorded {
        if ours.next_if(|(message, _)| is_message(row.log, theirs, message)).is_none() {
            let id = theirs["entry"].as_str().ok_or_else(|| format!("{theirs} is not there"))?;
            ours.next_if(|(_, entry)| entry.as_str() == id);
            let entry = row.log.entry(&id.into()).unwrap();
            let (reason, holds) =
                if may_be_left_out(entry) { (FAILED, true) } else { (LOST, lost.contains(id)) };
            reasons.retain(|known| *known != reason);
            reasons.extend(judge(false, reason, holds, entry)?);
        }
    }
    judge(ours.next().is_none(), "", false, "more messages").map(|_| reasons)
}

/// Returns the recorded entries with a call that is neither answered nor in flight, or with a
/// result without its call.
fn lost_entries<'a>(row: &Row<'_>, recorded: &[&'a Value]) -> HashSet<&'a str> {
    let message = |id: &str| match &row.log.entry(&id.into())?.kind {
        EntryKind::Message(logged) => Some(logged.message.clone()),
        _ => None,
    };
    let entries = recorded.iter().filter_map(|it| it["entry"].as_str());
    let (ids, messages): (Vec<&str>, Vec<Message>) =
        entries.filter_map(|id| Some((id, message(id)?))).unzip();
    let is_said = |message: &Message| matches!(message, Message::User { .. } | Message::Assistant { .. });
    let last_said = messages.iter().rposition(is_said);
    let pairing = Pairing::new(&messages);
    let calls =
        pairing.dangling().iter().map(|call| call.message as usize).filter(|at| Some(*at) < last_said);
    let results = pairing.orphans().iter().map(|at| *at as usize);
    calls.chain(results).map(|at| ids[at]).collect()
}

fn may_be_left_out(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Message(Logged { message, request: Some(request), .. }) => {
            let says_nothing = message.blocks().iter().all(|block| block.as_text().is_none());
            request.stop_reason.is_failure() && (says_nothing || message.calls().next().is_some())
        }
        _ => false,
    }
}

/// Returns the tokens of a recorded message that is a command kept from the model.
fn hidden_tokens(row: &Row<'_>, recorded: &Value) -> Option<u64> {
    let entry = row.log.entry(&recorded["entry"].as_str()?.into())?;
    excluded_message(entry).map(|message| estimate_tokens(&message))
}

/// Appends a compaction to the row's session; returns the model's view afterwards, and its
/// estimate.
fn after_appending(row: &Row<'_>, outcome: CompactionOutcome) -> (Context, u64) {
    let mut session = session_of(&bytes_of(row.file.unwrap()));
    if session.header().version < NEWEST_VERSION {
        let mut migrated = Vec::new();
        session.write_to(&mut migrated).unwrap();
        session = session_of(&migrated);
    }
    session.branch(&row.id("leaf").unwrap()).unwrap();
    append_compaction(&mut session, outcome, 9_000).unwrap();
    let entries = read_path(&session, session.leaf()).unwrap();
    let estimate = estimate_context(&entries.iter().collect::<Vec<_>>(), &SESSION_PRESET);
    (session.context(session.leaf()).unwrap(), estimate.tokens)
}

fn session_of(bytes: &[u8]) -> Session {
    Session::open(Box::new(MemoryStore::of_lines(bytes)), IdSource::new(5)).unwrap()
}
