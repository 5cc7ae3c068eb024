//! Prints the allocations of the stages and their limits, as tab-separated rows.

#[path = "../tests/alloc/figures.rs"]
mod figures;

use std::io::{self, Write};

use figures::{Figure, appends, cases, condensed, cut, estimate, facts, flatten};
use wb_testkit::workload::{Script, transcript};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "messages\tscript\twhat\tallocated\tlimit\tlimit is\tholds")?;
    for n in [100, 1_000, 10_000, 100_000] {
        for script in [Script::Latin, Script::Cjk] {
            for figure in all(n, script) {
                let holds = if figure.holds() { "yes" } else { "NO" };
                let Figure { what, found, limit, limit_is } = figure;
                writeln!(out, "{n}\t{script:?}\t{what}\t{found}\t{limit}\t{limit_is}\t{holds}")?;
            }
        }
    }
    Ok(())
}

/// Returns every figure for a transcript of `n_messages` messages.
fn all(n_messages: usize, script: Script) -> Vec<Figure> {
    let messages = transcript(n_messages, script);
    let mut figures = Vec::from(appends(&messages));
    figures.push(estimate(&messages));
    figures.push(cut(&messages));
    figures.extend(flatten(&messages));
    if n_messages >= 10_000 {
        figures.push(facts(&messages));
    }
    // A hundred messages fit a window, and the fixed cost of a digest is no twentieth of them.
    if n_messages >= 1_000 {
        figures.extend(cases().into_iter().map(|case| condensed(&case, messages.clone())));
    }
    figures
}
