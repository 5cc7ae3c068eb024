//! Charts as SVG: lines over time and points, with axes. A series has a colour, a pattern and a
//! shape.

use std::fmt::Write;

use maud::{Markup, Render, html};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
/// The approximate maximum of points in a line.
const MAX_POINTS: usize = 400;
/// The approximate number of marks on an axis.
const N_TICKS: f64 = 5.0;
/// The number of styles of a series.
const N_STYLES: usize = 9;
/// The outlines of the shapes around a point.
const SHAPES: [&str; 6] = [
    "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0",
    "m-5 -5h10v10h-10z",
    "m0 -6l6 11h-12z",
    "m0 -6l6 6l-6 6l-6 -6z",
    "m-6 -2h4v-4h4v4h4v4h-4v4h-4v-4h-4z",
    "m0 6l6 -11h-12z",
];

/// A chart.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The name of the horizontal axis.
    pub x: &'static str,
    /// The name of the vertical axis.
    pub y: &'static str,
    /// The end of both axes, if not the largest value.
    pub max: Option<f64>,
    /// The series.
    pub series: Vec<Series>,
    /// Values to mark.
    pub marks: Vec<Mark>,
}

/// A series of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name.
    pub name: String,
    /// The index of its colour, pattern and shape.
    pub style: usize,
    /// A single point is a shape, several are a line.
    pub points: Vec<(f64, f64)>,
}

/// A value that is marked.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A limit: a line across.
    Limit {
        /// The value.
        y: f64,
        /// Its name.
        name: String,
    },
    /// An event: a line from top to bottom.
    Event {
        /// The place.
        x: f64,
        /// Its name.
        name: String,
    },
}

/// A mapping from values to coordinates.
struct Scale {
    x_max: f64,
    y_max: f64,
}

/// Renders a sample of a series for a legend: its line and its shape.
pub fn sample(style: usize) -> Markup {
    let style = style % N_STYLES;
    let shape = format!("M22 8{}", SHAPES[style % SHAPES.len()]);
    html! {
        svg.sample viewBox="0 0 44 16" aria-hidden="true" {
            path class=(format!("line s{style}")) d="M0 8H44" {}
            path class=(format!("mark s{style}")) d=(shape) {}
        }
    }
}

impl Chart {
    fn scale(&self) -> Scale {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let limits = self.marks.iter().filter_map(|mark| match mark {
            Mark::Limit { y, .. } => Some(*y),
            Mark::Event { .. } => None,
        });
        Scale {
            x_max: self.max.unwrap_or_else(|| most(&mut points().map(|point| point.0))),
            y_max: self.max.unwrap_or_else(|| most(&mut points().map(|point| point.1).chain(limits)) * 1.02),
        }
    }

    fn axes(&self, scale: &Scale) -> Markup {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let x_ticks = ticks(scale.x_max).map(|value| (coordinate(scale.x(value)), short(value)));
        let y_ticks = ticks(scale.y_max).map(|value| (scale.y(value), short(value)));
        html! {
            @for (y, label) in y_ticks {
                path.grid d=(format!("M{LEFT} {y:.1}H{right}")) {}
                text.end x=(LEFT - 6.0) y=(coordinate(y + 4.0)) { (label) }
            }
            @for (x, label) in x_ticks { text.mid x=(x) y=(bottom + 17.0) { (label) } }
            path.axis d=(format!("M{LEFT} {TOP}V{bottom}H{right}")) {}
            text.end x=(right) y=(HEIGHT - 6.0) { (self.x) }
            text x="2" y=(TOP - 11.0) { (self.y) }
        }
    }
}

impl Render for Chart {
    fn render(&self) -> Markup {
        let scale = self.scale();
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.title) {
                (self.axes(&scale))
                @for mark in &self.marks { (mark.draw(&scale)) "\n" }
                @for series in &self.series { (series.draw(&scale)) "\n" }
            }
        }
    }
}

