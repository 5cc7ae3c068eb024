//! Keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::screen::state::{Choice, Effect, Focus, Mode, Screen};

/// A move within a part.
#[derive(Clone, Copy, Debug)]
enum Move {
    Back(usize),
    On(usize),
    First,
    Last,
}

impl Screen {
    /// Takes a key; returns what it asks for.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Effect::Quit);
        }
        match std::mem::replace(&mut self.mode, Mode::Normal) {
            Mode::Normal => self.press_normal(key),
            Mode::Help => None,
            Mode::Typing(words) => self.press_typing(key, words),
            Mode::Asking(effect) => self.answer(key, effect),
        }
    }

    fn press_normal(&mut self, key: KeyEvent) -> Option<Effect> {
        self.status = None;
        match key.code {
            KeyCode::Char('q') => return Some(Effect::Quit),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Typing(String::new()),
            KeyCode::Char('s') => self.toggle_order(),
            KeyCode::Char('c') => self.ask_to_compact(),
            KeyCode::Char('u') => self.mode = Mode::Asking(Effect::Undo),
            KeyCode::Char('r') => self.mode = Mode::Asking(Effect::Redo),
            KeyCode::Char('p') => self.ask_to_choose(Choice::Pin, Choice::Unpin),
            KeyCode::Char('d') => self.ask_to_choose(Choice::Drop, Choice::Undrop),
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(2),
            KeyCode::Enter => self.enter(),
            KeyCode::Esc => self.leave(),
            code => self.press_move(code),
        }
        None
    }

    fn press_move(&mut self, code: KeyCode) {
        let page = match self.focus {
            Focus::Items => self.heights.items,
            Focus::Text => self.heights.text,
            Focus::Below => self.heights.below,
        };
        let page = page.saturating_sub(1).max(1);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.go(Move::Back(1)),
            KeyCode::Down | KeyCode::Char('j') => self.go(Move::On(1)),
            KeyCode::PageUp => self.go(Move::Back(page)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(Move::On(page)),
            KeyCode::Home | KeyCode::Char('g') => self.go(Move::First),
            KeyCode::End | KeyCode::Char('G') => self.go(Move::Last),
            _ => {}
        }
    }

    fn go(&mut self, to: Move) {
        match self.focus {
            Focus::Items => {
                self.selected = moved(self.selected, self.rows.len(), to);
                self.select();
            }
            Focus::Text => {
                let n = self.text.lines.len().saturating_sub(self.heights.text) + 1;
                self.scroll = moved(self.scroll, n, to);
            }
            Focus::Below => self.line = moved(self.line, self.below_lines().len(), to),
        }
    }

    fn turn(&mut self, by: usize) {
        const ORDER: [Focus; 3] = [Focus::Items, Focus::Text, Focus::Below];
        let at = ORDER.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        self.focus = ORDER[(at + by) % ORDER.len()];
    }

    fn toggle_order(&mut self) {
        let at = self.rows.get(self.selected).copied();
        self.is_by_weight = !self.is_by_weight;
        self.sort();
        // By weight, the heaviest is what one looks for.
        let same = at.and_then(|at| self.rows.iter().position(|row| *row == at)).unwrap_or(0);
        self.selected = if self.is_by_weight { 0 } else { same };
        self.focus = Focus::Items;
        self.select();
    }

    fn enter(&mut self) {
        match self.focus {
            Focus::Items => self.focus = Focus::Text,
            Focus::Text => self.focus = Focus::Items,
            Focus::Below => {
                let source = self.below_lines().get(self.line).and_then(|line| line.source);
                match source {
                    Some(number) => self.jump(number),
                    None => self.status = Some("this line has no single source".to_owned()),
                }
            }
        }
    }

    fn leave(&mut self) {
        if self.found.take().is_some() {
            self.line = 0;
        } else {
            self.focus = Focus::Items;
            self.select();
        }
    }

    fn ask_to_compact(&mut self) {
        let Some(details) = &self.details else {
            self.status = Some("wait for the preview".to_owned());
            return;
        };
        let preview = &details.preview;
        match &preview.unchanged {
            Some(why) => self.status = Some(format!("a compaction would change nothing: {why}")),
            None => self.mode = Mode::Asking(Effect::Compact { force: preview.is_early }),
        }
    }

    /// Asks to choose the shown message, or to undo that if it is chosen already.
    fn ask_to_choose(&mut self, choice: Choice, back: Choice) {
        let Some(details) = &self.details else {
            self.status = Some("wait for the preview".to_owned());
            return;
        };
        let Some(number) = self.shown_number() else {
            self.status = Some("this is from a compaction; choose a message with a number".to_owned());
            return;
        };
        let chosen = if choice == Choice::Pin { &details.pinned } else { &details.dropped };
        let choice = if chosen.contains(&number) { back } else { choice };
        self.mode = Mode::Asking(Effect::Choose(choice, number));
    }

    fn answer(&mut self, key: KeyEvent, effect: Effect) -> Option<Effect> {
        if matches!(key.code, KeyCode::Char('y' | 'Y')) {
            self.status = Some("writing…".to_owned());
            return Some(effect);
        }
        self.status = Some("nothing was written".to_owned());
        None
    }

    fn press_typing(&mut self, key: KeyEvent, mut words: String) -> Option<Effect> {
        match key.code {
            KeyCode::Esc => return None,
            KeyCode::Enter if words.trim().is_empty() => return None,
            KeyCode::Enter => {
                self.status = Some("searching…".to_owned());
                return Some(Effect::Search(words));
            }
            KeyCode::Backspace => {
                words.pop();
            }
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => words.push(c),
            _ => {}
        }
        self.mode = Mode::Typing(words);
        None
    }
}

fn moved(at: usize, n: usize, to: Move) -> usize {
    let last = n.saturating_sub(1);
    match to {
        Move::Back(by) => at.saturating_sub(by),
        Move::On(by) => (at + by).min(last),
        Move::First => 0,
        Move::Last => last,
    }
}
