//! Text of sessions on a page.

use maud::{Markup, html};
use wb_message::text::escape_controls_in_lines;

/// Renders a text that somebody else wrote: nothing in it is markup, drives a terminal that it is
/// copied to, or turns the direction of writing.
pub fn quoted(text: &str) -> Markup {
    html! { (&*escape_controls_in_lines(text)) }
}
