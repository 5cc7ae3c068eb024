//! The last outcomes of tests, builds, commits and the like.

use serde::{Deserialize, Serialize};

use wb_shell::kind::{Role, name, only_compiles, program};
use wb_shell::lexer::{Step, Word};
use wb_shell::outcome::Outcome;
use wb_shell::{Command, Effects, GitEffect};

/// Something that a summary may claim to have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
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

impl Activity {
    const ALL: [Self; 6] =
        [Self::Tests, Self::Build, Self::Lint, Self::Commit, Self::Push, Self::PullRequest];
}

/// The messages that show the last success, the last failure and the last run with an unknown
/// outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastOutcomes {
    /// The last success.
    pub(crate) ok: Option<u32>,
    /// The last failure.
    pub(crate) failed: Option<u32>,
    /// The last run that was not observed, or whose outcome is unknown.
    pub(crate) unsure: Option<u32>,
}

impl LastOutcomes {
    /// Reports whether it was done, or may have been.
    pub(crate) fn may_be(self) -> bool {
        self.ok.is_some() || self.unsure.is_some()
    }

    /// Returns the message of the last failure if no success, certain or possible, came after it.
    pub(crate) fn failed_last(self) -> Option<u32> {
        self.failed.filter(|failed| self.ok.max(self.unsure).is_none_or(|other| other < *failed))
    }
}

/// The last outcomes by activity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActivityLog {
    ends: [LastOutcomes; Activity::ALL.len()],
    /// When a command ran last that may have changed or deleted files which it does not name.
    swept: Option<u32>,
}

