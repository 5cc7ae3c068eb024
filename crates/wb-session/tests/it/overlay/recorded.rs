//! The recorded blocks of the overlay.
//!
//! What is compared is where the zones lie. The recorded rendering is not: it shows user messages for replies,
//! tells nothing of what it leaves out, and stamps the wall clock. Of sessions the blocks of loops that were current
//! when they were compacted are compared, and loops without a block; how loops are joined is not, for an overlay
//! knows one log and no loops.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use wb_budget::HeuristicPreset;
use wb_message::{Message, Patch};
use wb_session::overlay::{
    BlockCompactionConfig, BlockCompactionStrategy, DefaultBlockCompaction, Overlay, ProjectedFrom, Zones,
};
use wb_testkit::laws;
use wb_testkit::vectors::three_level::{Case, cases};

use super::world::World;

const OVERLAP: &str = "B01: the first and the recent turns overlap, and the overlap is shown twice";
const ZERO_FIRST: &str = "B02: no first turn was asked for, and one is kept and summarised too";
const NO_ROOM: &str = "B04: no line fits the summary, and the middle vanishes";
const OLDER: &str = "B07: an older loop is summarised whole; an overlay has no loops that age";
const PROMPT: &str = "B16: a turn of theirs is one reply, and a prompt may be a turn of its own";
const ZERO_RECENT: &str = "invariant 4: no recent turn was asked for, and their range ends before it starts";

/// What differs where the turns are theirs.
const BY_THEIR_TURNS: [(&str, &str); 20] = [
    ("B01-overlap-duplicates", OVERLAP),
    ("B02-keep-first-zero", ZERO_FIRST),
    ("B08-user-only-older-loop", OLDER),
    ("block-150", ZERO_FIRST),
    ("block-154", OLDER),
    ("block-155", OVERLAP),
    ("block-158", ZERO_RECENT),
    ("block-159", OVERLAP),
    ("block-162", OLDER),
    ("block-170", OVERLAP),
    ("block-171", NO_ROOM),
    ("block-175", OVERLAP),
    ("block-178", NO_ROOM),
    ("block-179", ZERO_RECENT),
    ("block-187", OLDER),
    ("block-190", OVERLAP),
    ("block-191", ZERO_RECENT),
    ("block-194", ZERO_FIRST),
    ("block-198", OLDER),
    ("block-199", NO_ROOM),
];

/// Zones as three ranges of messages, all empty ranges alike.
type Places = [Range<usize>; 3];

fn places(zones: &Zones) -> Places {
    [&zones.keep_first, &zones.middle, &zones.keep_recent]
        .map(|range| if range.is_empty() { 0..0 } else { range.clone() })
}

/// Groups messages as the recorded turn map does: equal numbers in a row, and each message without one alone.
fn their_turns(messages: &Value) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    let mut running = None;
    for (at, message) in messages.as_array().unwrap().iter().enumerate() {
        let turn = message["turn"].as_u64();
        match turns.last_mut() {
            Some(last) if turn.is_some() && turn == running => last.end = at + 1,
            _ => turns.push(at..at + 1),
        }
        running = turn;
    }
    turns
}

/// Returns the recorded zones in messages.
fn recorded(block: &Value, turns: &[Range<usize>]) -> Places {
    let range = |range: &Value| {
        let bound = |at: usize| range[at].as_u64().and_then(|turn| usize::try_from(turn).ok());
        match (bound(0), bound(1)) {
            (Some(first), Some(last)) if first <= last => turns[first].start..turns[last].end,
            _ => 0..0,
        }
    };
    [&block["keep_first"], &block["keep_compacted"]["range"], &block["keep_recent"]["range"]].map(range)
}

fn config(case: &Case) -> BlockCompactionConfig {
    BlockCompactionConfig {
        keep_first_turns: case.number("keep_first_turns", 2),
        keep_recent_turns: case.number("keep_recent_turns", 10),
        max_summary_tokens: case.number("max_summary_tokens", 2_000) as u64,
        tool_output_max_lines: case.number("tool_output_max_lines", 50),
    }
}

fn by_turns(turns: &[Range<usize>], n_messages: usize, case: &Case) -> Places {
    let config = config(case);
    places(&Zones::of(turns, n_messages, config.keep_first_turns, config.keep_recent_turns))
}

/// Compares the blocks of all rows and returns the ids of those that differ.
fn differing(ours: impl Fn(&Case, &[Range<usize>]) -> Places) -> (Vec<String>, usize) {
    let (mut differing, mut n_equal) = (Vec::new(), 0);
    for case in cases("block") {
        let turns = their_turns(&case.request["messages"]);
        if ours(&case, &turns) == recorded(&case.expect["block"], &turns) {
            n_equal += 1;
        } else {
            differing.push(case.id);
        }
    }
    differing.sort();
    (differing, n_equal)
}

