//! Every text for a model has a cap, and stays within it; carried text is not lost while it fits.

use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use wb_budget::{ModelCard, TokenHeuristic};
use wb_digest::{Section, Sections, shorten_digest};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::digest_body;
use wb_message::{Message, ToolVocabulary};
use wb_summarize::{
    CONDENSER_BRIEF, CondenseScope, Cost, DigestRequest, SECTION_TEMPLATE, SummarizeDeps, Summarizer,
    local_digest, summarize,
};
use wb_testkit::{script, strategies};

use crate::snapshots::session;

fn render(messages: &[Message], max_chars: usize) -> String {
    local_digest(messages, &ToolVocabulary::UNIVERSAL, None).render(max_chars)
}

/// Lines that look like headings, like entries or like nothing, in any order.
fn hostile_entry() -> impl Strategy<Value = String> {
    let heading = prop_oneof![
        Just("# Plan"),
        Just("  # Plan"),
        Just("**Status:**"),
        Just("2. Guardrails"),
        Just("OBJECTIVE"),
        Just("\u{a0}\u{a0}Carryover:"),
        Just("Status (Shipped / Active / Stuck):"),
        Just(""),
        Just("- [ ] Plan:"),
    ];
    let line = prop_oneof![heading.prop_map(str::to_owned), "[#*:.)( a-zA-Zé\t\r-]{0,24}"];
    proptest::collection::vec(line, 1..5).prop_map(|lines| lines.join("\n"))
}

/// Returns the words of each entry.
fn words(entries: &[String]) -> Vec<Vec<String>> {
    entries.iter().map(|entry| entry.split_whitespace().map(str::to_owned).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(200), ..ProptestConfig::default() })]

    #[test]
    fn a_local_digest_is_deterministic_and_never_above_its_cap(
        messages in strategies::transcript(),
        max_chars in prop_oneof![160..600_usize, 600..8_000_usize],
    ) {
        let digest = render(&messages, max_chars);
        let n_chars = digest.chars().count();
        prop_assert!(n_chars <= max_chars, "{} > {}:\n{}", n_chars, max_chars, digest);
        prop_assert_eq!(render(&messages, max_chars), digest);
    }

    #[test]
    fn a_digest_read_and_rendered_again_says_the_same(messages in strategies::transcript()) {
        let digest = render(&messages, 4_000);
        let again = Sections::parse(&digest).render(4_000);
        let lines = |digest: &str| digest.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(lines(&again), lines(&digest));
    }

    #[test]
    fn no_entry_reads_back_as_a_heading_or_as_two(
        entries in proptest::collection::vec((0..6_usize, hostile_entry()), 0..12),
    ) {
        const ORDER: [Section; 6] = [
            Section::Objective,
            Section::Guardrails,
            Section::Status,
            Section::Rationale,
            Section::Plan,
            Section::Carryover,
        ];
        let mut sections = Sections::default();
        for (at, entry) in entries {
            sections.add(ORDER[at], entry);
        }
        let read = Sections::parse(&sections.render(100_000));
        for section in ORDER {
            let [before, after] = [&sections, &read].map(|sections| words(sections.entries(section)));
            prop_assert_eq!(before, after);
        }
        prop_assert_eq!(Sections::parse(&read.render(100_000)), read);
    }

    #[test]
    fn a_shortened_digest_fits_and_one_that_fits_is_left_alone(
        messages in strategies::transcript(),
        max_chars in 0..3_000_usize,
    ) {
        let digest = render(&messages, 3_000);
        let short = shorten_digest(&digest, max_chars);
        prop_assert!(short.chars().count() <= max_chars);
        prop_assert!(digest.chars().count() > max_chars || *short == digest);
    }

    #[test]
    fn every_prompt_fits_into_the_summarizers_window(
        messages in strategies::transcript(),
        window in 4_000..60_000_u64,
        prior in prop_oneof![Just(None), (0..60_000_usize).prop_map(|n| Some("fact ".repeat(n / 5)))],
    ) {
        let card = ModelCard::with_window(window);
        let request = DigestRequest::new(&messages, CondenseScope::Session, prior, Some(&card), 800);
        let invoker = Arc::new(ScriptedInvoker::new([Script::Echo]));
        let _ = block_on(request.ask(&Summarizer::new(invoker.clone()), None, &mut Cost::default()));
        for prompt in invoker.prompts() {
            let n_tokens = TokenHeuristic::DEFAULT.text_tokens(CONDENSER_BRIEF) + (prompt.len() as u64) * 10 / 36;
            prop_assert!(n_tokens + request.max_output_tokens <= window, "{} of {}", n_tokens, window);
        }
    }
}

#[test]
fn the_fixed_texts_have_their_caps() {
    let tokens = |text: &str| TokenHeuristic::DEFAULT.text_tokens(text);
    assert!(tokens(CONDENSER_BRIEF) <= 300, "{}", tokens(CONDENSER_BRIEF));
    assert!(tokens(SECTION_TEMPLATE) <= 40);
    for scope in [CondenseScope::Session, CondenseScope::Branch] {
        assert!(tokens(scope.framing()) <= 60 && tokens(scope.header()) <= 20);
    }
}

