//! The context before and after the next compaction, side by side.

use wb_message::number::grouped;
use wb_message::text::escape_controls;
use wb_page::{Markup, html, quoted};

use crate::context::{Context, Details, Fate};
use crate::html::class_of;
use crate::html::messages::Listed;
use crate::verdict::percent;

/// The lines of a long run that are shown at its start and at its end.
const SHOWN: usize = 12;

/// A line of an outline.
struct Line {
    mark: char,
    class: &'static str,
    number: Option<usize>,
    tokens: u64,
    text: String,
    address: Option<String>,
    /// The words of the fate, for those who do not see the mark.
    fate: &'static str,
}

impl Line {
    /// Returns whether the message is there before and after.
    fn stays(&self) -> bool {
        !matches!(self.mark, '−' | '+')
    }
}

/// Renders both outlines, if a compaction would change anything.
pub(super) fn side_by_side(context: &Context, details: &Details, listed: &Listed) -> Markup {
    let preview = &details.preview;
    if !preview.is_change() {
        return html! {};
    }
    let used = context.budget.used;
    let early = if preview.is_early { " It is not due yet." } else { "" };
    html! {
        h2 #changes { "Before and after" }
        p {
            "What the next compaction would do, message by message." (early)
            " Marks: − folded, ~ cleared, < shortened, + new."
        }
        div.two {
            section aria-label="Before" {
                h3 { "Now: " (grouped(used)) " tokens" }
                (outline(&before(context, details, listed)))
            }
            section aria-label="After" {
                h3 {
                    "After: " (grouped(preview.used_after)) " tokens ("
                    (percent(used.saturating_sub(preview.used_after), used)) " less)"
                }
                (outline(&after(context, details, listed)))
            }
        }
    }
}

fn line(context: &Context, details: &Details, listed: &Listed, at: usize) -> Line {
    let fate = details.fate(at);
    Line {
        mark: if fate == Fate::Folded { '−' } else { fate.mark() },
        class: class_of(fate),
        number: details.number(at),
        tokens: context.items[at].tokens,
        text: context.items[at].label.clone(),
        address: listed.address(at),
        fate: fate.words(),
    }
}

fn before(context: &Context, details: &Details, listed: &Listed) -> Vec<Line> {
    (0..context.items.len()).map(|at| line(context, details, listed, at)).collect()
}

fn after(context: &Context, details: &Details, listed: &Listed) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut added = details.preview.added.iter().peekable();
    for at in 0..=context.items.len() {
        while let Some(new) = added.next_if(|new| new.before == at) {
            let (text, tokens) = (new.label.clone(), new.tokens);
            lines.push(Line {
                mark: '+',
                class: "f f-new",
                number: None,
                tokens,
                text,
                address: None,
                fate: "new",
            });
        }
        if at < context.items.len() && details.fate(at) != Fate::Folded {
            let tokens = details.preview.tokens_after.get(at).copied();
            let before = line(context, details, listed, at);
            lines.push(Line { tokens: tokens.unwrap_or(before.tokens), ..before });
        }
    }
    lines
}

/// Renders the lines; the middle of a long run is counted.
fn outline(lines: &[Line]) -> Markup {
    html! {
        ul.outline {
            @for run in lines.chunk_by(|one, two| one.stays() == two.stays()) {
                @if run.len() <= SHOWN * 2 + 1 {
                    @for line in run { (row(line)) "\n" }
                } @else {
                    @for line in &run[..SHOWN] { (row(line)) "\n" }
                    (gap(&run[SHOWN..run.len() - SHOWN]))
                    @for line in &run[run.len() - SHOWN..] { (row(line)) "\n" }
                }
            }
        }
    }
}

/// Counts lines by their fate.
fn gap(run: &[Line]) -> Markup {
    let tokens: u64 = run.iter().map(|line| line.tokens).sum();
    let mut fates: Vec<&str> = run.iter().map(|line| line.fate).collect();
    fates.sort_unstable();
    let counts =
        fates.chunk_by(PartialEq::eq).map(|same| format!("{} {}", grouped(same.len() as u64), same[0]));
    let counts = counts.collect::<Vec<_>>().join(", ");
    html! {
        li {
            span.f { "⋮" }
            span.n {}
            span.n { (grouped(tokens)) }
            span.t.soft { (counts) }
        }
    }
}

fn row(line: &Line) -> Markup {
    let number = line.number.map(|number| format!("#{}", grouped(number as u64)));
    let text = html! { (quoted(&line.text)) };
    let (number, text) = match (&line.address, number) {
        (Some(address), Some(number)) => (html! { a href=(address) { (number) } }, text),
        (Some(address), None) => (html! {}, html! { a href=(address) { (text) } }),
        (None, number) => (html! { (number.unwrap_or_default()) }, text),
    };
    html! {
        li {
            span class=(line.class) title=(line.fate) { (line.mark) }
            span.n { (number) }
            span.n { (grouped(line.tokens)) }
            span.t title=(escape_controls(&line.text)) { (text) }
        }
    }
}
