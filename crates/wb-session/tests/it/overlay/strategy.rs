//! The default strategy: its settings, its zones, its digest.

use proptest::prelude::*;
use wb_budget::{TokenCounter, TokenHeuristic};
use wb_message::markers::{DIGEST_HEADER, digest_body, is_prompt};
use wb_message::outline::outline;
use wb_message::text::one_line;
use wb_message::{Block, Message, Patch};
use wb_session::overlay::{
    BLOCK_COMPACTION_CONFIG, BlockCompactionConfig, BlockCompactionStrategy, DIGEST_LEGEND,
    DefaultBlockCompaction, LINES_LEFT_OUT, Overlay, Zones, turns,
};
use wb_testkit::strategies::transcript;
use wb_testkit::{laws, script};

use super::world::World;

fn strategy(first: usize, recent: usize, max_summary_tokens: u64) -> DefaultBlockCompaction {
    let config = BlockCompactionConfig {
        keep_first_turns: first,
        keep_recent_turns: recent,
        max_summary_tokens,
        ..BLOCK_COMPACTION_CONFIG
    };
    DefaultBlockCompaction { config }
}

fn plan(strategy: &DefaultBlockCompaction, world: &World) -> Option<Patch> {
    strategy.plan(&world.overlay.project(world.log()).unwrap(), &TokenHeuristic::DEFAULT)
}

/// Applies the strategy once; tells whether it did something.
fn compact(strategy: &DefaultBlockCompaction, world: &mut World) -> bool {
    let patch = plan(strategy, world);
    patch.map(|patch| world.apply(patch).unwrap()).is_some()
}

fn world(text: &str) -> World {
    World::new(script(text), usize::MAX)
}

fn digest_lines(world: &World) -> Vec<String> {
    let seen = world.seen();
    let bodies: Vec<_> = seen.iter().filter_map(digest_body).collect();
    assert_eq!(bodies.len(), 1, "{}", outline(&seen));
    bodies[0].lines().map(str::to_owned).collect()
}

