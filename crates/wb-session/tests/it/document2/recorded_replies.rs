//! Recorded answers to replies of every kind, and the options of a request for a summary.

use futures::executor::block_on;
use serde_json::{Value, json};
use wb_budget::{ModelCard, Usage};
use wb_invoke::Emission;
use wb_invoke::Reply;
use wb_invoke::StopReason;
use wb_invoke::ThinkingLevel;
use wb_invoke::scripted::Script;
use wb_invoke::scripted::ScriptedInvoker;
use wb_message::{Block, Message};
use wb_session::{
    BranchSummaryOpts, CompactOpts, CompactionOutcome, SummarySource, SummaryTask, append_compaction,
    compact, generate_branch_summary,
};
use wb_session::{CompactionPreparation, FileOps, SessionError};
use wb_summarize::NoDigest;
use wb_testkit::session_rows::{NEWEST, OLDER, Row, Verdict, judge, replay};

use crate::document2::recorded_requests::{RecordedRequest, heading, without_headings};
use crate::talks::{TALK, append, empty_session, prepared, read_path, session_of};

const REFUSED: &str = "where theirs is an error the local digest stands in, and the other half is asked for";
const TAKEN: &str = "a reply that is empty or was broken off is not taken";
const JOINED: &str = "two texts of one reply follow each other without a line between";
const NO_ENTRY: &str = "an entry to keep that is not there is refused where the compaction is appended";
const CAPPED: &str = "a reply is not longer than the model's own limit";
const ALWAYS_HIGH: &str = "a summary is always thought about much";

/// Builds the recorded reply of a kind.
fn reply(kind: &str, task: SummaryTask) -> Script {
    let text = |text: &str| [heading(task), text].concat();
    match kind {
        "two_text_blocks" => {
            let blocks = vec![Block::text(text("A")), Block::text("B")];
            let (model, usage, stop) = ("m".to_owned(), Usage::EMPTY, StopReason::Complete);
            Script::Emit(vec![Emission::Done { reply: Reply { model, blocks, usage, stop } }])
        }
        "empty" => Script::says(""),
        "error" => Script::fails("boom"),
        "error_no_msg" => Script::stops(text("E"), StopReason::Error),
        "length" => Script::stops(text("L"), StopReason::MaxOutput),
        "aborted" => Script::stops(text("LLM-REPLY-1"), StopReason::Aborted),
        "tool_call" => Script::stops(text("T"), StopReason::ToolCalls),
        other => panic!("{other}"),
    }
}

/// Returns why the reply of a kind is not taken.
fn refusal(kind: &str) -> Option<NoDigest> {
    let failed = |why: &str| Some(NoDigest::Failed(why.to_owned()));
    match kind {
        "empty" => Some(NoDigest::Blank),
        "error" => failed("boom"),
        "error_no_msg" => failed("the reply ended in an error"),
        "length" => Some(NoDigest::Truncated),
        "aborted" => Some(NoDigest::Cancelled),
        "tool_call" => Some(NoDigest::CalledTools),
        _ => None,
    }
}

/// A recorded message has one word; ours repeats it, so that a summary can be lighter.
fn heavy(word: &str) -> String {
    [word, " "].concat().repeat(500)
}

fn preparation_of(variant: &Value) -> CompactionPreparation {
    let mut preparation = prepared(&session_of(TALK).0, 5);
    let message = |key: &str, word: &str| match variant[key].as_array() {
        Some(_) => Vec::new(),
        None => vec![Message::user(heavy(word))],
    };
    preparation.is_split_turn = variant["isSplitTurn"] == true;
    preparation.messages_to_summarize = message("messagesToSummarize", "hello");
    preparation.turn_prefix_messages =
        if preparation.is_split_turn { message("turnPrefixMessages", "prefix") } else { Vec::new() };
    preparation.previous_summary = variant["previousSummary"].as_str().map(str::to_owned);
    if let Some(id) = variant["firstKeptEntryId"].as_str() {
        preparation.first_kept_entry_id = id.into();
    }
    preparation.file_ops = FileOps::default();
    preparation.file_ops.note_read("r");
    preparation.file_ops.note_written("w");
    preparation
}

fn requests(preparation: &CompactionPreparation) -> Vec<RecordedRequest<'_>> {
    let history = (SummaryTask::History, &preparation.messages_to_summarize);
    let prefix = (SummaryTask::TurnPrefix, &preparation.turn_prefix_messages);
    let previous = preparation.previous_summary.as_deref();
    let asked = [history, prefix].into_iter().filter(|(_, messages)| !messages.is_empty());
    let previous = |task| previous.filter(|_| task == SummaryTask::History);
    asked
        .map(|(task, messages)| RecordedRequest {
            task,
            messages,
            previous: previous(task),
            focus: None,
            replaces: false,
        })
        .collect()
}

