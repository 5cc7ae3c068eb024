//! A page of one file.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style of all pages.
const STYLE: &str = include_str!("page.css");
/// Forbids everything but styles in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The title, which is also the heading.
    pub title: &'a str,
    /// The part below the heading: a verdict.
    pub lead: Markup,
    /// The sections.
    pub body: Markup,
}

impl Page<'_> {
    /// Renders the page.
    pub fn render(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    title { (crate::quoted(self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        h1 { (crate::quoted(self.title)) }
                        (self.lead)
                        (self.body)
                    }
                }
            }
        };
        page.into_string() + "\n"
    }
}
