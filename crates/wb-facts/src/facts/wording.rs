//! The text of answers and of operations of git in a digest.

use std::borrow::Cow;

use wb_message::text::one_line;

use wb_digest::labels::{AMENDED, CHECKED_OUT, COMMITTED, MADE_WORKTREE, PUSHED, REFUSED};
use wb_language::answers::Answer;
use wb_shell::GitEffect;

/// Characters of the message of a commit.
const MESSAGE_CHARS: usize = 100;

/// Returns the line for an answer, approval or refusal of the user.
pub(super) fn answer_line(answer: &Answer) -> String {
    match answer {
        Answer::Answered { question, answer } => {
            let question = question.replace('”', "\"");
            format!("asked: “{question}” — the user answered: {answer}")
        }
        Answer::Approved { what } => format!("the user approved: {what}"),
        // The user's words about it begin a turn.
        Answer::Refused { what, .. } => [REFUSED, what].concat(),
    }
}

/// Returns the line for an operation of git.
pub(super) fn git_line(effect: &GitEffect<'_>, output: &str) -> String {
    let commit = |done: &str, message: &Option<Cow<'_, str>>| {
        let place = commit_place(output).map_or_else(String::new, |place| [" as ", place].concat());
        match message {
            Some(message) => format!("{done} “{}”{place}", one_line(message, MESSAGE_CHARS)),
            None => [done, &place].concat(),
        }
    };
    match effect {
        GitEffect::Committed { message } => commit(COMMITTED, message),
        GitEffect::Amended { message } => commit(AMENDED, message),
        GitEffect::Merged(what) => format!("merged {what}"),
        GitEffect::Picked(what) => format!("picked {what}"),
        GitEffect::Reverted(what) => format!("reverted {what}"),
        GitEffect::CheckedOut(what) => [CHECKED_OUT, checked_out(what, output)].concat(),
        GitEffect::Branched(what) => format!("made branch {what}"),
        GitEffect::AddedWorktree(path) => [MADE_WORKTREE, path].concat(),
        GitEffect::Unbranched(what) => format!("removed branch {what}"),
        GitEffect::Tagged(what) => format!("tagged {what}"),
        GitEffect::Pushed => PUSHED.to_owned(),
        GitEffect::Proposed => ["opened ", request_address(output).unwrap_or("a pull request")].concat(),
        GitEffect::Pulled => "pulled".to_owned(),
        GitEffect::Rebased => "rebased".to_owned(),
        GitEffect::Stashed => "stashed".to_owned(),
        GitEffect::Unstashed => "took back what was stashed".to_owned(),
        GitEffect::Reset { hard: true } => "reset, files included".to_owned(),
        GitEffect::Reset { hard: false } => "reset".to_owned(),
        GitEffect::Continued(what) => ["went on with the ", what].concat(),
        GitEffect::Aborted(what) => ["gave up the ", what].concat(),
        GitEffect::Cleaned => "removed files that git does not know".to_owned(),
    }
}

/// Returns the branch that git says it switched to, or else what was named.
fn checked_out<'o>(named: &'o str, output: &'o str) -> &'o str {
    let switched = |line: &'o str| {
        let branch =
            line.strip_prefix("Switched to branch '").or(line.strip_prefix("Switched to a new branch '"));
        branch?.strip_suffix('\'')
    };
    let previous = if named == "-" { "the previous branch" } else { named };
    output.lines().rev().find_map(switched).unwrap_or(previous)
}

/// Returns the address of a pull request that a command prints.
fn request_address(output: &str) -> Option<&str> {
    let is_request = |word: &&str| {
        word.starts_with("http") && ["/pull/", "/merge_requests/"].iter().any(|it| word.contains(it))
    };
    output.split_whitespace().rfind(is_request)
}

/// Returns the branch and the hash of a new commit, as git prints them in brackets.
fn commit_place(output: &str) -> Option<&str> {
    let place = |line: &'_ str| line.strip_prefix('[')?.split_once(']').map(|(place, _)| place.len());
    let is_place = |place: &&str| {
        let hash = place.rsplit(' ').next().unwrap_or_default();
        place.contains(' ') && hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    output.lines().filter_map(|line| Some(&line[1..=place(line)?])).find(is_place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_names_the_branch_that_git_prints() {
        let line = |what: &'static str, output| git_line(&GitEffect::CheckedOut(what.into()), output);
        assert_eq!(line("-", "Switched to branch 'main'"), "checked out main");
        assert_eq!(line("pull request 3", "Switched to a new branch 'fix/a'\n"), "checked out fix/a");
        assert_eq!(line("pull request 3", ""), "checked out pull request 3");
        assert_eq!(line("-", ""), "checked out the previous branch");
    }

    #[test]
    fn a_pull_request_is_known_by_its_address() {
        let line = |output| git_line(&GitEffect::Proposed, output);
        let warning = "Warning: 2 uncommitted changes\nhttps://example.org/shop/cart/pull/12\n";
        assert_eq!(line(warning), "opened https://example.org/shop/cart/pull/12");
        assert_eq!(line("https://example.org/new\n"), "opened a pull request");
    }

    #[test]
    fn a_commit_has_its_branch_and_hash_if_git_prints_them() {
        let effect = GitEffect::Committed { message: Some("Fix it".into()) };
        let check =
            |output: &str, expected: &str| assert_eq!(git_line(&effect, output), expected, "{output:?}");
        check("[main 3f9c2ab] Fix it\n 1 file changed", "committed “Fix it” as main 3f9c2ab");
        check(
            "lint ok\n[a/b (root-commit) 3f9c2abd] Fix it",
            "committed “Fix it” as a/b (root-commit) 3f9c2abd",
        );
        check("[ERROR] no\n[x y]", "committed “Fix it”");
    }
}
