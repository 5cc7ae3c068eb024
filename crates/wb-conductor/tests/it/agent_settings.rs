//! An agent's settings as people write them.

use wb_conductor::{AgentSettings, Ladder, Rung, SettingsError};

#[test]
fn nothing_said_is_every_default() {
    assert_eq!(AgentSettings::from_json("{}").unwrap(), AgentSettings::default());
}

#[test]
fn settings_survive_a_trip_through_json() {
    let settings = AgentSettings::default();
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(AgentSettings::from_json(&json).unwrap(), settings);
}

#[test]
fn a_part_of_any_section_is_filled_up() {
    let json = r#"{
        "context_policy": {"autocompact_threshold": 100000, "compaction_mode": "compact_to_safe_frontier"},
        "three_level": {"keep_recent": 4},
        "sections": {"compaction": {"mode": "off"}, "context_transform": {"artifact_compaction": {"preview_max_lines": 8}}}
    }"#;
    let settings = AgentSettings::from_json(json).unwrap();
    assert_eq!(settings.context_policy.autocompact_threshold, Some(100_000));
    assert_eq!(settings.context_policy.max_context_tokens, 200_000);
    assert_eq!((settings.three_level.keep_recent, settings.three_level.keep_first), (4, 2));
    let artifact = settings.sections.context_transform.artifact_compaction;
    assert_eq!((artifact.preview_max_lines, artifact.threshold_tokens), (8, 2048));
    let default = wb_summarize::CompactionConfig::default();
    assert_eq!(settings.sections.compaction.summarizer_user_prompt, default.summarizer_user_prompt);
}

#[test]
fn the_order_of_a_ladder_is_data() {
    let json = r#"{"ladder": [{"step": "truncate", "min_recent_messages": 3}, {"step": "repair"}]}"#;
    let rungs = vec![Rung::Truncate { min_recent_messages: 3 }, Rung::Repair];
    assert_eq!(AgentSettings::from_json(json).unwrap().ladder, Ladder { rungs });
}

/// Returns what is said of refused settings.
fn refused(json: &str) -> String {
    AgentSettings::from_json(json).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_a_wrong_type_and_a_bad_range_are_refused_by_name() {
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
        (r#"{"ladder": [{"step": "artifact", "threshold_tokens": 0}]}"#, "ladder[0].threshold_tokens is 0"),
    ];
    for (json, why) in ranges {
        let told = refused(json);
        assert!(told.starts_with(why), "{told}");
    }
    for step in ["condense", "preview", "repair"] {
        let told = refused(&format!(r#"{{"ladder": [{{"step": "{step}", "max_lines": 3}}]}}"#));
        assert_eq!(told, "ladder[0]: unknown field `max_lines`");
    }
    assert!(matches!(AgentSettings::from_json("{"), Err(SettingsError::Json(_))));
}

#[test]
fn the_recorded_settings_of_a_request_are_read_the_same_and_a_zero_is_refused_by_the_same_key() {
    let rows = wb_testkit::vectors::policy::rows("aw.serde");
    let transforms: Vec<_> =
        rows.iter().filter(|row| row.input["type"] == "ContextTransformConfig").collect();
    assert_eq!(transforms.len(), 2);
    for row in transforms {
        let json = serde_json::json!({ "sections": { "context_transform": row.input["json"] } }).to_string();
        match (AgentSettings::from_json(&json), row.output["err"].as_str()) {
            (Ok(settings), None) => {
                let ours = serde_json::to_value(settings.sections.context_transform).unwrap();
                assert_eq!(ours, row.output["ok"], "{}", row.tag);
            }
            (Err(error), Some(recorded)) => {
                let key = recorded.split(' ').next().and_then(|path| path.split('.').next_back()).unwrap();
                assert!(error.to_string().contains(key), "{error} and {recorded}");
            }
            (ours, recorded) => panic!("{}: {ours:?} and {recorded:?}", row.tag),
        }
    }
}

/// The schema in the documentation is that of the code; `cargo xtask schema` writes it anew.
#[cfg(feature = "schema")]
#[test]
fn the_schema_in_the_documentation_is_up_to_date() {
    let kept: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/reference/settings.schema.json")).unwrap();
    assert_eq!(kept, schemars::schema_for!(AgentSettings).to_value());
}
