//! How often run kinds of things ended last: tests, builds, commits and the like.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::shell::kind::{is_quiet, is_viewer, name, program};
use crate::shell::words::{Step, steps};
use crate::shell::{GitEffect, effects};

/// Something that a summary may claim to have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Tests were run.
    Tests,
    /// The code was built or checked by a compiler.
    Build,
    /// Style and types were checked.
    Lint,
    /// Changes were committed.
    Commit,
    /// Commits were sent to a remote.
    Push,
    /// A pull request was opened.
    PullRequest,
}

/// How many kinds there are.
const N_DEEDS: usize = 6;

/// When something ended well, ended badly, and when it may have been done, each for the last time; as message numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// It ended well.
    pub ok: Option<u32>,
    /// It ended badly.
    pub failed: Option<u32>,
    /// It may have been done by somebody who was not watched, or with an end that was not seen.
    pub unsure: Option<u32>,
}

impl Ends {
    /// Tells whether it was done, or may have been.
    pub fn may_be(self) -> bool {
        self.ok.is_some() || self.unsure.is_some()
    }

    /// Returns the message that shows the last end if that was a bad one, and nothing that may have been better came after.
    pub fn failed_last(self) -> Option<u32> {
        self.failed.filter(|failed| self.ok.max(self.unsure).is_none_or(|other| other < *failed))
    }
}

/// How the kinds of things ended last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Deeds([Ends; N_DEEDS]);

/// Words of a command that tell what it does.
const WORDS: [(Deed, &[&str]); 3] = [
    (
        Deed::Tests,
        &[
            "test",
            "tests",
            "pytest",
            "vitest",
            "jest",
            "rspec",
            "ctest",
            "nextest",
            "tox",
            "mocha",
            "unittest",
            "phpunit",
            "e2e",
            "spec",
            "specs",
            "playwright",
            "cypress",
            "integration",
        ],
    ),
    (
        Deed::Build,
        &["build", "compile", "tsc", "check", "vet", "clippy", "test", "tests", "install", "rustc", "gcc"],
    ),
    (
        Deed::Lint,
        &[
            "lint",
            "clippy",
            "eslint",
            "ruff",
            "flake8",
            "golangci",
            "fmt",
            "format",
            "prettier",
            "biome",
            "check",
            "vet",
            "gofmt",
            "black",
            "mypy",
            "tsc",
            "pylint",
            "rustfmt",
            "precommit",
            "commit",
        ],
    ),
];
/// Programs that run what a file tells them.
const RUNNERS: [&str; 16] = [
    "make", "just", "mise", "npm", "pnpm", "yarn", "bun", "task", "rake", "gradle", "gradlew", "mvn",
    "xtask", "bazel", "nx", "turbo",
];
const CHECKS: [Deed; 3] = [Deed::Tests, Deed::Build, Deed::Lint];
/// Beginnings of words by which somebody tells that something was done.
const TOLD: [(Deed, &[&str]); 5] = [
    (Deed::Tests, &["passe", "passing", "green"]),
    (Deed::Build, &["passe", "built", "builds", "compil", "works", "green"]),
    (Deed::Lint, &["passe", "clean", "green"]),
    (Deed::Commit, &["committed"]),
    (Deed::Push, &["pushed"]),
];

impl Deeds {
    /// Returns how something ended.
    pub fn ends(&self, deed: Deed) -> Ends {
        self.0[deed as usize]
    }

    fn note(&mut self, deed: Deed, outcome: Outcome, at: u32) {
        let ends = &mut self.0[deed as usize];
        match outcome {
            Outcome::Ok => ends.ok = Some(at),
            Outcome::Failed => ends.failed = Some(at),
            Outcome::Unknown => ends.unsure = Some(at),
            Outcome::NotThere => {}
        }
    }

    /// Notes what a command did and how it ended.
    pub(crate) fn ran(&mut self, command: &str, output: &str, outcome: Outcome, at: u32) {
        let all = steps(command);
        let acts: Vec<&Step> = all.iter().filter(|step| !is_viewer(step) && !is_quiet(step)).collect();
        let did = checks(&acts, output);
        for deed in CHECKS.into_iter().filter(|deed| did.known[*deed as usize]) {
            // Of a chain that failed the first part may have worked, and a later one was not reached.
            let is_first = CHECKS.into_iter().find(|it| did.known[*it as usize]) == Some(deed);
            let outcome = if outcome == Outcome::Failed && !is_first { Outcome::NotThere } else { outcome };
            self.note(deed, outcome, at);
        }
        let may_be = outcome != Outcome::Failed || acts.len() > 1;
        for deed in CHECKS.into_iter().filter(|deed| may_be && did.perhaps && !did.known[*deed as usize]) {
            self.note(deed, Outcome::Unknown, at);
        }
        let end = if outcome == Outcome::Failed { Outcome::Unknown } else { outcome };
        if outcome != Outcome::Failed || acts.len() > 1 {
            for deed in git(&acts, command) {
                self.note(deed, end, at);
            }
        }
    }

