//! Renders the weights as source, and the page with their errors.

use std::fmt::Write;

use wb_budget::Family;
use wb_budget::count::fitted::FEATURES;

use crate::fit::quantile;
use crate::measure::{Errors, Fitted};

/// The unit of the weights is 1/4096 token.
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
        "//! Weights of text features in 1/4096 tokens; written by `cargo xtask fit-estimators`, not by hand.\n\n\
         /// The day of the fit.\npub const FITTED_ON: &str = \"{date}\";\n\n\
         /// Weights by family, in the order of [`super::fitted::FEATURES`].\n#[rustfmt::skip]\n\
         pub(super) const WEIGHTS: [[u32; 16]; 3] = [\n{lines}];\n\n\
         /// The margin above an estimate that 95 of 100 texts stay below, by family, in
         /// thousandths.\n\
         pub(super) const MARGINS: [u64; 3] = [{}];\n",
        margins.join(", ")
    )
}

const HEAD: &str = "\
| | texts | tokens | mean % | p5 % | p95 % | worst % | characters / 3.6: mean % | worst % |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
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
    out += COMPOSED;
    out += HEAD;
    fitted.composed.iter().for_each(|(kind, errors)| out += &row(kind, errors));
    out += REPORTED;
    out += "| family | agent | growths | tokens | mean % | p5 % | p95 % | worst % | characters / 3.6: mean % | o200k_base: mean % |\n\
            |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for ((family, agent), errors) in &fitted.growths {
        let exact = if *family == Family::OpenAi { percent(mean(&errors.exact)) } else { String::new() };
        let _ = writeln!(
            out,
            "| {family:?} | {agent} | {} | {} | {} | {exact} |",
            errors.fitted.len(),
            whole(errors.tokens),
            figures(errors),
        );
    }
    out + &weights_table(fitted)
}

fn row(name: &str, errors: &Errors) -> String {
    let worst = percent(quantile(&errors.plain, 0.0).min(0.0));
    let (n, tokens) = (errors.fitted.len(), whole(errors.tokens));
    format!("| {name} | {n} | {tokens} | {} | {worst} |\n", figures(errors))
}

/// Returns mean, p5, p95 and worst of the fitted errors, and the mean of the plain ones.
fn figures(errors: &Errors) -> String {
    let of = |part| percent(quantile(&errors.fitted, part));
    let worst = percent(quantile(&errors.fitted, 0.0).min(0.0));
    let (fitted, plain) = (percent(mean(&errors.fitted)), percent(mean(&errors.plain)));
    format!("{fitted} | {} | {} | {worst} | {plain}", of(0.05), of(0.95))
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

fn weights_table(fitted: &Fitted) -> String {
    let mut out = String::from(WEIGHTS);
    for (at, feature) in FEATURES.iter().enumerate() {
        let [openai, anthropic, other] = [0, 1, 2].map(|family: usize| fitted.weights[family][at]);
        let _ = writeln!(out, "| {feature} | {openai:.3} | {anthropic:.3} | {other:.3} |");
    }
    let [openai, anthropic, other] = fitted.margins.map(percent);
    let _ = writeln!(
        out,
        "\n95 of 100 texts have at most this many more tokens than estimated, which `FittedCounter::upper` adds: {openai} % \
         (OpenAI), {anthropic} % (Anthropic), {other} % (others)."
    );
    out
}

const INTRO: &str = "\
# Estimators

Written by `cargo xtask fit-estimators` on DATE, from sessions that are not part of the repository; do not edit.

[`FittedCounter`](../../crates/wb-budget/src/count/fitted.rs) estimates tokens from sixteen counts: the bytes of twelve classes, and the runs
of four of them. Their weights were fitted by least squares of relative errors to the exact counts of `o200k_base`. A negative error is
an estimate that was too low; \"worst\" is the lowest of them.

## Texts of sessions, by kind

Texts of at least 200 bytes, each once. **Each kind is estimated with weights fitted without it.**

";

const COMPOSED: &str = "
## Other scripts and encoded data

They are rare in sessions, so these texts were composed, and they are part of the fit: they show how well one weight per class suits
different texts, not the error on another text of the kind.

";

const REPORTED: &str = "
## What providers reported

Texts added to a prompt between two requests, compared with the reported size of the second request less the first one and its answer: 400
tokens or more, no images, 8 tokens for each message. Claude's weights are those of OpenAI times the median ratio over pi, whose files contain
everything that it sends; Claude Code adds reminders that its files omit, so every estimate is too low there, and `ContextTracker` learns
that from usage. The last column compares exact counts of `o200k_base` with OpenAI's reports.

";

const WEIGHTS: &str = "
## Weights

In tokens. Newer models of a family may have a vocabulary of another size; reported usage corrects that.

| | OpenAI | Anthropic | others |
|---|---:|---:|---:|
";
