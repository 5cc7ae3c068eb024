//! Composed files of each format, as outlines.

use std::fmt::Write as _;

use insta::assert_snapshot;
use wb_formats::{Segment, UsageAt, segments};
use wb_message::outline::line;
use wb_message::{Block, Message, Pairing};

use crate::support::{fixture, fixtures, open};

pub(crate) fn outline(messages: &[Message], usage: &[UsageAt]) -> String {
    let mut out = String::new();
    for (at, message) in messages.iter().enumerate() {
        let request = usage.iter().find(|request| request.at == at);
        let counted =
            request.map(|it| format!("  <- {}+{}", it.usage.prompt_tokens(), it.usage.output_tokens));
        let _ = writeln!(out, "{at:>2} {}{}", line(message), counted.unwrap_or_default());
    }
    out
}

/// Writes the outline of a file with its usage, model and notes.
pub(crate) fn outline_of(name: &str) -> String {
    let opened = open(fixture(name)).unwrap();
    let mut out = outline(&opened.messages, &opened.usage);
    let _ = writeln!(out, "{} {}", opened.format, opened.model.unwrap_or_else(|| "-".to_owned()));
    for note in opened.notes {
        let _ = writeln!(out, "{note}");
    }
    out
}

pub(crate) fn all_segments(name: &str) -> Vec<Segment> {
    segments(&mut fixture(name)).unwrap()
}

#[test]
fn one_answer_over_many_lines_is_one_message_with_its_results_behind_it() {
    assert_snapshot!(outline_of("claude-code/split.jsonl"));
}

#[test]
fn a_text_next_to_a_result_and_its_neighbours_keep_their_blocks() {
    let messages = open(fixture("claude-code/split.jsonl")).unwrap().messages;
    let signature = Some("c2ln".to_owned());
    assert_eq!(messages[1].blocks()[0], Block::Thinking { text: "both".to_owned(), signature });
    assert_eq!(messages[0].timestamp(), Some(1_767_225_600_000));
    assert!(Pairing::new(&messages).orphans().is_empty());
}

#[test]
fn what_subagents_said_is_left_apart() {
    assert_snapshot!(outline_of("claude-code/sidechain.jsonl"));
}

#[test]
fn a_subagents_own_file_is_read_as_a_conversation() {
    assert_snapshot!(outline_of("claude-code/subagent.jsonl"));
}

#[test]
fn after_a_compaction_the_digest_what_was_preserved_and_the_rest_are_seen() {
    assert_snapshot!(outline_of("claude-code/compact.jsonl"));
    let Message::CompactionSummary { tokens_before, .. } =
        open(fixture("claude-code/compact.jsonl")).unwrap().messages[0]
    else {
        panic!("no digest")
    };
    assert_eq!(tokens_before, 955);
}

#[test]
fn a_preserved_segment_is_a_chain_between_two_lines() {
    let with_segment = String::from_utf8(fixture("claude-code/compact.jsonl").to_vec()).unwrap().replace(
        r#""preservedMessages":{"anchorUuid":"c1","uuids":["u2","a2"],"allUuids":["u2","a2"]}"#,
        r#""preservedSegment":{"headUuid":"u2","anchorUuid":"b1","tailUuid":"a2"}"#,
    );
    let opened = open(with_segment.as_bytes()).unwrap();
    assert_snapshot!(outline(&opened.messages, &opened.usage));
    // The host keeps nothing if the walk from the tail does not reach the head.
    let broken = with_segment.replace(r#""tailUuid":"a2""#, r#""tailUuid":"u1""#);
    let (opened, whole) = (open(broken.as_bytes()).unwrap(), opened.messages.len());
    assert_eq!(opened.messages.len(), whole - 2, "{:?}", opened.messages);
}

#[test]
fn results_that_were_cleared_have_the_placeholder() {
    assert_snapshot!(outline_of("claude-code/microcompact.jsonl"));
}

#[test]
fn what_the_user_went_back_over_is_left_apart() {
    assert_snapshot!(outline_of("claude-code/rewound.jsonl"));
}

#[test]
fn a_web_export_without_ids_is_read_in_its_order() {
    assert_snapshot!(outline_of("claude-code/unlinked.json"));
}

#[test]
fn a_log_of_pi_gives_the_path_to_its_last_entry() {
    assert_snapshot!(outline_of("pi/tree.jsonl"));
    assert_snapshot!(outline_of("pi/compactions.jsonl"));
    assert_snapshot!(outline_of("pi/v1.jsonl"));
}

#[test]
fn a_session_of_gemini_cli_is_what_is_left_of_its_lines() {
    assert_snapshot!(outline_of("gemini-cli/session.jsonl"));
    assert_snapshot!(outline_of("gemini-cli/resumed.jsonl"));
    assert_snapshot!(outline_of("gemini-cli/old.json"));
}

#[test]
fn events_of_copilot_cli_are_read_with_the_last_system_text_and_after_a_compaction() {
    assert_snapshot!(outline_of("copilot-cli/events.jsonl"));
    assert_snapshot!(outline_of("copilot-cli/compacted.jsonl"));
}

#[test]
fn a_session_of_goose_is_what_its_model_sees() {
    assert_snapshot!(outline_of("goose/session.jsonl"));
}

#[test]
fn contents_of_gemini_are_a_request_or_a_saved_list() {
    assert_snapshot!(outline_of("gemini-contents/body.json"));
    assert_snapshot!(outline_of("gemini-contents/saved.json"));
    assert_snapshot!(outline_of("gemini-contents/array.json"));
}

#[test]
fn items_of_responses_are_answers_with_their_reasoning() {
    assert_snapshot!(outline_of("openai-responses/body.json"));
    assert_snapshot!(outline_of("openai-responses/array.json"));
}

#[test]
fn our_own_format_has_three_shapes() {
    assert_snapshot!(outline_of("native/lines.jsonl"));
    assert_snapshot!(outline_of("native/object.json"));
    assert_snapshot!(outline_of("native/array.json"));
}

#[test]
fn a_last_line_that_was_cut_off_is_skipped_and_noted_in_every_format() {
    for (name, noted) in [
        ("claude-code/truncated.jsonl", "truncated last line skipped: line 2"),
        ("pi/truncated.jsonl", "truncated last line skipped: line 2"),
        ("native/truncated.jsonl", "truncated last line skipped: line 2"),
    ] {
        let notes = open(fixture(name)).unwrap().notes;
        assert_eq!(notes.iter().map(ToString::to_string).collect::<Vec<_>>(), [noted], "{name}");
    }
}

#[test]
fn segments_show_what_the_model_saw() {
    let outline_of = |name| {
        let each = all_segments(name);
        each.iter().map(|segment| outline(&segment.messages, &segment.usage)).collect::<Vec<_>>().join("--\n")
    };
    assert_snapshot!(outline_of("claude-code/compact.jsonl"));
    assert_snapshot!(outline_of("claude-code/microcompact.jsonl"));
    assert_snapshot!(outline_of("pi/compactions.jsonl"));
}

#[test]
fn the_last_segment_is_what_is_opened_and_usage_names_answers() {
    for (name, bytes) in fixtures() {
        let Ok(opened) = open(bytes) else { continue };
        let last = all_segments(name).pop().unwrap();
        assert_eq!((last.messages, last.usage), (opened.messages.clone(), opened.usage.clone()), "{name}");
        for request in opened.usage {
            assert!(matches!(opened.messages[request.at], Message::Assistant { .. }), "{name}");
        }
    }
}
