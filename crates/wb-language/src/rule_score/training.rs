//! Training of the weights in `weights.txt` on labelled texts, by a test that compares them.
//!
//! `WB_WRITE=1 cargo test -p wb-language weights` writes the file instead.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Deserialize;

use super::{Trait, visit};
use crate::constraints::settings;
use crate::sentences::{Sentence, sentences};

const TEXTS: [&str; 5] = [
    include_str!("../../../../fixtures/rules/tuned.jsonl"),
    include_str!("../../../../fixtures/rules/composed.jsonl"),
    include_str!("../../../../fixtures/rules/writers.jsonl"),
    include_str!("../../../../fixtures/rules/sessions-tuned.jsonl"),
    include_str!("../../../../fixtures/rules/remarks.jsonl"),
];
/// The passes over the texts, and how far each example moves the weights.
const N_PASSES: usize = 10;
const RATE: f64 = 0.1;
/// The share by which weights shrink in a pass.
const DECAY: f64 = 1.0;
/// The sentences that a trait has at least.
const LEAST_SENTENCES: usize = 5;
/// The units of a weight in the file, and the least one there.
const UNITS: f64 = 20.0;
const LEAST: i32 = 3;
/// The score from which a sentence is a rule.
const THRESHOLD: f64 = 0.5;

#[derive(Deserialize)]
struct Labelled {
    text: String,
    rules: Vec<String>,
}

impl Labelled {
    /// Returns each sentence of several as a text of its own: a user may say it alone.
    fn alone(&self) -> Vec<Self> {
        let all = sentences(&self.text);
        let alone = |it: &Sentence<'_>| {
            let is_rule =
                self.rules.iter().any(|rule| rule.contains(it.text) || it.text.contains(rule.as_str()));
            let text = it.text.to_owned();
            Self { rules: if is_rule { vec![text.clone()] } else { Vec::new() }, text }
        };
        if all.len() > 1 { all.iter().map(alone).collect() } else { Vec::new() }
    }
}

struct Example {
    traits: Vec<Trait>,
    is_rule: bool,
}

#[derive(Default)]
struct Examples {
    all: Vec<Example>,
    names: HashMap<Trait, String>,
}

impl Examples {
    fn read() -> Self {
        let mut examples = Self::default();
        for line in TEXTS.iter().flat_map(|rows| rows.lines()) {
            let row: Labelled = serde_json::from_str(line).unwrap();
            examples.add(&row);
            row.alone().iter().for_each(|it| examples.add(it));
        }
        examples
    }

    fn add(&mut self, row: &Labelled) {
        let label =
            |rule: &String| row.text.find(rule.as_str()).map(|start| start..start + rule.len()).unwrap();
        let labels: Vec<_> = row.rules.iter().map(label).collect();
        let all = sentences(&row.text);
        let settings = settings(&row.text, &all);
        for (nth, sentence) in all.iter().enumerate() {
            let (start, end) = (sentence.start, sentence.start + sentence.text.len());
            let shared = labels.iter().map(|it| it.end.min(end).saturating_sub(it.start.max(start)));
            let is_rule = shared.max().unwrap_or(0) * 4 >= sentence.text.len();
            let mut traits = Vec::new();
            visit(&settings, nth, |it, name| {
                traits.push(it);
                self.names.entry(it).or_insert_with(name);
            });
            self.all.push(Example { traits, is_rule });
        }
    }
}

/// Weights by logistic regression, with steps that become smaller for each trait.
fn train(examples: &[Example]) -> HashMap<Trait, f64> {
    let mut counts: HashMap<Trait, usize> = HashMap::new();
    for it in examples.iter().flat_map(|it| &it.traits) {
        *counts.entry(*it).or_default() += 1;
    }
    let mut weights: HashMap<Trait, (f64, f64)> = HashMap::new();
    let mut random = 1_u64;
    let mut order: Vec<_> = (0..examples.len()).collect();
    for _ in 0..N_PASSES {
        for nth in (1..order.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(nth, usize::try_from(random >> 33).unwrap() % (nth + 1));
        }
        for nth in &order {
            let example = &examples[*nth];
            let traits = || example.traits.iter().filter(|it| counts[it] >= LEAST_SENTENCES);
            let sum: f64 = traits().map(|it| weights.get(it).map_or(0.0, |known| known.0)).sum();
            let off = 1.0 / (1.0 + (-sum).exp()) - f64::from(u8::from(example.is_rule));
            for it in traits() {
                let (weight, squares) = weights.entry(*it).or_insert((0.0, 1e-6));
                let step = off + DECAY * *weight / examples.len() as f64;
                *squares += step * step;
                *weight -= RATE * step / squares.sqrt();
            }
        }
    }
    weights.into_iter().map(|(it, (weight, _))| (it, weight)).collect()
}

/// Returns the text of the file for the labelled texts: a weight, and the traits that have it.
#[expect(clippy::cast_possible_truncation, reason = "weights are small")]
fn weights() -> String {
    let examples = Examples::read();
    let mut rows: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    for (it, weight) in train(&examples.all) {
        let any = if examples.names[&it] == "/any" { -THRESHOLD } else { 0.0 };
        let units = ((weight + any) * UNITS).round() as i32;
        if units.abs() >= LEAST {
            rows.entry(units).or_default().push(&examples.names[&it]);
        }
    }
    let mut out = String::new();
    for (weight, names) in &mut rows {
        names.sort_unstable();
        writeln!(out, "{weight} {}", names.join(" ")).unwrap();
    }
    out
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it writes a file of the source on request")]
fn the_weights_are_those_that_the_texts_give() {
    let trained = weights();
    if std::env::var_os("WB_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rule_score/weights.txt");
        std::fs::write(path, &trained).unwrap();
    } else {
        assert!(trained == include_str!("weights.txt"), "WB_WRITE=1 writes other weights");
    }
}
