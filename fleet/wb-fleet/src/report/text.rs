//! The report on a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets};
use wb_message::text::{escape_controls, one_line};

use crate::report::Report;
use crate::report::tables::Table;

/// The most characters of a cell.
const CELL_CHARS: usize = 120;

/// Renders a report for a terminal of some columns.
pub(crate) fn text(report: &Report, columns: u16) -> String {
    let verdict = report.verdict().into_iter().map(|line| wrapped(&line, columns.into()));
    let tables = report.tables().into_iter().map(|table| section(&table, columns));
    verdict.chain(tables).collect()
}

fn section(table: &Table, columns: u16) -> String {
    let mut grid = Grid::new();
    grid.load_preset(presets::NOTHING)
        .set_width(columns)
        .set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_header(&table.columns);
    for row in &table.rows {
        grid.add_row(row.iter().map(|cell| escape_controls(&one_line(cell, CELL_CHARS)).into_owned()));
    }
    let is_number = |at: usize| {
        table.rows.iter().all(|row| row[at].starts_with(|c: char| c.is_ascii_digit() || "$–".contains(c)))
    };
    for (at, column) in grid.column_iter_mut().enumerate() {
        if is_number(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let about = if table.about.is_empty() { String::new() } else { wrapped(&table.about, columns.into()) };
    let lines: String = grid.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect();
    format!("\n{}\n{about}{lines}", table.title)
}

/// Breaks a sentence between words.
fn wrapped(sentence: &str, columns: usize) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in sentence.split(' ') {
        let n_chars = word.chars().count();
        if width > 0 && width + 1 + n_chars > columns {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += n_chars;
    }
    text + "\n"
}
