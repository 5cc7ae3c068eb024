//! Rules are found in labelled texts as often as `docs/evaluation/data/rules.tsv` says.
//!
//! `WB_WRITE=1 cargo test -p wb-language --test it rules` writes it. The weights were
//! trained with the first four sets; nobody read the misses in `sessions-check` and `held-out`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use wb_language::constraints::constraints;

const SETS: [(&str, &str); 6] = [
    ("tuned", include_str!("../../../../fixtures/rules/tuned.jsonl")),
    ("composed", include_str!("../../../../fixtures/rules/composed.jsonl")),
    ("writers", include_str!("../../../../fixtures/rules/writers.jsonl")),
    ("sessions-tuned", include_str!("../../../../fixtures/rules/sessions-tuned.jsonl")),
    ("sessions-check", include_str!("../../../../fixtures/rules/sessions-check.jsonl")),
    ("held-out", include_str!("../../../../fixtures/rules/held-out.jsonl")),
];
const PUBLISHED: &str = include_str!("../../../../docs/evaluation/data/rules.tsv");

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

/// A label is found if half of it is in a lasting constraint, and such a constraint is right if it
/// has a part of a label.
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
        let mut found = constraints(&row.text);
        found.retain(|it| it.is_lasting);
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

/// Returns the rows of the published table.
fn table() -> String {
    let mut out = "set\tlanguage\tfound %\tright %\trules\n".to_owned();
    for (set, rows) in SETS {
        for (language, score) in scores(rows) {
            let (found, right) = score.percent();
            writeln!(out, "{set}\t{language}\t{found}\t{right}\t{}", score.labels).unwrap();
        }
    }
    out
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it writes a file of the documentation on request")]
fn rules_are_found_as_often_as_published() {
    let found = table();
    if std::env::var_os("WB_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluation/data/rules.tsv");
        std::fs::write(path, found).unwrap();
    } else {
        assert!(found == PUBLISHED, "see whether a figure fell; WB_WRITE=1 writes the others");
    }
}

#[test]
fn the_page_has_the_published_figures() {
    const PAGE: &str = include_str!("../../../../docs/evaluation/probe.md");
    for (set, name) in [("held-out", "held out"), ("sessions-check", "sessions, check")] {
        let row = PUBLISHED.lines().find_map(|line| line.strip_prefix(&format!("{set}\tall\t"))).unwrap();
        let [found, right, _] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let line = PAGE.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_end_matches(" %")).collect();
        assert_eq!((cells[3], cells[5]), (found, right), "{line}");
    }
}
