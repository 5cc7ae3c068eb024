//! The two outputs of the fit: the weights as source, and the page with the errors.

use std::fmt::Write;

use wb_budget::Family;

use crate::fit::quantile;
use crate::measure::{Errors, Fitted};

/// Weights are in such parts of a token.
const PARTS: f64 = 4096.0;

/// Returns the source of the weights.
pub(crate) fn weights(fitted: &Fitted, date: &str) -> String {
    let line = |weights: &[f64]| {
        let numbers: Vec<String> = weights.iter().map(|weight| whole(weight * PARTS)).collect();
        format!("    [{}],\n", numbers.join(", "))
    };
    let lines: String = fitted.weights.iter().map(|weights| line(weights)).collect();
    let margins: Vec<String> = fitted.margins.iter().map(|margin| whole((margin * 1000.0).ceil())).collect();
    format!(
        "//! What each feature of a text is worth, in 1/4096 tokens; written by `cargo xtask fit-estimators`, not by hand.\n\n\
         /// The day of the fit.\npub const FITTED_ON: &str = \"{date}\";\n\n\
         /// By family, in the order of [`super::fitted::FEATURES`].\n#[rustfmt::skip]\n\
         pub(super) const WEIGHTS: [[u32; 16]; 3] = [\n{lines}];\n\n\
         /// How far above an estimate a text's tokens are at the most in 95 of 100 texts, by family, in thousandths.\n\
         pub(super) const MARGINS: [u64; 3] = [{}];\n",
        margins.join(", ")
    )
}

const HEAD: &str = "\
texts | number | tokens | mean % | p5 % | p95 % | worst % | characters / 3.6: mean % | worst %
--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:
";

/// Returns the page.
pub(crate) fn page(fitted: &Fitted, date: &str) -> String {
    let total = Errors {
        tokens: fitted.kinds.values().map(|it| it.tokens).sum(),
        fitted: fitted.kinds.values().flat_map(|it| it.fitted.clone()).collect(),
        plain: fitted.kinds.values().flat_map(|it| it.plain.clone()).collect(),
        exact: Vec::new(),
    };
    let mut out = INTRO.replace("DATE", date);
    out += HEAD;
    fitted.kinds.iter().for_each(|(kind, errors)| out += &row(kind, errors));
    out += &row("**all**", &total);
    out += REPORTED;
    out += "family | agent | growths | tokens | mean % | p5 % | p95 % | worst % | characters / 3.6: mean % | o200k_base: mean %\n\
            --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:\n";
    for ((family, agent), errors) in &fitted.growths {
        let exact = if *family == Family::OpenAi { percent(mean(&errors.exact)) } else { "–".to_owned() };
        let _ = writeln!(
            out,
            "{family:?} | {agent} | {} | {} | {} | {exact}",
            errors.fitted.len(),
            whole(errors.tokens),
            figures(errors),
        );
    }
    out + &bound(fitted)
}

/// Returns the rows of composed texts, separated by tabs.
pub(crate) fn composed(fitted: &Fitted) -> String {
    let rows: String = fitted.composed.iter().map(|(kind, errors)| row(kind, errors)).collect();
    let head = HEAD.lines().next().unwrap_or_default();
    let cells = |line: &str| line.replace(" | ", "\t") + "\n";
    cells(head) + &rows.lines().map(cells).collect::<String>()
}

fn row(name: &str, errors: &Errors) -> String {
    let worst = percent(quantile(&errors.plain, 0.0).min(0.0));
    let (n, tokens) = (errors.fitted.len(), whole(errors.tokens));
    format!("{name} | {n} | {tokens} | {} | {worst}\n", figures(errors))
}

/// Returns mean, p5, p95 and worst of the fitted errors, and the mean of the plain ones.
fn figures(errors: &Errors) -> String {
    let of = |part| percent(quantile(&errors.fitted, part));
    let worst = percent(quantile(&errors.fitted, 0.0).min(0.0));
    let (own, plain) = (percent(mean(&errors.fitted)), percent(mean(&errors.plain)));
    format!("{own} | {} | {} | {worst} | {plain}", of(0.05), of(0.95))
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len().max(1) as f64
}

fn percent(part: f64) -> String {
    format!("{:.1}", part * 100.0)
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn bound(fitted: &Fitted) -> String {
    let [openai, anthropic, other] = fitted.margins.map(percent);
    format!(
        "\n`FittedCounter::upper` adds the excess that 95 of 100 texts stay below: {openai} % (OpenAI), {anthropic} % (Anthropic), \
         {other} % (others).\n"
    )
}

const INTRO: &str = "\
# Estimators

Written by `cargo xtask fit-estimators` on DATE, from sessions that are not part of the repository; do not edit.

[`FittedCounter`](../../crates/wb-budget/src/count/fitted.rs) estimates tokens from the bytes of twelve classes
and the runs of four of them. Its [weights](../../crates/wb-budget/src/count/fitted_weights.rs) were fitted by least
squares of relative errors on exact counts of `o200k_base`. A negative error is an estimate that was too low; \"worst\" is
the lowest of them.

## Texts of sessions, by kind

Texts of at least 200 bytes, each once. **Each kind is estimated by weights that were fitted without it.** Errors on
other scripts and encoded data are in [`estimators.tsv`](data/estimators.tsv).

";

const REPORTED: &str = "
## What providers reported

Growth of a prompt between two requests by the provider's counts, 400 tokens or more, no images. Claude's weights are
those of OpenAI times the median ratio over pi. Claude Code adds reminders that its files lack, so every estimate is too
low there; `ContextTracker` learns that from usage. The last column compares exact counts of `o200k_base` with OpenAI's.

";
