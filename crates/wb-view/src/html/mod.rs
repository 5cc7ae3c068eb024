//! The context as a page of one file.

mod messages;
mod treemap;
mod changes;

use wb_message::number::grouped;
use wb_page::{Chart, Mark, Markup, Page, Series, html, quoted, table};

use crate::context::{Context, Details, DigestLine, Fate};
use crate::html::changes::side_by_side;
use crate::html::messages::{Listed, link, messages};
use crate::html::treemap::treemap;
use crate::kind::Kind;
use crate::verdict::{percent, verdict};

/// Renders a context as a self-contained page.
pub fn page(context: &Context, details: &Details) -> String {
    let title = context.file.rsplit(['/', '\\']).next().unwrap_or_default();
    let listed = Listed::new(context, details);
    let body = html! {
        (contents(details))
        (window(context))
        (growth(context, details))
        (treemap(context, details, &listed))
        (side_by_side(context, details, &listed))
        (digest(details, &listed))
        (operations(details))
        (messages(context, details, &listed))
    };
    Page { title, lead: lead(context, details), body }.render()
}

fn lead(context: &Context, details: &Details) -> Markup {
    let about = [Some(context.file.clone()), Some(context.format.clone()), context.model.clone()];
    let about: Vec<String> = about.into_iter().flatten().collect();
    let class = if context.is_over() { "verdict over" } else { "verdict" };
    html! {
        p.path { (quoted(&about.join(" · "))) }
        div class=(class) { @for sentence in verdict(context, details) { p { (quoted(&sentence)) } } }
        @for note in &context.notes { p.soft { "Note: " (quoted(note)) } }
    }
}

fn contents(details: &Details) -> Markup {
    let sections = [
        ("window", "Window", true),
        ("growth", "Over time", !details.growth.is_empty()),
        ("context", "Context", true),
        ("changes", "Before and after", details.preview.is_change()),
        ("digest", "Digest", !details.digest.is_empty()),
        ("operations", "Operations", !details.operations.is_empty()),
        ("messages", "Messages", true),
    ];
    html! {
        nav aria-label="Sections" {
            ul { @for (id, name, _) in sections.iter().filter(|it| it.2) { li { a href=(format!("#{id}")) { (name) } } } }
        }
    }
}

/// Renders the window as a meter of kinds, and as a table.
fn window(context: &Context) -> Markup {
    let budget = &context.budget;
    let whole = budget.window.max(budget.used);
    let share = |tokens: u64| format!("{:.3}%", tokens as f64 * 100.0 / whole.max(1) as f64);
    let kinds = context.by_kind();
    let rows = kinds.iter().map(|(kind, tokens)| {
        let n = context.items.iter().filter(|item| item.kind == *kind).count();
        let n = if *kind == Kind::Unseen { "–".to_owned() } else { grouped(n as u64) };
        let name = html! { span class=(format!("swatch k{}", *kind as usize)) {} " " (kind.words()) };
        [name, html! { (n) }, html! { (grouped(*tokens)) }, html! { (percent(*tokens, budget.used)) }]
            .to_vec()
    });
    let label = format!("{} of {} tokens used", grouped(budget.used), grouped(budget.window));
    html! {
        h2 #window { "Window" }
        div.meter role="img" aria-label=(label) {
            @for (kind, tokens) in &kinds {
                span class=(format!("k{}", *kind as usize)) style=(format!("width:{}", share(*tokens))) {}
            }
            span.at style=(format!("left:{}", share(budget.limit))) {}
        }
        p.soft {
            "The dashed line is the limit, " (grouped(budget.limit)) " tokens: above it a compaction is due."
        }
        (table("Tokens by kind", &["kind", "messages", "tokens", "share"], rows))
    }
}

/// Renders the context over time, with the compactions.
fn growth(context: &Context, details: &Details) -> Markup {
    if details.growth.is_empty() {
        return html! {};
    }
    let mut marks = vec![Mark::Limit {
        y: context.budget.limit as f64,
        name: format!("limit {}", grouped(context.budget.limit)),
    }];
    let mut points = Vec::new();
    for (nth, part) in details.growth.iter().enumerate() {
        let first = part.points.first();
        if let (Some(first), true) = (first, nth > 0) {
            let name = format!("compaction {nth}: {} tokens after it", grouped(first.tokens));
            marks.push(Mark::Event { x: first.n_messages as f64, name });
        }
        points.extend(part.points.iter().map(|point| (point.n_messages as f64, point.tokens as f64)));
    }
    let n_compactions = details.growth.len() - 1;
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let about = format!(
        "Tokens of the context at each answer: at most {}, {} now; {} compaction{}.",
        grouped(whole(most)),
        grouped(context.budget.used),
        grouped(n_compactions as u64),
        if n_compactions == 1 { "" } else { "s" },
    );
    let series = vec![Series { name: "context".to_owned(), style: 0, points }];
    let chart = Chart { title: about.clone(), x: "messages", y: "tokens", max: None, series, marks };
    html! {
        h2 #growth { "Over time" }
        figure { (chart) figcaption { (about) " ▼ marks a compaction." } }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens are whole and not negative"
)]
fn whole(tokens: f64) -> u64 {
    tokens as u64
}

/// Renders the digest, each line with a link to its source.
fn digest(details: &Details, listed: &Listed) -> Markup {
    if details.digest.is_empty() {
        return html! {};
    }
    let n_linked = details.digest.iter().filter(|line| line.source.is_some()).count();
    let about = if details.preview.has_digest() {
        format!(
            "The digest that the next compaction would write, {} tokens.",
            grouped(details.preview.digest_tokens)
        )
    } else {
        "The digest in the context.".to_owned()
    };
    let mut before = None;
    let lines = details.digest.iter().map(|line| {
        let is_new = line.source != before || line.text.starts_with('-');
        before = if line.text.trim().is_empty() { before } else { line.source };
        digest_line(line, listed, is_new)
    });
    html! {
        h2 #digest { "Digest" }
        p { (about) " " (grouped(n_linked as u64)) " lines link to the message that says it." }
        div.digest { @for line in lines { (line) "\n" } }
    }
}

fn digest_line(line: &DigestLine, listed: &Listed, is_linked: bool) -> Markup {
    let source = line.source.filter(|_| is_linked);
    html! {
        div.head[line.text.starts_with("# ")] {
            span.src { @if let Some(number) = source { (link(number, listed)) } }
            pre { @if line.text.is_empty() { " " } @else { (quoted(&line.text)) } }
        }
    }
}

fn operations(details: &Details) -> Markup {
    if details.operations.is_empty() {
        return html! {};
    }
    let rows = details.operations.iter().map(|it| {
        let what = if it.is_undone { format!("{}, undone", it.what) } else { it.what.clone() };
        let (before, after) = (grouped(it.tokens_before), grouped(it.tokens_after));
        [it.id.to_string(), what, it.at.clone(), before, after].map(|cell| quoted(&cell)).to_vec()
    });
    html! {
        h2 #operations { "Operations" }
        (table("Operations of wb on this session", &["number", "what", "when", "tokens before", "after"], rows))
    }
}

/// Returns the class of a fate, for its colour.
fn class_of(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "f",
        Fate::Folded => "f f-gone",
        Fate::Cleared | Fate::Shortened => "f f-less",
    }
}
