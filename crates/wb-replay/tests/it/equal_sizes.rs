//! Comparison at equal sizes.

use serde_json::json;
use wb_message::{Block, Message};
use wb_replay::{CutRule, Session};

use crate::comparison::compare_at_sizes;

/// A long session with texts, commands and their output.
fn session() -> Session {
    let step = |n: usize| {
        let (id, file) = (format!("c{n}"), format!("src/part_{}.rs", n % 60));
        let call = Block::call(&id, "Bash", json!({"command": format!("make {file}")}));
        let text = Block::text(format!("Now I make {file}, since others need it. ").repeat(20));
        let output = format!("{file} is made\n").repeat(30);
        let answer = Message::assistant_blocks(vec![text, call]);
        [Message::user(format!("Make part {n}.")), answer, Message::tool_result(id, "Bash", output)]
    };
    let messages = [Message::user("Make all parts.")].into_iter().chain((0..200).flat_map(step));
    Session::new("s", messages.collect())
}

#[test]
fn rivals_are_at_most_as_large_as_the_preset() {
    let rule = CutRule { first: 20_000.0, step: 10_000.0, n_future: 40, max_cuts: 6 };
    let [at] = &compare_at_sizes(&[session()], "window-budget", &[0.15], &rule)[..] else {
        panic!("one part")
    };
    let [preset, sliding, masked] = &at.summaries[..] else { panic!("three rows") };
    assert_eq!((preset.trials, at.missed, at.part), (at.within, 0, 0.15));
    assert!(sliding.size.mean <= preset.size.mean && masked.size.mean <= preset.size.mean);
}
