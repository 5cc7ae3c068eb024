//! Pipelines: every preset keeps the laws, and no needless step runs.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wb_budget::{AUTO_CONDENSE_POLICY, Budget, ModelCard, TokenCounter, TokenHeuristic, WeighedTranscript};
use wb_budget::{estimate_message_tokens, estimate_tokens};
use wb_conductor::{CondenseOpts, Pipeline, Step, Unchanged, compact_locally};
use wb_message::markers::{DROPPED_MARK, Visibility, is_pinned, is_prompt, visibility};
use wb_message::{Block, Edit, Message, Origin, Pairing, last_prompt_start};
use wb_passes::{ArtifactCompactionConfig, Goal, ImagePolicy, OversizedResult, Pass, Repair, Truncate};
use wb_testkit::fit_laws::{self, Landing};
use wb_testkit::{laws, script, strategies};

use crate::support::{AUTO, flat, run, window};

/// The least number of recent messages that the policy's preset keeps here.
const MIN_RECENT: usize = 3;

fn presets() -> [Pipeline; 3] {
    let artifact =
        ArtifactCompactionConfig { threshold_tokens: 60, preview_max_chars: 120, preview_max_lines: 4 };
    let three_level = json!([
        {"step": "tool-output", "max_lines": 6}, {"step": "collapse", "keep_recent": 4}, "preview",
        {"step": "drop_middle", "keep_recent": 4}
    ]);
    [preset("ladder"), Pipeline::from_settings(&three_level).unwrap(), policy(MIN_RECENT, artifact)]
}

fn preset(name: &str) -> Pipeline {
    Pipeline::preset(name).unwrap()
}

fn policy(min_recent_messages: usize, artifact: ArtifactCompactionConfig) -> Pipeline {
    let truncate = Step::pass(Truncate { min_recent_messages });
    let artifact = Step::always(OversizedResult { config: artifact });
    Pipeline::new(vec![artifact, truncate, Step::always(Repair::default())])
}

/// Returns the tokens that a preset may always leave: the messages that must not be dropped and
/// those that share their calls, the mark of a drop, and the additions of a repair.
fn least_of_drops(messages: &[Message], which: usize) -> u64 {
    let n_recent = if which == 2 { MIN_RECENT } else { 1 };
    let counts = |message: &Message| !is_pinned(message) && visibility(message) == Visibility::All;
    let recent = (0..messages.len()).rev().filter(|&at| counts(&messages[at])).take(n_recent).last();
    let pairing = Pairing::new(messages);
    let task = messages.iter().position(is_prompt);
    let asked = [task, last_prompt_start(messages), pairing.in_flight()];
    let must_stay = |at: usize| {
        is_pinned(&messages[at]) || asked.contains(&Some(at)) || recent.is_none_or(|recent| at >= recent)
    };
    let groups = pairing.groups();
    let stays: HashSet<_> = (0..messages.len()).filter(|&at| must_stay(at)).map(|at| groups[at]).collect();
    let kept = messages.iter().zip(&groups).filter(|(_, group)| stays.contains(*group));
    let kept: u64 = kept.map(|(message, _)| estimate_message_tokens(message)).sum();
    let mark = estimate_message_tokens(&Message::user(DROPPED_MARK));
    kept + mark + [fit_laws::SMALL_DIGEST_TOKENS, 0, repair_tokens(messages)][which]
}

