//! An agent's settings as people write them, and the effect of each key.

use std::sync::Arc;

use serde_json::json;
use wb_budget::{ModelCard, Usage};
use wb_conductor::{AgentSettings, CondenseOpts, ReplyDraft, SettingsError, compact_locally};
use wb_invoke::StopReason;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::REMOVED_IMAGE;
use wb_message::{Block, Message};
use wb_testkit::script;

use crate::support::good_reply;

#[test]
fn empty_settings_are_the_defaults() {
    assert_eq!(AgentSettings::from_json("{}").unwrap(), AgentSettings::default());
}

#[test]
fn settings_survive_a_trip_through_json() {
    let settings = AgentSettings::default();
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(AgentSettings::from_json(&json).unwrap(), settings);
}

#[test]
fn an_agents_file_is_read_under_a_key_and_returns_unknown_keys() {
    let file = r#"{
        "editor": {"tabs": 2},
        "agent": {"context": {
            "context_policy": {"autocompact_threshold": 100000, "colour": "red"},
            "sections": {"compaction": {"summary_max_tokens": 700, "prompt": "x"}},
            "three": 3
        }}
    }"#;
    let (settings, unknown) = AgentSettings::from_file(file, "agent.context").unwrap();
    assert_eq!(settings.context_policy.autocompact_threshold, Some(100_000));
    assert_eq!(settings.sections.compaction.summary_max_tokens, Some(700));
    assert_eq!(unknown, ["context_policy.colour", "sections.compaction.prompt", "three"]);
    let missing = AgentSettings::from_file(file, "agent.ctx").unwrap_err();
    assert_eq!(missing.to_string(), "there is no key `agent.ctx`");
}

/// Returns the message about refused settings.
fn refused(json: &str) -> String {
    AgentSettings::from_json(json).unwrap_err().to_string()
}

