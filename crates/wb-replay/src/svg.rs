//! Charts as SVG: lines over time and points, with axes.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;
/// The approximate maximum of points in a line.
const MAX_POINTS: usize = 400;
/// The approximate number of marks on an axis.
const N_TICKS: f64 = 5.0;

/// A chart; its texts are not escaped, so they must not come from users.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    /// The end of both axes, if not the largest value.
    pub(crate) max: Option<f64>,
    pub(crate) series: Vec<Series>,
}

/// A series of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    /// The index of its colour.
    pub(crate) colour: usize,
    /// A single point is a dot, several are a line.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A mapping from values to coordinates.
struct Scale {
    x_max: f64,
    y_max: f64,
}

impl Chart {
    /// Renders the chart.
    pub(crate) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let scale = Scale {
            x_max: self.max.unwrap_or_else(|| most(&mut points().map(|point| point.0))),
            y_max: self.max.unwrap_or_else(|| most(&mut points().map(|point| point.1))),
        };
        let mut out =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title>\n", self.title);
        self.axes(&mut out, &scale);
        for series in &self.series {
            series.draw(&mut out, &scale);
        }
        out.push_str("</svg>\n");
        out
    }

    fn axes(&self, out: &mut String, scale: &Scale) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in ticks(scale.y_max) {
            let (y, label) = (scale.y(value), short(value));
            line(out, format_args!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            line(
                out,
                format_args!("<text x=\"{}\" y=\"{:.1}\" class=\"end\">{label}</text>", LEFT - 6.0, y + 4.0),
            );
        }
        for value in ticks(scale.x_max) {
            let (x, label) = (scale.x(value), short(value));
            line(
                out,
                format_args!("<text x=\"{x:.1}\" y=\"{}\" class=\"mid\">{label}</text>", bottom + 16.0),
            );
        }
        line(out, format_args!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>"));
        line(out, format_args!("<text x=\"{right}\" y=\"{}\" class=\"end\">{}</text>", HEIGHT - 6.0, self.x));
        line(out, format_args!("<text x=\"{}\" y=\"{}\">{}</text>", LEFT + 6.0, TOP + 10.0, self.y));
    }
}

impl Series {
    fn draw(&self, out: &mut String, scale: &Scale) {
        let Self { name, colour, points } = self;
        match points.as_slice() {
            [] => {}
            [(x, y)] => {
                let (cx, cy, label) =
                    (scale.x(*x), scale.y(*y), format!("{name}: {} at {}", short(*y), short(*x)));
                line(
                    out,
                    format_args!(
                        "<circle class=\"s{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\"><title>{label}</title></circle>"
                    ),
                );
            }
            _ => {
                let step = points.len().div_ceil(MAX_POINTS);
                let shown = points.iter().step_by(step).chain(points.last());
                let mut path = String::new();
                for (x, y) in shown {
                    let separator = if path.is_empty() { 'M' } else { 'L' };
                    // Writing into a string cannot fail.
                    let _ = write!(path, "{separator}{:.1} {:.1}", scale.x(*x), scale.y(*y));
                }
                line(
                    out,
                    format_args!("<path class=\"line s{colour}\" d=\"{path}\"><title>{name}</title></path>"),
                );
            }
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

fn line(out: &mut String, shown: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{shown}");
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
    fn one_point_is_a_dot_and_several_are_a_bounded_line() {
        let series = |points: Vec<(f64, f64)>| Series { name: "a", colour: 3, points };
        let many = (0..10_000).map(|n| (f64::from(n), 1.0)).collect();
        let chart = Chart { series: vec![series(vec![(1.0, 2.0)]), series(many)], ..Chart::default() };
        let svg = chart.svg();
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"line s3\"").count()), (1, 1));
        assert!(svg.len() < 16_000 && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_empty_chart_has_axes_only() {
        let svg = Chart::default().svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
