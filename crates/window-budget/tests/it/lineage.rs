//! The pages about the documents, checked against the code.

use std::collections::BTreeSet;

const INDEX: &str = include_str!("../../../../docs/lineage.md");
const FACADE: &str = include_str!("../../src/lib.rs");

const PAGES: [(&str, &str); 5] = [
    ("0", include_str!("../../../../docs/lineage/0-window-budget.md")),
    ("1", include_str!("../../../../docs/lineage/1-three-levels.md")),
    ("2", include_str!("../../../../docs/lineage/2-sessions.md")),
    ("3", include_str!("../../../../docs/lineage/3-context-window.md")),
    ("4", include_str!("../../../../docs/lineage/4-policy.md")),
];

/// Names of document 0 that are not at the root, each in a row that says where it is.
const ELSEWHERE: [&str; 9] = [
    "CHARS_PER_TOKEN",
    "Channel",
    "GatewayError",
    "[condensed earlier context]",
    "restore_under_count_guard",
    "safe_stringify",
    "turn_to_message",
    "weigh_block",
    "weigh_message",
];

/// Returns the rows of the tables below a heading, without their heads.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let section = page.split("\n## ").find_map(|section| section.strip_prefix(heading)).unwrap_or_default();
    let lines: Vec<&str> = section.lines().collect();
    let is_row = |at: usize| lines[at].contains(" | ") && !lines[at].starts_with("---");
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("---"));
    (0..lines.len()).filter(|at| is_row(*at) && !is_head(*at)).map(|at| lines[at]).collect()
}

fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_names_of_document_0_are_at_the_root() {
    let exports = FACADE.split("\npub use ").skip(1).filter_map(|part| part.split_once(';'));
    let root: BTreeSet<&str> = exports
        .filter_map(|(names, _)| names.split_once('{'))
        .flat_map(|(_, names)| names.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let published = rows(PAGES[0].1, "Names").into_iter().filter_map(|row| row.split_once(" | "));
    let missing: BTreeSet<&str> =
        published.flat_map(|(left, _)| names(left)).filter(|name| !root.contains(name)).collect();
    assert_eq!(missing, ELSEWHERE.into());
}

#[test]
fn the_table_of_rows_counts_those_of_the_pages() {
    let head = "document | rows of names | left out, as the host's | deliberate differences\n--- | --- | --- | ---\n";
    let counts = PAGES.map(|(document, page)| {
        let named = rows(page, "Names");
        let n_out = named.iter().filter(|row| row.contains("left out") || row.contains("| – ")).count();
        let n_different = rows(page, "Deliberate differences").len();
        format!("{document} | {} | {n_out} | {n_different}\n", named.len())
    });
    let table = [head, &counts.concat()].concat();
    assert!(INDEX.contains(&table), "docs/lineage.md needs this table:\n{table}");
}
