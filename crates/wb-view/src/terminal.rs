//! The loop: draws, takes keys and news, and hands on what they ask for.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::screen::{Effect, Input, Screen};

/// The longest time in which news waits for a key.
const WAIT: Duration = Duration::from_millis(80);

/// Shows a screen until a key ends it or no news can come any more.
///
/// The terminal is restored at the end, also after a panic.
pub fn run(screen: &mut Screen, news: &Receiver<Input>, mut ask: impl FnMut(Effect)) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let end = show(&mut terminal, screen, news, &mut ask);
    ratatui::try_restore()?;
    end
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    screen: &mut Screen,
    news: &Receiver<Input>,
    ask: &mut impl FnMut(Effect),
) -> io::Result<()> {
    let mut is_changed = true;
    loop {
        if is_changed {
            terminal.draw(|frame| screen.render(frame))?;
        }
        is_changed = false;
        if event::poll(WAIT)? {
            is_changed = true;
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    match screen.update(Input::Key(key)) {
                        Some(Effect::Quit) => return Ok(()),
                        Some(effect) => ask(effect),
                        None => {}
                    }
                }
                _ => {}
            }
        }
        loop {
            match news.try_recv() {
                Ok(input) => {
                    screen.update(input);
                    is_changed = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }
}