/// We follow the newest version in its requests and in merging replies; none of its errors ends a
/// compaction.
#[test]
fn replies_to_a_compaction_are_taken_or_refused_as_recorded() {
    let reasons = [(REFUSED, 28), (TAKEN, 14), (JOINED, 6), (NO_ENTRY, 1)];
    replay("compact_outcome", NEWEST, (49, 0), &reasons, |row| {
        let kind = row.params["llm"].as_str().unwrap();
        let preparation = preparation_of(&row.params["variant"]);
        let asked = requests(&preparation);
        let invoker = ScriptedInvoker::new(asked.iter().map(|asked| reply(kind, asked.task)));
        let run = compact(preparation.clone(), Some(&invoker), CompactOpts::default());
        let outcome = block_on(run).map_err(|error| error.to_string())?;
        compare_requests(&row, &asked, &invoker.prompts())?;
        assert_eq!(outcome.details, Some(json!({"readFiles": ["r"], "modifiedFiles": ["w"]})));
        match refusal(kind) {
            None => compare_taken(&row, outcome),
            Some(why) => compare_refused(&row, &outcome, why),
        }
    });
}

/// Our side makes all their requests, and none after an error.
fn compare_requests(row: &Row<'_>, asked: &[RecordedRequest<'_>], prompts: &[String]) -> Verdict {
    let recorded = row.output["requests"].as_array().unwrap();
    assert_eq!(asked.len(), prompts.len());
    assert!(recorded.len() == asked.len() || (recorded.len() < asked.len() && is_error(row)));
    for ((asked, prompt), recorded) in asked.iter().zip(prompts).zip(recorded) {
        let recorded = recorded["prompt"].as_str().unwrap();
        let recorded = ["hello", "prefix"].iter().fold(recorded.to_owned(), |text, word| {
            text.replace(&format!("[User]: {word}\n"), &format!("[User]: {}\n", heavy(word)))
        });
        judge(asked.compare(row, &recorded.into(), prompt, &[])?.is_empty(), "", false, prompt)?;
    }
    Ok(Vec::new())
}

fn is_error(row: &Row<'_>) -> bool {
    row.output["result"]["$throws"].is_string()
}

/// Compares cases where our side took the replies.
fn compare_taken(row: &Row<'_>, outcome: CompactionOutcome) -> Verdict {
    assert_eq!(outcome.source, SummarySource::Model);
    let Some(theirs) = row.output["result"]["summary"].as_str() else {
        return judge(false, NO_ENTRY, is_refused_without_entry(row, outcome), "taken");
    };
    let ours = without_headings(&outcome.summary);
    judge(ours == theirs, JOINED, ours == theirs.replace("A\nB", "AB"), (ours, theirs))
}

fn is_refused_without_entry(row: &Row<'_>, outcome: CompactionOutcome) -> bool {
    let (mut session, _) = session_of(TALK);
    let refused = append_compaction(&mut session, outcome, 5);
    row.params["variant"]["firstKeptEntryId"] == ""
        && matches!(refused, Err(SessionError::BadBoundary { .. }))
}

/// Compares cases where our side took no reply: it has the local digest, theirs has an error or an
/// unusable text.
fn compare_refused(row: &Row<'_>, outcome: &CompactionOutcome, why: NoDigest) -> Verdict {
    let variant = &row.params["variant"];
    let reason = if [NoDigest::Blank, NoDigest::Cancelled].contains(&why) { TAKEN } else { REFUSED };
    let start = match variant["previousSummary"].as_str() {
        Some(_) if variant["messagesToSummarize"].is_null() => "# Objective\n- Latest request: hello hello",
        None if variant["messagesToSummarize"].is_null() => "# Objective\n- First request: hello hello",
        Some(previous) => previous,
        None => {
            "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\n# Objective\n- First request: prefix"
        }
    };
    // A verbatim first request may weigh as much as the history; the digest then covers all
    // messages.
    let alone = ["# Objective\n- First request: prefix", "# Objective\n- Latest request: prefix"];
    let is_alone = alone.iter().any(|start| outcome.summary.starts_with(start));
    let tags = "\n\n<read-files>\nr\n</read-files>\n\n<modified-files>\nw\n</modified-files>";
    let is_local = outcome.source == SummarySource::Local(why)
        && (outcome.summary.starts_with(start) || is_alone)
        && variant["previousSummary"].as_str().is_none_or(|previous| outcome.summary.contains(previous))
        && outcome.summary.ends_with(tags);
    let is_expected = is_error(row) == (reason == REFUSED || variant["firstKeptEntryId"] == "");
    judge(false, reason, is_local && is_expected, outcome)
}

