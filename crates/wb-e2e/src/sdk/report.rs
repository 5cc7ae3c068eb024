//! The report of a run: a line for the terminal, and a page.

use std::collections::BTreeMap;

use super::requests::Requests;

/// The path of the page.
pub(crate) const FILE: &str = "docs/evaluation/providers.md";
/// The part of the page that is written by hand.
const BY_HAND: &str = "## A real inference server\n";

const TITLE: &str = "\
# Our requests in the official SDKs

The official Python SDKs send what `wb-dialect` encodes to a local provider, which checks each body by rules
that share no code with `wb-dialect`, but were written by somebody who had read ours. What arrives must say
what was encoded, and the SDK must read the answer with strict types. **No real provider was asked.**

- command: `cargo xtask sdk --record`
";

const COLUMNS: &str = "\
| dialect | untouched | converted | compacted | made | examples taken | taken after a repair | refused by the server | refused by the SDK |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

const NOTES: &str = "
- *untouched*, *converted*, *compacted*: our fixtures as they are, by `wb convert`, and by `wb compact --force`.
  What our rules refuse of an untouched one has to be refused, and is then sent repaired.
- *made*: requests with a system text, tools, reasoning, pictures and a failed result. A test breaks one thing
  at a time in them (`spoiled.rs`), and each fault has to be named.
- *examples*: a passing, a failing and a repaired request for each rule; the second has to be refused.

";

/// The outcome of all requests.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The SDKs.
    pub(crate) versions: BTreeMap<String, String>,
    /// The number of requests, by dialect and kind.
    pub(crate) counts: BTreeMap<String, usize>,
}

impl Counts {
    /// Returns how many were sent by an SDK.
    pub(crate) fn n_sent(&self) -> usize {
        let is_by_sdk = |key: &str| !key.contains("/refused by");
        self.counts.iter().filter(|(key, _)| is_by_sdk(key)).map(|(_, n)| n).sum()
    }

    /// Returns how many were refused, as they have to be.
    pub(crate) fn n_refused(&self) -> usize {
        let is_refusal = |key: &str| key.contains("/refused by");
        self.counts.iter().filter(|(key, _)| is_refusal(key)).map(|(_, n)| n).sum()
    }

    /// Returns the SDKs with their versions.
    pub(crate) fn sdks(&self) -> String {
        self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
    }

    fn row(&self, dialect: &str) -> String {
        let of = |kind: &str| self.counts.get(&format!("{dialect}/{kind}")).copied().unwrap_or(0);
        let taken = of("example, passing") + of("example, repaired");
        let kinds = ["repaired", "refused by the server", "refused by the SDK"].map(of);
        let cells =
            [of("untouched"), of("converted"), of("compacted"), of("made"), taken].into_iter().chain(kinds);
        let cells: Vec<String> = cells.map(|n| n.to_string()).collect();
        format!("| {dialect} | {} |\n", cells.join(" | "))
    }
}

/// Writes the page; what was written by hand stays.
pub(crate) fn page(old: &str, sent: &Counts, requests: &Requests, (date, commit): (&str, &str)) -> String {
    let rows: String =
        ["anthropic", "openai", "openai-responses", "gemini"].map(|dialect| sent.row(dialect)).concat();
    let by_hand = old.split_once(BY_HAND).map_or("", |(_, rest)| rest);
    let Requests { n_sessions, n_compacted, n_unread, .. } = requests;
    let (sdks, n_sent) = (sent.sdks(), sent.n_sent());
    format!(
        "{TITLE}- {date}, commit {commit}: {sdks}\n- {n_sent} requests by an SDK; {n_sessions} sessions, {n_compacted} of them \
         compacted too, {n_unread} files that are no session\n\n{COLUMNS}{rows}{NOTES}{BY_HAND}{by_hand}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_row_for_each_dialect_and_keeps_what_was_written_by_hand() {
        let counts = [("gemini/untouched", 3), ("gemini/refused by the SDK", 1)];
        let counts = counts.map(|(key, n)| (key.to_owned(), n)).into();
        let sent = Counts { versions: [("openai".to_owned(), "1".to_owned())].into(), counts };
        let old = format!("# Old\n\n{BY_HAND}\nIt ran.\n");
        let page = page(&old, &sent, &Requests::default(), ("2026-01-02", "0a1b2c3"));
        assert!(page.contains("| gemini | 3 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |\n"), "{page}");
        assert!(page.contains("2026-01-02, commit 0a1b2c3: openai 1"), "{page}");
        assert!(page.ends_with(&format!("{BY_HAND}\nIt ran.\n")), "{page}");
        assert_eq!((sent.n_sent(), sent.n_refused()), (3, 1));
    }
}
