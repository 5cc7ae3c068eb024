//! Failures that no later success settled.

use serde::{Deserialize, Serialize};
use wb_message::Untrusted;
use wb_message::text::{head, one_line};

use super::ledger::Activity;
use wb_shell::lexer::Step;
use wb_shell::{Command, build_part};

/// Failures that are kept, the newest ones.
const MOST_FAILURES: usize = 12;
/// Lines that say why, and the bytes of one.
const MOST_LINES: usize = 4;
const LINE_BYTES: usize = 240;
/// Things that work one after the other until a failure is taken to be got round.
const GOT_ROUND: u32 = 8;
/// Characters of what failed.
const WHAT_CHARS: usize = 100;

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The keys of the same thing when it is tried again; either of two if that is not certain.
    pub subjects: [u64; 2],
    /// The failed action and its file.
    pub what: Untrusted,
    /// The lines that say why.
    pub lines: Vec<Untrusted>,
    /// The number of the message that shows it.
    pub at: u32,
    /// The kinds of checks that failed, none where it was no check.
    pub checks: Vec<Activity>,
    /// The number of other things that have worked since.
    n_since: u32,
}

impl Failure {
    /// Reports whether it stays until it is fixed: a failed check or a conflict. Agents work around
    /// all else.
    fn stays(&self) -> bool {
        !self.checks.is_empty() || self.is_conflict()
    }

    /// Reports whether it is a check of these kinds alone.
    fn is_check_of(&self, checks: &[Activity]) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|it| checks.contains(it))
    }

    /// Reports whether a success settles it: one of the same thing or of all of its checks, for a
    /// build of tests the run of any part of what was built, for a part that of a larger part, or
    /// the installation of what was missing.
    fn is_settled_by(&self, [subject, part]: [u64; 2], what: &str, checks: &[Activity]) -> bool {
        let is_part = |subjects: [u64; 2]| subjects[0] == subject && subjects[1] != subject;
        let is_covered = || Command::parse(what).covers(&Command::parse(self.what.inspect()));
        self.subjects.contains(&part)
            || self.is_build_of(subject)
            || self.is_check_of(checks) && (!installs(what) || installs(self.what.inspect()))
            || self.lacks_what_is_installed_by(what)
            || is_part(self.subjects) && is_part([subject, part]) && is_covered()
    }

    fn lacks_what_is_installed_by(&self, command: &str) -> bool {
        let mut missing = self.lines.iter().filter_map(|line| missing_name(line.inspect()));
        let has = |name| command.split_whitespace().any(|word| is_package(word, name));
        missing.any(has) && installs(command)
    }

    fn is_build_of(&self, subject: u64) -> bool {
        self.subjects[1] == build_part(subject)
    }

    /// Reports whether it is a merge or the like that stopped on conflicts.
    pub fn is_conflict(&self) -> bool {
        self.lines.iter().any(|line| line.inspect().contains("CONFLICT"))
    }
}

/// Reports whether a command does nothing but install packages, which checks nothing.
fn installs(command: &str) -> bool {
    const PROGRAMS: [&str; 16] = [
        "pip", "pip3", "uv", "poetry", "conda", "npm", "pnpm", "yarn", "bun", "gem", "composer", "apt",
        "apt-get", "apk", "dnf", "brew",
    ];
    const VERBS: [&str; 4] = ["install", "add", "i", "ci"];
    let command = Command::parse(command);
    let is_install = |step: &&Step| {
        let words: Vec<&str> = step.words.iter().map(|word| word.text.as_ref()).collect();
        let at = words.iter().position(|word| PROGRAMS.contains(word));
        // `cargo install` builds.
        at.is_some_and(|at| words[at..].iter().any(|word| VERBS.contains(word)))
            || words.starts_with(&["cargo", "add"])
    };
    command.acts().next().is_some() && command.acts().all(|step| is_install(&step))
}

/// Returns the module or program that a line reports as missing: `No module named 'numpy'`.
fn missing_name(line: &str) -> Option<&str> {
    const BEFORE: [&str; 6] = [
        "No module named ",
        "Cannot find module ",
        "Cannot find package ",
        "can't find crate for ",
        "unresolved module or unlinked crate ",
        "command not found: ",
    ];
    let is_quote = |c: char| matches!(c, '\'' | '"' | '`');
    let behind = BEFORE.iter().find_map(|before| Some(line.split_once(before)?.1));
    let name = behind.map(|rest| rest.trim_start_matches(is_quote)).or_else(|| {
        let before = [": command not found", ": not found"].iter().find_map(|it| line.split_once(it))?.0;
        before.rsplit([' ', ':']).next()
    })?;
    let is_end = |c: char| is_quote(c) || c.is_whitespace() || matches!(c, '.' | ':' | ',' | ';');
    name.split(is_end).next().filter(|name| !name.is_empty())
}

