//! Reads the user's lines: with a line editor on a terminal, plainly from a pipe.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The prompt.
const PROMPT: &str = "> ";
/// Printed after Ctrl-C without a line.
const HOW_TO_LEAVE: &str = "Ctrl-D or /quit leaves";

/// The source of the user's lines.
///
/// A thread reads, since a started read cannot be canceled.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: UnboundedReceiver<String>,
    /// Requests a line from an editor; a pipe is read ahead, so that Ctrl-C reaches the work.
    asks: Option<Sender<()>>,
}

impl Lines {
    /// Starts to read standard input; `history` are earlier lines, oldest first.
    pub(crate) fn start(history: Vec<String>) -> Self {
        let (send, lines) = unbounded_channel();
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            std::thread::spawn(move || read_plainly(&send));
            return Self { lines, asks: None };
        }
        let (ask, asked) = channel();
        std::thread::spawn(move || edit(&history, &asked, &send));
        Self { lines, asks: Some(ask) }
    }

    /// Returns whether a person types at a terminal.
    pub(crate) fn is_edited(&self) -> bool {
        self.asks.is_some()
    }

    /// Returns the next line; none at the end of the input, or after Ctrl-C at a plain prompt.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        if let Some(ask) = &self.asks {
            ask.send(()).ok()?;
            return self.lines.recv().await;
        }
        print!("{PROMPT}");
        let _ = io::stdout().flush();
        tokio::select! {
            line = self.lines.recv() => line,
            _ = tokio::signal::ctrl_c() => None,
        }
    }
}

fn read_plainly(lines: &UnboundedSender<String>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if lines.send(line).is_err() {
            break;
        }
    }
}

/// Edits one line for each request. Ctrl-C clears a line and never ends the program.
fn edit(history: &[String], asked: &Receiver<()>, lines: &UnboundedSender<String>) {
    let Ok(mut editor) = DefaultEditor::new() else { return read_plainly(lines) };
    for line in history {
        let _ = editor.add_history_entry(line);
    }
    while asked.recv().is_ok() {
        let Some(line) = edit_one(&mut editor) else { return };
        if lines.send(line).is_err() {
            return;
        }
    }
}

fn edit_one(editor: &mut DefaultEditor) -> Option<String> {
    loop {
        match editor.readline(PROMPT) {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                return Some(line);
            }
            Err(ReadlineError::Interrupted) => println!("{HOW_TO_LEAVE}"),
            Err(_) => return None,
        }
    }
}