#[test]
fn unknown_keys_wrong_types_and_bad_ranges_are_refused_by_name() {
    let unknown = refused(r#"{"sections": {"compaction": {"execution_mode": "off"}}}"#);
    assert!(unknown.contains("unknown field `execution_mode`") && unknown.contains("line 1"), "{unknown}");
    let typed = refused(r#"{"context_policy": {"max_context_tokens": "many"}}"#);
    assert!(typed.contains("invalid type"), "{typed}");
    let ranges = [
        (r#"{"budget": {"trigger_ratio": 2.0}}"#, "budget: trigger ratio 2"),
        (r#"{"context_policy": {"max_context_tokens": 0}}"#, "context_policy: max_context_tokens is 0"),
        (r#"{"sections": {"compaction": {"min_savings_ratio": -0.1}}}"#, "sections.compaction: "),
        (
            r#"{"sections": {"context_transform": {"artifact_compaction": {"preview_max_chars": 0}}}}"#,
            "sections.context_transform.artifact_compaction.preview_max_chars is 0",
        ),
        (r#"{"pipeline": ["digests"]}"#, "pipeline: step 1: unknown step `digests`"),
        (r#"{"pipeline": "best"}"#, "pipeline: unknown preset `best` (available: window-budget"),
        (
            r#"{"sections": {"compaction": {"summarizer_user_prompt": "Be short."}}}"#,
            "sections.compaction: summarizer_user_prompt holds {messages} 0 times; it must hold it once",
        ),
    ];
    for (json, expected) in ranges {
        assert!(refused(json).starts_with(expected), "{}", refused(json));
    }
}

fn session() -> Vec<Message> {
    script("u\"port it\" [u*200 a*500:read(src/a.rs) t*600 a*20]x20 u\"and now?\"")
}

#[test]
fn images_of_older_results_go_as_the_settings_say() {
    let said = |policy: &str| {
        let sections = json!({ "context_transform": { "images": policy } });
        let json =
            json!({ "context_policy": { "max_output_tokens": 1000 }, "sections": sections }).to_string();
        let settings = AgentSettings::from_json(&json).unwrap();
        let mut context = settings.context(&ModelCard::with_window(12_000), None).unwrap();
        let mut messages = script("u [a:bash t]x10 a u");
        for message in &mut messages {
            if let Message::ToolResult { content, .. } = message {
                *content = vec![Block::image("image/png", "iVBORw0K")];
            }
        }
        let _ = context.before_request(&mut messages);
        messages[2].blocks().to_vec()
    };
    assert_eq!(said("marker"), [Block::text(REMOVED_IMAGE)]);
    assert_eq!(said("drop"), said("marker"), "a result says something");
    assert!(refused(r#"{"sections": {"context_transform": {"images": "hide"}}}"#).contains("`marker`"));
}

#[tokio::test]
async fn one_configuration_makes_a_running_agent() -> Result<(), SettingsError> {
    let json = r#"{
        "budget": {"keep_recent": 2000},
        "context_policy": {
            "max_context_tokens": 60000, "max_output_tokens": 4000, "autocompact_threshold": 8000,
            "compaction_raw_suffix_messages": 4
        },
        "sections": {
            "compaction": {"summary_max_tokens": 600, "summary_model": "small", "summarizer_system_prompt": "Be short."},
            "context_transform": {"artifact_compaction": {"threshold_tokens": 150, "preview_max_lines": 4}}
        },
        "max_continuation_retries": 1
    }"#;
    let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("port it"))]));
    let settings = AgentSettings::from_json(json)?;
    let mut context = settings.context(&ModelCard::with_window(200_000), Some(invoker.clone()))?;
    assert_eq!(context.budget().unwrap().limit, 42_000, "(60 000 − 4 000) × 0.75");

    // Above the threshold a digest is asked for while the request goes out; the next one has it.
    let mut messages = session();
    assert!(context.before_request(&mut messages).is_empty());
    assert!(context.has_prompt_cache(), "the cache is on by default");
    messages.push(Message::assistant("Ported."));
    context.after_response(&messages, &Usage::EMPTY);
    context.wait().await;
    let [report] = &context.before_request(&mut messages)[..] else { panic!("the digest is there") };
    assert!(report.digest_tokens > 0 && report.digest_tokens <= 600, "{report}");
    assert!(!report.previewed.is_empty() || report.folded > 70, "{report}");
    let (conversation, options) = &invoker.requests()[0];
    assert_eq!(
        (options.model.as_deref(), conversation.system.as_deref()),
        (Some("small"), Some("Be short."))
    );
    let kept = &messages[messages.len() - 2..];
    assert_eq!(kept, [session().pop().unwrap(), Message::assistant("Ported.")]);

    let cut =
        ReplyDraft { text: "and then".into(), stop: Some(StopReason::MaxOutput), ..ReplyDraft::default() };
    assert!(context.continuation(&cut).is_some());
    assert!(context.continuation(&cut).is_none(), "once, as configured");
    assert_eq!(context.whole_answer("the end"), "and thenthe end");
    Ok(())
}

/// Returns the messages that are left of a session in a small window.
fn left(settings: &serde_json::Value) -> usize {
    let settings = AgentSettings::from_json(&settings.to_string()).unwrap();
    let compactor = settings.compactor(&ModelCard::with_window(24_000), None).unwrap();
    let mut messages = script("u\"port it\" [u*200 a*20]x60 u\"and now?\"");
    let opts = CondenseOpts { force: true, ..CondenseOpts::default() };
    assert!(compact_locally(&mut messages, &compactor, &opts).is_changed());
    messages.len()
}

#[test]
fn the_least_recent_messages_stay_in_each_strategy_that_can_keep_them() {
    let policy = |n: usize| {
        json!({"pipeline": "policy", "budget": {"trigger_ratio": 0.2},
               "context_policy": {"max_output_tokens": 1000, "min_recent_messages": n}})
    };
    assert!(left(&policy(100)) >= 100 && left(&policy(2)) < 100);
    let frontier = |n: usize| {
        json!({"context_policy": {"compaction_mode": "compact_to_safe_frontier", "max_output_tokens": 1000,
                                  "min_recent_messages": n}})
    };
    assert!(left(&frontier(40)) > 40 && left(&frontier(2)) < 40);
    let explicit = json!({"pipeline": [{"step": "truncate", "min_recent_messages": 2}],
        "budget": {"trigger_ratio": 0.2}, "context_policy": {"max_output_tokens": 1000, "min_recent_messages": 100}});
    assert!(left(&explicit) < 100, "the option of the step has precedence");
}

#[test]
fn a_key_that_cannot_act_is_refused_with_the_reason() {
    let no_effect =
        "context_policy.min_recent_messages has no effect here: no step `truncate`, and no digest";
    assert!(refused(r#"{"context_policy": {"min_recent_messages": 30}}"#).starts_with(no_effect));
    for json in [
        r#"{"pipeline": "policy", "context_policy": {"compaction_raw_suffix_messages": 5}}"#,
        r#"{"context_policy": {"compaction_mode": "compact_to_safe_frontier", "compaction_raw_suffix_messages": 5}}"#,
    ] {
        let no_effect =
            "context_policy.compaction_raw_suffix_messages has no effect here: no digest with a raw suffix";
        assert_eq!(refused(json), no_effect);
    }
}

#[tokio::test]
async fn compaction_mode_off_asks_no_model() -> Result<(), SettingsError> {
    let json =
        r#"{"context_policy": {"autocompact_threshold": 1000}, "sections": {"compaction": {"mode": "off"}}}"#;
    let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("x"))]));
    let mut context =
        AgentSettings::from_json(json)?.context(&ModelCard::with_window(40_000), Some(invoker.clone()))?;
    let mut messages = session();
    context.before_request(&mut messages);
    context.wait().await;
    let report =
        context.compact(&mut messages, &CondenseOpts { force: true, ..CondenseOpts::default() }).await;
    assert!(report.is_changed() && invoker.requests().is_empty(), "{report}");
    Ok(())
}