/// Words of a command that identify its activity.
const WORDS: [(Activity, &[&str]); 3] = [
    (
        Activity::Tests,
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
        Activity::Build,
        &["build", "compile", "tsc", "check", "vet", "clippy", "test", "tests", "install", "rustc", "gcc"],
    ),
    (
        Activity::Lint,
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
/// Programs that run the commands in a file.
const RUNNERS: [&str; 16] = [
    "make", "just", "mise", "npm", "pnpm", "yarn", "bun", "task", "rake", "gradle", "gradlew", "mvn",
    "xtask", "bazel", "nx", "turbo",
];
const CHECKS: [Activity; 3] = [Activity::Tests, Activity::Build, Activity::Lint];
/// Beginnings of words that claim that something was done.
const CLAIMS: [(Activity, &[&str]); 5] = [
    (Activity::Tests, &["passe", "passing", "green"]),
    (Activity::Build, &["passe", "built", "builds", "compil", "works", "green"]),
    (Activity::Lint, &["passe", "clean", "green"]),
    (Activity::Commit, &["committed"]),
    (Activity::Push, &["pushed"]),
];
/// Words that claim that a pull request was opened.
const OPENS: [&str; 4] = ["opened", "created", "create", "creating"];
/// The first letters of these words.
const FIRST_LETTERS: &[u8] = b"pgbcwo";
/// Text at the end of the output of tests or checks.
const RESULTS: [&str; 4] = ["test result:", " passed", "PASS", " passing"];

fn begins(word: &[u8], start: &[u8]) -> bool {
    word.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

impl ActivityLog {
    /// Returns how something ended.
    pub(crate) fn ends(&self, activity: Activity) -> LastOutcomes {
        self.ends[activity as usize]
    }

    /// Returns the last command that may have changed or deleted files that it does not name.
    pub(crate) fn swept(&self) -> Option<u32> {
        self.swept
    }

    /// Returns the checks whose end a message showed.
    pub(crate) fn checked_at(&self, at: u32) -> Vec<Activity> {
        let ended =
            |activity: &Activity| [self.ends(*activity).ok, self.ends(*activity).failed].contains(&Some(at));
        CHECKS.into_iter().filter(ended).collect()
    }

    fn note(&mut self, activity: Activity, outcome: Outcome, at: u32) {
        let ends = &mut self.ends[activity as usize];
        match outcome {
            Outcome::Ok => ends.ok = Some(at),
            Outcome::Failed => ends.failed = Some(at),
            Outcome::Unknown => ends.unsure = Some(at),
            Outcome::NotThere | Outcome::NotRun => {}
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
        for activity in CHECKS.into_iter().filter(|activity| did.known[*activity as usize]) {
            // The first part of a failed chain may have worked, and a later one was not reached.
            let is_first = CHECKS.into_iter().find(|it| did.known[*it as usize]) == Some(activity);
            let outcome = if outcome == Outcome::Failed && !is_first { Outcome::NotThere } else { outcome };
            self.note(activity, outcome, at);
        }
        let may_be = outcome != Outcome::Failed || acts.len() > 1;
        for activity in
            CHECKS.into_iter().filter(|activity| may_be && did.perhaps && !did.known[*activity as usize])
        {
            self.note(activity, Outcome::Unknown, at);
        }
        let end = if outcome == Outcome::Failed { Outcome::Unknown } else { outcome };
        if outcome != Outcome::Failed || acts.len() > 1 {
            for activity in git(&acts, effects) {
                self.note(activity, end, at);
            }
        }
    }

    /// Notes claims about work that was not observed: by the user, another agent or an unknown
    /// tool.
    pub(crate) fn observe_claims(&mut self, text: &str, at: u32) {
        let mut n_since_open = usize::MAX;
        for line in text.split('\n') {
            if line.is_ascii() {
                let words = line.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
                words.for_each(|word| self.observe_word(word, &mut n_since_open, at));
            } else {
                let words = line.split(|c: char| !c.is_alphanumeric());
                words.for_each(|word| self.observe_word(word.as_bytes(), &mut n_since_open, at));
            }
        }
    }

    fn observe_word(&mut self, word: &[u8], n_since_open: &mut usize, at: u32) {
        *n_since_open = n_since_open.saturating_add(1);
        if !word.first().is_some_and(|first| FIRST_LETTERS.contains(&first.to_ascii_lowercase())) {
            return;
        }
        let is = |known: &&str| word.eq_ignore_ascii_case(known.as_bytes());
        if OPENS.iter().any(is) {
            *n_since_open = 0;
        } else if *n_since_open < 5 && ["pr", "pull"].iter().any(is) {
            self.note(Activity::PullRequest, Outcome::Unknown, at);
        }
        for (activity, starts) in CLAIMS {
            if starts.iter().any(|start| begins(word, start.as_bytes())) {
                self.note(activity, Outcome::Unknown, at);
            }
        }
    }
}

/// Programs that run code which they are given.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "deno", "ruby", "perl", "php", "bash", "sh", "zsh", "xargs"];

/// Reports whether a step may change or delete files that it does not name: by a pattern or in a
/// script.
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

/// Reports whether a command names a check.
fn says_check(words: &[Word<'_>]) -> bool {
    let parts = words.iter().take(8).flat_map(|word| word.text.split(|c: char| !c.is_ascii_alphanumeric()));
    parts.into_iter().any(|part| WORDS.iter().any(|(_, known)| known.contains(&part)))
}

/// The checks that a command names, and whether it may run others.
#[derive(Clone, Copy, Debug, Default)]
struct Checks {
    known: [bool; Activity::ALL.len()],
    perhaps: bool,
}

/// Returns what a command checks, as far as it says so.
pub(crate) fn checks_of(command: &Command<'_>) -> Vec<Activity> {
    let known = checks(&command.acts().collect::<Vec<_>>(), "").known;
    CHECKS.into_iter().filter(|activity| known[*activity as usize]).collect()
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
        let message_words = words.iter().take(8).filter(|word| !word.text.starts_with('-'));
        let mut says = false;
        for word in message_words.flat_map(|word| word.text.split(|c: char| !c.is_ascii_alphanumeric())) {
            for (activity, _) in WORDS.iter().filter(|(_, known)| known.contains(&word)) {
                checks.known[*activity as usize] = true;
                says = true;
            }
        }
        if only_compiles(words) {
            checks.known[Activity::Tests as usize] = false;
        }
        let is_script =
            step.body.is_some() || own.contains('.') || words.get(1).is_some_and(|it| it.text == "xtask");
        checks.perhaps |= is_script || (RUNNERS.contains(&own) && !says);
    }
    checks.perhaps = checks.perhaps || !acts.is_empty() && RESULTS.iter().any(|it| output.contains(it));
    checks
}

fn git(acts: &[&Step], effects: &Effects<'_>) -> Vec<Activity> {
    let mut activities: Vec<Activity> = effects.git.iter().filter_map(git_activity).collect();
    for step in acts {
        let words = program(&step.words);
        let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word.text == text);
        let has = |text: &str| words.iter().any(|word| word.text == text);
        match name(words) {
            "gh" | "glab" | "hub" if has("create") || is(1, "pull-request") => {
                activities.push(Activity::PullRequest);
            }
            "git" | "jj" | "sl" | "gt" if has("commit") => activities.push(Activity::Commit),
            "git" | "jj" | "gt" if has("push") || has("submit") => activities.push(Activity::Push),
            // A script may do anything.
            own if own.contains('/') || own.contains('.') => {
                activities.extend([Activity::Commit, Activity::Push]);
            }
            _ => {}
        }
    }
    activities
}

fn git_activity(effect: &GitEffect<'_>) -> Option<Activity> {
    match effect {
        GitEffect::Pushed => Some(Activity::Push),
        GitEffect::Committed { .. }
        | GitEffect::Amended { .. }
        | GitEffect::Merged(_)
        | GitEffect::Pulled
        | GitEffect::Rebased
        | GitEffect::Picked(_)
        | GitEffect::Continued(_)
        | GitEffect::Reverted(_) => Some(Activity::Commit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(runs: &[(&str, Outcome)]) -> ActivityLog {
        let mut activities = ActivityLog::default();
        for (at, (command, outcome)) in runs.iter().enumerate() {
            let command = Command::parse(command);
            activities.ran(&command, &command.effects(), "", *outcome, u32::try_from(at).unwrap_or(0));
        }
        activities
    }

    #[test]
    fn a_run_is_known_by_the_words_of_its_command() {
        let activities = after(&[
            ("cargo test -p a | tail -5", Outcome::Failed),
            ("git add . && git commit -m x", Outcome::Ok),
        ]);
        // A hook may have run the tests again before the commit.
        assert_eq!(
            activities.ends(Activity::Tests),
            LastOutcomes { ok: None, failed: Some(0), unsure: Some(1) }
        );
        assert_eq!(activities.ends(Activity::Tests).failed_last(), None);
        assert_eq!(activities.ends(Activity::Commit).ok, Some(1));
        assert!(
            !activities.ends(Activity::Push).may_be() && !activities.ends(Activity::PullRequest).may_be()
        );
        assert!(
            !after(&[("grep -rn test src", Outcome::Ok), ("ls tests", Outcome::Ok)])
                .ends(Activity::Tests)
                .may_be()
        );
    }

    #[test]
    fn what_failed_and_worked_later_did_not_fail_last() {
        let activities = after(&[("pytest -q", Outcome::Failed), ("pytest -q", Outcome::Ok)]);
        assert_eq!(
            activities.ends(Activity::Tests),
            LastOutcomes { ok: Some(1), failed: Some(0), unsure: None }
        );
        assert_eq!(activities.ends(Activity::Tests).failed_last(), None);
    }

    #[test]
    fn claims_of_the_user_may_be_true() {
        let mut activities = ActivityLog::default();
        activities.observe_claims("I pushed it already", 4);
        assert_eq!(activities.ends(Activity::Push).unsure, Some(4));
        assert!(!activities.ends(Activity::Commit).may_be());
    }

    #[test]
    fn claims_count_in_any_case_and_no_word_is_skipped() {
        let claimed = |text: &str| {
            let mut activities = ActivityLog::default();
            activities.observe_claims(text, 4);
            activities
        };
        for (activity, starts) in CLAIMS {
            for start in starts {
                assert_eq!(claimed(&start.to_uppercase()).ends(activity).unsure, Some(4), "{start}");
            }
        }
        for opens in OPENS {
            assert_eq!(
                claimed(&format!("{opens} a PR")).ends(Activity::PullRequest).unsure,
                Some(4),
                "{opens}"
            );
        }
        assert!(!claimed("a PR was opened, ü pas").ends(Activity::PullRequest).may_be());
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
            let activities = after(&[(command, Outcome::Ok)]);
            assert_eq!(activities.swept().is_some(), expected, "{command}");
        }
    }
}