    /// Notes what somebody may have done who was not watched: the user, another agent, a tool of no known kind.
    pub(crate) fn told(&mut self, text: &str, at: u32) {
        let mut n_since_open = usize::MAX;
        for word in text.split(|c: char| !c.is_alphanumeric()).map(str::to_ascii_lowercase) {
            n_since_open = n_since_open.saturating_add(1);
            match word.as_str() {
                "opened" | "created" | "create" | "creating" => n_since_open = 0,
                "pr" | "pull" if n_since_open < 5 => self.note(Deed::PullRequest, Outcome::Unknown, at),
                _ => {}
            }
            for (deed, starts) in TOLD {
                if starts.iter().any(|start| word.starts_with(start)) {
                    self.note(deed, Outcome::Unknown, at);
                }
            }
        }
    }
}

/// What a command checks: what it says, and whether it may check other things.
#[derive(Clone, Copy, Debug, Default)]
struct Checks {
    known: [bool; N_DEEDS],
    perhaps: bool,
}

fn checks(acts: &[&Step], output: &str) -> Checks {
    let mut checks = Checks::default();
    for step in acts {
        let words = program(&step.words);
        let own = name(words);
        if matches!(own, "git" | "gh") {
            // Hooks may check what is committed, and a service what is pushed.
            checks.perhaps |= own == "gh" || words.get(1).is_some_and(|word| word.text == "commit");
            continue;
        }
        let own_words = words.iter().take(8).filter(|word| !word.text.starts_with('-'));
        let mut says = false;
        for word in own_words.flat_map(|word| word.text.split(|c: char| !c.is_ascii_alphanumeric())) {
            for (deed, _) in WORDS.iter().filter(|(_, known)| known.contains(&word)) {
                checks.known[*deed as usize] = true;
                says = true;
            }
        }
        let is_script =
            step.body.is_some() || own.contains('.') || words.get(1).is_some_and(|it| it.text == "xtask");
        checks.perhaps |= is_script || (RUNNERS.contains(&own) && !says);
    }
    let has_result =
        ["test result:", " passed", "PASS", "tests passed", " passing"].iter().any(|it| output.contains(it));
    checks.perhaps |= has_result && !acts.is_empty();
    checks
}

fn git(acts: &[&Step], command: &str) -> Vec<Deed> {
    let mut deeds: Vec<Deed> = effects(command).git.iter().filter_map(of_git).collect();
    for step in acts {
        let words = program(&step.words);
        let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word.text == text);
        let has = |text: &str| words.iter().any(|word| word.text == text);
        match name(words) {
            "gh" | "glab" | "hub" if has("create") || is(1, "pull-request") => deeds.push(Deed::PullRequest),
            "git" | "jj" | "sl" | "gt" if has("commit") => deeds.push(Deed::Commit),
            "git" | "jj" | "gt" if has("push") || has("submit") => deeds.push(Deed::Push),
            // A script may do anything.
            own if own.contains('/') || own.contains('.') => deeds.extend([Deed::Commit, Deed::Push]),
            _ => {}
        }
    }
    deeds
}

fn of_git(effect: &GitEffect<'_>) -> Option<Deed> {
    match effect {
        GitEffect::Pushed => Some(Deed::Push),
        GitEffect::Committed { .. }
        | GitEffect::Amended { .. }
        | GitEffect::Merged(_)
        | GitEffect::Pulled
        | GitEffect::Rebased
        | GitEffect::Picked(_)
        | GitEffect::Reverted(_) => Some(Deed::Commit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(runs: &[(&str, Outcome)]) -> Deeds {
        let mut deeds = Deeds::default();
        for (at, (command, outcome)) in runs.iter().enumerate() {
            deeds.ran(command, "", *outcome, u32::try_from(at).unwrap_or(0));
        }
        deeds
    }

    #[test]
    fn a_run_is_known_by_the_words_of_its_command() {
        let deeds = after(&[
            ("cargo test -p a | tail -5", Outcome::Failed),
            ("git add . && git commit -m x", Outcome::Ok),
        ]);
        assert_eq!(
            deeds.ends(Deed::Tests).failed_last(),
            Some(0).filter(|_| deeds.ends(Deed::Tests).unsure.is_none())
        );
        assert_eq!(deeds.ends(Deed::Commit).ok, Some(1));
        assert!(!deeds.ends(Deed::Push).may_be() && !deeds.ends(Deed::PullRequest).may_be());
        assert!(
            !after(&[("grep -rn test src", Outcome::Ok), ("ls tests", Outcome::Ok)])
                .ends(Deed::Tests)
                .may_be()
        );
    }

    #[test]
    fn what_failed_and_worked_later_did_not_fail_last() {
        let deeds = after(&[("pytest -q", Outcome::Failed), ("pytest -q", Outcome::Ok)]);
        assert_eq!(deeds.ends(Deed::Tests), Ends { ok: Some(1), failed: Some(0), unsure: None });
        assert_eq!(deeds.ends(Deed::Tests).failed_last(), None);
    }

    #[test]
    fn what_the_user_tells_may_be_so() {
        let mut deeds = Deeds::default();
        deeds.told("I pushed it already", 4);
        assert_eq!(deeds.ends(Deed::Push).unsure, Some(4));
        assert!(!deeds.ends(Deed::Commit).may_be());
    }
}
