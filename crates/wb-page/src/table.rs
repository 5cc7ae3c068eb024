//! Tables, and what is wider than the page.

use maud::{Markup, html};

/// Renders a table; the first cell of a row names it. The caption says what the table is.
pub fn table(caption: &str, titles: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    let rows = rows.into_iter().map(|cells| {
        let mut cells = cells.into_iter();
        html! { tr { th scope="row" { @if let Some(name) = cells.next() { (name) } } @for cell in cells { td { (cell) } } } }
    });
    let table = html! {
        table {
            caption { (caption) }
            thead { tr { @for title in titles { th scope="col" { (title) } } } }
            tbody { @for row in rows { (row) "\n" } }
        }
    };
    scrolling(caption, &table)
}

/// Renders what may be wider than the page: it scrolls by itself, also by keys.
pub fn scrolling(label: &str, content: &Markup) -> Markup {
    html! { div.wide role="region" aria-label=(label) tabindex="0" { (content) } "\n" }
}
