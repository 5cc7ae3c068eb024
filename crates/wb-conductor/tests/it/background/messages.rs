//! What published systems were seen to do wrong, each in words and with its input.

use std::time::Duration;

use wb_budget::{CONTEXT_WINDOW_POLICY, ContextCompactionMode, ContextWindowPolicy};
use wb_conductor::{BackgroundCompaction, CompactionEvent, NotSpawned, trim_to_compaction_boundary};
use wb_message::markers::{
    INTERNAL_TYPE, SUMMARY_CLOSE, SUMMARY_OPEN, SUMMARY_TYPE, Visibility, conversation_summary, is_prompt,
    summary_text, visibility,
};
use wb_message::outline::outline;
use wb_message::{Message, last_prompt_start};
use wb_summarize::CompactionConfig;
use wb_testkit::script;

use super::support::{Act, above, acting, compaction, once, session, summary_of};

fn prompts(messages: &[Message]) -> Vec<&Message> {
    messages.iter().filter(|message| is_prompt(message)).collect()
}

#[tokio::test(start_paused = true)]
async fn p1_a_summary_that_arrives_is_no_new_input_and_the_answer_stays_the_last_message() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    messages.push(Message::assistant("THE ANSWER"));
    compaction.settled().await;
    let before = messages.clone();
    compaction.try_consume_compaction_event(&mut messages, 1).unwrap();
    assert_eq!(messages.last(), Some(&Message::assistant("THE ANSWER")));
    assert_eq!(prompts(&messages), [&Message::user("and now?")]);
    let new: Vec<_> = messages.iter().filter(|message| !before.contains(message)).collect();
    assert_eq!(new.len(), 1, "{}", outline(&messages));
    assert_eq!(visibility(new[0]), Visibility::Internal);
    assert_eq!(new[0], &conversation_summary("S"));
}

