//! The entries of a digest about the git repository of a session.

use wb_digest::labels::{
    AMENDED, CHECKED_OUT, COMMITTED, GIT, MADE_WORKTREE, ON_BRANCH, PUSHED, SINCE_COMMIT, STATUS, STOPPED,
};
use wb_digest::quote_in_line;
use wb_facts::{Change, Facts, FileFact, Noted};

/// The most paths listed as changed since a commit.
const N_PATHS: usize = 40;

/// Returns the entries about the stopped operation of git, past operations, changes since the last
/// commit, and the last status. Messages for which `is_shown` is true are left out.
pub(crate) fn git_entries(facts: &Facts, is_shown: impl Fn(u32) -> bool) -> Vec<String> {
    let state = facts.git_state();
    let entry = |label: &str, noted: Option<&Noted>| {
        let noted = noted.filter(|noted| !is_shown(noted.at))?;
        let mut entry = label.to_owned();
        quote_in_line(&mut entry, &noted.text, usize::MAX);
        Some(entry)
    };
    let mut done = String::new();
    for noted in facts.git().iter().rev() {
        done.push_str(if done.is_empty() { GIT } else { "; " });
        quote_in_line(&mut done, &noted.text, usize::MAX);
    }
    let done = Some(done).filter(|done| !done.is_empty());
    let since = since_commit(facts).map(|since| [SINCE_COMMIT, &since].concat());
    let (stopped, status) = (entry(STOPPED, state.stopped()), entry(STATUS, state.status()));
    [stopped, done, since, status].into_iter().flatten().collect()
}

/// Returns the files changed since the last known commit, and whether that was pushed.
fn since_commit(facts: &Facts) -> Option<String> {
    let git = facts.git();
    let commits = |text: &str| text.starts_with(COMMITTED) || text.starts_with(AMENDED);
    let last = git.iter().rposition(|it| commits(it.text.inspect()))?;
    // Elsewhere another commit is the last one, and of two working copies each has its own.
    let is_left = |text: &str| {
        let branch = text.strip_prefix(ON_BRANCH);
        branch.map_or(text.starts_with(CHECKED_OUT), |branch| {
            !git[last].text.inspect().contains(&[" as ", branch, " "].concat())
        })
    };
    let is_other = |text: &str| text.starts_with(MADE_WORKTREE);
    if git.iter().any(|it| is_other(it.text.inspect()))
        || git[last..].iter().any(|it| is_left(it.text.inspect()))
    {
        return None;
    }
    let pushed = git[last..].iter().any(|it| it.text == *PUSHED);
    let is_changed = |file: &&FileFact| {
        !matches!(file.change, None | Some(Change::Restored)) && file.changed_at > git[last].at
    };
    let changed: Vec<&str> =
        facts.files().newest().filter(is_changed).map(|file| file.path.as_str()).take(N_PATHS).collect();
    let mut said = vec![if pushed { "pushed" } else { "no push seen" }.to_owned()];
    if !changed.is_empty() {
        said.push(["changed ", &changed.join(", ")].concat());
    }
    Some(said.join("; "))
}
