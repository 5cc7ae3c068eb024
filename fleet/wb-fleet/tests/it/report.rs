use std::path::Path;

use serde_json::json;
use wb_fleet::{Job, Report};

use crate::common::{OPTIONS, compacted, write_lines, write_parquet};

async fn report(folder: &Path, partitions: usize) -> Report {
    let job = Job { inputs: vec![folder.display().to_string()], options: OPTIONS.to_owned(), partitions };
    let report = Report::new(&job, Some(3.0)).await.unwrap();
    Report { inputs: vec!["traces".to_owned()], ..report }
}

#[tokio::test]
async fn reports_are_equal_whatever_the_partitions_and_the_kind_of_file() {
    let (parquet, lines) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_parquet(parquet.path());
    write_lines(lines.path());
    let one = report(parquet.path(), 1).await;
    for partitions in [2, 7] {
        assert_eq!(report(parquet.path(), partitions).await, one, "{partitions}");
    }
    assert_eq!(report(lines.path(), 2).await, one);
}

#[tokio::test]
async fn a_report_counts_what_the_sessions_have() {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path());
    let report = report(folder.path(), 2).await;
    let totals = &report.totals;
    assert_eq!((totals.sessions, totals.read, totals.summaries), (40, 36, 10));
    assert_eq!(totals.tokens, report.kinds.iter().map(|kind| kind.tokens).sum::<u64>());
    assert_eq!(totals.tokens, report.formats.iter().map(|format| format.tokens).sum::<u64>());
    assert_eq!(totals.untrue, 10);
    assert!(totals.invalid > 0 && totals.over_limit > 0 && totals.refused >= totals.invalid, "{totals:?}");
    assert_eq!(report.broken_rules.iter().map(|rule| rule.sessions).max(), Some(totals.invalid));
    assert_eq!(report.unreadable.iter().map(|row| row.sessions).sum::<u64>(), 4);
    let names: Vec<&str> = report.strategies.iter().map(|row| row.strategy.as_str()).collect();
    assert_eq!(names, ["ladder", "policy", "three-level", "window-budget"]);
    for row in &report.strategies {
        assert_eq!((row.sessions, row.price), (36, Some(3.0)));
        assert!(row.tokens_after < row.tokens_before, "{row:?}");
    }
    assert!(report.findings.iter().any(|row| row.kind == "unknown_path"), "{:?}", report.findings);
    let lost: Vec<&str> = report.lost_rules.iter().map(|row| row.lost_by.as_str()).collect();
    assert!(lost.contains(&"summary") && !lost.contains(&"window-budget"), "{lost:?}");
}

#[tokio::test]
async fn a_report_is_a_table_of_some_columns_and_a_page_without_scripts() {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path());
    let mut report = report(folder.path(), 2).await;
    report.heaviest[0].id = Some("<script>\u{1b}[31m".to_owned());
    for columns in [60, 80, 120] {
        let text = report.text(columns);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.into() && !text.contains('\u{1b}'), "{widest}\n{text}");
    }
    assert!(report.text(100).starts_with("36 sessions with "), "{}", report.text(100));
    let page = report.html();
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<script"), "{page}");
    assert!(page.contains("Rules of users that get lost"));
}

#[tokio::test]
async fn a_false_summary_that_an_agent_left_in_its_session_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let summaries = [
        "Asked to fix src/cart.rs, and to never touch src/billing.rs.",
        "Fixed src/basket.rs. All tests pass.",
    ];
    let line = |(nth, it): (usize, &&str)| json!({ "id": format!("p{nth}"), "messages": compacted(it) });
    let lines: Vec<String> = summaries.iter().enumerate().map(|it| line(it).to_string()).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines.join("\n")).unwrap();
    let report = report(folder.path(), 1).await;
    assert_eq!((report.totals.read, report.totals.summaries, report.totals.untrue), (2, 2, 1));
    let untrue: Vec<_> = report.untrue.iter().map(|row| (row.id.as_deref(), row.summaries)).collect();
    assert_eq!(untrue, [(Some("p1"), 1)]);
    let path = report.findings.iter().find(|row| row.kind == "unknown_path").unwrap();
    assert!(path.example.as_ref().unwrap().starts_with("src/basket.rs: "), "{path:?}");
    assert!(report.text(80).contains("1 of 2 summaries have mistakes."), "{}", report.text(80));
    assert!(report.lost_rules.iter().any(|row| row.lost_by == "summary"), "{:?}", report.lost_rules);
}
