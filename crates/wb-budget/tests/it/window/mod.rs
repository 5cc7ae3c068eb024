//! The token-budgeted buffer: what is promised in words, the recorded answers, and the laws.

mod recorded;
mod laws;

use wb_budget::{ContextWindow, Irreducible, WindowError};
use wb_message::Message;
use wb_testkit::script;

/// Fills a window of that budget; every message has ten tokens.
fn window(budget: u32, line: &str) -> ContextWindow {
    let mut window = ContextWindow::new(budget, 0);
    for message in script(line) {
        window.push(message, 10);
    }
    window
}

/// Returns the places, in a script, of messages that came back.
#[track_caller]
fn places(line: &str, messages: &[Message]) -> Vec<usize> {
    let all = script(line);
    let place = |message| all.iter().position(|other| other == message).unwrap();
    messages.iter().map(place).collect()
}

#[track_caller]
fn check_compact(line: &str, protected: &[usize], removed: &[usize]) {
    let mut window = window(1000, line);
    for &at in protected {
        window.protect(at);
    }
    assert_eq!(places(line, &window.compact()), removed, "{line}");
}

#[track_caller]
fn check_force_fit(budget: u32, line: &str, protected: &[usize], removed: &[usize]) {
    let mut window = window(budget, line);
    for &at in protected {
        window.protect(at);
    }
    assert_eq!(places(line, &window.force_fit()), removed, "{line}");
}

#[test]
fn a_call_and_its_results_stay_or_go_together() {
    check_compact("u a:read,bash t t a", &[2], &[0, 4]);
    check_compact("u a:read,bash t t a", &[1], &[0, 4]);
    check_compact("u a:read,bash t t a", &[4], &[0, 1, 2, 3]);
    check_force_fit(40, "u a:read,bash t t a", &[0], &[1, 2, 3]);
    check_force_fit(40, "a:read t u a u", &[1], &[2]);
}

#[test]
fn results_that_come_late_twice_or_nested_belong_to_their_call() {
    check_compact("a:read#x,bash#y t#x u t#y t#x u", &[4], &[2, 5]);
    check_compact("a:read u n a", &[2], &[1, 3]);
    check_compact("a:read#x t#x a:read#x t#x u", &[1], &[2, 3, 4]);
    check_compact("t#stray a:read#x t#x u", &[0], &[1, 2, 3]);
}

#[test]
fn calls_in_flight_stay_and_older_ones_without_an_answer_go() {
    check_compact("u a:bash u a:read,grep t#c2", &[], &[0, 1, 2]);
    check_compact("u a:bash u", &[], &[0, 2]);
    check_force_fit(10, "a:bash u a:read u", &[], &[0, 1, 3]);
}

#[test]
fn groups_go_oldest_first_until_the_budget_is_kept() {
    check_force_fit(50, "u a u a u", &[], &[]);
    check_force_fit(49, "u a u a u", &[], &[0]);
    check_force_fit(20, "s u a:read t u a u", &[], &[1, 2, 3, 4, 5]);
    check_force_fit(1, "u a u", &[1], &[0, 2]);
}

#[test]
fn the_recent_messages_are_those_of_now() {
    let mut window = window(1000, "u a");
    window.protect_recent(2);
    for message in script("u a u") {
        window.push(message, 10);
    }
    let protected: Vec<_> = (0..5).map(|at| window.is_protected(at)).collect();
    assert_eq!(protected, [false, false, false, true, true]);
    window.protect_recent(0);
    assert!((0..5).all(|at| !window.is_protected(at)));
    window.protect_recent(usize::MAX);
    assert!((0..5).all(|at| window.is_protected(at)) && window.compact().is_empty());
}

#[test]
fn the_later_of_protect_recent_and_unprotect_counts() {
    let mut window = window(1000, "u a u");
    window.protect_recent(2);
    window.unprotect(2);
    assert_eq!((window.is_protected(1), window.is_protected(2)), (true, false));
    window.push(Message::assistant("next"), 10);
    assert_eq!((window.is_protected(2), window.is_protected(3)), (false, true));
    window.protect_recent(2);
    assert!(window.is_protected(2));
    window.unprotect(2);
    window.protect(2);
    assert!(window.is_protected(2));
}

#[test]
fn system_texts_stay_until_they_are_unprotected_by_name() {
    let mut window = window(1, "s u s a");
    assert_eq!(window.compact().len(), 2);
    window.unprotect(0);
    window.protect_recent(2);
    assert!(window.is_protected(0), "the window of recent messages covers it");
    window.push(Message::user("next"), 10);
    assert!(!window.is_protected(0));
    assert_eq!(window.force_fit(), script("s"));
}

