//! Recorded answers to summarizing a branch that is left; the newest version is followed.

use futures::executor::block_on;
use serde_json::Value;
use wb_budget::ModelCard;
use wb_invoke::scripted::ScriptedInvoker;
use wb_message::Message;
use wb_session::{
    BranchSummaryOpts, BranchSummaryOutcome, CompactError, SummarySource, SummaryTask,
    generate_branch_summary,
};
use wb_session::{
    BranchSummarySettings, Entry, FileLists, SESSION_PRESET, collect_entries_for_branch_summary,
    prepare_branch_entries, split_file_tags,
};
use wb_summarize::chunking::Room;
use wb_testkit::session_rows::{
    ALL_FILES, JSON, NEWEST, Row, Verdict, branch_files_reason, excluded_message, judge, replay,
};

use crate::document2::recorded_requests::{RecordedRequest, THINKING, says, without_headings};

const FITTED: &str = "what does not fit into the model's window is shortened or goes in several requests";
const NOTHING: &str = "a branch that says nothing gets no summary, not one that says so";
const NO_ROOM: &str = "of a branch whose newest message has no room that message is summarized";

/// The request, the use of the reply, and the files.
#[test]
fn branches_are_summarized_as_recorded() {
    let reasons = [(ALL_FILES, 255), (FITTED, 149), (NO_ROOM, 8), (NOTHING, 1)];
    replay("branch_summary", NEWEST, (1227, 905), &reasons, |row| {
        let mut reasons = compare_row(&row)?;
        reasons.retain(|reason| ![THINKING, JSON].contains(reason));
        Ok(reasons)
    });
}

/// The text of each recorded request is what our messages give when they are written as recorded.
#[test]
fn requests_for_branches_show_the_recorded_conversations() {
    let reasons = [(THINKING, 720), (FITTED, 149), (JSON, 23), (NO_ROOM, 8), (NOTHING, 1)];
    replay("branch_summary", NEWEST, (1227, 342), &reasons, |row| {
        let mut reasons = compare_row(&row)?;
        reasons.retain(|reason| *reason != ALL_FILES);
        Ok(reasons)
    });
}

fn compare_row(row: &Row<'_>) -> Verdict {
    let (old, target) = (row.id("oldLeaf"), row.id("target").unwrap());
    let left = collect_entries_for_branch_summary(row.log, old.as_ref(), &target).unwrap();
    let unseen: Vec<_> = left.entries.iter().filter_map(|entry| excluded_message(entry)).collect();
    compare(row, &left.entries, &unseen)
}

/// Summarizes with the recorded reply; returns the prompts too.
fn run(
    row: &Row<'_>,
    entries: &[&Entry],
    card: ModelCard,
) -> (Result<BranchSummaryOutcome, CompactError>, Vec<String>) {
    let reply = says(SummaryTask::Branch, "LLM-REPLY-1");
    let invoker = ScriptedInvoker::new([reply]).with_card(card);
    let settings = BranchSummarySettings { reserve_tokens: reserve(row) };
    let opts = BranchSummaryOpts {
        custom_instructions: row.params["customInstructions"].as_str().map(str::to_owned),
        replace_instructions: row.params["replaceInstructions"] == true,
        settings,
        ..BranchSummaryOpts::default()
    };
    (block_on(generate_branch_summary(entries, Some(&invoker), opts)), invoker.prompts())
}

fn reserve(row: &Row<'_>) -> u64 {
    let default = BranchSummarySettings::default().reserve_tokens;
    row.params["reserveTokens"].as_u64().unwrap_or(default)
}

fn compare(row: &Row<'_>, entries: &[&Entry], unseen: &[Message]) -> Verdict {
    let card = ModelCard::with_window(row.count("contextWindow"));
    let window = if card.context_window == 0 { 128_000 } else { card.context_window };
    let messages = prepare_branch_entries(entries, Some(window - reserve(row)), &SESSION_PRESET).messages;
    let requests = row.output["requests"].as_array().unwrap();
    let (result, prompts) = run(row, entries, card.clone());
    if messages.is_empty() {
        let is_nothing = requests.is_empty() && row.output["result"]["summary"] == "No content to summarize";
        let is_empty = prepare_branch_entries(entries, None, &SESSION_PRESET).messages.is_empty();
        return match &result {
            Err(CompactError::Nothing) => judge(false, NOTHING, is_nothing && is_empty, result),
            _ => judge(false, NO_ROOM, is_nothing && !is_empty && result.is_ok(), result),
        };
    }
    let outcome = result.map_err(|error| error.to_string())?;
    let (focus, replaces) =
        (row.params["customInstructions"].as_str(), row.params["replaceInstructions"] == true);
    let replaces = replaces && focus.is_some();
    let asked =
        RecordedRequest { task: SummaryTask::Branch, messages: &messages, previous: None, focus, replaces };
    let max_bytes = Room::new(Some(&card), 2_048).transcript_bytes(0);
    let mut reasons = match &prompts[..] {
        [prompt] if asked.outline().len() <= max_bytes => {
            asked.compare(row, &requests[0]["prompt"], prompt, unseen)?
        }
        _ => judge(false, FITTED, asked.outline().len() > max_bytes, prompts.len())?,
    };
    reasons.extend(compare_outcome(&row.output["result"], &outcome, entries)?);
    Ok(reasons)
}

fn compare_outcome(theirs: &Value, ours: &BranchSummaryOutcome, entries: &[&Entry]) -> Verdict {
    let lists: FileLists = serde_json::from_value(ours.details.clone().unwrap()).unwrap();
    let reasons = branch_files_reason(theirs, entries, &lists)?;
    let text = without_headings(&ours.summary);
    let recorded = theirs["summary"].as_str().unwrap().strip_prefix("{{BRANCH_PREAMBLE}}").unwrap();
    let is_same = match &reasons[..] {
        [] => text == recorded,
        _ => split_file_tags(&text).0 == split_file_tags(recorded).0 && split_file_tags(&text).1 == lists,
    };
    judge(is_same && ours.source == SummarySource::Model, "", false, (text, recorded, &ours.source))?;
    Ok(reasons)
}
