//! Keys, through the same function as in the loop.

use std::collections::BTreeMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wb_message::Message;
use wb_view::{Choice, Details, DigestLine, Effect, FoldedMessage, Input};

use crate::sample::{DIGEST, context, details, messages};
use crate::screens::Driven;

fn opened() -> Driven {
    Driven::opened(80, 24)
}

#[test]
fn help_names_every_key_and_any_key_closes_it() {
    let mut driven = opened();
    driven.keys("?");
    insta::assert_snapshot!(driven.text());
    assert_eq!(driven.keys("q"), None);
    assert!(driven.text().contains("▶ context"));
    assert_eq!(driven.keys("q"), Some(Effect::Quit));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(opened().take(Input::Key(interrupt)), Some(Effect::Quit));
}

#[test]
fn a_line_of_the_digest_leads_to_its_message() {
    let mut driven = opened();
    driven.keys("\t");
    driven.press(KeyCode::Tab);
    driven.press(KeyCode::Tab);
    assert!(driven.text().contains("▶ digest"), "{}", driven.text());
    for _ in 0..6 {
        driven.press(KeyCode::Down);
    }
    driven.press(KeyCode::Enter);
    let text = driven.text();
    assert!(text.contains("─ #1 · assistant") && text.contains("call Read"), "{text}");
    driven.press(KeyCode::Up);
    driven.press(KeyCode::Home);
    driven.press(KeyCode::Enter);
    assert!(driven.text().contains("this line has no single source"), "{}", driven.text());
}

#[test]
fn the_list_is_sorted_by_weight() {
    let mut driven = opened();
    driven.keys("s");
    let text = driven.text();
    assert!(text.contains("heaviest first") && text.contains(">~#16"), "{text}");
    driven.keys("s");
    assert!(!driven.text().contains("heaviest first"));
}

#[test]
fn a_key_that_writes_asks_first_and_only_y_writes() {
    for (key, effect, question) in [
        ('c', Effect::Compact { force: true }, "Compact 4,"),
        ('u', Effect::Undo, "Undo the last operation?"),
        ('r', Effect::Redo, "Redo what was undone last?"),
    ] {
        let mut driven = opened();
        assert_eq!(driven.press(KeyCode::Char(key)), None);
        assert!(driven.text().contains(question), "{}", driven.text());
        assert_eq!(driven.press(KeyCode::Enter), None);
        assert!(driven.text().contains("nothing was written"), "{}", driven.text());
        driven.press(KeyCode::Char(key));
        assert_eq!(driven.keys("y"), Some(effect));
    }
    for c in "abefghijklmnoqstvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ".chars().filter(|c| *c != 'q') {
        assert_eq!(opened().keys(&format!("{c}")), None, "{c}");
        if c != '/' {
            assert_eq!(opened().keys(&format!("{c}y")), None, "{c}");
        }
    }
}

#[test]
fn a_message_is_pinned_or_dropped_after_a_question_and_the_same_key_undoes_it() {
    let mut driven = opened();
    driven.press(KeyCode::Home);
    for (key, choice, question) in [
        ('p', Choice::Pin, "Pin #0 in every later digest?"),
        ('d', Choice::Drop, "Fold #0 first from now on?"),
    ] {
        driven.keys(&key.to_string());
        assert!(driven.text().contains(question), "{}", driven.text());
        assert_eq!(driven.press(KeyCode::Enter), None);
        assert_eq!(driven.keys(&format!("{key}y")), Some(Effect::Choose(choice, 0)));
    }
    let chosen = [0].into();
    let details = Details { pinned: chosen, dropped: [0, 3].into(), ..details(messages(), DIGEST) };
    driven.take(Input::Explained(Box::new(details)));
    assert!(driven.text().contains(">-p #0"), "{}", driven.text());
    assert!(driven.text().contains(" -d #3"), "{}", driven.text());
    assert!(driven.text().contains("pinned, dropped"), "{}", driven.text());
    assert_eq!(driven.keys("py"), Some(Effect::Choose(Choice::Unpin, 0)));
    assert_eq!(driven.keys("dy"), Some(Effect::Choose(Choice::Undrop, 0)));
}

