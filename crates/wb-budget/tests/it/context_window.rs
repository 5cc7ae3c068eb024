//! Document 3's buffer by the text of the document.

use std::panic::catch_unwind;

use proptest::prelude::*;
use wb_budget::{ContextWindow, Message, WindowError};
use wb_message::markers::is_pinned;
use wb_testkit::{laws, script, strategies};

fn window(messages: &[Message]) -> ContextWindow {
    let mut window = ContextWindow::new(1_000, 200);
    for message in messages {
        window.push(message.clone(), 10);
    }
    window
}

#[test]
fn system_texts_are_retained_wherever_they_are() {
    let messages = script("s u a s u a");
    let mut window = window(&messages);
    window.unprotect(0);
    assert!(window.is_protected(0) && !window.is_protected(1));
    assert_eq!(
        window.compact(),
        script("s u a s u a").into_iter().filter(|it| !is_pinned(it)).collect::<Vec<_>>()
    );
    assert_eq!((window.len(), window.total_tokens(), window.available()), (2, 20, 780));
}

#[test]
fn recent_protection_moves_and_that_of_an_index_stays() {
    let mut window = window(&script("u a u a u a"));
    window.protect(0);
    window.protect_recent(2);
    let protected = |window: &ContextWindow| (0..6).filter(|at| window.is_protected(*at)).collect::<Vec<_>>();
    assert_eq!(protected(&window), [0, 4, 5]);
    window.protect_recent(1);
    assert_eq!(protected(&window), [0, 5]);
    window.unprotect(5);
    assert_eq!(protected(&window), [0]);
    window.protect_recent(usize::MAX);
    assert_eq!(window.compact(), []);
}

#[test]
fn a_pair_stays_whole_and_a_call_in_flight_waits_for_its_result() {
    let messages = script("u a:read,bash t t u a:read");
    let mut window = window(&messages);
    window.protect(3);
    assert_eq!(window.compact(), [messages[0].clone(), messages[4].clone()]);
    window.push(Message::tool_result("c3", "read", "ok"), 10);
    assert_eq!(window.compact().len(), 2);
    laws::no_loose_ends(&window.messages_owned());
}

#[test]
fn the_threshold_is_exact() {
    for percent in 1_u8..100 {
        let threshold = f32::from(percent) / 100.0;
        let mut window = ContextWindow::new(1_000_000_001, 1);
        window.push(Message::user("x"), u32::from(percent) * 10_000_000);
        assert!(!window.needs_compaction(threshold), "{percent}");
        window.update_token_count(0, window.token_count(0) + 1);
        assert!(window.needs_compaction(threshold), "{percent}");
    }
    let empty = ContextWindow::new(2, 1);
    assert!(
        !empty.needs_compaction(f32::NAN) && !empty.needs_compaction(0.0) && empty.needs_compaction(-1.0)
    );
    let mut full = ContextWindow::new(2, 1);
    full.push(Message::user("x"), u32::MAX);
    full.push(Message::user("y"), u32::MAX);
    assert_eq!((full.total_tokens(), full.available()), (u32::MAX, 0));
    full.clear();
    assert!(full.is_empty() && full.available() == 1);
}

#[test]
fn what_panics_has_a_twin_that_fails() {
    let mut window = window(&script("u"));
    let missing = WindowError::NoMessage { index: 1, len: 1 };
    assert_eq!(window.try_protect(1), Err(missing));
    assert_eq!(window.try_unprotect(1), Err(missing));
    assert_eq!(window.try_is_protected(1), Err(missing));
    assert_eq!(window.try_token_count(1), Err(missing));
    assert_eq!(window.try_update_token_count(1, 2), Err(missing));
    let no_input = ContextWindow::try_new(10, 10).map(|_| ());
    assert_eq!(no_input, Err(WindowError::NoInput { max_tokens: 10, reserved_for_output: 10 }));
    let panic = catch_unwind(|| ContextWindow::new(10, 10)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("must be less than max_tokens"));
    assert!(catch_unwind(move || window.is_protected(1)).is_err());
}

proptest! {
    #[test]
    fn compaction_keeps_pairs_order_and_the_sum(
        messages in strategies::transcript(),
        n_recent in 0_usize..8,
    ) {
        let mut window = window(&messages);
        window.protect_recent(n_recent);
        let removed = window.compact();
        let left = window.messages_owned();
        laws::pairs_intact(&messages, &left);
        laws::order_preserved(&messages, &left);
        laws::tail_identical(&messages, &left, n_recent.min(messages.len()));
        prop_assert_eq!(removed.len() + left.len(), messages.len());
        prop_assert_eq!(left.iter().filter(|it| is_pinned(it)).count(), messages.iter().filter(|it| is_pinned(it)).count());
        prop_assert_eq!(window.total_tokens() as usize, left.len() * 10);
        prop_assert_eq!(window.compact(), []);
    }
}