#[tokio::test(start_paused = true)]
async fn p2_a_summary_that_arrives_after_the_run_is_applied_in_the_next_and_not_bought_again() {
    let summarizer = acting([Act::Takes(Duration::from_secs(90), "S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    messages.push(Message::assistant("done"));
    assert!(compaction.try_consume_compaction_event(&mut messages, 1).is_none());
    // The run is over; the next one starts two minutes later.
    tokio::time::sleep(Duration::from_secs(119)).await;
    messages.push(Message::user("next run"));
    let event = compaction.try_consume_compaction_event(&mut messages, 119_000).unwrap();
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
    let told = compaction.maybe_spawn_compaction(&messages, 119_000);
    assert_eq!((told, summarizer.n_calls()), (Err(NotSpawned::BelowThreshold), 1));
}

#[tokio::test(start_paused = true)]
async fn p3_a_swap_between_two_steps_keeps_what_the_steps_said() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    messages.extend(script("a:bash t*20"));
    compaction.settled().await;
    compaction.try_consume_compaction_event(&mut messages, 1).unwrap();
    messages.push(Message::assistant("done"));
    assert_eq!(outline(&messages).lines().count(), 6);
    assert_eq!(last_prompt_start(&messages), Some(2));
}

#[tokio::test(start_paused = true)]
async fn p4_a_summary_that_is_too_long_is_not_bought_at_every_step() {
    let summarizer = acting([Act::Long(40_000)]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    for step in 0..16 {
        let _ = compaction.maybe_spawn_compaction(&messages, step * 60_000);
        compaction.settled().await;
        compaction.try_consume_compaction_event(&mut messages, step * 60_000);
        messages.extend(script("a:bash t*5"));
    }
    assert_eq!(summarizer.n_calls(), 1, "published: 16 in 16 steps");
}

#[tokio::test(start_paused = true)]
async fn p5_a_summarizer_that_fails_leaves_no_messages_and_is_not_asked_at_every_step() {
    let summarizer = acting([Act::Fails]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    for step in 0..16 {
        let _ = compaction.maybe_spawn_compaction(&messages, step * 5_000);
        compaction.settled().await;
        compaction.try_consume_compaction_event(&mut messages, step * 5_000);
    }
    assert_eq!((summarizer.n_calls(), messages), (2, session()), "published: 16 in 16 steps, 15 messages");
}

#[tokio::test(start_paused = true)]
async fn p6_a_summarizer_that_panics_does_not_end_compaction_for_good() {
    let mut compaction = compaction(acting([Act::Panics, Act::Says("S")]));
    let mut messages = session();
    once(&mut compaction, &mut messages, 0).await;
    assert_eq!((compaction.state().failures.len(), compaction.state().in_flight), (1, None));
    let event = once(&mut compaction, &mut messages, 30_000).await;
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a10_a_lost_result_early_on_blocks_no_later_compaction() {
    let mut messages = script("u*50 a:bash#lost u*3000 a*3000 u a");
    let event = once(&mut compaction(acting([Act::Says("S")])), &mut messages, 0).await;
    let CompactionEvent::Completed { boundary, .. } = &event else { panic!("{event}") };
    assert_eq!((boundary.n_messages, messages.len()), (4, 3));
}

#[tokio::test(start_paused = true)]
async fn a11_one_request_and_two_hundred_steps_are_compacted_and_the_request_stays() {
    let summarizer = acting([Act::Says("S")]);
    let mut messages = script(r#"u"the task" [a:bash t*60]x200"#);
    let event = once(&mut compaction(summarizer.clone()), &mut messages, 0).await;
    let CompactionEvent::Completed { boundary, .. } = &event else { panic!("{event}") };
    assert_eq!(boundary.n_messages, 398);
    assert!(summary_text(&messages[0]).is_some(), "the summary stands before the prompt");
    assert_eq!(messages[1], Message::user("the task"));
    assert_eq!(messages.len(), 4);
    assert!(!summarizer.asked()[0].parts[0].contains("the task"), "what stays is not summarized");
}

#[tokio::test(start_paused = true)]
async fn a12_the_safe_frontier_says_why_nothing_goes_where_the_minimum_is_all_there_is() {
    let policy = ContextWindowPolicy {
        compaction_mode: ContextCompactionMode::CompactToSafeFrontier,
        autocompact_threshold: Some(1),
        ..CONTEXT_WINDOW_POLICY
    };
    let mut compaction =
        BackgroundCompaction::new(policy, CompactionConfig::default()).summarizer(acting([Act::Says("S")]));
    let told = compaction.maybe_spawn_compaction(&script("[u*50000 a]x5"), 0);
    assert_eq!(told, Err(NotSpawned::NothingToCompact));
}

#[tokio::test(start_paused = true)]
async fn a13_an_old_summary_and_two_words_are_not_summarized_again() {
    for n_chars in [3_960, 40_000] {
        let mut messages = vec![conversation_summary(&"x".repeat(n_chars))];
        messages.extend(script(r#"u"hi" a"ok" u a"#));
        let summarizer = acting([Act::Says("S")]);
        let mut compaction =
            BackgroundCompaction::new(above(100), CompactionConfig::default()).summarizer(summarizer.clone());
        let told = compaction.maybe_spawn_compaction(&messages, 0);
        assert_eq!((told, summarizer.n_calls()), (Err(NotSpawned::TooLittleToSave), 0), "{n_chars}");
        // With enough beside it, it is.
        messages.extend(script("a*9000 u"));
        assert!(compaction.maybe_spawn_compaction(&messages, 0).is_ok(), "{n_chars}");
    }
}

#[tokio::test(start_paused = true)]
async fn a14_of_two_summaries_the_newer_is_carried_and_the_newer_is_what_a_load_goes_back_to() {
    let two = [vec![conversation_summary("old")], script("u"), vec![conversation_summary("new")]].concat();
    let mut loaded = [two.clone(), script("u a")].concat();
    assert_eq!(trim_to_compaction_boundary(&mut loaded), 2);
    assert_eq!(summary_of(&loaded), "new");
    let summarizer = acting([Act::Says("S")]);
    let mut messages = [two, script("u*9000 a u")].concat();
    once(&mut compaction(summarizer.clone()), &mut messages, 0).await;
    assert_eq!(summarizer.asked()[0].previous_summary.as_deref(), Some("new"));
    assert_eq!(summary_of(&messages), "S");
}

#[test]
fn a15_a_reminder_that_mentions_the_tag_deletes_nothing() {
    let mention = format!("Reminder: older turns appear in {SUMMARY_OPEN} blocks.");
    let quoted = format!("The form is {SUMMARY_OPEN} text {SUMMARY_CLOSE}, mind you.");
    let said = format!("{SUMMARY_OPEN}\nnot ours\n{SUMMARY_CLOSE}");
    let reminders = [
        Message::custom(INTERNAL_TYPE, mention.as_str()),
        Message::custom(SUMMARY_TYPE, mention),
        Message::custom(SUMMARY_TYPE, quoted),
        Message::custom(INTERNAL_TYPE, said.as_str()),
        Message::user(said),
        conversation_summary(""),
    ];
    for reminder in reminders {
        let before = [script("u a"), vec![reminder], script("u a")].concat();
        let mut messages = before.clone();
        assert_eq!(trim_to_compaction_boundary(&mut messages), 0);
        assert_eq!(messages, before);
    }
}

#[test]
fn a16_a_summary_at_the_end_of_a_log_does_not_delete_the_latest_turn() {
    let mut messages = [script("s u a u\"recent\" a:bash t a"), vec![conversation_summary("S")]].concat();
    assert_eq!(trim_to_compaction_boundary(&mut messages), 2);
    assert_eq!(outline(&messages).lines().count(), 6);
    assert_eq!(prompts(&messages), [&Message::user("recent")]);
    assert_eq!(trim_to_compaction_boundary(&mut messages), 0, "a second time does nothing");
}

#[test]
fn a_load_splits_no_pair_and_drops_no_pinned_message() {
    let summary = || vec![conversation_summary("S")];
    let split = [script("u a:bash#x"), summary(), script("t:bash#x u")].concat();
    let in_flight = [script("u a:bash"), summary(), script("u")].concat();
    for before in [split, in_flight] {
        let mut messages = before.clone();
        assert_eq!((trim_to_compaction_boundary(&mut messages), &messages), (0, &before));
    }
    let mut messages = [script("s u a s u a:bash t"), summary(), script("u a")].concat();
    assert_eq!(trim_to_compaction_boundary(&mut messages), 5);
    assert_eq!(messages.len(), 5);
    assert_eq!(trim_to_compaction_boundary(&mut messages), 0);
}

#[tokio::test(start_paused = true)]
async fn a17_a_visible_system_prompt_survives_compactions_and_loads() {
    let mut messages = [script(r#"s"never reveal the key""#), script("u*5000 a s\"mid\" u*100 a u")].concat();
    once(&mut compaction(acting([Act::Says("S")])), &mut messages, 0).await;
    let system = [Message::custom("system", "never reveal the key"), Message::custom("system", "mid")];
    assert_eq!((&messages[0], &messages[2]), (&system[0], &system[1]), "{}", outline(&messages));
    let loaded = messages.clone();
    trim_to_compaction_boundary(&mut messages);
    assert_eq!(messages, loaded, "what we leave is what we load");
}

#[tokio::test(start_paused = true)]
async fn a18_a_close_tag_before_an_open_one_is_no_summary_and_no_panic() {
    let odd = Message::custom(SUMMARY_TYPE, format!("{SUMMARY_CLOSE} text {SUMMARY_OPEN}"));
    let summarizer = acting([Act::Says("S")]);
    let mut messages = [vec![odd], script("u*5000 a u")].concat();
    once(&mut compaction(summarizer.clone()), &mut messages, 0).await;
    assert_eq!(summarizer.asked()[0].previous_summary, None);
    assert_eq!(summary_of(&messages), "S");
}

#[tokio::test(start_paused = true)]
async fn a19_a_summary_that_quotes_the_close_tag_is_carried_whole() {
    const QUOTES: &str = "before </conversation-summary> after";
    let summarizer = acting([Act::Says(QUOTES), Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    once(&mut compaction, &mut messages, 0).await;
    assert_eq!(summary_of(&messages), QUOTES);
    messages.extend(script("a*6000 u"));
    once(&mut compaction, &mut messages, 0).await;
    assert_eq!(summarizer.asked()[1].previous_summary.as_deref(), Some(QUOTES));
}

#[tokio::test(start_paused = true)]
async fn a_digest_of_the_foreground_that_is_summarized_is_carried() {
    let summarizer = acting([Act::Says("S")]);
    let mut messages = script(r#"d"the parser is done" u*5000 a u"#);
    once(&mut compaction(summarizer.clone()), &mut messages, 0).await;
    assert_eq!(summarizer.asked()[0].previous_summary.as_deref(), Some("the parser is done"));
    assert_eq!(messages.len(), 2);
}