/// Returns the weight of the answers that a repair adds, in tokens.
fn repair_tokens(messages: &[Message]) -> u64 {
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let patch = Repair::default().plan(&WeighedTranscript::new(messages, &counter), Goal::target(0));
    let added = patch.into_iter().flat_map(|patch| patch.edits).flat_map(|edit| match edit {
        Edit::Fold { with, .. } => with,
        Edit::Body { .. } => Vec::new(),
    });
    added.map(|message| estimate_message_tokens(&message)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(wb_testkit::depth::cases(300)))]

    #[test]
    fn every_preset_keeps_the_laws_at_any_budget(
        messages in strategies::transcript(),
        which in 0..3_usize,
        limit in 0..3_000_u64,
        overhead in 0..400_u64,
    ) {
        let ladder = &presets()[which];
        let budget = flat(limit, overhead);
        let mut after = messages.clone();
        let report = run(ladder, &mut after, budget, false);
        laws::pairs_intact(&messages, &after);
        laws::pinned_untouched(&messages, &after);
        prop_assert_eq!((report.tokens_before, report.tokens_after), (estimate_tokens(&messages), estimate_tokens(&after)));
        let fits = report.tokens_after + overhead <= limit;
        let least_tokens = least_of_drops(&messages, which);
        let irreducible = report.irreducible;
        let landing = Landing { target_tokens: limit, overhead_tokens: overhead, least_tokens, irreducible };
        fit_laws::fits_or_cannot(&messages, &after, landing);
        prop_assert_eq!(report.unchanged.is_some(), report.steps.is_empty());
        prop_assert_eq!(report.unchanged.is_some(), after == messages);
        let unchanged = || (0..messages.len()).map(Origin::Kept).collect();
        let origins = report.undo.as_ref().map_or_else(unchanged, |undo| undo.origins(messages.len()));
        let mut next = 0;
        for (origin, message) in origins.iter().zip(&after) {
            let Origin::Kept(at) = *origin else { continue };
            prop_assert!(at >= next, "order");
            next = at + 1;
            let edited = report.cleared.contains(&at) || report.previewed.contains(&at);
            prop_assert_eq!(&messages[at] == message, !edited);
        }
        let mut again = after.clone();
        let repeated = run(ladder, &mut again, budget, false);
        prop_assert!(!fits || repeated.unchanged.is_some(), "{:?}", repeated.steps);
        if let Some(undo) = report.undo {
            undo.revert(&mut after);
        }
        prop_assert_eq!(after, messages);
    }

    #[test]
    fn the_latest_prompt_stays_verbatim_if_it_fits(
        messages in strategies::valid_transcript(),
        which in 0..3_usize,
        limit in 200..3_000_u64,
    ) {
        let mut after = messages.clone();
        run(&presets()[which], &mut after, flat(limit, 0), false);
        if let Some(prompt) = last_prompt_start(&messages)
            && which != 0
        {
            prop_assert!(after.contains(&messages[prompt]));
        }
    }
}

/// Forty replies with results of six hundred bytes, of which all but six can be cleared.
fn long_session() -> Vec<Message> {
    script("u*400 [a:bash*40 t*600]x40 u*200")
}

#[test]
fn the_climb_ends_with_the_first_rung_that_is_enough() {
    let mut messages = long_session();
    let total = estimate_tokens(&messages);
    let report = run(&preset("ladder"), &mut messages, flat(total - 1, 0), false);
    assert_eq!(report.step_names(), ["microcompact"]);

    let mut messages = long_session();
    let report = run(&preset("ladder"), &mut messages, flat(1_200, 0), false);
    assert!(report.step_names().contains(&"digest"), "{report:?}");
    assert!(!report.step_names().contains(&"drop-middle"), "{report:?}");
    assert!(report.tokens_after <= 1_200);
}

#[test]
fn a_long_prompt_is_folded_if_the_latest_one_would_not_fit() {
    let mut messages = script("u*400 [a:bash*40 t*600]x20 a:bash,bash u*4000 t*100 u*100");
    let latest = messages[messages.len() - 1].clone();
    let report = run(&preset("ladder"), &mut messages, flat(600, 0), false);
    assert_eq!(report.irreducible, None, "{report:?}");
    assert_eq!(report.step_names(), ["microcompact", "digest", "preview", "drop-middle"]);
    assert!(messages.contains(&latest));
}

#[test]
fn a_transcript_within_its_limit_is_unchanged_unless_forced() {
    let mut messages = long_session();
    let budget = Budget::resolve(Some(&ModelCard::with_window(200_000)), &AUTO_CONDENSE_POLICY, 0).unwrap();
    let report = run(&preset("ladder"), &mut messages, budget, false);
    assert_eq!(report.unchanged, Some(Unchanged::UnderBudget));
    assert_eq!(messages, long_session());

    let report = run(&preset("ladder"), &mut messages, budget, true);
    assert!(report.step_names().contains(&"digest"), "{report:?}");
    assert_eq!(messages.last(), long_session().last());
}

#[test]
fn the_policy_previews_and_repairs_whether_or_not_it_is_over() {
    let mut messages = script("u a:bash t*40000 a:bash u a");
    let policy = policy(10, ArtifactCompactionConfig::default());
    let report = run(&policy, &mut messages, flat(1_000_000, 0), false);
    assert_eq!(report.step_names(), ["oversized-result", "repair"]);
    laws::no_loose_ends(&messages);
}

#[test]
fn a_truncated_transcript_starts_with_a_valid_message() {
    let mut messages = script("s*40 u*400 [a:bash*40 t*600]x40 u*200 a:bash t*100");
    let policy = policy(6, ArtifactCompactionConfig::default());
    let report = run(&policy, &mut messages, flat(3_000, 0), false);
    assert_eq!(report.step_names(), ["truncate"]);
    assert!(report.tokens_after <= 3_000, "{report}");
    assert_eq!(messages[1], Message::user(wb_message::markers::DROPPED_MARK));
    assert!(matches!(messages[2], Message::Assistant { .. }), "the case is that of a reply in front");
    let again = run(&policy, &mut messages, flat(3_000, 0), false);
    assert_eq!(again.unchanged, Some(Unchanged::UnderBudget));
}

