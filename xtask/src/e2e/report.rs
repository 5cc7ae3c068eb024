//! What a run is told as: lines for the terminal, a row for the page.

use super::hosts::{HOSTS, Host};
use super::play::Outcome;
use super::validate::{COMPACTED, Check, UNDONE};

/// Where the page is.
pub(crate) const FILE: &str = "docs/evaluation/hosts.md";

const TITLE: &str = "\
# Compacted sessions in the agents that they belong to

A scripted model had each agent make nine tool calls in a session of two prompts, twice two of them at once. `wb` compacted the session
where the agent keeps it, and the agent was told to go on; then `wb` took the compaction back, and it was told so again. The first
request that the agent sent each time was checked, and in all of them that every call is answered. Each row is of one run.

- command: `cargo xtask e2e all --record`, and `cargo xtask e2e claude-code --record`
";

const TABLE: &str = "\
| agent | version | dialect | date | commit | network | came of it |
|---|---|---|---|---|---|---|
";

/// When and where a run was.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// The day.
    pub(crate) date: &'a str,
    /// The last commit.
    pub(crate) commit: &'a str,
    /// Whether the agent could reach nothing but the provider.
    pub(crate) is_apart: bool,
}

/// Writes the page: new rows in the place of those of the same agents, the others as they were.
pub(crate) fn page(old: &str, rows: &[(Host, String)]) -> String {
    let row = |host: &Host| {
        let new = rows.iter().find(|(of, _)| of.name == host.name).map(|(_, row)| row.as_str());
        new.or_else(|| old.lines().find(|line| line.starts_with(&format!("| {} |", host.name))))
    };
    let rows: Vec<&str> = HOSTS.iter().filter_map(row).collect();
    let checks = [("compacted", &COMPACTED[..]), ("taken back", &UNDONE)];
    let checks = checks.map(|(when, checks)| format!("- {when}: {}", names(checks))).join("\n");
    format!("{TITLE}{checks}\n\n{TABLE}{}\n", rows.join("\n"))
}

fn names(checks: &[Check]) -> String {
    checks.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("; ")
}

/// Writes a row.
pub(crate) fn row(host: &Host, outcome: &Outcome, run: &Run) -> String {
    let network = if run.is_apart { "cut off" } else { "there" };
    let Host { name, version, dialect, .. } = host;
    let Run { date, commit, .. } = run;
    format!("| {name} | {version} | {dialect} | {date} | {commit} | {network} | {} |", came_of(outcome))
}

fn came_of(outcome: &Outcome) -> String {
    let done = if outcome.is_compacted { "compacted and taken back" } else { "not compacted" };
    match outcome.findings.len() {
        0 => format!("{done}, nothing found"),
        n_findings => format!("{done}, {n_findings} found"),
    }
}

/// Tells a run: a line, and one for each finding.
pub(crate) fn summary(host: &Host, date: &str, outcome: &Outcome) -> String {
    let Host { name, version, .. } = host;
    let Outcome { n_asked, n_aside, seconds, findings, .. } = outcome;
    let first = format!(
        "{name} {version}, {date}, {seconds:.1} s, {n_asked} requests and {n_aside} aside: {}",
        came_of(outcome)
    );
    let findings = findings.iter().map(|finding| format!("  {finding}"));
    let kept = outcome.kept.iter().map(|folder| format!("  kept: {}", folder.display()));
    [first].into_iter().chain(findings).chain(kept).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(is_compacted: bool, findings: &[&str]) -> Outcome {
        let findings = findings.iter().map(|finding| (*finding).to_owned()).collect();
        Outcome { is_compacted, findings, n_asked: 13, n_aside: 1, seconds: 2.04, kept: None }
    }

    fn row_of(host: Host, outcome: &Outcome) -> (Host, String) {
        (host, row(&host, outcome, &Run { date: "2026-01-02", commit: "0a1b2c3", is_apart: true }))
    }

    #[test]
    fn a_run_is_told_in_one_line_and_each_finding_in_one() {
        let fine = summary(&HOSTS[0], "2026-01-02", &outcome(true, &[]));
        assert_eq!(
            fine,
            "pi 0.73.1, 2026-01-02, 2.0 s, 13 requests and 1 aside: compacted and taken back, nothing found"
        );
        let mut bad = outcome(true, &["the digest is missing"]);
        bad.kept = Some("folder".into());
        let bad = summary(&HOSTS[0], "2026-01-02", &bad);
        assert!(bad.ends_with("1 found\n  the digest is missing\n  kept: folder"), "{bad}");
    }

    #[test]
    fn a_row_takes_the_place_of_that_of_the_same_agent_and_leaves_the_others() {
        let [pi, codex, ..] = HOSTS;
        let old = page("", &[row_of(pi, &outcome(true, &["x"])), row_of(codex, &outcome(false, &[]))]);
        let new = page(&old, &[row_of(pi, &outcome(true, &[]))]);
        let rows: Vec<&str> = new.lines().filter(|line| line.contains("2026-01-02")).collect();
        assert_eq!(
            rows,
            [
                "| pi | 0.73.1 | OpenAI Chat | 2026-01-02 | 0a1b2c3 | cut off | compacted and taken back, nothing found |",
                "| codex | 0.169.0 | OpenAI Responses | 2026-01-02 | 0a1b2c3 | cut off | not compacted, nothing found |",
            ]
        );
    }
}
