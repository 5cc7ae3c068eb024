//! Holds what a summary says of changed and deleted files against what was done to them.

use super::names::{Name, is_file, names};
use super::text::{Line, Topic, is_unreal, sentences, words};
use super::{Finding, FindingKind};
use crate::facts::files::is_same_file;
use crate::facts::{Change, Facts, FileFact};
use wb_shell::base_name;

/// The change to a file that a summary claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Changed,
    Deleted,
}

const CHANGED: [&str; 11] = [
    "created",
    "wrote",
    "written",
    "modified",
    "edited",
    "updated",
    "rewrote",
    "added",
    "new",
    "changed",
    "rewritten",
];
const DELETED: [&str; 2] = ["deleted", "removed"];

fn claim(word: &str) -> Option<Claim> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    if CHANGED.contains(&word.as_str()) {
        return Some(Claim::Changed);
    }
    DELETED.contains(&word.as_str()).then_some(Claim::Deleted)
}

/// Finds files that a summary says were changed or deleted and that were not.
pub(super) fn check(lines: &[Line<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    for line in lines.iter().filter(|line| line.is_told()) {
        if line.topic == Topic::Changed
            && let Some(first) = names(line.body()).first().filter(|name| name.at <= 3 && is_file(name.text))
        {
            judge(line, first.text, Claim::Changed, facts, out);
        }
        for sentence in sentences(line.text) {
            let all = words(sentence);
            if is_unreal(&all)
                || all.iter().any(|word| matches!(word.text.as_str(), "user" | "branch" | "by" | "pr"))
            {
                continue;
            }
            for (name, claim) in claims(sentence) {
                judge(line, name.text, claim, facts, out);
            }
        }
    }
}

/// Returns the files of a sentence whose change is named right next to them.
fn claims(sentence: &str) -> Vec<(Name<'_>, Claim)> {
    let files: Vec<Name<'_>> = names(sentence).into_iter().filter(|name| is_file(name.text)).collect();
    let (mut out, mut last) = (Vec::new(), None);
    for name in files {
        let before = &sentence[..name.at];
        let word = before.trim_end_matches([' ', '`', '*', ':']);
        let verb = word.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
        let listed = last
            .filter(|(end, _): &(usize, Claim)| is_joint(&sentence[*end..name.at]))
            .map(|(_, claim)| claim);
        let found = claim(verb).or(listed).or_else(|| claim_after(&sentence[name.at + name.text.len()..]));
        last = found.map(|claim| (name.at + name.text.len(), claim));
        out.extend(found.map(|claim| (name, claim)));
    }
    out
}

/// Reports whether nothing but a list separator is between two names.
fn is_joint(between: &str) -> bool {
    let between = between.trim_matches([' ', '`', '*', ',']);
    between.is_empty()
        || matches!(between, "and" | "&")
        || between.trim_start_matches('×').bytes().all(|it| it.is_ascii_digit())
}

/// Returns what a bracket behind a name says: `` `a.rs` (created) ``.
fn claim_after(rest: &str) -> Option<Claim> {
    let inner = rest.trim_start_matches(['`', '*', ' ']).strip_prefix('(')?;
    let (verb, _) = inner.split_once([')', ',']).unwrap_or((inner, ""));
    claim(verb)
}

fn judge(line: &Line<'_>, path: &str, claim: Claim, facts: &Facts, out: &mut Vec<Finding>) {
    let mut same = facts.files().newest().filter(|file| is_same_file(&file.path, path));
    let name = base_name(path);
    let may_be = facts.is_partial() || facts.ledger().known.is_full() || facts.ledger().known.has_acted(name);
    let has = |change: fn(&FileFact) -> bool| {
        facts.files().newest().any(|file| is_same_file(&file.path, path) && change(file))
    };
    let swept = facts.ledger().deeds.swept();
    let may_sweep = |since: u32| swept.is_some_and(|at| at > since);
    let (why, at) = match claim {
        Claim::Changed if may_be || has(|file| file.change.is_some()) => return,
        Claim::Changed => match same.find_map(|file| file.read_at) {
            Some(at) if may_sweep(at) => return,
            Some(at) => ("the file was only read", Some(at)),
            None => ("no message changes the file", None),
        },
        Claim::Deleted
            if has(|file| !matches!(file.change, None | Some(Change::Edited | Change::Written))) =>
        {
            return;
        }
        Claim::Deleted => match same.find(|file| file.change.is_some() && !file.by_shell) {
            Some(file) if may_sweep(file.changed_at) => return,
            Some(file) => ("the file was written last and not deleted", Some(file.changed_at)),
            None if may_be || swept.is_some() => return,
            None => ("no message deletes the file", None),
        },
    };
    let why = format!("{why}: {path}");
    out.push(Finding::new(FindingKind::UnshownChange, line, path, why, at));
}
