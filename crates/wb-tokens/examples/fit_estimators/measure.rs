//! Fits each family and measures the errors on held-out texts.

use std::collections::{BTreeMap, BTreeSet};

use wb_budget::count::fitted::features;
use wb_budget::{Family, TokenCounter, TokenHeuristic};
use wb_tokens::{ExactCounter, Vocabulary, VocabularyError};

use crate::composed::COMPOSED;
use crate::fit::{N, Row, fit, quantile};
use crate::samples::{Growth, Samples};

/// The tokens around a message.
const FRAME: f64 = 8.0;
/// The agent whose files contain everything that it sends; others add unrecorded reminders.
const COMPLETE_AGENT: &str = "pi";

/// The relative errors of estimates for a set of texts.
#[derive(Default)]
pub(crate) struct Errors {
    pub(crate) tokens: f64,
    /// Errors of the fitted estimate; a negative one was too low.
    pub(crate) fitted: Vec<f64>,
    /// Errors of characters / 3.6.
    pub(crate) plain: Vec<f64>,
    /// Errors of exact counts, compared with reported usage.
    pub(crate) exact: Vec<f64>,
}

impl Errors {
    fn add(&mut self, tokens: f64, fitted: f64, plain: f64) {
        self.tokens += tokens;
        self.fitted.push(fitted / tokens - 1.0);
        self.plain.push(plain / tokens - 1.0);
    }
}

/// The fitted weights and their errors.
pub(crate) struct Fitted {
    /// The weight of each feature in tokens, by family.
    pub(crate) weights: [[f64; N]; 3],
    /// The relative margin that 95 of 100 texts stay below, by family.
    pub(crate) margins: [f64; 3],
    /// Errors by kind, each estimated with weights fitted without it.
    pub(crate) kinds: BTreeMap<String, Errors>,
    /// Errors of composed texts, which are part of the fit.
    pub(crate) composed: BTreeMap<String, Errors>,
    /// Errors of reported growths, by family and agent.
    pub(crate) growths: BTreeMap<(Family, String), Errors>,
}

struct Measurement {
    kind: String,
    row: Row,
    plain: f64,
}

impl Measurement {
    fn new(kind: &str, text: &str, exact: ExactCounter) -> Self {
        let row = Row::new(features(text), exact.text(text));
        Self { kind: kind.to_owned(), row, plain: TokenHeuristic::DEFAULT.text_tokens(text) as f64 }
    }
}

impl Fitted {
    pub(crate) fn new(samples: &Samples) -> Result<Self, VocabularyError> {
        let exact = Vocabulary::O200kBase.counter()?;
        let texts: Vec<Measurement> =
            samples.texts.iter().map(|it| Measurement::new(&it.kind, &it.text, exact)).collect();
        let composed: Vec<Measurement> =
            COMPOSED.iter().map(|(name, text)| Measurement::new(name, text, exact)).collect();
        let all: Vec<Row> = texts.iter().chain(&composed).map(|it| it.row).collect();
        let openai = fit(&all);
        let scale = |family| scale(&samples.growths, family, &openai);
        let scales = [1.0, scale(Family::Anthropic), scale(Family::Other)];
        let weights = scales.map(|scale| openai.map(|weight| weight * scale));
        let kinds = held_out(&texts, &composed);
        let growths = grown(&samples.growths, &weights, exact);
        let margins = margins(&kinds, &growths);
        Ok(Self { weights, margins, kinds, composed: in_sample(&composed, &openai), growths })
    }
}

/// Estimates each kind with weights fitted to the others.
fn held_out(texts: &[Measurement], composed: &[Measurement]) -> BTreeMap<String, Errors> {
    let names: BTreeSet<&String> = texts.iter().map(|it| &it.kind).collect();
    let mut kinds = BTreeMap::new();
    for name in names {
        let others = texts.iter().filter(|it| it.kind != *name).chain(composed);
        let weights = fit(&others.map(|it| it.row).collect::<Vec<_>>());
        let mut errors = Errors::default();
        for it in texts.iter().filter(|it| it.kind == *name) {
            errors.add(it.row.tokens, it.row.estimate(&weights), it.plain);
        }
        kinds.insert(name.clone(), errors);
    }
    kinds
}

fn in_sample(composed: &[Measurement], weights: &[f64; N]) -> BTreeMap<String, Errors> {
    let mut kinds: BTreeMap<String, Errors> = BTreeMap::new();
    for it in composed {
        let errors = kinds.entry(it.kind.clone()).or_default();
        errors.add(it.row.tokens, it.row.estimate(weights), it.plain);
    }
    kinds
}

fn estimate(growth: &Growth, weights: &[f64; N]) -> f64 {
    growth.texts.iter().map(|text| Row::new(features(text), 1).estimate(weights)).sum()
}

/// Returns the median ratio of a family's reported tokens to estimated OpenAI tokens.
fn scale(growths: &[Growth], family: Family, openai: &[f64; N]) -> f64 {
    let in_family = growths.iter().filter(|it| it.family == family && it.agent == COMPLETE_AGENT);
    let ratio = |it: &Growth| (it.tokens as f64 - FRAME * it.n_messages as f64) / estimate(it, openai);
    quantile(&in_family.map(ratio).collect::<Vec<f64>>(), 0.5)
}

fn grown(
    growths: &[Growth],
    weights: &[[f64; N]; 3],
    exact: ExactCounter,
) -> BTreeMap<(Family, String), Errors> {
    let mut kinds: BTreeMap<(Family, String), Errors> = BTreeMap::new();
    for it in growths {
        let in_family = Family::ALL.iter().position(|family| *family == it.family).unwrap_or(0);
        let frames = FRAME * it.n_messages as f64;
        let plain: u64 = it.texts.iter().map(|text| TokenHeuristic::DEFAULT.text_tokens(text)).sum();
        let counted: u64 = it.texts.iter().map(|text| exact.text(text)).sum();
        let errors = kinds.entry((it.family, it.agent.clone())).or_default();
        let tokens = it.tokens as f64;
        errors.add(tokens, frames + estimate(it, &weights[in_family]), frames + plain as f64);
        errors.exact.push((frames + counted as f64) / tokens - 1.0);
    }
    kinds
}

/// Returns the relative margin above the estimate that 95 of 100 texts stay below: for OpenAI over
/// held-out texts, for Claude over reported usage too, for others the larger of both.
fn margins(kinds: &BTreeMap<String, Errors>, growths: &BTreeMap<(Family, String), Errors>) -> [f64; 3] {
    let above = |errors: &[f64]| {
        let above: Vec<f64> = errors.iter().map(|error| 1.0 / (1.0 + error) - 1.0).collect();
        quantile(&above, 0.95).max(0.0)
    };
    let texts: Vec<f64> = kinds.values().flat_map(|it| it.fitted.clone()).collect();
    let claude =
        growths.get(&(Family::Anthropic, COMPLETE_AGENT.to_owned())).map_or(0.0, |it| above(&it.fitted));
    let openai = above(&texts);
    [openai, openai.max(claude), openai.max(claude)]
}