/// Reports whether a word of an installing command is the package of that name, whatever its
/// version: `numpy==2.1`, `@types/node@22`.
fn is_package(word: &str, name: &str) -> bool {
    let word = word.trim_matches(|c| matches!(c, '\'' | '"'));
    let end = word.char_indices().skip(1).find(|(_, c)| matches!(c, '=' | '<' | '>' | '~' | '[' | '@'));
    let plain = |text: &str| text.replace('_', "-").to_lowercase();
    let (word, name) = (plain(end.map_or(word, |(at, _)| &word[..at])), plain(name));
    word == name || word.strip_prefix("python3-") == Some(&name)
}

/// The failures that no later success settled, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Failures {
    open: Vec<Failure>,
}

impl Failures {
    /// Returns what failed, the newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Failure> {
        self.open.iter().rev()
    }

    /// Forgets a failure, whatever has worked.
    pub(crate) fn forget(&mut self, subject: u64) {
        self.open.retain(|known| !known.subjects.contains(&subject));
    }

    /// Notes a failure, which replaces an older one of the same thing; one without a description is
    /// skipped. The second key is that of a part: its failure leaves a failure of the whole in
    /// place.
    pub(crate) fn failed<'a>(
        &mut self,
        subjects: [u64; 2],
        what: &str,
        lines: impl IntoIterator<Item = &'a str>,
        checks: Vec<Activity>,
        at: u32,
    ) {
        self.forget(subjects[1]);
        let line = |line: &str| Untrusted::new(head(line.trim(), LINE_BYTES).to_owned());
        let lines: Vec<_> = lines.into_iter().take(MOST_LINES).map(line).collect();
        if lines.is_empty() {
            return;
        }
        // Another command that checks the same is a newer word on it.
        let is_older = |known: &Failure| known.checks == checks && known.subjects[0] != subjects[0];
        self.open.retain(|known| checks.is_empty() || !is_older(known) && !known.is_build_of(subjects[0]));
        if self.open.len() == MOST_FAILURES {
            // Of many parts of one thing the oldest says least.
            let of = |subject: u64| self.open.iter().filter(|known| known.subjects[0] == subject).count();
            let oldest = self.open.iter().position(|known| of(known.subjects[0]) > 1).unwrap_or(0);
            self.open.remove(oldest);
        }
        let what = Untrusted::new(one_line(what, WHAT_CHARS));
        self.open.push(Failure { subjects, what, lines, at, checks, n_since: 0 });
    }

    /// Notes a success and returns the messages whose failures it settles; in time those go that
    /// were worked around.
    pub(crate) fn worked(&mut self, subjects: [u64; 2], what: &str, checks: &[Activity]) -> Vec<u32> {
        let mut settled = Vec::new();
        self.open.retain_mut(|known| {
            known.n_since += 1;
            let is_settled = known.is_settled_by(subjects, what, checks);
            settled.extend(is_settled.then_some(known.at));
            !is_settled && (known.stays() || known.n_since < GOT_ROUND)
        });
        settled
    }

    /// Notes the end of a turn: earlier failures were worked around or reported, except those of
    /// git.
    pub(crate) fn replied(&mut self) {
        const TO_GIT: [&str; 4] = ["git push", "git commit", "git merge", "git rebase"];
        let is_of_git = |known: &Failure| TO_GIT.iter().any(|verb| known.what.inspect().contains(verb));
        self.open.retain(|known| known.stays() || known.n_since == 0 || is_of_git(known));
    }

    /// Notes that a merge came to its end.
    pub(crate) fn merged(&mut self) {
        self.open.retain(|known| !known.is_conflict());
    }
}

#[cfg(test)]
mod tests {
    use wb_message::{Message, ToolVocabulary};

    use crate::facts::Facts;

    /// Compares the open failures after commands that ended with these codes.
    fn check(runs: &[(&str, i32)], expected: &[&str]) {
        let message = |(command, code): &(&str, i32)| Message::BashExecution {
            command: (*command).to_owned(),
            output: if *code == 0 { "1 passed" } else { "error: no" }.to_owned(),
            exit_code: Some(*code),
        };
        let facts = Facts::default()
            .with_messages(&runs.iter().map(message).collect::<Vec<_>>(), &ToolVocabulary::default());
        let open: Vec<&str> = facts.failures().newest().map(|failure| failure.what.inspect()).collect();
        assert_eq!(open, expected, "{runs:?}");
    }