#[test]
fn a_digest_holds_to_its_cap_exactly_where_there_is_more_than_enough() {
    let mut messages = session();
    messages.extend(script("[u*300 a:read t*300 a*100]x40"));
    for max_tokens in [40, 60, 100, 150, 500, 2_000] {
        for invoke in [None, Some(Arc::new(ScriptedInvoker::new([Script::Echo])) as Arc<dyn ModelInvoker>)] {
            let deps = SummarizeDeps { invoke, max_tokens: Some(max_tokens), ..SummarizeDeps::default() };
            let message = block_on(summarize(&messages, deps)).message;
            let digest = digest_body(&message).expect("a digest");
            let n_chars = digest.chars().count();
            let cap = TokenHeuristic::DEFAULT.chars_within(max_tokens);
            assert!(n_chars <= cap, "{n_chars} > {cap}:\n{digest}");
            assert!(n_chars * 2 > cap || max_tokens <= 60, "most of {cap} is used: {n_chars}\n{digest}");
        }
    }
}

#[test]
fn facts_survive_ten_chained_digests_as_long_as_they_fit() {
    let mut messages = session();
    for round in 0..10 {
        let deps = SummarizeDeps { max_tokens: Some(2_000), ..SummarizeDeps::default() };
        let digest = block_on(summarize(&messages, deps)).message;
        let text = digest_body(&digest).expect("a digest");
        for fact in [
            "- First request: The checkout test is flaky (see #412).",
            "never change the public API of Cart",
            "request: Good. Now also add a test that fails without your fix.\n  It must not sleep",
            "Commit it on top of 3f9c2ab.",
            "src/cart.rs",
            "tests/coupons.rs",
            "The root cause is a HashMap",
            "[pending] open a pull request",
            "CI runs on 1.91 only.",
            "$ git push → failed (exit 1)",
        ] {
            assert!(text.contains(fact), "round {round}: `{fact}` is lost:\n{text}");
        }
        assert_eq!(text.matches("- First request:").count(), 1);
        messages = vec![digest];
        messages.extend(script(&format!(
            "u\"Step {round}.\" a:read(src/s{round}.rs) t a\"Step {round} is done.\""
        )));
    }
}

#[test]
fn what_the_agent_was_at_is_carried_where_it_says_nothing_new() {
    let digest = block_on(summarize(&script("u a\"I port the parser.\""), SummarizeDeps::default())).message;
    let mut messages = vec![digest];
    messages.extend(script("a:bash t a:bash t"));
    assert!(render(&messages, 2_000).contains("- Active: I port the parser.\n"));
    messages.extend(script("a\"Now the tests.\""));
    let digest = render(&messages, 2_000);
    assert!(digest.contains("- Active: Now the tests.\n") && !digest.contains("parser"), "{digest}");
}

#[test]
fn headings_in_a_request_do_not_split_it() {
    let request = "Do it in this order.\n\n# Plan\n1. read\n# Objective\nnone\n## Status\n2. write";
    let mut messages = vec![Message::user(request), Message::assistant("ok")];
    for _ in 0..3 {
        let digest = block_on(summarize(&messages, SummarizeDeps::default())).message;
        let sections = Sections::parse(&digest_body(&digest).expect("a digest"));
        let first = &sections.entries(Section::Objective)[0];
        assert!(first.starts_with("- First request: Do it") && first.ends_with("2. write"), "{first}");
        assert_eq!(sections.entries(Section::Plan), ["- No list of tasks was kept with a tool."]);
        messages = vec![digest];
        messages.extend(script("u\"go on\" a"));
    }
}

#[test]
fn one_giant_request_does_not_push_the_latest_out() {
    let mut messages = vec![Message::user("word ".repeat(4_000))];
    messages.extend(script("a u\"rename it\" a u\"and the test\" a"));
    for max_chars in [520, 800, 2_000] {
        let digest = render(&messages, max_chars);
        for named in
            ["- First request: word word", "- Latest request: and the test", "- Earlier request: rename it"]
        {
            assert!(digest.contains(named), "{max_chars}: {digest}");
        }
    }
}

#[test]
fn a_short_first_request_stays_word_for_word_also_in_a_tiny_digest() {
    let asked = "Bring each module to the new reader, one at a time. ".repeat(11);
    let asked = asked.trim();
    let mut messages = vec![Message::user(asked)];
    for n in 0..40 {
        messages.push(Message::assistant(format!("Module {n} is done; its reader was the old one.")));
        messages.push(Message::user(format!("From now on, never change part {n} without asking me.")));
    }
    for max_chars in [850, 1_000, 1_500, 4_000] {
        let digest = render(&messages, max_chars);
        assert!(digest.contains(asked), "{max_chars}: {digest}");
        assert!(digest.chars().count() <= max_chars, "{max_chars}: {digest}");
    }
}

#[test]
fn a_long_reply_loses_its_middle_and_follows_its_commands() {
    let rows: Vec<String> = (1..=200).map(|n| format!("| {n} | part {n} of the list |")).collect();
    let mut messages = script(r#"u"List the parts." a:bash(make) t"done""#);
    messages.push(Message::assistant(format!("All parts:\n{}\nWhich one first?", rows.join("\n"))));
    messages
        .extend((0..2).flat_map(|n| script(&format!("u\"Do part {n} next.\" a\"Part {n} is done now.\""))));
    for max_chars in [2_500, 3_000, 4_000] {
        let digest = render(&messages, max_chars);
        let (before, reply) = digest.split_once("\n  agent: All parts:\n").expect("its start");
        assert!(before.ends_with("\n  $ make → ok"), "{digest}");
        let (start, end) = reply.split_once("\n  [… clipped …]\n").expect("a mark");
        assert!(start.lines().all(|line| line.ends_with("of the list |")), "{digest}");
        let end: Vec<&str> = end.lines().skip_while(|line| line.ends_with("of the list |")).take(1).collect();
        assert_eq!(end, ["  Which one first?"], "{digest}");
    }
}
