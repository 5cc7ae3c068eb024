//! The window as a bar: each kind has its own cells.

use ratatui::text::{Line, Span};
use wb_message::number::grouped;

use crate::context::Context;
use crate::kind::Kind;
use crate::screen::colors::Colors;
use crate::verdict::percent;

const FREE: char = '·';
const LIMIT: char = '┊';
/// The fewest cells of the bar.
const LEAST_CELLS: usize = 10;

/// Returns the bar with the figures.
pub(super) fn bar(context: &Context, colors: Colors, columns: usize) -> Line<'static> {
    let budget = &context.budget;
    let figures = format!(
        " {} of {} ({})",
        grouped(budget.used),
        grouped(budget.window),
        percent(budget.used, budget.window)
    );
    let n_cells = columns.saturating_sub(figures.chars().count() + 2).max(LEAST_CELLS);
    let mut spans = vec![Span::raw("▕")];
    spans.extend(cells(context, n_cells).into_iter().map(|(kind, text)| match kind {
        Some(kind) => Span::styled(text, colors.kind(kind)),
        None => Span::raw(text),
    }));
    spans.push(Span::raw("▏"));
    spans.push(if context.is_over() {
        Span::styled(figures + " over!", colors.alarm())
    } else {
        Span::raw(figures)
    });
    Line::from(spans)
}

/// Returns the runs of cells; a kind that fills less than a cell has none.
fn cells(context: &Context, n_cells: usize) -> Vec<(Option<Kind>, String)> {
    let whole = context.budget.window.max(context.budget.used).max(1);
    let place = |tokens: u64| {
        let at = u128::from(tokens) * n_cells as u128 / u128::from(whole);
        usize::try_from(at).unwrap_or(n_cells).min(n_cells)
    };
    let limit = place(context.budget.limit).min(n_cells.saturating_sub(1));
    let (mut runs, mut sum, mut from) = (Vec::new(), 0, 0);
    let mut push = |kind: Option<Kind>, to: usize, cell: char| {
        let text: String = (from..to).map(|at| if at == limit { LIMIT } else { cell }).collect();
        runs.push((kind, text));
        from = to.max(from);
    };
    for (kind, tokens) in context.by_kind() {
        sum += tokens;
        push(Some(kind), place(sum), kind.cell());
    }
    push(None, n_cells, FREE);
    runs
}

/// Returns what the cells mean, as far as it fits.
pub(super) fn legend(context: &Context, colors: Colors, columns: usize) -> Line<'static> {
    let (mut spans, mut used) = (Vec::new(), 0);
    for (kind, tokens) in context.by_kind() {
        let text = format!(" {} {}  ", kind.words(), grouped(tokens));
        used += 1 + text.chars().count();
        if used > columns + 2 {
            break;
        }
        spans.push(Span::styled(kind.cell().to_string(), colors.kind(kind)));
        spans.push(Span::raw(text));
    }
    Line::from(spans)
}
