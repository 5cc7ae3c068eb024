//! Rules are found as they were labelled by writers who knew nothing of this crate. The patterns
//! were written with `tuned.jsonl` in view; nobody read the misses in `held-out.jsonl`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use wb_language::constraints::constraints;

const TUNED: &str = include_str!("../../../../fixtures/rules/tuned.jsonl");
const HELD_OUT: &str = include_str!("../../../../fixtures/rules/held-out.jsonl");

#[derive(Deserialize)]
struct Labelled {
    language: String,
    text: String,
    /// The parts of the text that bind beyond the step.
    rules: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    labels: usize,
    found: usize,
    named: usize,
    right: usize,
}

impl Score {
    fn percent(self) -> (usize, usize) {
        (self.found * 100 / self.labels.max(1), self.right * 100 / self.named.max(1))
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

/// Returns the place of a part in its text.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// A label is found if half of it is in a constraint, and a constraint is right if it has a part of
/// a label.
fn scores(rows: &str) -> BTreeMap<String, Score> {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for line in rows.lines() {
        let row: Labelled = serde_json::from_str(line).unwrap();
        let labels: Vec<_> = row
            .rules
            .iter()
            .map(|rule| {
                let start = row.text.find(rule.as_str()).unwrap();
                start..start + rule.len()
            })
            .collect();
        let found = constraints(&row.text);
        let named: Vec<_> = found.iter().map(|it| place(&row.text, it.text)).collect();
        let rules: Vec<_> = found.iter().map(|it| place(&row.text, it.rule)).collect();
        let missed: Vec<_> = labels
            .iter()
            .filter(|label| named.iter().all(|it| 2 * overlap(it, label) < label.len()))
            .collect();
        let wrong: Vec<_> =
            rules.iter().filter(|it| labels.iter().all(|label| overlap(it, label) == 0)).collect();
        for key in [row.language.as_str(), "all"] {
            let score = scores.entry(key.to_owned()).or_default();
            score.labels += labels.len();
            score.found += labels.len() - missed.len();
            score.named += rules.len();
            score.right += rules.len() - wrong.len();
        }
    }
    scores
}

/// The percentages are those of docs/evaluation/probe.md; they may only rise.
#[test]
fn rules_are_found_as_often_as_published() {
    for (rows, found, right) in [(TUNED, 82, 80), (HELD_OUT, 58, 64)] {
        let scores = scores(rows);
        let (recall, precision) = scores["all"].percent();
        assert!(recall >= found && precision >= right, "{recall} % and {precision} % of {scores:#?}");
    }
}