#[test]
fn a_repair_has_reserved_room() {
    let lost = "a:bash ".repeat(30);
    let mut messages = script(&format!("[u*400 a*400]x20 {lost} u*200"));
    let policy = policy(1, ArtifactCompactionConfig::default());
    let report = run(&policy, &mut messages, flat(3_000, 0), false);
    assert_eq!(report.step_names(), ["truncate", "repair"]);
    assert!(report.tokens_after <= 3_000, "{report}");
    laws::no_loose_ends(&messages);
}

#[test]
fn the_presets_are_lists_of_steps() {
    let names = |pipeline: &Pipeline| format!("{:?}", pipeline.steps);
    assert_eq!(names(&Pipeline::default()), "[microcompact, digest, preview, restore]");
    assert_eq!(
        names(&preset("ladder")),
        "[microcompact, tool-output, digest, preview, drop-middle, restore]"
    );
    assert_eq!(names(&preset("three-level")), "[tool-output, collapse, preview, drop-middle]");
    assert_eq!(names(&preset("policy")), "[oversized-result, truncate, repair]");
    assert_eq!(
        names(&preset("ladder").without_step("preview")),
        "[microcompact, tool-output, digest, drop-middle, restore]"
    );
}

#[test]
fn images_are_removed_first_and_only_on_request() {
    let mut messages = vec![Message::user("Look at each page.")];
    for nth in 0..14 {
        let id = format!("c{nth}");
        messages.push(Message::assistant_blocks(vec![Block::call(&id, "screenshot", json!({}))]));
        let content = vec![Block::text("a page"), Block::image("image/png", "iVBORw0K")];
        let tool_name = "screenshot".to_owned();
        messages.push(Message::ToolResult {
            tool_call_id: id,
            tool_name,
            content,
            is_error: false,
            is_refusal: false,
        });
    }
    messages.extend([Message::assistant("Seen."), Message::user("And now?")]);
    let steps = |policy: ImagePolicy| {
        let mut after = messages.clone();
        let settings = window(16_000).pipeline(Pipeline::default().images(policy));
        let report = compact_locally(&mut after, &settings, &AUTO);
        laws::pairs_intact(&messages, &after);
        let names: Vec<String> = report.steps.iter().map(|step| step.name.clone()).collect();
        (names, report.previewed.len(), after.len())
    };
    assert!(estimate_tokens(&messages) > 12_000);
    assert_eq!(steps(ImagePolicy::Marker), (vec!["images".to_owned()], 14, messages.len()));
    assert_eq!(steps(ImagePolicy::Drop), (vec!["images".to_owned()], 14, messages.len()));
    let (kept, n_changed, _) = steps(ImagePolicy::Keep);
    assert!(kept.contains(&"digest".to_owned()) && n_changed == 0, "{kept:?}");
    let named = Pipeline::from_settings(&json!([{"step": "images", "policy": "drop"}, "digest"])).unwrap();
    assert_eq!(format!("{:?}", named.images(ImagePolicy::Marker).steps), "[images, digest]");
}

#[test]
fn a_body_that_its_session_cannot_replace_stays_as_it_is() {
    let shell = Message::bash("make", "a line of output\n".repeat(800), Some(0));
    let said =
        [Message::user("Build it."), Message::assistant("I do.".repeat(200)), Message::user("And now?")];
    let messages: Vec<Message> = said.into_iter().chain([shell.clone()]).collect();
    for pipeline in [Pipeline::default(), preset("ladder"), preset("policy"), preset("three-level")] {
        let settings = window(4_000).pipeline(pipeline);
        let mut shortened = messages.clone();
        compact_locally(&mut shortened, &settings, &AUTO);
        assert!(!shortened.contains(&shell));
        let mut after = messages.clone();
        let report = compact_locally(&mut after, &settings, &CondenseOpts { fixed: vec![3].into(), ..AUTO });
        let is_whole = |it: &Message| *it == shell || !matches!(it, Message::BashExecution { .. });
        assert!(after.iter().all(is_whole) && report.previewed.is_empty(), "{report}");
    }
}

#[test]
fn an_output_that_cannot_be_shortened_and_does_not_fit_is_folded() {
    let shell = Message::bash("find .", "./src/a.rs and more\n".repeat(1_600), Some(0));
    let said = [Message::user("Build it."), Message::assistant("Done."), Message::user("ok"), shell];
    for opts in [AUTO, CondenseOpts { force: true, ..AUTO }] {
        let mut after = said.to_vec();
        let opts = CondenseOpts { fixed: vec![3].into(), ..opts };
        let report = compact_locally(&mut after, &window(8_000), &opts);
        assert!(report.irreducible.is_none() && report.folded == 4 && after.len() == 1, "{report}");
    }
}