#[test]
fn replies_about_a_branch_are_taken_or_refused_as_recorded() {
    let reasons = [(REFUSED, 4), (TAKEN, 2), (JOINED, 1)];
    replay("branch_outcome", NEWEST, (7, 0), &reasons, |row| {
        let mut session = empty_session();
        append(&mut session, vec![Message::user(heavy("hello"))]);
        let entries = read_path(&session, session.leaf()).unwrap();
        let kind = row.params["llm"].as_str().unwrap();
        let invoker = ScriptedInvoker::new([reply(kind, SummaryTask::Branch)]);
        let entries: Vec<_> = entries.iter().collect();
        let run = generate_branch_summary(&entries, Some(&invoker), BranchSummaryOpts::default());
        let outcome = block_on(run).map_err(|error| error.to_string())?;
        assert_eq!(outcome.details, Some(json!({"readFiles": [], "modifiedFiles": []})));
        let theirs = row.output["summary"].as_str().map(|text| text.replace("{{BRANCH_PREAMBLE}}", ""));
        let ours = without_headings(&outcome.summary);
        match (refusal(kind), theirs) {
            (None, Some(theirs)) => {
                judge(ours == theirs, JOINED, ours == theirs.replace("A\nB", "AB"), (ours, theirs))
            }
            (Some(why), theirs) => {
                let is_local = outcome.source == SummarySource::Local(why)
                    && outcome.summary.starts_with("# Objective\n- First request: hello hello");
                let is_error = theirs.is_none() && row.output["error"].is_string();
                judge(false, if is_error { REFUSED } else { TAKEN }, is_local, outcome)
            }
            (None, None) => Err("theirs took none".to_owned()),
        }
    });
}

/// Returns the caps and the levels of thinking of both requests, the history's first.
fn options(row: &Row<'_>) -> Vec<(Option<u64>, Option<ThinkingLevel>)> {
    let mut preparation = preparation_of(&json!({"isSplitTurn": true}));
    preparation.settings.reserve_tokens = row.count("reserveTokens");
    let card =
        ModelCard { max_output_tokens: row.count("modelMaxTokens"), ..ModelCard::with_window(1_000_000) };
    let replies =
        requests(&preparation).into_iter().map(|asked| Script::says([heading(asked.task), "x"].concat()));
    let invoker = ScriptedInvoker::new(replies.collect::<Vec<_>>()).with_card(card);
    block_on(compact(preparation.clone(), Some(&invoker), CompactOpts::default())).unwrap();
    invoker.requests().into_iter().map(|(_, options)| (options.max_output_tokens, options.thinking)).collect()
}

/// The caps are those of the older version; the newest version leaves them to the model.
#[test]
fn replies_are_capped_as_at_the_time_of_the_older() {
    replay("request_options", OLDER, (7, 5), &[(CAPPED, 2)], |row| {
        let theirs: Vec<_> =
            row.output.as_array().unwrap().iter().map(|it| it["maxTokens"].as_u64()).collect();
        let ours: Vec<_> = options(&row).into_iter().map(|(cap, _)| cap).collect();
        let most = row.count("modelMaxTokens");
        let capped: Vec<_> = theirs.iter().map(|cap| cap.map(|cap| cap.min(most))).collect();
        judge(ours == theirs, CAPPED, ours == capped, (&ours, &theirs))
    });
}

/// The newest version thinks about both requests alike, as its session does; in the older version
/// it was much, but for the start of a turn.
#[test]
fn both_requests_are_thought_about_alike() {
    let level = |options: &Value| options["reasoning"].as_str().map(str::to_owned);
    replay("request_options", NEWEST, (7, 1), &[(ALWAYS_HIGH, 6)], |row| {
        let ours: Vec<_> = options(&row).into_iter().map(|(_, thinking)| thinking).collect();
        assert_eq!(ours, [Some(ThinkingLevel::High); 2]);
        let theirs: Vec<_> = row.output.as_array().unwrap().iter().map(level).collect();
        let is_same = theirs.iter().all(|level| level.as_deref() == Some("high"));
        let is_less = row.params["reasoningModel"] == false || row.params["thinkingLevel"] != "high";
        judge(is_same, ALWAYS_HIGH, is_less && theirs[0] == theirs[1], theirs)
    });
    replay("request_options", OLDER, (7, 7), &[], |row| {
        let history = level(&row.output[0]);
        judge(history.as_deref() == Some("high"), "", false, history)
    });
}
