//! Pages of one file: a style for light and dark, tables, charts, and nothing that could run.
//!
//! A page has no script and loads nothing, and its policy forbids both. Markup is built by
//! [`maud::html!`], which escapes every text; [`quoted`] also spells out controls in texts of
//! sessions.
//!
//! ```
//! use wb_page::{Page, html, quoted};
//!
//! let said = "<script>alert(1)</script>";
//! let body = html! { p { (quoted(said)) } };
//! let page = Page { title: "Notes", lead: html! {}, body }.render();
//! assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<script"));
//! ```

mod quote;
mod page;
mod table;
mod chart;

pub use chart::{Chart, Mark, Series, sample};
pub use maud::{Markup, PreEscaped, html};
pub use page::Page;
pub use quote::quoted;
pub use table::{scrolling, table};
