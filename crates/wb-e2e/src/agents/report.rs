//! The report of a run: lines for the terminal, a row for the page.

use super::by_hand;
use super::cases::{CASES, Case};
use super::hosts::{HOSTS, Host, Moment};
use super::informed::{self, INFORMED};
use super::play::Outcome;
use super::plugged::{ITS_OWN, OURS, TAIL_STAYS, WISHED};
use super::validate::{COMPACTED, Check, UNDONE};

/// The path of the page.
pub(crate) const FILE: &str = "docs/evaluation/hosts.md";

const TITLE: &str = "\
# Compacted sessions in their agents

A scripted model had each agent make nine tool calls in two prompts. `wb` compacted the session in its place,
and the agent continued; `wb` undid the compaction, and the agent continued again. Each time its first request
was checked, and that all requests answer every call. Unless a row says so, the agent could reach nothing but
the provider. Outputs that Gemini CLI repeats in an untouched session too are not counted.

- command: `cargo xtask e2e all --record`, and `cargo xtask e2e claude-code gemini-cli --record`
";

const TABLE: &str = "\
| agent | version | dialect | date | commit | result |
|---|---|---|---|---|---|
";

const PLUGGED_TITLE: &str = "## With our plug-in\n\n";

const PLUGGED: &str = "\
The agent compacts by itself, and our plug-in asks `wb hook`. In *ours* the window is reported full, then is
full; at the end the model calls `recall` for what was folded, and the next request has its exact words. In
*asked for* the user asks for a compaction with words and undoes it with `wb undo`. In the other cases `wb` is
missing, crashes, hangs or prints nonsense, and the agent has to compact in its *normal way*. Seconds are the
longest time between an answer and the next request, tools included. In all runs outputs are unchanged, only
the provider listens on a port, and no log of `wb` contains words of a message.

";

const PLUGGED_TABLE: &str = "\
| agent | version | date | commit | ours, asked for | words of the user | normal way, after at most s | result |
|---|---|---|---|---|---|---|---|
";

const INFORMED_TITLE: &str = "## With our instructions for its summary\n\n";

const INFORMED_TEXT: &str = "\
This agent accepts no text in place of its model's summary, so `wb install` adds instructions for that request
and a hook with what `wb` knows of the session. The window was reported full, and then the model called
`recall`. After `wb uninstall` the agent's instructions were back. Hooks ran without being trusted
(`--dangerously-bypass-hook-trust`).

";

const INFORMED_TABLE: &str = "\
| agent | version | date | commit | result |
|---|---|---|---|---|
";

/// The time and place of a run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// The day.
    pub(crate) date: &'a str,
    /// The last commit.
    pub(crate) commit: &'a str,
    /// Marks an agent that could reach nothing but the provider.
    pub(crate) is_apart: bool,
}

impl Run<'_> {
    fn network(&self) -> &'static str {
        if self.is_apart { "" } else { ", with a network" }
    }
}

/// Writes the page: new rows in the place of those of the same agents, the others as they were.
pub(crate) fn page(old: &str, all: &[(Host, Vec<Outcome>)], run: &Run) -> String {
    let (old, old_informed) = old.split_once(INFORMED_TITLE).unwrap_or((old, ""));
    let (old, old_plugged) = old.split_once(PLUGGED_TITLE).unwrap_or((old, ""));
    let first = |outcomes: &[Outcome]| outcomes.iter().find(|it| it.name == by_hand::NAME).map(came_of);
    let rows = rows(old, all, |host, outcomes| Some(row(host, &first(outcomes)?, run)));
    let plugged = self::rows(old_plugged, all, |host, outcomes| plugged_row(host, outcomes, run));
    let informed = self::rows(old_informed, all, |host, outcomes| informed_row(host, outcomes, run));
    let of_informed = format!("- after the summary: {}\n", names(&INFORMED));
    let checks = [("compacted", names(&COMPACTED)), ("undone", names(&UNDONE))];
    let checks = checks.map(|(when, checks)| format!("- {when}: {checks}\n")).concat();
    let of_plugged = [
        ("ours", format!("{}; {}", names(&OURS), names(&TAIL_STAYS))),
        ("asked for", format!("the same, and {} where it is handed over", names(&WISHED))),
        ("undone", "as above".to_owned()),
        ("normal way", names(&ITS_OWN)),
    ];
    let of_plugged = of_plugged.map(|(when, checks)| format!("- {when}: {checks}\n")).concat();
    let first = format!("{TITLE}{checks}\n{TABLE}{rows}\n");
    let second = format!("{PLUGGED_TITLE}{PLUGGED}{of_plugged}\n{PLUGGED_TABLE}{plugged}\n");
    format!("{first}{second}{INFORMED_TITLE}{INFORMED_TEXT}{of_informed}\n{INFORMED_TABLE}{informed}")
}

/// Returns the row of each agent: a new one, or the old one.
fn rows(
    old: &str,
    all: &[(Host, Vec<Outcome>)],
    row: impl Fn(&Host, &[Outcome]) -> Option<String>,
) -> String {
    let row = |host: &Host| {
        let new = all.iter().find(|(of, _)| of.name == host.name);
        let new = new.and_then(|(host, outcomes)| row(host, outcomes));
        let is_row = |line: &&str| line.starts_with(&format!("| {} |", host.name));
        new.or_else(|| old.lines().find(is_row).map(str::to_owned))
    };
    HOSTS.iter().filter_map(row).map(|row| row + "\n").collect()
}

fn names(checks: &[Check]) -> String {
    checks.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("; ")
}

