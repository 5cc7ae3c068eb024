//! Properties of any text and any transcript.

use proptest::prelude::*;
use wb_message::Message;
use wb_replay::{Names, Options, STRATEGIES, Session, Strategy, entities, replay, retained_shares};
use wb_testkit::strategies::{transcript, valid_transcript_with_steps};

/// Texts with adjacent and overlapping names.
fn text() -> impl proptest::strategy::Strategy<Value = String> {
    "([a-zA-Z_/.@ \n-]|[0-9a-f]{1,9}|https?://|\\.(rs|ts|tsx|json)|ä|日|['\"`(),:;]){0,60}"
}

/// Options with places in any transcript.
fn options() -> Options {
    Options { windows: vec![2_000], n_future: 6, ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 60, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn names_are_in_text_order(text in text()) {
        let mut rest = text.as_str();
        for name in entities(&text) {
            prop_assert!(name.chars().count() >= 5);
            let at = rest.find(name);
            prop_assert!(at.is_some(), "{name:?} in {rest:?}");
            rest = &rest[at.unwrap_or(0) + name.len()..];
        }
    }

    #[test]
    fn the_whole_history_retains_every_need(messages in transcript(), cut in 0usize..60) {
        let cut = cut.min(messages.len());
        let names = Names::new(&messages);
        let needs = names.needs(cut, 40);
        let history: Vec<String> = messages[..cut].iter().map(wb_replay::body).collect();
        let all = if needs.is_empty() { 0.0 } else { 1.0 };
        prop_assert_eq!(retained_shares(&history.join("\n"), &needs), (all, all));
    }

    #[test]
    fn every_request_is_paid_once(messages in transcript()) {
        let report = replay(&Session::new("s", messages.clone()), &options());
        let is_answer = |message: &&Message| matches!(message, Message::Assistant { .. });
        let n_answers = messages.iter().filter(is_answer).count();
        for row in &report.costs {
            prop_assert_eq!(row.spent.requests, n_answers, "{}", row.strategy);
        }
        let everything = report.costs.iter().find(|row| row.strategy == Strategy::Everything.name());
        prop_assert!(everything.is_some_and(|row| row.spent.compactions == 0));
    }

    #[test]
    fn presets_keep_pairs_and_shares_are_at_most_one(messages in valid_transcript_with_steps(20..=40)) {
        let report = replay(&Session::new("s", messages), &options());
        for outcome in report.trials.iter().flat_map(|trial| trial.strategies.iter().zip(STRATEGIES)) {
            let (outcome, strategy) = outcome;
            let kept = &outcome.kept;
            let shares = [Some(kept.names), Some(kept.lines), kept.user_words, kept.constraints];
            prop_assert!(shares.iter().flatten().all(|share| (0.0..=1.0).contains(share)), "{kept:?}");
            prop_assert!(kept.pairs_intact || !matches!(strategy, Strategy::Preset(_)), "{strategy:?}");
        }
    }
}
