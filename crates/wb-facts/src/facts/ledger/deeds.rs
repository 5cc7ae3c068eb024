//! How often run kinds of things ended last: tests, builds, commits and the like.

use serde::{Deserialize, Serialize};

use wb_shell::kind::{Role, name, program};
use wb_shell::lexer::{Step, Word};
use wb_shell::outcome::Outcome;
use wb_shell::{Command, Effects, GitEffect};

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

impl Deed {
    const ALL: [Self; 6] =
        [Self::Tests, Self::Build, Self::Lint, Self::Commit, Self::Push, Self::PullRequest];
}

/// When something ended well, ended badly, and when it may have been done, each for the last time; as message numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ends {
    /// It ended well.
    pub(crate) ok: Option<u32>,
    /// It ended badly.
    pub(crate) failed: Option<u32>,
    /// It may have been done by somebody who was not watched, or with an end that was not seen.
    pub(crate) unsure: Option<u32>,
}

impl Ends {
    /// Tells whether it was done, or may have been.
    pub(crate) fn may_be(self) -> bool {
        self.ok.is_some() || self.unsure.is_some()
    }

    /// Returns the message that shows the last end if that was a bad one, and nothing that may have been better came after.
    pub(crate) fn failed_last(self) -> Option<u32> {
        self.failed.filter(|failed| self.ok.max(self.unsure).is_none_or(|other| other < *failed))
    }
}

/// How the kinds of things ended last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deeds {
    ends: [Ends; Deed::ALL.len()],
    /// When a command ran last that may have changed or deleted files which it does not name.
    swept: Option<u32>,
}

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
/// Words by which somebody tells that a pull request was opened.
const OPENS: [&str; 4] = ["opened", "created", "create", "creating"];
/// The first letters of these words.
const FIRST_LETTERS: &[u8] = b"pgbcwo";
/// What a run of tests or checks writes at its end.
const RESULTS: [&str; 4] = ["test result:", " passed", "PASS", " passing"];

/// Tells whether a word begins so, whatever its case.
fn begins(word: &[u8], start: &[u8]) -> bool {
    word.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

impl Deeds {
    /// Returns how something ended.
    pub(crate) fn ends(&self, deed: Deed) -> Ends {
        self.ends[deed as usize]
    }

    /// Returns the message of the last command that may have changed or deleted files which it does not name.
    pub(crate) fn swept(&self) -> Option<u32> {
        self.swept
    }

    /// Returns the checks whose end a message showed.
    pub(crate) fn checked_at(&self, at: u32) -> Vec<Deed> {
        let ended = |deed: &Deed| [self.ends(*deed).ok, self.ends(*deed).failed].contains(&Some(at));
        CHECKS.into_iter().filter(ended).collect()
    }

    fn note(&mut self, deed: Deed, outcome: Outcome, at: u32) {
        let ends = &mut self.ends[deed as usize];
        match outcome {
            Outcome::Ok => ends.ok = Some(at),
            Outcome::Failed => ends.failed = Some(at),
            Outcome::Unknown => ends.unsure = Some(at),
            Outcome::NotThere => {}
        }
    }

    /// Notes what a command did and how it ended.
    pub(crate) fn ran(
        &mut self,
        command: &Command<'_>,
        effects: &Effects<'_>,
        output: &str,
        outcome: Outcome,
        at: u32,
    ) {
        if outcome != Outcome::NotThere
            && command.with_roles().any(|(step, role)| role != Role::Views && sweeps(step))
        {
            self.swept = Some(at);
        }
        let acts: Vec<&Step> = command.acts().collect();
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
            for deed in git(&acts, effects) {
                self.note(deed, end, at);
            }
        }
    }

    /// Notes what somebody may have done who was not watched: the user, another agent, a tool of no known kind.
    pub(crate) fn told(&mut self, text: &str, at: u32) {
        let mut n_since_open = usize::MAX;
        for line in text.split('\n') {
            if line.is_ascii() {
                let words = line.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
                words.for_each(|word| self.word_told(word, &mut n_since_open, at));
            } else {
                let words = line.split(|c: char| !c.is_alphanumeric());
                words.for_each(|word| self.word_told(word.as_bytes(), &mut n_since_open, at));
            }
        }
    }

    fn word_told(&mut self, word: &[u8], n_since_open: &mut usize, at: u32) {
        *n_since_open = n_since_open.saturating_add(1);
        if !word.first().is_some_and(|first| FIRST_LETTERS.contains(&first.to_ascii_lowercase())) {
            return;
        }
        let is = |known: &&str| word.eq_ignore_ascii_case(known.as_bytes());
        if OPENS.iter().any(is) {
            *n_since_open = 0;
        } else if *n_since_open < 5 && ["pr", "pull"].iter().any(is) {
            self.note(Deed::PullRequest, Outcome::Unknown, at);
        }
        for (deed, starts) in TOLD {
            if starts.iter().any(|start| begins(word, start.as_bytes())) {
                self.note(deed, Outcome::Unknown, at);
            }
        }
    }
}