impl Series {
    fn draw(&self, scale: &Scale) -> Markup {
        let Self { name, style, points } = self;
        let style = style % N_STYLES;
        let Some((x, y)) = points.last() else { return html! {} };
        let shape = format!("M{:.1} {:.1}{}", scale.x(*x), scale.y(*y), SHAPES[style % SHAPES.len()]);
        let label = format!("{name}: {} at {}", short(*y), short(*x));
        let line = (points.len() > 1).then(|| self.line(scale));
        html! {
            @if let Some(line) = line { path class=(format!("line s{style}")) d=(line) {} }
            path class=(format!("mark s{style}")) d=(shape) { title { (label) } }
        }
    }

    /// Returns the line through the points; a long series is thinned out.
    fn line(&self, scale: &Scale) -> String {
        let step = self.points.len().div_ceil(MAX_POINTS);
        let mut path = String::new();
        for (x, y) in self.points.iter().step_by(step).chain(self.points.last()) {
            let separator = if path.is_empty() { 'M' } else { 'L' };
            // Writing into a string cannot fail.
            let _ = write!(path, "{separator}{:.1} {:.1}", scale.x(*x), scale.y(*y));
        }
        path
    }
}

impl Mark {
    fn draw(&self, scale: &Scale) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        match self {
            Self::Limit { y, name } => {
                let y = scale.y(*y);
                html! {
                    path.limit d=(format!("M{LEFT} {y:.1}H{}", WIDTH - RIGHT)) {}
                    text.strong x=(LEFT + 6.0) y=(coordinate(y - 5.0)) { (name) }
                }
            }
            Self::Event { x, name } => html! {
                path.fold d=(format!("M{:.1} {TOP}V{bottom}", scale.x(*x))) { title { (name) } }
                text.strong.mid x=(coordinate(scale.x(*x))) y=(TOP - 11.0) { "▼" }
            },
        }
    }
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        LEFT + value / self.x_max * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.y_max * (HEIGHT - TOP - BOTTOM)
    }
}

fn coordinate(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns round values from 0 to a maximum.
fn ticks(max: f64) -> impl Iterator<Item = f64> {
    let step = round_up(max / N_TICKS);
    (0..).map(move |nth| f64::from(nth) * step).take_while(move |value| *value <= max * 1.000_001)
}

/// Rounds up to 1, 2, 5, 10, 20, 50, and so on.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= value).unwrap_or(power * 10.0)
}

/// Formats a value in few characters.
fn short(value: f64) -> String {
    let rounded = |value: f64| {
        let text = format!("{value:.2}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    match value {
        _ if value >= 1e6 => format!("{}m", rounded(value / 1e6)),
        _ if value >= 1e4 => format!("{}k", rounded(value / 1e3)),
        _ => rounded(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_marks_are_round() {
        assert_eq!(ticks(100.0).collect::<Vec<_>>(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(64_000.0).collect::<Vec<_>>(), [0.0, 20_000.0, 40_000.0, 60_000.0]);
        assert_eq!([0.0, 12.5, 20_000.0, 1.5e6].map(short), ["0", "12.5", "20k", "1.5m"]);
    }

    #[test]
    fn one_point_is_a_shape_and_several_are_a_bounded_line() {
        let series = |points: Vec<(f64, f64)>| Series { name: "a".to_owned(), style: 3, points };
        let many = (0..10_000).map(|n| (f64::from(n), 1.0)).collect();
        let chart = Chart { series: vec![series(vec![(1.0, 2.0)]), series(many)], ..Chart::default() };
        let svg = chart.render().into_string();
        assert_eq!(
            (svg.matches("class=\"mark s3\"").count(), svg.matches("class=\"line s3\"").count()),
            (2, 1)
        );
        assert!(svg.len() < 16_000 && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_empty_chart_has_axes_only() {
        let svg = Chart::default().render().into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn names_are_escaped() {
        let series = vec![Series { name: "<b>".to_owned(), style: 0, points: vec![(1.0, 1.0)] }];
        let marks = vec![Mark::Event { x: 1.0, name: "<i>".to_owned() }];
        let svg =
            Chart { title: "\"<u>".to_owned(), series, marks, ..Chart::default() }.render().into_string();
        assert!(!svg.contains("<b>") && !svg.contains("<i>") && !svg.contains("<u>"), "{svg}");
    }
}