#[test]
fn a_compaction_keeps_the_selected_message_and_shows_its_text_from_the_start() {
    let mut driven = Driven::opened(140, 24);
    let mut kept = messages().split_off(15);
    kept.insert(0, Message::user("Digest."));
    (0..2).for_each(|_| drop(driven.press(KeyCode::Up)));
    driven.press(KeyCode::Enter);
    driven.press(KeyCode::End);
    let shown = driven.text();
    assert!(shown.contains(">~#16") && shown.contains("38/38"), "{shown}");
    driven.take(Input::Opened(Box::new(context(&kept))));
    driven.take(Input::Explained(Box::new(details(kept, DIGEST))));
    let now = driven.text();
    assert!(now.contains("fn part_7() {}") && now.contains('>'), "{now}");
    insta::assert_snapshot!(now);
}

#[test]
fn a_compaction_that_would_change_nothing_is_not_offered() {
    let mut driven = opened();
    let mut details = details(messages(), "");
    details.preview.unchanged = Some("nothing left to fold".to_owned());
    driven.take(Input::Explained(Box::new(details)));
    driven.keys("c");
    assert!(driven.text().contains("would change nothing: nothing left to fold"), "{}", driven.text());
    assert_eq!(driven.keys("y"), None);
}

#[test]
fn a_search_shows_what_was_found_also_if_it_was_folded() {
    let mut driven = opened();
    driven.press(KeyCode::Char('/'));
    assert_eq!(driven.keys("portx"), None);
    driven.press(KeyCode::Backspace);
    assert!(driven.text().contains("search: port▏"), "{}", driven.text());
    assert_eq!(driven.press(KeyCode::Enter), Some(Effect::Search("port".to_owned())));
    let lines = [("#99 the user · turn 1", Some(99)), ("     1| Use port 9090.", Some(99))];
    let lines = lines.map(|(text, source)| DigestLine { text: text.to_owned(), source }).to_vec();
    let message = FoldedMessage { label: "user".to_owned(), text: "Use port 9090.\x1b[2J".to_owned() };
    driven.take(Input::Found { words: "port".to_owned(), lines, folded: BTreeMap::from([(99, message)]) });
    driven.press(KeyCode::Enter);
    let text = driven.text();
    assert!(text.contains("#99 · folded earlier") && text.contains("Use port 9090.\\u{1b}[2J"), "{text}");
    driven.press(KeyCode::Esc);
    assert!(driven.text().contains("digest of the next compaction"), "{}", driven.text());
}

#[test]
fn a_session_that_grows_is_followed_and_one_that_was_compacted_is_explained_anew() {
    let mut driven = opened();
    let mut more = messages();
    more.push(Message::user("Thanks, ship it."));
    driven.take(Input::Opened(Box::new(context(&more))));
    let text = driven.text();
    assert!(
        text.contains("20 messages") && text.contains("> ") && text.contains("Thanks, ship it."),
        "{text}"
    );
    assert!(text.contains("digest of the next compaction"), "the details of before are shown meanwhile");
    driven.press(KeyCode::Home);
    more.push(Message::assistant("Shipped."));
    driven.take(Input::Opened(Box::new(context(&more))));
    assert!(driven.text().contains(">- #0"), "{}", driven.text());
    driven.take(Input::Opened(Box::new(context(&more[15..]))));
    assert!(!driven.text().contains("digest of the next compaction"), "{}", driven.text());
    driven.take(Input::Explained(Box::new(details(more[15..].to_vec(), DIGEST))));
    assert!(driven.text().contains("6 messages"), "{}", driven.text());
}

#[test]
fn a_failure_is_shown_and_drives_no_terminal() {
    let mut driven = opened();
    driven.take(Input::Failed("is open in \x1b[31mpi\n".to_owned()));
    assert!(driven.text().contains("is open in \\u{1b}[31mpi\\n"), "{}", driven.text());
}
