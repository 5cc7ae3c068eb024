//! Tables that fit the page.

use std::io::{self, Write};

use anstyle::Style;

use crate::terminal::style::{DIM, HEAD};
use crate::terminal::wrap::{Page, width};

/// A table with a name in the first column and figures in the others.
#[derive(Debug)]
pub(crate) struct Table {
    titles: Vec<&'static str>,
    rows: Vec<TableRow>,
}

/// A row of it.
#[derive(Debug)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<Cell>,
    /// The note after the figures or below them.
    pub(crate) note: String,
}

/// A figure as text, with its style.
#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, style: Style::new() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl Table {
    pub(crate) fn new(titles: impl Into<Vec<&'static str>>) -> Self {
        Self { titles: titles.into(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, cells: Vec<Cell>, note: impl Into<String>) {
        self.rows.push(TableRow { cells, note: note.into() });
    }

    /// Writes the table; columns that do not fit follow below, with the names repeated.
    pub(crate) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.titles.len()).map(|at| self.width_of(at)).collect();
        let banks = banks(&widths, page.columns);
        for (nth, bank) in banks.iter().enumerate() {
            if nth > 0 {
                writeln!(page)?;
            }
            let columns: Vec<(usize, usize)> = bank.iter().map(|at| (*at, widths[*at])).collect();
            self.write_bank(page, &columns, nth + 1 == banks.len())?;
        }
        Ok(())
    }

    fn write_bank(&self, page: &mut Page<'_>, columns: &[(usize, usize)], has_notes: bool) -> io::Result<()> {
        let titles = self.titles.iter().map(|title| Cell::styled(*title, HEAD)).collect();
        let titles = line(&TableRow { cells: titles, note: String::new() }, columns);
        writeln!(page, "{}", titles.trim_end())?;
        let taken: usize = columns.iter().map(|(_, width)| width + 2).sum();
        let notes = self.rows.iter().map(|row| width(&row.note)).max().unwrap_or(0);
        let fits_on_line = taken + 2 + notes <= page.columns;
        for row in &self.rows {
            let line = line(row, columns);
            let line = line.trim_end();
            match &row.note {
                note if note.is_empty() || !has_notes => writeln!(page, "{line}")?,
                note if fits_on_line => writeln!(page, "{line}  {DIM}{note}{DIM:#}")?,
                note => {
                    writeln!(page, "{line}")?;
                    page.prose("    ", 4, &format!("{DIM}{note}{DIM:#}"))?;
                }
            }
        }
        Ok(())
    }

    fn width_of(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
        let widest = cells.map(|cell| width(&cell.text)).max().unwrap_or(0);
        widest.max(self.titles.get(at).map_or(0, |title| width(title)))
    }
}

/// Splits the columns into as many tables as needed, each with the names first.
fn banks(widths: &[usize], page_columns: usize) -> Vec<Vec<usize>> {
    let name = widths.first().map_or(0, |width| width + 2);
    let (mut banks, mut taken) = (vec![vec![0]], name);
    for (at, width) in widths.iter().enumerate().skip(1) {
        let is_full = taken + width + 2 > page_columns;
        if is_full && taken > name {
            banks.push(vec![0]);
            taken = name;
        }
        taken += width + 2;
        banks.last_mut().into_iter().for_each(|bank| bank.push(at));
    }
    banks
}

fn line(row: &TableRow, columns: &[(usize, usize)]) -> String {
    let cell = |(at, columns): &(usize, usize)| {
        let Some(Cell { text, style }) = row.cells.get(*at) else { return String::new() };
        let blanks = " ".repeat(columns.saturating_sub(width(text)));
        let (left, right) = if *at == 0 { ("", blanks.as_str()) } else { (blanks.as_str(), "") };
        format!("  {left}{style}{text}{style:#}{right}")
    };
    columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(columns: usize) -> String {
        let mut table = Table::new(["strategy", "tokens", "limit"]);
        table.push(vec!["three-level".into(), "1,234,567".into(), "148,464".into()], "collapse, and more");
        table.push(vec!["policy".into(), "9".into(), "148,464,000,000".into()], "");
        let mut out = anstream::StripStream::new(Vec::new());
        table.write(&mut Page::new(&mut out, columns)).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected = "  strategy        tokens            limit
  three-level  1,234,567          148,464  collapse, and more
  policy               9  148,464,000,000
";
        assert_eq!(written(64), expected);
    }

    #[test]
    fn notes_go_below_if_there_is_no_room_next_to_the_figures() {
        let shown = written(50);
        assert!(shown.contains("          148,464\n    collapse, and more\n  policy"), "{shown}");
    }

    #[test]
    fn columns_without_room_come_below_next_to_the_names() {
        let expected = "  strategy        tokens
  three-level  1,234,567
  policy               9

  strategy               limit
  three-level          148,464
    collapse, and more
  policy       148,464,000,000
";
        assert_eq!(written(40), expected);
    }
}
