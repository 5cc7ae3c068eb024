//! The texts of messages on a page, and links to them.

use std::collections::BTreeSet;

use wb_message::number::grouped;
use wb_message::text::head;
use wb_page::{Markup, html, quoted};

use crate::context::{Context, Details, FoldedMessage};

/// The bytes of a message that are on the page.
const MOST_BYTES: usize = 6_000;
/// The messages whose texts are on the page: the heaviest, the newest, and all sources.
const MOST_TEXTS: usize = 400;
/// The bytes of a message that is one of many.
const FEW_BYTES: usize = 600;

/// The messages of a page that can be linked to.
pub(super) struct Listed {
    /// The items that have their text on the page.
    items: BTreeSet<usize>,
    /// The anchors of folded messages, by number.
    folded: BTreeSet<usize>,
    numbers: Vec<Option<usize>>,
}

impl Listed {
    pub(super) fn new(context: &Context, details: &Details) -> Self {
        let n = context.items.len();
        let mut by_weight: Vec<usize> = (0..n).collect();
        by_weight.sort_by_key(|at| std::cmp::Reverse(context.items[*at].tokens));
        let sources = details.digest.iter().filter_map(|line| details.item_of(line.source?));
        let mut items: BTreeSet<usize> = sources.collect();
        let others = by_weight.into_iter().take(MOST_TEXTS / 2).chain((0..n).rev());
        for at in others {
            if items.len() >= MOST_TEXTS {
                break;
            }
            items.insert(at);
        }
        Self { items, folded: details.folded.keys().copied().collect(), numbers: details.numbers.clone() }
    }

    /// Returns the address of an item, if its text is on the page.
    pub(super) fn address(&self, at: usize) -> Option<String> {
        self.items.contains(&at).then(|| format!("#i{at}"))
    }

    fn address_of(&self, number: usize) -> Option<String> {
        let item = self.numbers.iter().position(|it| *it == Some(number));
        let folded = || self.folded.contains(&number).then(|| format!("#n{number}"));
        item.and_then(|at| self.address(at)).or_else(folded)
    }
}

/// Renders a link to the message of a number.
pub(super) fn link(number: usize, listed: &Listed) -> Markup {
    let label = format!("#{}", grouped(number as u64));
    let address = listed.address_of(number);
    html! {
        @if let Some(address) = address {
            a href=(address) aria-label=(format!("Source: message {number}")) { (label) }
        } @else {
            (label)
        }
    }
}

/// Renders the texts of messages.
pub(super) fn messages(context: &Context, details: &Details, listed: &Listed) -> Markup {
    let n = context.items.len();
    let left_out = n - listed.items.len();
    html! {
        h2 #messages { "Messages" }
        @if left_out > 0 {
            p.soft {
                "The texts of " (grouped(listed.items.len() as u64)) " of " (grouped(n as u64))
                " messages: the heaviest, the newest, and the sources of the digest."
            }
        }
        @for at in &listed.items { (item(context, details, *at, n > MOST_TEXTS)) "\n" }
        @if !details.folded.is_empty() {
            h3 { "Folded by an earlier compaction" }
            @for (number, message) in &details.folded { (folded(*number, message)) "\n" }
        }
    }
}

fn item(context: &Context, details: &Details, at: usize, is_many: bool) -> Markup {
    let Some(item) = context.items.get(at) else { return html! {} };
    let number =
        details.number(at).map_or_else(String::new, |number| format!("#{} ", grouped(number as u64)));
    let fate = details.fate(at);
    let max_bytes = if is_many { FEW_BYTES } else { MOST_BYTES };
    html! {
        details {
            summary {
                (number) (quoted(&item.label))
                span.soft { " · " (grouped(item.tokens)) " tokens · " (fate.words()) }
            }
            (text(&format!("i{at}"), &details.text(at), max_bytes))
        }
    }
}

fn folded(number: usize, message: &FoldedMessage) -> Markup {
    html! {
        details {
            summary { "#" (grouped(number as u64)) " " (quoted(&message.label)) }
            (text(&format!("n{number}"), &message.text, MOST_BYTES))
        }
    }
}

fn text(id: &str, text: &str, max_bytes: usize) -> Markup {
    let shown = head(text, max_bytes);
    let left = text.len() - shown.len();
    html! {
        pre.body id=(id) tabindex="-1" {
            (quoted(shown))
            @if left > 0 { "\n[… " (grouped(left as u64)) " more bytes]" }
            @if text.is_empty() { "(no text)" }
        }
    }
}