#[test]
fn by_their_turns_the_zones_are_theirs_but_for_named_faults() {
    let (differing, n_equal) = differing(|case, turns| by_turns(turns, case.messages.len(), case));
    assert_eq!(differing, BY_THEIR_TURNS.map(|(id, _)| id));
    assert_eq!(n_equal, 8);
}

#[test]
fn by_our_turns_the_zones_are_theirs_where_their_turns_start_at_prompts() {
    let mut expected: BTreeMap<&str, &str> = BTreeMap::from(BY_THEIR_TURNS);
    for id in ["block-151", "block-163", "block-174", "block-195", "B16-prompt-without-turn-id"] {
        assert_eq!(expected.insert(id, PROMPT), None);
    }
    let (differing, n_equal) = differing(|case, _| {
        let overlay = Overlay::new();
        let projection = overlay.project(&case.messages).unwrap();
        places(&DefaultBlockCompaction { config: config(case) }.zones(&projection))
    });
    assert_eq!(differing, expected.into_keys().collect::<Vec<_>>());
    assert_eq!(n_equal, 3);
}

#[test]
fn every_recorded_input_is_compacted_by_our_laws() {
    let mut n_lighter = 0;
    for case in cases("block") {
        let strategy = DefaultBlockCompaction { config: config(&case) };
        let mut world = World::new(case.messages.clone(), usize::MAX);
        let plan = |world: &World| -> Option<Patch> {
            strategy.plan(&world.overlay.project(world.log()).unwrap(), &HeuristicPreset::THREE_LEVEL)
        };
        let Some(patch) = plan(&world) else { continue };
        let after = laws::patch_laws(&case.messages, &patch);
        let tokens = |messages: &[Message]| -> u64 {
            messages.iter().map(|message| HeuristicPreset::THREE_LEVEL.message_tokens(message)).sum()
        };
        assert!(tokens(&after) < tokens(&case.messages), "{}", case.id);
        world.apply(patch).unwrap();
        world.check();
        assert_eq!(world.seen(), after);
        assert_eq!(plan(&world), None, "{}", case.id);
        n_lighter += 1;
    }
    assert_eq!(n_lighter, 10);
}

/// The loops of a session that were current when they were compacted differ by these faults.
const LOOPS: [(&str, &str, &str); 11] = [
    ("B07-stale-block-when-loop-ages", "L1", OVERLAP),
    ("B09b-token-budget-stops-at-big-loop", "L2", OVERLAP),
    ("session-152", "L2", OVERLAP),
    ("session-156", "L1", OVERLAP),
    ("session-156", "L2", OVERLAP),
    ("session-176", "L0", ZERO_RECENT),
    ("session-176", "L1", ZERO_RECENT),
    ("session-180", "L1", OVERLAP),
    ("session-192", "L0", ZERO_RECENT),
    ("session-192", "L1", ZERO_RECENT),
    ("session-196", "L2", OVERLAP),
];

#[test]
fn loops_of_sessions_have_the_recorded_zones_or_none_but_for_named_faults() {
    let (mut differing, mut n_equal, mut n_raw) = (Vec::new(), 0, 0);
    for case in cases("session") {
        let compacted = case.request["compact"].as_array().unwrap();
        for one in case.request["loops"].as_array().unwrap() {
            let id = one["id"].as_str().unwrap();
            let n_messages = one["messages"].as_array().unwrap().len();
            let block = &case.expect["blocks"][id];
            if compacted.iter().any(|compacted| compacted == id) {
                let turns = their_turns(&one["messages"]);
                if by_turns(&turns, n_messages, &case) == recorded(block, &turns) {
                    n_equal += 1;
                } else {
                    differing.push((case.id.clone(), id.to_owned()));
                }
            } else if block.is_null() {
                n_raw += usize::from(is_shown_raw(&case.expect["rendered"], id, n_messages));
            }
        }
    }
    differing.sort();
    let expected: Vec<_> = LOOPS.iter().map(|(row, id, _)| ((*row).to_owned(), (*id).to_owned())).collect();
    assert_eq!(differing, expected);
    assert_eq!((n_equal, n_raw), (2, 6));
}

/// Tells whether a loop is shown, and then as an overlay without blocks shows a log.
fn is_shown_raw(rendered: &Value, id: &str, n_messages: usize) -> bool {
    let shown: Vec<usize> = rendered
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["loop"] == id)
        .map(|message| usize::try_from(message["src"].as_u64().unwrap()).unwrap())
        .collect();
    let log: Vec<_> = (0..n_messages).map(|at| Message::user(at.to_string())).collect();
    let overlay = Overlay::new();
    let projection = overlay.project(&log).unwrap();
    let raw = projection.origins.iter().map(|origin| match origin {
        ProjectedFrom::Log { at } => *at,
        ProjectedFrom::Block { .. } => usize::MAX,
    });
    let is_shown = !shown.is_empty();
    assert!(!is_shown || raw.eq(shown));
    is_shown
}