/// Programs that run code which they are given.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "deno", "ruby", "perl", "php", "bash", "sh", "zsh", "xargs"];

/// Tells whether a step may change or delete files that it does not name: by a pattern or in a script.
fn sweeps(step: &Step<'_>) -> bool {
    let words = program(&step.words);
    let own = name(words);
    let second = words.get(1).map_or("", |word| word.text.as_ref());
    if words.is_empty() {
        return false;
    }
    let is_file = words.first().is_some_and(|word| word.text.contains(['/', '.'])) && own != ".";
    let is_script = is_file || INTERPRETERS.contains(&own) || RUNNERS.contains(&own);
    let is_open = || words.iter().skip(1).any(|word| !word.is_fixed);
    let is_named = CHANGERS.contains(&own) || (own == "git" && matches!(second, "rm" | "mv"));
    let is_wide = own == "find" || (own == "git" && second == "clean");
    is_wide || (is_script && !says_check(words)) || (is_named && is_open())
}

/// Programs that change the files that they are given.
const CHANGERS: [&str; 13] = [
    "rm", "rmdir", "unlink", "trash", "mv", "cp", "sed", "gsed", "tee", "truncate", "rsync", "prettier",
    "rustfmt",
];

/// Tells whether a command names a check.
fn says_check(words: &[Word<'_>]) -> bool {
    let parts = words.iter().take(8).flat_map(|word| word.text.split(|c: char| !c.is_ascii_alphanumeric()));
    parts.into_iter().any(|part| WORDS.iter().any(|(_, known)| known.contains(&part)))
}

/// What a command checks: what it says, and whether it may check other things.
#[derive(Clone, Copy, Debug, Default)]
struct Checks {
    known: [bool; Deed::ALL.len()],
    perhaps: bool,
}

/// Returns what a command checks, as far as it says so.
pub(crate) fn checks_of(command: &Command<'_>) -> Vec<Deed> {
    let known = checks(&command.acts().collect::<Vec<_>>(), "").known;
    CHECKS.into_iter().filter(|deed| known[*deed as usize]).collect()
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
    checks.perhaps = checks.perhaps || !acts.is_empty() && RESULTS.iter().any(|it| output.contains(it));
    checks
}

fn git(acts: &[&Step], effects: &Effects<'_>) -> Vec<Deed> {
    let mut deeds: Vec<Deed> = effects.git.iter().filter_map(of_git).collect();
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
        | GitEffect::Continued(_)
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
            let command = Command::parse(command);
            deeds.ran(&command, &command.effects(), "", *outcome, u32::try_from(at).unwrap_or(0));
        }
        deeds
    }

    #[test]
    fn a_run_is_known_by_the_words_of_its_command() {
        let deeds = after(&[
            ("cargo test -p a | tail -5", Outcome::Failed),
            ("git add . && git commit -m x", Outcome::Ok),
        ]);
        // A hook may have run the tests again before the commit.
        assert_eq!(deeds.ends(Deed::Tests), Ends { ok: None, failed: Some(0), unsure: Some(1) });
        assert_eq!(deeds.ends(Deed::Tests).failed_last(), None);
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

    #[test]
    fn what_is_told_counts_whatever_its_case_and_no_word_is_passed_over() {
        let told = |text: &str| {
            let mut deeds = Deeds::default();
            deeds.told(text, 4);
            deeds
        };
        for (deed, starts) in TOLD {
            for start in starts {
                assert_eq!(told(&start.to_uppercase()).ends(deed).unsure, Some(4), "{start}");
            }
        }
        for opens in OPENS {
            assert_eq!(told(&format!("{opens} a PR")).ends(Deed::PullRequest).unsure, Some(4), "{opens}");
        }
        assert!(!told("a PR was opened, ü pas").ends(Deed::PullRequest).may_be());
    }

    #[test]
    fn a_pattern_or_a_script_may_change_what_it_does_not_name() {
        for (command, expected) in [
            ("rm src/*.rs", true),
            ("rm -r \"$DIR\"", true),
            ("git clean -fd && ls", true),
            ("python3 tools/mend.py", true),
            ("./mend.sh", true),
            ("make", true),
            ("find . -name '*.rs' -delete", true),
            ("rm src/a.rs", false),
            ("cargo test -p a*", false),
            ("npm test", false),
            ("grep -rn x src/*.rs", false),
            ("git commit -am x", false),
            ("git rm 'src/a.rs'", false),
            ("cat > src/a.rs <<'EOF'\nfn a() {}\nEOF", false),
        ] {
            let deeds = after(&[(command, Outcome::Ok)]);
            assert_eq!(deeds.swept().is_some(), expected, "{command}");
        }
    }
}
