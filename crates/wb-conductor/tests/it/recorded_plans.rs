//! What the published planner hands to its summarizer, as it was recorded.

use wb_budget::{ContextWindowPolicy, compat};
use wb_summarize::compat::{extract_previous_summary, render_transcript};
use wb_testkit::vectors::policy::{is_text, rows};

#[test]
fn every_recorded_plan_has_the_same_transcript_and_previous_summary() {
    let all = rows("aw.plan");
    for row in &all {
        let messages = row.messages();
        let policy: ContextWindowPolicy = serde_json::from_value(row.input["policy"].clone()).unwrap();
        let Some(plan) = compat::plan_compaction(&messages, &policy) else {
            assert!(row.output.is_null(), "{} {}", row.id, row.tag);
            continue;
        };
        let transcript = render_transcript(&messages[..=plan.boundary]);
        assert!(is_text(&transcript, &row.output["transcript"]), "{} {}", row.id, row.tag);
        let (previous, recorded) = (extract_previous_summary(&messages), &row.output["previous_summary"]);
        let same = previous.map_or(recorded.is_null(), |previous| is_text(&previous, recorded));
        assert!(same, "{} {}", row.id, row.tag);
    }
    assert_eq!(all.len(), 16);
}
