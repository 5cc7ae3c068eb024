//! The parts of the screen: the items, a text, and the digest.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use wb_message::number::grouped;
use wb_message::text::escape_controls;

use crate::context::Fate;
use crate::screen::colors::selected;
use crate::screen::state::{Focus, Screen, Subject};
use crate::screen::wrap::cut;

/// The narrowest list that has bars.
const COLUMNS_WITH_BAR: usize = 44;
const BAR_CELLS: usize = 6;
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The widths of the columns of the list.
#[derive(Clone, Copy, Debug)]
struct Widths {
    number: usize,
    tokens: usize,
    has_bar: bool,
    /// A column for pinned and dropped messages.
    has_choice: bool,
}

/// Writes a line into a row of an area, if it is there.
pub(super) fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    if let Ok(row) = u16::try_from(row)
        && row < area.height
    {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Returns the first row of a window of `height` rows that shows the selected one.
fn first_row(selected: usize, n: usize, height: usize) -> usize {
    let middle = selected.saturating_sub(height / 2);
    middle.min(n.saturating_sub(height))
}

impl Screen {
    /// Writes a title with a rule.
    fn title(&self, buffer: &mut Buffer, area: Rect, focus: Focus, title: &str) {
        let has_focus = self.focus == focus;
        let mark = if has_focus { "▶ " } else { "─ " };
        let columns = usize::from(area.width);
        let title = format!("{mark}{} ", cut(title, columns.saturating_sub(4)));
        let rule = "─".repeat(columns.saturating_sub(title.chars().count()));
        let style = if has_focus { selected(false) } else { self.colors.dim() };
        put(
            buffer,
            area,
            0,
            &Line::from(vec![Span::styled(title, style), Span::styled(rule, self.colors.dim())]),
        );
    }

    /// Draws the list of items.
    pub(super) fn draw_items(&mut self, buffer: &mut Buffer, area: Rect) {
        let order = if self.is_by_weight { ", heaviest first" } else { "" };
        let n = self.rows.len();
        let plural = if n == 1 { "message" } else { "messages" };
        self.title(buffer, area, Focus::Items, &format!("context: {} {plural}{order}", grouped(n as u64)));
        let height = usize::from(area.height).saturating_sub(1);
        self.heights.items = height;
        let most = self.context.items.iter().map(|item| item.tokens).max().unwrap_or(1).max(1);
        let first = first_row(self.selected, n, height);
        let last = self.details.as_ref().map_or(0, |details| details.n_said);
        let widths = Widths {
            number: last.to_string().len() + 1,
            tokens: grouped(most).len(),
            has_bar: usize::from(area.width) >= COLUMNS_WITH_BAR,
            has_choice: self
                .details
                .as_ref()
                .is_some_and(|it| !it.pinned.is_empty() || !it.dropped.is_empty()),
        };
        for (row, nth) in (first..n).take(height).enumerate() {
            let line = self.item_line(nth, widths, most);
            put(buffer, area, row + 1, &line);
        }
    }

    fn item_line(&self, nth: usize, widths: Widths, most: u64) -> Line<'static> {
        let at = self.rows[nth];
        let item = &self.context.items[at];
        let fate = self.details.as_ref().map_or(Fate::Kept, |details| details.fate(at));
        let number = self.details.as_ref().and_then(|details| details.number(at));
        let choice = number.and_then(|number| self.details.as_ref()?.choice(number));
        let choice = choice.and_then(|words| words.chars().next()).unwrap_or(' ');
        let number = number.map_or_else(String::new, |number| format!("#{number}"));
        let is_selected = nth == self.selected;
        let mut spans = vec![
            Span::raw(if is_selected { ">" } else { " " }),
            Span::styled(fate.mark().to_string(), self.colors.fate(fate)),
            Span::raw(if widths.has_choice { choice.to_string() } else { String::new() }),
            Span::styled(format!("{number:>0$} ", widths.number), self.colors.dim()),
            Span::raw(format!("{:>1$} ", grouped(item.tokens), widths.tokens)),
        ];
        if widths.has_bar {
            spans.push(Span::styled(format!("{} ", bar(item.tokens, most)), self.colors.kind(item.kind)));
        }
        let style = if fate == Fate::Folded { self.colors.dim() } else { Style::new() };
        spans.push(Span::styled(escape_controls(&item.label).into_owned(), style));
        let line = Line::from(spans);
        if is_selected { line.style(selected(self.focus == Focus::Items)) } else { line }
    }

    /// Draws the text of the selected item.
    pub(super) fn draw_text(&mut self, buffer: &mut Buffer, area: Rect) {
        let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        for row in 0..usize::from(area.height) {
            put(buffer, area, row, &Line::styled("│", self.colors.dim()));
        }
        let height = usize::from(area.height).saturating_sub(1);
        self.heights.text = height;
        let n = self.wrap_text(usize::from(inner.width)).len();
        self.scroll = self.scroll.min(n.saturating_sub(height));
        self.title(buffer, inner, Focus::Text, &self.text_title());
        for (row, line) in self.text.lines.iter().skip(self.scroll).take(height).enumerate() {
            put(buffer, inner, row + 1, &Line::raw(line.as_str()));
        }
    }

    fn text_title(&self) -> String {
        let place = |n: usize| {
            let shown = (self.scroll + self.heights.text).min(n);
            if n > self.heights.text && n > 0 {
                format!(" · {}/{}", grouped(shown as u64), grouped(n as u64))
            } else {
                String::new()
            }
        };
        let place = place(self.text.lines.len());
        match self.subject {
            Subject::Folded(number) => format!("#{} · folded earlier{place}", grouped(number as u64)),
            Subject::Item(at) => {
                let Some(item) = self.context.items.get(at) else { return "message".to_owned() };
                let details = self.details.as_ref();
                let number =
                    details.and_then(|it| it.number(at)).map_or_else(String::new, |it| format!("#{it} · "));
                let fate =
                    details.map_or_else(String::new, |details| format!(" · {}", details.fate(at).words()));
                let kind = item.kind.words();
                let choice = self.shown_number().and_then(|number| details?.choice(number));
                let choice = choice.map_or_else(String::new, |choice| format!("{choice} · "));
                format!("{number}{choice}{kind} · {}{fate}{place}", grouped(item.tokens))
            }
        }
    }

    /// Draws the digest, or what was found.
    pub(super) fn draw_below(&mut self, buffer: &mut Buffer, area: Rect) {
        let title = self.below_title();
        self.title(buffer, area, Focus::Below, &title);
        let height = usize::from(area.height).saturating_sub(1);
        self.heights.below = height;
        let lines = self.below_lines();
        let first = first_row(self.line, lines.len(), height);
        for (row, nth) in (first..lines.len()).take(height).enumerate() {
            put(buffer, area, row + 1, &self.below_line(nth, usize::from(area.width)));
        }
    }

    fn below_title(&self) -> String {
        match (&self.found, &self.details) {
            (Some((words, _)), _) => format!("found: {} (Esc closes)", escape_controls(words)),
            (None, Some(details)) if details.digest.is_empty() => "digest: none".to_owned(),
            (None, Some(details)) if details.preview.has_digest() => {
                format!("digest of the next compaction: {} tokens", grouped(details.preview.digest_tokens))
            }
            (None, Some(_)) => "digest in the context".to_owned(),
            (None, None) => "digest".to_owned(),
        }
    }

    fn below_line(&self, nth: usize, columns: usize) -> Line<'static> {
        let line = &self.below_lines()[nth];
        let is_selected = nth == self.line && self.focus == Focus::Below;
        let source = line.source.map_or_else(String::new, |number| format!("#{number}"));
        let text = cut(&escape_controls(&line.text).replace('\t', " "), columns.saturating_sub(9));
        let is_heading = line.text.starts_with("# ");
        let text = if is_heading { Span::raw(text).patch_style(Modifier::BOLD) } else { Span::raw(text) };
        let mark = if is_selected { ">" } else { " " };
        let line = Line::from(vec![
            Span::raw(mark),
            Span::styled(format!("{source:>6} "), self.colors.source()),
            text,
        ]);
        if is_selected { line.style(selected(true)) } else { line }
    }
}

/// Draws a weight next to the largest one.
fn bar(tokens: u64, most: u64) -> String {
    let eighths = u128::from(tokens) * (BAR_CELLS as u128 * 8) / u128::from(most);
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(tokens > 0));
    let mut out: String = std::iter::repeat_n('█', eighths / 8).collect();
    out.extend((!eighths.is_multiple_of(8)).then(|| EIGHTHS[eighths % 8 - 1]));
    format!("{out:<BAR_CELLS$}")
}
