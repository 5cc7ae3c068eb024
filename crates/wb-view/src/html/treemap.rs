//! The context as a treemap: the area of a message is its weight.

use wb_message::number::grouped;
use wb_page::{Markup, html, quoted};

use crate::context::{Context, Details, Fate};
use crate::html::messages::Listed;
use crate::kind::Kind;
use crate::verdict::tokens;

/// The messages that have a cell of their own.
const MOST_CELLS: usize = 90;
/// The shape of the map, in which cells are laid out.
const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 90.0;

/// A part of the map.
struct Cell {
    kind: Kind,
    tokens: u64,
    /// Its number, and its weight.
    name: String,
    label: String,
    /// The item, if it is a single one.
    at: Option<usize>,
}

/// A place on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Renders the map, with a legend.
pub(super) fn treemap(context: &Context, details: &Details, listed: &Listed) -> Markup {
    let cells = cells(context, details);
    let weights: Vec<f64> = cells.iter().map(|cell| cell.tokens as f64).collect();
    let places = squarify(&weights, Place { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT });
    let kinds: Vec<Kind> = Kind::all().filter(|kind| cells.iter().any(|cell| cell.kind == *kind)).collect();
    html! {
        h2 #context { "Context" }
        p {
            "Each area is a message, as large as its share of the context. A dashed frame marks what the next \
             compaction would fold."
        }
        ul.legend {
            @for kind in kinds { li { span class=(format!("swatch k{}", kind as usize)) {} (kind.words()) } }
        }
        ul.map {
            @for (cell, place) in cells.iter().zip(&places) { (draw(cell, *place, details, listed)) "\n" }
        }
    }
}

/// Returns the heaviest messages, and the rest by kind, heaviest first.
fn cells(context: &Context, details: &Details) -> Vec<Cell> {
    let mut order: Vec<usize> = (0..context.items.len()).filter(|at| context.items[*at].tokens > 0).collect();
    order.sort_by_key(|at| std::cmp::Reverse(context.items[*at].tokens));
    let rest = order.split_off(order.len().min(MOST_CELLS));
    let mut cells: Vec<Cell> = order
        .into_iter()
        .map(|at| {
            let item = &context.items[at];
            let number = details
                .number(at)
                .map_or_else(String::new, |number| format!("#{} · ", grouped(number as u64)));
            let name = number + &grouped(item.tokens);
            Cell { kind: item.kind, tokens: item.tokens, name, label: item.label.clone(), at: Some(at) }
        })
        .collect();
    for kind in Kind::all() {
        let of_kind = || rest.iter().filter(|at| context.items[**at].kind == kind);
        let n = of_kind().count();
        let tokens = of_kind().map(|at| context.items[*at].tokens).sum();
        if n > 0 {
            let label = format!("{} smaller: {}", grouped(n as u64), kind.words());
            cells.push(Cell { kind, tokens, name: grouped(tokens), label, at: None });
        }
    }
    if let Some((kind, tokens)) = context.by_kind().into_iter().find(|(kind, _)| *kind == Kind::Unseen) {
        let label = kind.words().to_owned();
        cells.push(Cell { kind, tokens, name: grouped(tokens), label, at: None });
    }
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.tokens));
    cells
}

fn draw(cell: &Cell, place: Place, details: &Details, listed: &Listed) -> Markup {
    let percent = |part: f64, whole: f64| format!("{:.3}%", part * 100.0 / whole);
    let style = format!(
        "left:{};top:{};width:{};height:{}",
        percent(place.x, WIDTH),
        percent(place.y, HEIGHT),
        percent(place.width, WIDTH),
        percent(place.height, HEIGHT)
    );
    let fate = cell.at.map(|at| details.fate(at)).unwrap_or_default();
    let gone = if fate == Fate::Folded { " gone" } else { "" };
    let small = match () {
        () if place.width < 7.0 || place.height < 4.5 => "tiny",
        () if place.width < 13.0 || place.height < 9.0 => "small",
        () if place.width < 20.0 => "middle",
        () => "",
    };
    let about = format!("{} {}: {}, {}", cell.name, cell.label, tokens(cell.tokens), fate.words());
    let address = cell.at.and_then(|at| listed.address(at));
    let inner = html! { b { (cell.name) } " " (quoted(&cell.label)) };
    html! {
        li class=(format!("k{}{gone}", cell.kind as usize)) style=(style) title=(wb_message::text::escape_controls(&about)) {
            @match address {
                Some(address) => a class=(small) href=(address) { (inner) },
                None => span class=(small) { (inner) },
            }
        }
    }
}

/// Lays out areas for weights, heaviest first, as square as possible.
fn squarify(weights: &[f64], mut free: Place) -> Vec<Place> {
    let total: f64 = weights.iter().sum();
    let scale = free.width * free.height / total.max(f64::MIN_POSITIVE);
    let areas: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    let mut places = Vec::with_capacity(areas.len());
    let mut rest = areas.as_slice();
    while !rest.is_empty() {
        let side = free.width.min(free.height);
        let n = (2..=rest.len())
            .find(|n| worst(&rest[..*n], side) > worst(&rest[..n - 1], side))
            .map_or(rest.len(), |n| n - 1);
        let (row, after) = rest.split_at(n);
        free = fill(row, free, &mut places);
        rest = after;
    }
    places
}

/// Returns the worst ratio of the sides of areas in a row along a side.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let thickness = (sum / side.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE);
    let ratio = |area: &f64| {
        let length = (area / thickness).max(f64::MIN_POSITIVE);
        (length / thickness).max(thickness / length)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

/// Fills a row along the shorter side; returns what is left.
fn fill(row: &[f64], free: Place, places: &mut Vec<Place>) -> Place {
    let sum: f64 = row.iter().sum();
    let is_tall = free.width >= free.height;
    let side = if is_tall { free.height } else { free.width };
    let thickness = sum / side.max(f64::MIN_POSITIVE);
    let mut at = 0.0;
    for area in row {
        let length = area / thickness.max(f64::MIN_POSITIVE);
        places.push(if is_tall {
            Place { x: free.x, y: free.y + at, width: thickness, height: length }
        } else {
            Place { x: free.x + at, y: free.y, width: length, height: thickness }
        });
        at += length;
    }
    if is_tall {
        Place { x: free.x + thickness, width: free.width - thickness, ..free }
    } else {
        Place { y: free.y + thickness, height: free.height - thickness, ..free }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_the_weights_and_fill_the_map() {
        let weights = [60.0, 60.0, 40.0, 30.0, 20.0, 10.0, 20.0, 0.5];
        let all = Place { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
        let places = squarify(&weights, all);
        let total: f64 = weights.iter().sum();
        for (weight, place) in weights.iter().zip(&places) {
            let share = place.width * place.height / (WIDTH * HEIGHT);
            assert!((share - weight / total).abs() < 1e-9, "{place:?}");
            assert!(
                place.x + place.width < WIDTH + 1e-6 && place.y + place.height < HEIGHT + 1e-6,
                "{place:?}"
            );
        }
        assert!(squarify(&[], all).is_empty());
    }
}
