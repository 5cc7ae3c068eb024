//! The screen at several sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use wb_view::{Colors, Effect, Input, Screen};

use crate::sample::{DIGEST, context, details, messages};

/// A screen that is driven as the loop drives it.
pub(crate) struct Driven {
    pub(crate) screen: Screen,
    terminal: Terminal<TestBackend>,
}

impl Driven {
    pub(crate) fn new(columns: u16, rows: u16, colors: Colors) -> Self {
        let screen = Screen::new("work/cart.jsonl", colors);
        let mut driven = Self { screen, terminal: Terminal::new(TestBackend::new(columns, rows)).unwrap() };
        driven.show();
        driven
    }

    /// Shows a whole session.
    pub(crate) fn opened(columns: u16, rows: u16) -> Self {
        let mut driven = Self::new(columns, rows, Colors::Off);
        driven.take(Input::Opened(Box::new(context(&messages()))));
        driven.take(Input::Explained(Box::new(details(messages(), DIGEST))));
        driven
    }

    pub(crate) fn take(&mut self, input: Input) -> Option<Effect> {
        let effect = self.screen.update(input);
        self.show();
        effect
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, code: KeyCode) -> Option<Effect> {
        self.take(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// Types characters, one key each; returns the last effect.
    pub(crate) fn keys(&mut self, keys: &str) -> Option<Effect> {
        keys.chars().map(|c| self.press(KeyCode::Char(c))).last().flatten()
    }

    fn show(&mut self) {
        self.terminal.draw(|frame| self.screen.render(frame)).unwrap();
    }

    /// Returns what is on the screen.
    pub(crate) fn text(&self) -> String {
        let text = self.terminal.backend().to_string();
        let rows = text.lines().map(|row| row.trim_matches('"').trim_end());
        rows.collect::<Vec<_>>().join("\n")
    }

    fn has_colors(&self) -> bool {
        let cells = &self.terminal.backend().buffer().content;
        cells.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    }
}

#[test]
fn a_screen_of_80_columns() {
    insta::assert_snapshot!(Driven::opened(80, 24).text());
}

#[test]
fn a_screen_of_100_columns() {
    insta::assert_snapshot!(Driven::opened(100, 40).text());
}

#[test]
fn a_screen_of_60_columns() {
    insta::assert_snapshot!(Driven::opened(60, 20).text());
}

#[test]
fn a_screen_before_the_session_is_read() {
    let mut driven = Driven::new(80, 24, Colors::Off);
    assert!(driven.text().contains("reading…"), "{}", driven.text());
    driven.take(Input::Opened(Box::new(context(&messages()))));
    assert!(driven.text().contains("previewing the next compaction…"), "{}", driven.text());
}

#[test]
fn a_screen_of_any_size_is_drawn() {
    for (columns, rows) in [(1, 1), (2, 3), (10, 5), (28, 8), (200, 6), (300, 90)] {
        let mut driven = Driven::opened(columns, rows);
        driven.keys("?");
        driven.keys("q/ab");
    }
}

#[test]
fn colours_are_left_out_if_none_are_wanted() {
    let mut plain = Driven::opened(80, 24);
    plain.keys("c");
    assert!(!plain.has_colors());
    let mut colored = Driven::new(80, 24, Colors::On);
    colored.take(Input::Opened(Box::new(context(&messages()))));
    assert!(colored.has_colors());
}
