//! The state, what changes it, and what it asks for.

use std::collections::BTreeMap;

use ratatui::crossterm::event::KeyEvent;
use wb_message::number::grouped;
use wb_message::text::{escape_controls, escape_controls_in_lines};

use crate::context::{Context, Details, DigestLine, FoldedMessage, Item};
use crate::screen::colors::Colors;
use crate::screen::wrap::wrapped;

/// News for the screen.
#[derive(Debug)]
pub enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// The session was read, at first or again.
    Opened(Box<Context>),
    /// The details of the context that was read last.
    Explained(Box<Details>),
    /// A search ended.
    Found {
        /// The words that were searched.
        words: String,
        /// The answer.
        lines: Vec<DigestLine>,
        /// The found messages that the model does not see.
        folded: BTreeMap<usize, FoldedMessage>,
    },
    /// A request was carried out, with a report.
    Done(String),
    /// A request failed, or the session cannot be read.
    Failed(String),
}

/// A request by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// End the screen.
    Quit,
    /// Search the whole session.
    Search(String),
    /// Write the previewed compaction into the session.
    Compact {
        /// True if it is not due yet.
        force: bool,
    },
    /// Undo the last operation.
    Undo,
    /// Redo what was undone last.
    Redo,
    /// Keep or fold a message, by its number.
    Choose(Choice, usize),
}

/// A choice for later compactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Contain the message's text in every digest.
    Pin,
    /// Remove that pin.
    Unpin,
    /// Fold the message first.
    Drop,
    /// Remove that drop.
    Undrop,
}

/// A part of the screen that keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Items,
    Text,
    Below,
}

/// The meaning of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Normal,
    Help,
    /// Words to search are typed.
    Typing(String),
    /// A question before something is written.
    Asking(Effect),
}

/// The message whose text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Item(usize),
    Folded(usize),
}

/// The text that is shown, wrapped for a width.
#[derive(Clone, Debug, Default)]
pub(super) struct Wrapped {
    subject: Option<Subject>,
    columns: usize,
    pub(super) lines: Vec<String>,
}

/// The heights of the parts, as they were drawn last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heights {
    pub(super) items: usize,
    pub(super) text: usize,
    pub(super) below: usize,
}

/// The screen: a context, its details, and what the user looks at.
#[derive(Debug)]
pub struct Screen {
    pub(super) context: Context,
    pub(super) details: Option<Details>,
    pub(super) colors: Colors,
    pub(super) focus: Focus,
    pub(super) mode: Mode,
    /// The items in the order of the list.
    pub(super) rows: Vec<usize>,
    pub(super) is_by_weight: bool,
    pub(super) selected: usize,
    pub(super) subject: Subject,
    pub(super) text: Wrapped,
    pub(super) scroll: usize,
    pub(super) line: usize,
    /// The words and lines of a search, in place of the digest.
    pub(super) found: Option<(String, Vec<DigestLine>)>,
    /// The last event, until the next key.
    pub(super) status: Option<String>,
    /// The work in progress.
    pub(super) progress: Option<&'static str>,
    pub(super) heights: Heights,
}

impl Screen {
    /// Creates a screen for a session that is not read yet.
    pub fn new(file: impl Into<String>, colors: Colors) -> Self {
        Self {
            context: Context { file: file.into(), ..Context::default() },
            details: None,
            colors,
            focus: Focus::Items,
            mode: Mode::Normal,
            rows: Vec::new(),
            is_by_weight: false,
            selected: 0,
            subject: Subject::Item(0),
            text: Wrapped::default(),
            scroll: 0,
            line: 0,
            found: None,
            status: None,
            progress: Some("reading…"),
            heights: Heights::default(),
        }
    }

