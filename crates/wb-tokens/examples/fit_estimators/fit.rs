//! The fit: non-negative least squares of relative errors.

/// The number of features of a text.
pub(crate) const N: usize = 16;

/// A text's features and its tokens.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) features: [f64; N],
    pub(crate) tokens: f64,
}

impl Row {
    pub(crate) fn new(features: [u64; N], tokens: u64) -> Self {
        Self { features: features.map(|count| count as f64), tokens: tokens.max(1) as f64 }
    }

    pub(crate) fn estimate(&self, weights: &[f64; N]) -> f64 {
        self.features.iter().zip(weights).map(|(count, weight)| count * weight).sum()
    }
}

/// Returns the weights with the least sum of squared relative errors. Features with negative
/// weights are left out, the most negative first.
pub(crate) fn fit(rows: &[Row]) -> [f64; N] {
    let (normal, right) = normal_equations(rows);
    let mut active = [true; N];
    loop {
        let weights = solve(&normal, &right, &active);
        let worst = (0..N).min_by(|one, two| weights[*one].total_cmp(&weights[*two])).unwrap_or(0);
        if weights[worst] >= 0.0 {
            return weights;
        }
        active[worst] = false;
    }
}

fn normal_equations(rows: &[Row]) -> ([[f64; N]; N], [f64; N]) {
    let (mut normal, mut right) = ([[0.0; N]; N], [0.0; N]);
    for row in rows {
        let relative = row.features.map(|count| count / row.tokens);
        for (at, one) in relative.iter().enumerate() {
            right[at] += one;
            for (cell, two) in normal[at].iter_mut().zip(relative) {
                *cell += one * two;
            }
        }
    }
    // Small enough to matter only for a feature that no text has.
    for (at, line) in normal.iter_mut().enumerate() {
        line[at] += 1e-9;
    }
    (normal, right)
}

/// Solves the equations of the active features by elimination with pivots; other weights are 0.
fn solve(normal: &[[f64; N]; N], right: &[f64; N], active: &[bool; N]) -> [f64; N] {
    let chosen: Vec<usize> = (0..N).filter(|at| active[*at]).collect();
    let line = |at: &usize| {
        let cells = chosen.iter().map(|other| normal[*at][*other]);
        cells.chain([right[*at]]).collect::<Vec<f64>>()
    };
    let mut lines: Vec<Vec<f64>> = chosen.iter().map(line).collect();
    let n = lines.len();
    for at in 0..n {
        let pivot = (at..n).max_by(|one, two| lines[*one][at].abs().total_cmp(&lines[*two][at].abs()));
        lines.swap(at, pivot.unwrap_or(at));
        let base = lines[at].clone();
        for (_, other) in lines.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = other[at] / base[at];
            other.iter_mut().zip(&base).for_each(|(cell, base)| *cell -= factor * base);
        }
    }
    let mut weights = [0.0; N];
    for (at, line) in chosen.iter().zip(&lines).enumerate().map(|(nth, (at, line))| (*at, (nth, line))) {
        weights[at] = line.1[n] / line.1[line.0];
    }
    weights
}

/// Returns a quantile by the nearest rank.
pub(crate) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is small and not negative"
    )]
    let rank = (part * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}