#[test]
fn the_defaults_are_those_of_the_older_and_partial_settings_keep_them() {
    let config: BlockCompactionConfig = serde_json::from_str("{}").unwrap();
    assert_eq!((config.keep_first_turns, config.keep_recent_turns), (2, 10));
    assert_eq!((config.max_summary_tokens, config.tool_output_max_lines), (2_000, 50));
    let partial: BlockCompactionConfig = serde_json::from_str(r#"{"keep_recent_turns": 3}"#).unwrap();
    assert_eq!(partial, BlockCompactionConfig { keep_recent_turns: 3, ..BLOCK_COMPACTION_CONFIG });
    let json = serde_json::to_string(&partial).unwrap();
    assert_eq!(serde_json::from_str::<BlockCompactionConfig>(&json).unwrap(), partial);
    assert!(serde_json::from_str::<BlockCompactionConfig>(r#"{"keep_recent": 3}"#).is_err());
}

#[test]
fn zones_are_disjoint_and_whole_at_every_size() {
    for n_turns in 0..8 {
        let messages = script(&format!("s [u a:read c t a]x{n_turns}"));
        let turns = turns(&messages);
        assert_eq!(turns.len(), n_turns, "a custom message splits no turn");
        for (first, recent) in (0..6).flat_map(|first| (0..6).map(move |recent| (first, recent))) {
            let Zones { keep_first, middle, keep_recent } = Zones::of(&turns, messages.len(), first, recent);
            assert_eq!((keep_first.start, keep_recent.end), (0, messages.len()));
            assert_eq!((keep_first.end, middle.end), (middle.start, keep_recent.start));
            let last_prompt = messages.iter().rposition(is_prompt);
            assert!(last_prompt.is_none_or(|at| !middle.contains(&at)), "{n_turns} {first} {recent}");
        }
    }
}

#[test]
fn the_middle_becomes_a_line_for_each_thing_said() {
    let mut world = world(
        r#"u"task" a u"second" a u"look here" a:read(src/cart.rs)*0 t*900 a"it is in total()" b(make)
           a:bash(cargo test) t! u"go on" a u"last" a"#,
    );
    assert!(compact(&strategy(2, 2, 2_000), &mut world));
    assert_eq!(
        digest_lines(&world),
        [
            DIGEST_LEGEND,
            "» look here",
            "- assistant read(src/cart.rs)",
            "- it is in total()",
            "- shell $ make [exit 0]",
            "- assistant bash(cargo test)",
            "- error bash \"result 10 of bash(cargo test)\"",
        ]
    );
    let kept: Vec<_> = world.seen().iter().map(|message| digest_body(message).is_none()).collect();
    assert_eq!(kept, [true, true, true, true, false, true, true, true, true]);
    world.check();
}

#[test]
fn a_second_digest_holds_the_lines_of_the_first() {
    let mut world = world(r#"u"task" a u"more" a u"alpha" a*300 u"beta" a*300 u"gamma" a*300 u"now" a"#);
    world.n_log = 8;
    let strategy = strategy(2, 1, 2_000);
    assert!(compact(&strategy, &mut world));
    let first = digest_lines(&world);
    assert!(!compact(&strategy, &mut world), "nothing is gained at once");
    world.n_log = 12;
    assert!(compact(&strategy, &mut world));
    let second = digest_lines(&world);
    assert_eq!(second[..first.len()], first);
    assert!(second.contains(&"» beta".to_owned()) && second.contains(&"» gamma".to_owned()));
    assert_eq!(world.overlay.blocks()[1].parents, [world.overlay.blocks()[0].id.clone()]);
    world.check();
}

#[test]
fn a_digest_that_a_model_wrote_is_carried_line_by_line() {
    let mut messages = script(r#"u"task" a d*60 u"alpha" a*900 u"beta" a*900 u"now" a"#);
    messages[2] = Message::user([DIGEST_HEADER, "\n\n# Goal\n\n- ship it"].concat());
    let mut world = World::new(messages, usize::MAX);
    assert!(compact(&strategy(1, 1, 2_000), &mut world));
    assert_eq!(digest_lines(&world)[1..4], ["> # Goal", "> - ship it", "» alpha"]);
}

#[test]
fn a_digest_alone_is_not_written_again_for_a_line_end() {
    let mut messages = script("u a d u a*600 u a");
    messages[2] = Message::user([DIGEST_HEADER, "\n\n10%\r90%\r\r\nend\r"].concat());
    let mut world = World::new(messages, usize::MAX);
    assert!(compact(&strategy(1, 1, 2_000), &mut world));
    assert_eq!(digest_lines(&world)[1..3], ["> 10%\r90%", "> end"]);
    assert_eq!(plan(&strategy(1, 1, 2_000), &world), None);
}

#[test]
fn where_there_is_little_room_replies_lose_their_lines_before_prompts_and_old_ones_before_new_ones() {
    let mut world = world(r#"u"task" [u"do this" a*60 a*60]x12 u"now" a"#);
    assert!(compact(&strategy(1, 1, 400), &mut world));
    let lines = digest_lines(&world);
    assert_eq!(lines[1], LINES_LEFT_OUT);
    assert_eq!(lines.iter().filter(|line| *line == "» do this").count(), 12);
    let first_reply = lines.iter().skip(2).position(|line| line.starts_with("- ")).unwrap();
    assert!(first_reply > 2, "the old ones went: {lines:?}");
    let digest = world.seen().into_iter().find(|message| digest_body(message).is_some()).unwrap();
    assert!(TokenHeuristic::DEFAULT.message(&digest) <= 400);
}

#[test]
fn prompts_that_do_not_fit_a_line_stay() {
    let mut messages = script(r#"u"task" u*300 a*300 u"short" a*300 u a u"now" a"#);
    messages[5] = Message::user(vec![Block::text("see"), Block::image("image/png", "AAAA")]);
    let mut world = World::new(messages.clone(), usize::MAX);
    assert!(compact(&strategy(1, 1, 2_000), &mut world));
    let seen = world.seen();
    for stays in [0, 1, 5, 7, 8] {
        assert!(seen.contains(&messages[stays]), "{}", outline(&seen));
    }
    assert!(!seen.contains(&messages[3]));
}

#[test]
fn without_room_for_a_digest_the_middle_stays() {
    for max_summary_tokens in [0, 1, 20] {
        let world = world(r#"u"task" [u a*300]x5 u"now" a"#);
        assert_eq!(plan(&strategy(1, 1, max_summary_tokens), &world), None);
    }
}

#[test]
fn long_outputs_of_recent_turns_are_cut_but_not_the_one_that_waits_to_be_read() {
    let mut messages = script("u a:bash t b a:read t");
    let long = "a line\n".repeat(200);
    messages[2] = Message::tool_result("c1", "bash", long.as_str());
    messages[3] = Message::bash("make", long.as_str(), Some(2));
    messages[5] = Message::tool_result("c2", "read", long.as_str());
    let mut world = World::new(messages.clone(), usize::MAX);
    assert!(!compact(&strategy(1, 1, 2_000), &mut world), "the only turn is a first one");
    assert!(compact(&strategy(0, 1, 2_000), &mut world));
    let seen = world.seen();
    assert_eq!(seen[5], messages[5]);
    let Message::BashExecution { output, .. } = &seen[3] else { panic!("a command") };
    assert_eq!(output.lines().count(), 50);
    assert_ne!(seen[2], messages[2]);
}

proptest! {
    #[test]
    fn any_projection_is_compacted_by_the_laws_and_the_user_is_heard(
        (all, n) in (transcript(), 1..60_usize),
        (first, recent) in (0..3_usize, 0..3_usize),
        max_summary_tokens in prop_oneof![Just(2_000_u64), 0..500_u64],
    ) {
        let mut world = World::new(all, n);
        let strategy = strategy(first, recent, max_summary_tokens);
        for _ in 0..4 {
            let before = world.seen();
            if let Some(patch) = plan(&strategy, &world) {
                let after = laws::patch_laws(&before, &patch);
                let tokens = |messages: &[Message]| messages.iter().map(|m| TokenHeuristic::DEFAULT.message(m)).sum::<u64>();
                prop_assert!(tokens(&after) < tokens(&before));
                prop_assert!(after.len() <= before.len());
                world.apply(patch).unwrap();
                prop_assert_eq!(plan(&strategy, &world), None);
            }
            world.check();
            prop_assert!(all_prompts_heard(&world), "{}", outline(&world.seen()));
            world.n_log = world.all.len().min(world.n_log + 9);
        }
    }
}

/// Tells whether each prompt of the log is seen, or has its line in a digest.
fn all_prompts_heard(world: &World) -> bool {
    let seen = world.seen();
    let lines: Vec<String> = seen
        .iter()
        .filter_map(digest_body)
        .flat_map(|body| body.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let projection = world.overlay.project(world.log()).unwrap();
    world.log().iter().enumerate().filter(|(_, message)| is_prompt(message)).all(|(at, message)| {
        let Some(wb_session::overlay::Explanation::Hidden { .. }) = projection.explain(at) else {
            return true;
        };
        let Message::User { content, .. } = message else { return false };
        let words = one_line(&content.texts().collect::<Vec<_>>().join(" "), usize::MAX);
        lines.contains(&["» ", &words].concat())
    })
}

#[test]
fn a_strategy_is_a_seam() {
    let strategies: [Box<dyn BlockCompactionStrategy>; 1] = [Box::new(DefaultBlockCompaction::default())];
    let overlay = Overlay::new();
    let empty = overlay.project(&[]).unwrap();
    assert_eq!(strategies[0].plan(&empty, &TokenHeuristic::DEFAULT), None);
    assert_eq!(strategies[0].name(), "block-compaction");
}

#[test]
fn the_texts_that_a_model_reads_are_pinned() {
    let texts = [DIGEST_LEGEND, LINES_LEFT_OUT].join("\n");
    insta::assert_snapshot!(texts, @r"
    Earlier turns, a line each (» the user's words, - what was said and done, > an earlier digest):
    - (lines of older replies are left out)
    ");
}
