//! The page that says which agents went on with a session of theirs that was compacted.

use super::hosts::{HOSTS, Host};
use super::play::Outcome;
use super::validate::{COMPACTED, Check, UNDONE};

/// Where the page is.
pub(crate) const FILE: &str = "docs/evaluation/hosts.md";

const TITLE: &str = "\
# Compacted sessions in the agents that they belong to

A scripted model had an agent make nine tool calls in a session of two prompts, two calls at once twice. The session was compacted in
its own file or database, resumed in the agent with a third prompt, the compaction was taken back, and the session resumed once more.
What is told here are the requests that the agent then sent. Each row is of one run.

- command: `cargo xtask e2e all --record`, and `cargo xtask e2e claude-code --record`
";

const TABLE: &str = "\
| agent | version | dialect | date | commit | network | compacted | taken back |
|---|---|---|---|---|---|---|---|
";

/// What a row says beside the outcome.
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
    let checks = format!("- compacted: {}\n- taken back: {}\n", names(&COMPACTED), names(&UNDONE));
    format!("{TITLE}{checks}\n{TABLE}{}\n", rows.join("\n"))
}

fn names(checks: &[Check]) -> String {
    checks.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("; ")
}

/// Writes a row.
pub(crate) fn row(host: &Host, outcome: &Outcome, run: &Run) -> String {
    let said = match (outcome.is_compacted, outcome.findings.is_empty()) {
        (true, true) => "all so",
        (true, false) => "not so",
        (false, _) => "not tried",
    };
    let network = if run.is_apart { "cut off" } else { "there" };
    format!(
        "| {} | {} | {} | {} | {} | {network} | {said} | {said} |",
        host.name, host.version, host.dialect, run.date, run.commit
    )
}
