//! The screen as a whole.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use wb_message::number::grouped;
use wb_message::text::escape_controls;

use crate::screen::colors::selected;
use crate::screen::help::HELP;
use crate::screen::meter::{bar, legend};
use crate::screen::panes::put;
use crate::screen::state::{Choice, Effect, Mode, Screen};
use crate::screen::wrap::{cut, cut_start};
use crate::verdict::short_outlook;

/// The rows around the parts: title, bar, legend, outlook, keys.
const FRAME_ROWS: u16 = 5;
const KEYS: &str = " ? help  q quit  / search  s sort  c compact…  u undo…  r redo…  p pin…  d drop…";

impl Screen {
    /// Draws the screen.
    pub fn render(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        let columns = usize::from(area.width);
        put(buffer, area, 0, &self.heading(columns));
        put(buffer, area, 1, &bar(&self.context, self.colors, columns));
        put(buffer, area, 2, &legend(&self.context, self.colors, columns));
        let body = Rect { y: area.y + 3, height: area.height.saturating_sub(FRAME_ROWS), ..area };
        if self.mode == Mode::Help {
            HELP.iter().enumerate().for_each(|(row, line)| put(buffer, body, row, &Line::raw(*line)));
        } else {
            self.draw_parts(buffer, body);
        }
        let last = usize::from(area.height).saturating_sub(1);
        put(buffer, area, last.saturating_sub(1), &self.outlook(columns));
        put(buffer, area, last, &self.footer(columns));
    }

    fn draw_parts(&mut self, buffer: &mut Buffer, area: Rect) {
        let below = (area.height * 2 / 5).clamp(4, 16).min(area.height);
        let top = area.height - below;
        let left = (area.width * 11 / 20).max(28).min(area.width);
        self.draw_items(buffer, Rect { height: top, width: left, ..area });
        self.draw_text(buffer, Rect { x: area.x + left, height: top, width: area.width - left, ..area });
        self.draw_below(buffer, Rect { y: area.y + top, height: below, ..area });
    }

    fn heading(&self, columns: usize) -> Line<'static> {
        let context = &self.context;
        let about: Vec<&str> =
            [Some(context.format.as_str()), context.model.as_deref()].into_iter().flatten().collect();
        let about = escape_controls(&about.join(" · ")).into_owned();
        let room = columns.saturating_sub(about.chars().count() + 3);
        let file = escape_controls(&context.file).into_owned();
        let name = file.rsplit('/').next().unwrap_or_default();
        let shown = if file.chars().count() <= room { file.clone() } else { cut_start(name, room) };
        Line::from(vec![Span::styled(format!(" {shown}"), selected(false)), Span::raw(format!("  {about}"))])
    }

    /// Says what the next compaction would do.
    fn outlook(&self, columns: usize) -> Line<'static> {
        let Some(details) = &self.details else { return Line::default() };
        let text = short_outlook(&self.context, &details.preview);
        Line::styled(cut(&format!(" {}", escape_controls(&text)), columns), self.colors.source())
    }

    /// Returns the keys, a question, what is typed, or what happened.
    fn footer(&self, columns: usize) -> Line<'static> {
        match (&self.mode, &self.status) {
            (Mode::Typing(words), _) => {
                let end = cut_start(&escape_controls(words), columns.saturating_sub(36));
                Line::raw(format!(" search: {end}▏  Enter searches, Esc cancels"))
            }
            (Mode::Asking(effect), _) => {
                Line::styled(cut(&self.question(effect), columns), self.colors.alarm())
            }
            (_, Some(status)) => Line::raw(cut(&format!(" {status}"), columns)),
            (_, None) if self.progress.is_some() => {
                Line::raw(format!(" {}", self.progress.unwrap_or_default()))
            }
            (_, None) => Line::styled(cut(KEYS, columns), self.colors.dim()),
        }
    }

    fn question(&self, effect: &Effect) -> String {
        let what = match effect {
            Effect::Compact { .. } => {
                let after = self.details.as_ref().map_or(0, |details| details.preview.used_after);
                format!("Compact {} → {} tokens", grouped(self.context.budget.used), grouped(after))
            }
            Effect::Undo => "Undo the last operation".to_owned(),
            Effect::Redo => "Redo what was undone last".to_owned(),
            Effect::Choose(Choice::Pin, number) => format!("Pin #{number} in every later digest"),
            Effect::Choose(Choice::Unpin, number) => format!("Unpin #{number}"),
            Effect::Choose(Choice::Drop, number) => format!("Fold #{number} first from now on"),
            Effect::Choose(Choice::Undrop, number) => format!("Fold #{number} first no longer"),
            Effect::Search(_) | Effect::Quit => String::new(),
        };
        format!(" {what}? y writes, other keys cancel")
    }
}
