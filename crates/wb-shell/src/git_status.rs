//! Finds the call of `git status` in a command, and which form its output has.

use super::command::Command;
use super::git;
use super::kind::{Role, name, program};
use super::lexer::{Joint, Step};
use super::options::{has, plain};

/// A call whose whole output shows how a working copy stands behind the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCall<'c> {
    /// Whether it shows one short line for each file.
    pub is_short: bool,
    /// The folder that was gone to before.
    pub folder: Option<&'c str>,
}

fn call_of<'s, 'a>(step: &'s Step<'a>) -> Option<git::Call<'s, 'a>> {
    let words = program(&step.words);
    git::call(words.get(1..)?).filter(|_| name(words) == "git")
}

impl Command<'_> {
    /// Tells whether git is called for more than to show something.
    pub fn works_with_git(&self) -> bool {
        self.steps.iter().filter_map(call_of).any(|(_, sub, words)| !git::is_view(sub, words))
    }

    /// Returns the last call of `git status`, if nothing is left out of what it shows and nothing follows that may change it.
    pub fn status_call(&self) -> Option<StatusCall<'_>> {
        let is_status = |step: &Step<'_>| call_of(step).is_some_and(|(_, sub, _)| sub == "status");
        let at = self.steps.iter().rposition(is_status)?;
        let (in_folder, _, words) = call_of(&self.steps[at])?;
        let is_filtered = self.steps.get(at + 1).is_some_and(|next| next.before == Joint::Pipe);
        let is_hidden = self.steps[at].targets.iter().any(|target| !target.file.text.starts_with("/dev/"));
        let is_of_part = plain(words, &[]).next().is_some();
        let may_change = |(step, role): (&Step<'_>, Role)| {
            role == Role::Acts || call_of(step).is_some_and(|(_, sub, words)| !git::is_view(sub, words))
        };
        if is_filtered || is_hidden || is_of_part || self.with_roles().skip(at + 1).any(may_change) {
            return None;
        }
        let is_short =
            words.iter().any(|word| word.text.starts_with("--porcelain")) || has(words, 's', "--short");
        let is_alone = || {
            let mut others = self.with_roles().enumerate().filter(|(nth, _)| *nth != at);
            others.all(|(_, (_, role))| role == Role::Quiet)
        };
        if is_short && !is_alone() {
            return None;
        }
        let goes = |step: &&Step<'_>| matches!(name(program(&step.words)), "cd" | "pushd" | "popd");
        let moved: Vec<_> = self.steps[..at].iter().filter(goes).collect();
        let folder = match (moved.as_slice(), in_folder) {
            ([], folder) => folder,
            ([step], None) => Some(step.words.get(1)?),
            _ => return None,
        };
        if folder.is_some_and(|folder| !folder.is_fixed) {
            return None;
        }
        let folder = folder.map(|folder| folder.text.as_ref());
        Some(StatusCall { is_short, folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_where_all_of_it_is_shown_and_nothing_follows_that_may_change_it() {
        let check = |command: &str, expected: Option<(bool, Option<&str>)>| {
            let command = Command::of(command);
            let told = command.status_call().map(|call| (call.is_short, call.folder));
            assert_eq!(told, expected, "{}", command.text);
        };
        check("git status", Some((false, None)));
        check("git status 2>&1", Some((false, None)));
        check("git commit -m x && git status && git log -3 --oneline", Some((false, None)));
        check("cd /repo && git add -A && git status -sb", Some((true, Some("/repo"))));
        check("git -C sub status --porcelain", Some((true, Some("sub"))));
        for other in [
            "git log",
            "git status | head -5",
            "git status -s > list.txt",
            "git status -s src",
            "git status && git add -A",
            "git status; make",
            "git diff && git status -s",
            "cd a && cd b && git status",
            "cd $D && git status",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn git_works_where_it_does_more_than_show() {
        let works = |command| Command::of(command).works_with_git();
        assert!(works("git add a.rs") && works("ls && git fetch") && !works("git status; git diff; make"));
    }
}