    /// Takes in news; returns what a key asks for.
    pub fn update(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Key(key) => return self.press(key),
            Input::Opened(context) => self.open(*context),
            Input::Explained(details) => self.explain(*details),
            Input::Found { words, lines, folded } => self.show_found(words, lines, folded),
            Input::Done(what) | Input::Failed(what) => {
                self.status = Some(escape_controls(&what).into_owned());
            }
        }
        None
    }

    fn open(&mut self, context: Context) {
        let is_first = self.context.items.is_empty();
        let was_last = is_first || self.selected + 1 >= self.rows.len();
        let shown = self.rows.get(self.selected).copied();
        let old = &self.context.items;
        let grew = old.len() <= context.items.len()
            && old.iter().zip(&context.items).all(|(one, other)| one.label == other.label);
        if !grew {
            self.details = None;
        }
        let shown = if grew { shown } else { shown.and_then(|at| same_item(old, at, &context.items)) };
        self.context = context;
        self.sort();
        let last = self.rows.len().saturating_sub(1);
        let same = shown.and_then(|at| self.rows.iter().position(|row| *row == at));
        self.selected = if was_last && !self.is_by_weight { last } else { same.unwrap_or(last) };
        self.progress = self.details.is_none().then_some("previewing the next compaction…");
        self.select();
        if !grew {
            // The same index is another message now.
            (self.scroll, self.line, self.text) = (0, 0, Wrapped::default());
        }
    }

    fn explain(&mut self, details: Details) {
        self.details = Some(details);
        self.progress = None;
        self.text = Wrapped::default();
        self.line = self.line.min(self.below_lines().len().saturating_sub(1));
    }

    fn show_found(&mut self, words: String, lines: Vec<DigestLine>, folded: BTreeMap<usize, FoldedMessage>) {
        if let Some(details) = &mut self.details {
            details.folded.extend(folded);
        }
        self.found = Some((words, lines));
        (self.line, self.focus, self.status) = (0, Focus::Below, None);
    }

    /// Orders the rows.
    pub(super) fn sort(&mut self) {
        self.rows = (0..self.context.items.len()).collect();
        if self.is_by_weight {
            let items = &self.context.items;
            self.rows.sort_by_key(|at| std::cmp::Reverse(items[*at].tokens));
        }
    }

    /// Shows the selected item.
    pub(super) fn select(&mut self) {
        let subject = Subject::Item(self.rows.get(self.selected).copied().unwrap_or(0));
        if subject != self.subject {
            self.scroll = 0;
        }
        self.subject = subject;
    }

    /// Shows the message of a number.
    pub(super) fn jump(&mut self, number: usize) {
        let Some(details) = &self.details else { return };
        if let Some(at) = details.item_of(number) {
            self.selected = self.rows.iter().position(|row| *row == at).unwrap_or(0);
            self.scroll = 0;
            self.select();
        } else if details.folded.contains_key(&number) {
            (self.subject, self.scroll) = (Subject::Folded(number), 0);
        } else {
            self.status = Some(format!("#{} is not in the context", grouped(number as u64)));
        }
    }

    /// Returns the lines of the part below: the digest, or what was found.
    pub(super) fn below_lines(&self) -> &[DigestLine] {
        match (&self.found, &self.details) {
            (Some((_, lines)), _) => lines,
            (None, Some(details)) => &details.digest,
            (None, None) => &[],
        }
    }

    /// Returns the number of the message whose text is shown; none of a digest.
    pub(super) fn shown_number(&self) -> Option<usize> {
        match self.subject {
            Subject::Item(at) => self.details.as_ref()?.number(at),
            Subject::Folded(number) => Some(number),
        }
    }

    /// Returns the lines of the shown text.
    pub(super) fn wrap_text(&mut self, columns: usize) -> &[String] {
        if self.text.subject != Some(self.subject) || self.text.columns != columns {
            let text = escape_controls_in_lines(&self.shown_text()).replace('\t', "    ");
            let lines = wrapped(&text, columns);
            self.text = Wrapped { subject: Some(self.subject), columns, lines };
        }
        &self.text.lines
    }

    fn shown_text(&self) -> String {
        let Some(details) = &self.details else { return "reading…".to_owned() };
        match self.subject {
            Subject::Item(at) => details.text(at),
            Subject::Folded(number) => {
                details.folded.get(&number).map(|it| it.text.clone()).unwrap_or_default()
            }
        }
    }
}

/// Returns the index of an item in another list: the nearest to its end that has the same line.
fn same_item(old: &[Item], at: usize, new: &[Item]) -> Option<usize> {
    let shown = old.get(at)?;
    let from_end = old.len() - at;
    let same = (0..new.len()).filter(|at| new[*at].label == shown.label);
    same.min_by_key(|at| (new.len() - at).abs_diff(from_end))
}
