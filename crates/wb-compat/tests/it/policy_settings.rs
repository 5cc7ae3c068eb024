//! Document 4: the recorded settings, and the examples of the document.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wb_compat::policy::{
    CompactionConfig, CompactionExecutionMode, CompactionRawRetention, ContextCompactionMode,
    ContextTransformConfig, ContextWindowPolicy, InferenceEnd, StopReason, TruncationState, Visibility,
    continuation_message, effective_policy, should_retry,
};
use wb_testkit::vectors::policy::rows;

use super::thread::{count, policy};

/// Reads a setting and returns its JSON in the recorded form, without prompts.
fn read<T: DeserializeOwned + Serialize>(json: &Value) -> Value {
    match serde_json::from_value::<T>(json.clone()) {
        Err(error) => json!({ "err": error.to_string() }),
        Ok(value) => {
            let mut json = serde_json::to_value(value).unwrap();
            json.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_prompt"));
            json!({ "ok": json })
        }
    }
}

#[test]
fn every_recorded_setting_is_read_or_refused_as_it_was() {
    let rows = rows("aw.serde");
    for row in &rows {
        let json = &row.input["json"];
        let answer = match row.input["type"].as_str().unwrap() {
            "ContextWindowPolicy" => read::<ContextWindowPolicy>(json),
            "CompactionConfig" => read::<CompactionConfig>(json),
            "ContextTransformConfig" => read::<ContextTransformConfig>(json),
            other => panic!("unknown type {other}"),
        };
        assert_eq!(answer, row.output, "{} {}", row.id, row.tag);
    }
    assert_eq!(rows.len(), 5);
}

#[test]
fn every_recorded_effective_policy_is_equal() {
    let rows = rows("aw.effective_policy");
    for row in &rows {
        let figure = |key: &str| Some(&row.input[key]).filter(|value| !value.is_null()).map(count);
        let effective = effective_policy(&policy(row), figure("context_window"), figure("model_max_output"));
        assert_eq!(serde_json::to_value(effective).unwrap(), row.output, "{} {}", row.id, row.tag);
    }
    assert_eq!(rows.len(), 5);
}

fn ends(recorded: &Value) -> InferenceEnd {
    let stop_reason = match recorded[0].as_str().unwrap() {
        "end" => Some(StopReason::EndTurn),
        "max" => Some(StopReason::MaxTokens),
        "tool" => Some(StopReason::ToolUse),
        "seq" => Some(StopReason::StopSequence),
        "none" => None,
        other => panic!("unknown stop {other}"),
    };
    InferenceEnd {
        stop_reason,
        text: recorded[1].as_str().unwrap().to_owned(),
        has_incomplete_tool_calls: recorded[2].as_bool().unwrap(),
        n_tool_calls: count(&recorded[3]),
    }
}

#[test]
fn every_recorded_recovery_retries_equally() {
    let rows = rows("aw.recovery");
    for row in &rows {
        let (mut state, max) = (TruncationState::default(), count(&row.input["max"]));
        let answers = row.input["results"].as_array().unwrap().iter().map(ends);
        let retry: Vec<bool> = answers.map(|end| should_retry(&end, &mut state, max)).collect();
        assert_eq!(row.output["retry"], json!(retry), "{}", row.tag);
        assert_eq!(row.output["retries_used"], state.truncation_retries, "{}", row.tag);
        let message = continuation_message("c");
        assert_eq!(message.visibility, Visibility::Internal);
        assert_eq!(row.output["continuation"]["role"], "u");
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn the_documents_examples_are_built_by_literal() {
    let policy = ContextWindowPolicy {
        max_context_tokens: 200_000,
        max_output_tokens: 16_384,
        min_recent_messages: 10,
        enable_prompt_cache: true,
        autocompact_threshold: Some(100_000),
        compaction_mode: ContextCompactionMode::KeepRecentRawSuffix,
        compaction_raw_suffix_messages: 2,
    };
    assert_eq!(ContextWindowPolicy { autocompact_threshold: None, ..policy }, ContextWindowPolicy::default());
    assert_eq!(policy.available_tokens(3_616), 200_000 - 16_384 - 3_616);
    let config = CompactionConfig {
        execution_mode: CompactionExecutionMode::Background,
        summarizer_system_prompt:
            "You are a conversation summarizer. Preserve all key facts, decisions, tool results, \
                                   and action items. Be concise but complete."
                .into(),
        summarizer_user_prompt: "Update the cumulative conversation summary.\n\n<existing-summary>\n\
                                 {previous_summary}\n</existing-summary>\n\n<new-conversation>\n{messages}\n\
                                 </new-conversation>"
            .into(),
        summary_max_tokens: Some(1024),
        summary_model: Some("claude-3-haiku".into()),
        min_savings_ratio: 0.3,
        raw_retention: CompactionRawRetention::PreserveDurable,
    };
    let defaults = CompactionConfig { summary_max_tokens: None, summary_model: None, ..config };
    assert_eq!(defaults, CompactionConfig::default());
    assert!(defaults.user_prompt("talk", Some(" old {messages} ")).contains("\nold talk\n"), "inserted");
}
