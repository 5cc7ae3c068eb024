//! What an earlier digest hands to the next one.

use crate::digest::{MODIFIED, NAMES, READ, Section, Sections};

/// Entries kept of each kind.
pub(crate) const N_ENTRIES: usize = 12;
/// A request of fewer bytes is taken for a mere acknowledgement.
const LEAST_REQUEST_BYTES: usize = 8;

/// How the entries for requests begin.
pub(crate) const FIRST: &str = "- First request:";
pub(crate) const LATEST: &str = "- Latest request:";
pub(crate) const EARLIER: &str = "- Earlier request:";
/// How the entry begins that says what the agent worked on last.
pub const ACTIVE: &str = "- Active: ";
/// How an entry begins that names something that failed and has not been seen to work since.
pub const UNRESOLVED: &str = "- Stuck? ";

/// Stands between a command and how it ended.
pub(crate) const ENDED: &str = "` → ";

/// Returns the line that says how many messages are gone; the counts of earlier digests are added to the total.
pub(crate) fn elided_line(n_elided: usize, prior: &Sections) -> String {
    let counts = || prior.entries(Section::Carryover).iter().filter(|entry| elided_total(entry).is_some());
    let before = counts().filter_map(|entry| elided_total(entry)).reduce(usize::saturating_add);
    let plural = if n_elided == 1 { "" } else { "s" };
    let is_all = counts().all(|entry| !entry.ends_with(BESIDE)) && (before.is_some() || prior.is_empty());
    let all = match before {
        None if !is_all => String::new(),
        before => format!(" ({} in all)", before.unwrap_or(0).saturating_add(n_elided)),
    };
    format!("{n_elided} message{plural}{ELIDED}{all}{}", if is_all { "." } else { BESIDE })
}

const ELIDED: &str = " elided into this digest";
/// Ends the count where an earlier digest tells none.
const BESIDE: &str = ", beside those of an earlier one.";

fn elided_total(entry: &str) -> Option<usize> {
    let (n_elided, rest) = entry.split_once(ELIDED)?;
    let total = rest.strip_prefix(" (").unwrap_or(n_elided);
    total.split(' ').next()?.parse().ok()
}

/// Appends what an earlier digest says and this one does not say itself, but for what is `over`.
pub(crate) fn carry(out: &mut Sections, prior: &Sections, over: impl Fn(&str) -> bool) {
    for entry in prior.entries(Section::Objective) {
        carry_request(out, entry);
    }
    let own = |entry: &str| {
        [MODIFIED, READ, ACTIVE, NAMES].iter().any(|label| entry.starts_with(label))
            || elided_total(entry).is_some()
    };
    for section in
        [Section::Guardrails, Section::Status, Section::Rationale, Section::Plan, Section::Carryover]
    {
        let replaced = section == Section::Plan && !out.entries(Section::Plan).is_empty();
        for entry in prior.entries(section).iter().filter(|entry| !own(entry) && !replaced && !over(entry)) {
            if is_superseded(out.entries(section), entry) {
                continue;
            }
            let foreign = section == Section::Carryover && command(entry).is_none();
            out.add(if foreign { Section::Carried } else { section }, entry.clone());
        }
    }
}

/// Appends a request; one alone is the first, and one the latest.
fn carry_request(out: &mut Sections, entry: &str) {
    let known = out.entries(Section::Objective);
    let is_older = |label: &str| entry.starts_with(label) && known.iter().any(|it| it.starts_with(label));
    let text = request_text(entry);
    if known.iter().any(|known| request_text(known) == text) {
        return;
    }
    let entry = if is_older(FIRST) || is_older(LATEST) { [EARLIER, text].concat() } else { entry.to_owned() };
    if !entry.starts_with(EARLIER) || !is_acknowledgement([text]) {
        out.add(Section::Objective, entry);
    }
}

/// Returns whether the texts of a request say no more than "ok" or that the user pressed a key.
pub(crate) fn is_acknowledgement<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    let (mut n_bytes, mut is_key) = (0, true);
    for text in texts {
        n_bytes += text.trim().len();
        is_key &= text.trim_start().starts_with("[Request interrupted");
    }
    is_key || n_bytes < LEAST_REQUEST_BYTES
}

/// Returns the entry that leads an earlier digest: the first request, or the goal in the words of a model.
pub(crate) fn leading(prior: &Sections) -> Option<&String> {
    let entries = prior.entries(Section::Objective);
    let is_goal = |entry: &&String| ![LATEST, EARLIER].iter().any(|label| entry.starts_with(label));
    entries.iter().find(|entry| entry.starts_with(FIRST)).or(entries.first().filter(is_goal))
}

fn request_text(entry: &str) -> &str {
    [FIRST, LATEST, EARLIER].iter().find_map(|label| entry.strip_prefix(label)).unwrap_or(entry)
}

/// Returns whether newer entries say it otherwise, or there are enough of its kind.
fn is_superseded(known: &[String], entry: &str) -> bool {
    let is_kind = |it: &str| match command(entry) {
        Some(_) => command(it).is_some(),
        None => entry.starts_with(UNRESOLVED) && it.starts_with(UNRESOLVED),
    };
    let is_same = |it: &String| command(entry).is_some() && command(it) == command(entry);
    known.iter().any(is_same) || known.iter().filter(|it| is_kind(it)).count() >= N_ENTRIES
}

/// Returns the command of an entry of ours that names one and how it ended.
fn command(entry: &str) -> Option<&str> {
    Some(entry.strip_prefix("- `")?.rsplit_once(ENDED)?.0)
}