#[test]
fn a_summary_stands_behind_the_system_texts_and_goes_with_the_next_compaction() {
    let mut window = window(1000, "s s u a u a");
    window.protect_recent(2);
    assert_eq!(window.compact().len(), 2);
    assert_eq!(window.insert_summary(Message::custom("system", "first"), 7), 2);
    assert_eq!((window.len(), window.total_tokens()), (5, 47));
    assert!(!window.is_protected(2) && window.is_protected(3) && window.is_protected(4));
    for message in script("u a") {
        window.push(message, 10);
    }
    let removed = window.compact();
    assert_eq!((removed.len(), &removed[0]), (3, &Message::custom("system", "first")));
    assert_eq!(window.insert_summary(Message::user("second"), 7), 2);
    window.protect(2);
    assert_eq!(window.insert_summary(Message::user("third"), 7), 3, "a summary that stays is the older one");
}

#[test]
fn what_is_inserted_is_paired_where_it_stands() {
    let mut messages = script("a:read#x a:read#y t#x a:read#z t#z").into_iter();
    let mut window = ContextWindow::new(1000, 0);
    for message in messages.by_ref().take(2) {
        window.insert_summary(message, 10);
    }
    for message in messages {
        window.push(message, 10);
    }
    window.protect(2);
    assert_eq!(window.compact().len(), 3);
    let ids: Vec<_> =
        window.iter().flat_map(|m| m.calls().map(|(id, ..)| id).chain(m.answered_ids())).collect();
    assert_eq!(ids, ["x", "x"]);
}

#[test]
fn what_cannot_fit_is_told_and_left_as_it_was() {
    let mut window = window(25, "s u a u");
    window.protect(2);
    window.protect(3);
    let why = Irreducible { target_tokens: 25, reached_tokens: 30 };
    assert_eq!(window.try_force_fit(), Err(why));
    assert_eq!((window.len(), window.total_tokens()), (4, 40));
    assert_eq!(window.force_fit().len(), 1);
    assert!(window.needs_compaction(1.0));
    window.unprotect(1);
    assert_eq!(window.try_force_fit().unwrap().len(), 1);
    assert_eq!(window.try_force_fit(), Ok(Vec::new()));
}

#[test]
fn a_cleared_window_is_as_a_new_one() {
    let mut window = window(100, "s u a");
    window.protect_recent(2);
    window.clear();
    assert!(window.is_empty());
    assert_eq!((window.total_tokens(), window.available(), window.messages().len()), (0, 100, 0));
    window.push(Message::user("anew"), 10);
    assert!(!window.is_protected(0));
    assert_eq!(window.messages_owned(), [Message::user("anew")]);
}

#[test]
fn the_numbers_of_a_window_are_those_it_was_made_with() {
    let mut window = ContextWindow::new(1000, 300);
    assert_eq!((window.max_tokens(), window.reserved_for_output(), window.input_budget()), (1000, 300, 700));
    window.push(Message::user("x"), u32::MAX);
    window.push(Message::user("y"), u32::MAX);
    assert_eq!((window.total_tokens(), window.available()), (u32::MAX, 0));
    assert_eq!(window.try_update_token_count(0, 5), Ok(u32::MAX));
    window.update_token_count(1, 6);
    assert_eq!((window.total_tokens(), window.token_count(1)), (11, 6));
}

#[test]
fn what_panics_has_a_twin_that_says_why() {
    let said = |call: &mut dyn FnMut()| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        caught.downcast_ref::<String>().unwrap().clone()
    };
    let error = ContextWindow::<Message>::try_new(5, 5).unwrap_err();
    assert_eq!(error, WindowError::NoInput { max_tokens: 5, reserved_for_output: 5 });
    assert_eq!(error.to_string(), "reserved_for_output (5) must be less than max_tokens (5)");
    assert_eq!(said(&mut || drop(ContextWindow::<Message>::new(5, 5))), error.to_string());

    let mut window = window(10, "u");
    let error = WindowError::NoMessage { index: 1, len: 1 };
    assert_eq!(window.try_protect(1), Err(error));
    assert_eq!(window.try_unprotect(1), Err(error));
    assert_eq!(window.try_is_protected(1), Err(error));
    assert_eq!(window.try_token_count(1), Err(error));
    assert_eq!(window.try_update_token_count(1, 0), Err(error));
    assert_eq!(said(&mut || window.protect(1)), error.to_string());
    assert_eq!(said(&mut || window.unprotect(1)), error.to_string());
    assert_eq!(said(&mut || _ = window.is_protected(1)), error.to_string());
    assert_eq!(said(&mut || _ = window.token_count(1)), error.to_string());
    assert_eq!(said(&mut || window.update_token_count(1, 0)), error.to_string());
}

#[test]
fn a_hundred_thousand_messages_with_forty_thousand_dangling_calls_cost_linear_time() {
    let mut window = ContextWindow::new(1_000_000, 500_000);
    for message in script("u [a:read#x a:bash#y a t#x a]x20000") {
        window.push(message, 10);
    }
    assert_eq!(window.len(), 100_001);
    let removed = window.force_fit();
    assert_eq!(window.total_tokens(), 500_000);
    assert_eq!(removed.len(), 50_001);
    assert_eq!(window.compact().len(), 49_999);
    assert_eq!(window.len(), 1, "the last call is in flight");
}
