//! The report as a page of one file.

use wb_page::{Markup, Page, html, quoted, table};

use crate::report::Report;
use crate::report::tables::Table;

/// Renders a report as a self-contained page.
pub(crate) fn page(report: &Report) -> String {
    let tables = report.tables();
    let class = if report.totals.refused > 0 { "verdict over" } else { "verdict" };
    let lead = html! {
        p.path { (quoted(&report.inputs.join(" · "))) }
        div class=(class) { @for sentence in report.verdict() { p { (quoted(&sentence)) } } }
    };
    let body = html! {
        nav aria-label="Sections" {
            ul { @for (nth, table) in tables.iter().enumerate() { li { a href=(format!("#t{nth}")) { (table.title) } } } }
        }
        @for (nth, table) in tables.iter().enumerate() { (section(nth, table)) }
    };
    Page { title: "Sessions of a fleet", lead, body }.render()
}

fn section(nth: usize, content: &Table) -> Markup {
    let rows = content.rows.iter().map(|row| row.iter().map(|cell| html! { (quoted(cell)) }).collect());
    let caption = if content.about.is_empty() { content.title } else { &content.about };
    html! {
        h2 id=(format!("t{nth}")) { (content.title) }
        (table(caption, &content.columns, rows))
    }
}