fn row(host: &Host, came_of: &str, run: &Run) -> String {
    let network = run.network();
    let Host { name, version, dialect, .. } = host;
    let Run { date, commit, .. } = run;
    format!("| {name} | {version} | {dialect} | {date} | {commit} | {came_of}{network} |")
}

/// Writes the row of an agent, if all of its cases were played.
fn plugged_row(host: &Host, outcomes: &[Outcome], run: &Run) -> Option<String> {
    let plug = host.plug?;
    let of = |name: &str| outcomes.iter().find(|outcome| outcome.name == name);
    let played: Vec<(&Case, &Outcome)> =
        CASES.iter().map(|case| Some((case, of(case.name)?))).collect::<Option<_>>()?;
    let (ours, own): (Vec<_>, Vec<_>) = played.iter().partition(|(case, _)| case.is_ours());
    let summaries: usize = ours.iter().map(|(_, outcome)| outcome.n_summaries).sum();
    let is_cut_short = plug.moment == Moment::Midway { keeps_calls: false };
    let folded = if is_cut_short { ", calls underway folded too" } else { "" };
    let ours = format!("{summaries} requests for a summary{folded}");
    let words = if plug.hands_over_words { "reach us" } else { "not handed over" };
    let own = own.iter().map(|(_, outcome)| outcome.pause_seconds).fold(0.0, f64::max);
    let n_findings: usize = played.iter().map(|(_, outcome)| outcome.findings.len()).sum();
    let Host { name, version, .. } = host;
    let Run { date, commit, .. } = run;
    let network = run.network();
    let found = verdict(n_findings);
    Some(format!(
        "| {name} | {version} | {date} | {commit} | {ours} | {words} | {own:.1} | {found}{network} |"
    ))
}

/// Writes the row of an agent that our instructions were tried with.
fn informed_row(host: &Host, outcomes: &[Outcome], run: &Run) -> Option<String> {
    let came_of = came_of(outcomes.iter().find(|it| it.name == informed::NAME)?);
    let network = run.network();
    let Host { name, version, .. } = host;
    let Run { date, commit, .. } = run;
    Some(format!("| {name} | {version} | {date} | {commit} | {came_of}{network} |"))
}

fn came_of(outcome: &Outcome) -> String {
    verdict(outcome.findings.len())
}

fn verdict(n_findings: usize) -> String {
    if n_findings == 0 { "nothing found".to_owned() } else { format!("{n_findings} found") }
}

/// Formats a run: a line, and one for each finding.
pub(crate) fn summary(host: &Host, outcome: &Outcome) -> String {
    let Outcome { name, n_requests, n_summaries, n_aside, seconds, pause_seconds, findings, .. } = outcome;
    let first = format!(
        "{}, {name}: {seconds:.1} s, {n_requests} requests, {n_summaries} for a summary and {n_aside} aside, \
         at most {pause_seconds:.1} s between them: {}",
        host.name,
        came_of(outcome)
    );
    let findings = findings.iter().map(|finding| format!("  {finding}"));
    let kept = outcome.kept.iter().map(|folder| format!("  kept: {}", folder.display()));
    [first].into_iter().chain(findings).chain(kept).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Run = Run { date: "2026-01-02", commit: "0a1b2c3", is_apart: true };

    fn outcome(name: &'static str, findings: &[&str]) -> Outcome {
        let findings = findings.iter().map(|finding| (*finding).to_owned()).collect();
        let (seconds, pause_seconds) = (2.04, 0.31);
        Outcome { name, findings, n_requests: 13, n_aside: 1, seconds, pause_seconds, ..Outcome::default() }
    }

    fn all(findings: &[&str]) -> Vec<Outcome> {
        let cases = CASES.iter().map(|case| outcome(case.name, &[]));
        [outcome(by_hand::NAME, findings)].into_iter().chain(cases).collect()
    }

    #[test]
    fn a_run_is_one_line_and_so_is_each_finding() {
        let fine = summary(&HOSTS[0], &outcome("missing", &[]));
        assert_eq!(
            fine,
            "pi, missing: 2.0 s, 13 requests, 0 for a summary and 1 aside, at most 0.3 s between them: nothing found"
        );
        let mut bad = outcome("missing", &["the digest is missing"]);
        bad.kept = Some("folder".into());
        let bad = summary(&HOSTS[0], &bad);
        assert!(bad.ends_with("1 found\n  the digest is missing\n  kept: folder"), "{bad}");
    }

    #[test]
    fn a_row_takes_the_place_of_that_of_the_same_agent_and_leaves_the_others() {
        let [pi, codex, ..] = HOSTS;
        let old = page("", &[(pi, all(&["x"])), (codex, all(&[]))], &RUN);
        let new = page(&old, &[(pi, all(&[]))], &RUN);
        let rows: Vec<&str> = new.lines().filter(|line| line.contains("2026-01-02")).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows[..2],
            [
                "| pi | 1.6.0 | OpenAI Chat | 2026-01-02 | 0a1b2c3 | nothing found |",
                "| codex | 0.171.0 | OpenAI Responses | 2026-01-02 | 0a1b2c3 | nothing found |",
            ]
        );
        assert!(rows[2].starts_with("| pi | 1.6.0 | 2026-01-02 | 0a1b2c3 | 0 requests"), "{}", rows[2]);
    }

    #[test]
    fn one_case_alone_leaves_the_row_as_it_was() {
        let old = page("", &[(HOSTS[0], all(&[]))], &RUN);
        let later = Run { date: "2026-02-03", ..RUN };
        assert_eq!(page(&old, &[(HOSTS[0], vec![outcome("missing", &["x"])])], &later), old);
    }
}