    #[test]
    fn a_run_of_part_settles_its_own_failure_alone() {
        check(&[("cargo test", 1), ("cargo test one", 0)], &["cargo test"]);
        check(&[("cargo test", 1), ("cargo test one", 1)], &["cargo test one", "cargo test"]);
        check(&[("cargo test", 1), ("cargo test one", 1), ("cargo test one | tail", 0)], &["cargo test"]);
        check(&[("cargo test one", 1), ("cargo test two", 0)], &["cargo test one"]);
        check(&[("cargo test one", 1), ("cargo test", 0)], &[]);
        check(&[("cargo test one", 1), ("cargo test", 1)], &["cargo test"]);
        check(&[("go test -run Cart_Add ./a", 1), ("go test -run Cart ./a", 0)], &[]);
        check(&[("go test -run Cart ./a", 1), ("go test -run Cart_Add ./a", 0)], &["go test -run Cart ./a"]);
        check(
            &[("go test -run Cart_Add ./a", 1), ("go test -run Cart ./b", 0)],
            &["go test -run Cart_Add ./a"],
        );
    }

    #[test]
    fn a_build_of_tests_is_settled_by_the_run_of_some() {
        check(&[("go test -c ./cart", 1), ("go test -run One ./cart", 0)], &[]);
        check(&[("cargo test --no-run", 1), ("cargo test one", 0)], &[]);
        check(&[("go test -c ./cart", 1), ("go test -run One ./mill", 0)], &["go test -c ./cart"]);
        check(&[("go test -c ./cart", 1), ("go build ./cart", 0)], &[]);
        check(&[("go test -c ./cart", 1), ("go test -run One ./cart", 1)], &["go test -run One ./cart"]);
        check(&[("pnpm build --filter a", 1), ("pnpm build --filter b", 0)], &["pnpm build --filter a"]);
        check(&[("go test ./cart", 1), ("go test -c ./cart", 0)], &["go test ./cart"]);
    }

    #[test]
    fn an_installation_settles_what_was_missing_alone() {
        let open = |line: &str, installs: &str| {
            let run = |command: &str, output: &str, code| Message::BashExecution {
                command: command.to_owned(),
                output: output.to_owned(),
                exit_code: Some(code),
            };
            let messages = [run("make check", line, 2), run(installs, "done", 0)];
            Facts::default().with_messages(&messages, &ToolVocabulary::default()).failures().newest().count()
        };
        for (line, installs, expected) in [
            ("ModuleNotFoundError: No module named 'numpy'", "pip install -q 'numpy==2.1'", 0),
            ("ModuleNotFoundError: No module named 'dateutil_x.tz'", "uv add dateutil-x", 0),
            ("ModuleNotFoundError: No module named 'numpy'", "pip install pandas", 1),
            ("ModuleNotFoundError: No module named 'numpy'", "echo numpy", 1),
            ("Error: Cannot find module '@types/node'", "npm i -D @types/node@22", 0),
            ("error[E0463]: can't find crate for `serde`", "cargo add serde", 0),
            ("bash: line 1: jq: command not found", "sudo apt-get install -y jq", 0),
            ("zsh: command not found: jq", "brew install jq", 0),
            ("error: 3 tests failed", "cargo add serde", 1),
            ("error: 3 tests failed", "cd a && npm ci 2>&1 | tail -3", 1),
            ("error: 3 tests failed", "npm ci && npm run build", 0),
        ] {
            assert_eq!(open(line, installs), expected, "{line}, {installs}");
        }
    }

    #[test]
    fn a_failure_worked_around_is_closed_by_the_reply() {
        let run = |command: &str, code| Message::BashExecution {
            command: command.to_owned(),
            output: if code == 0 { "done" } else { "error: no" }.to_owned(),
            exit_code: Some(code),
        };
        let open = |messages: &[Message]| -> Vec<String> {
            let facts = Facts::default().with_messages(messages, &ToolVocabulary::default());
            facts.failures().newest().map(|failure| failure.what.inspect().to_owned()).collect()
        };
        let edited =
            [run("gh pr edit 3", 1), run("gh api pulls/3", 0), run("cargo test", 1), run("git push", 1)];
        assert_eq!(open(&edited), ["git push", "cargo test", "gh pr edit 3"]);
        let reply = [run("ls", 0), Message::assistant("The text is changed, a test fails.")];
        assert_eq!(open(&[&edited[..], &reply].concat()), ["git push", "cargo test"]);
        let last = [run("gh pr edit 3", 1), Message::assistant("It cannot be edited.")];
        assert_eq!(open(&last), ["gh pr edit 3"]);
    }

    #[test]
    fn many_parts_that_failed_leave_room_for_others() {
        let parts: Vec<String> = (0..20).map(|n| format!("cargo test part_{n}")).collect();
        let mut runs = vec![("make all", 1)];
        runs.extend(parts.iter().map(|part| (part.as_str(), 1)));
        let mut expected: Vec<&str> = parts[9..].iter().rev().map(String::as_str).collect();
        expected.push("make all");
        check(&runs, &expected);
    }
}
