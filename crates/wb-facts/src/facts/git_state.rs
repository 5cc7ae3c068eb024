//! The unfinished operation of git, and the last status of the working copy.

use serde::{Deserialize, Serialize};

use super::Noted;
use wb_shell::{Command, GitEffect};

/// Files that are listed of each kind.
const MOST_FILES: usize = 8;

/// The state of git.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The operation that stopped on conflicts and was neither finished nor aborted.
    pub(super) stopped: Option<Noted>,
    /// The last status, until something may have changed it.
    pub(super) status: Option<Noted>,
}

impl GitState {
    /// Returns what stopped on conflicts.
    pub fn stopped(&self) -> Option<&Noted> {
        self.stopped.as_ref()
    }

    /// Returns the last status, if nothing since may have changed it.
    pub fn status(&self) -> Option<&Noted> {
        self.status.as_ref()
    }

    /// Notes that a file was changed; one for a trial is none of the working copy.
    pub(super) fn changed(&mut self, path: &str) {
        if !path.starts_with("/tmp/") {
            self.status = None;
        }
    }

    /// Notes a command that worked: what it ends, and the status that it shows.
    pub(super) fn worked(&mut self, command: &Command<'_>, effects: &[GitEffect<'_>], output: &str, at: u32) {
        if effects.iter().any(ends_conflicts) {
            self.stopped = None;
        }
        if let Some(text) = shown_status(command, output) {
            self.status = Some(Noted::new(text, at));
        }
    }

    /// Notes that a command stopped on conflicts; false where it did not.
    pub(super) fn stops(&mut self, effects: &[GitEffect<'_>], output: &str, at: u32) -> bool {
        let what = effects.iter().rev().find_map(may_conflict).filter(|_| is_conflict(output));
        let is_one = what.is_some();
        if let Some(what) = what {
            let files = listed(output.lines().filter_map(file_in_conflict));
            let on = if files.is_empty() { String::new() } else { [" in ", &files].concat() };
            self.stopped = Some(Noted::new([&what, " stopped on conflicts", &on].concat(), at));
            self.status = None;
        }
        is_one
    }
}

/// Reports whether an output says that conflicts remain.
fn is_conflict(output: &str) -> bool {
    const SIGNS: [&str; 3] = ["CONFLICT (", "Automatic merge failed", "error: could not apply"];
    output.lines().any(|line| SIGNS.iter().any(|sign| line.trim_start().starts_with(sign)))
}

/// Returns what it is called, if it may stop on conflicts.
fn may_conflict(effect: &GitEffect<'_>) -> Option<String> {
    Some(match effect {
        GitEffect::Merged(what) => ["merge of ", what].concat(),
        GitEffect::Picked(what) => ["cherry-pick of ", what].concat(),
        GitEffect::Reverted(what) => ["revert of ", what].concat(),
        GitEffect::Continued(what) => (*what).to_owned(),
        GitEffect::Rebased => "rebase".to_owned(),
        GitEffect::Pulled => "pull".to_owned(),
        GitEffect::Unstashed => "stash pop".to_owned(),
        _ => return None,
    })
}

/// Reports whether the success of an operation means that no conflicts remain.
pub(super) fn ends_conflicts(effect: &GitEffect<'_>) -> bool {
    matches!(effect, GitEffect::Committed { .. } | GitEffect::Amended { .. } | GitEffect::Reset { .. })
        || matches!(effect, GitEffect::Aborted(_) | GitEffect::Continued(_) | GitEffect::Rebased)
        || matches!(effect, GitEffect::Merged(_) | GitEffect::Picked(_) | GitEffect::Pulled)
}

/// Returns the file of `CONFLICT (content): Merge conflict in a.rs` or `CONFLICT (modify/delete):
/// a.rs deleted in …`.
fn file_in_conflict(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().strip_prefix("CONFLICT (")?.split_once("): ")?;
    let file = rest.strip_prefix("Merge conflict in ").or_else(|| rest.split(' ').next())?.trim();
    (!file.is_empty()).then_some(file)
}

/// Returns the first names of a list, and how many more there are.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let first = names[..names.len().min(MOST_FILES)].join(", ");
    match names.len().saturating_sub(MOST_FILES) {
        0 => first,
        n_more => format!("{first} and {n_more} more"),
    }
}

/// Returns the status that a command shows, on one line.
fn shown_status(command: &Command<'_>, output: &str) -> Option<String> {
    let call = command.status_call()?;
    let mut status = Status::default();
    let is_whole = if call.is_short { status.read_short(output) } else { status.read_long(output) };
    let text = is_whole.then(|| status.line())?;
    Some(call.folder.map_or_else(|| text.clone(), |folder| ["in ", folder, ": ", &text].concat()))
}

/// The kinds of files in a status, as they are named in the text.
const KINDS: [&str; 4] = ["in conflict", "staged", "changed", "untracked"];
const CONFLICT: usize = 0;
const STAGED: usize = 1;
const CHANGED: usize = 2;
const UNTRACKED: usize = 3;

#[derive(Default)]
struct Status<'o> {
    branch: String,
    files: [Vec<&'o str>; KINDS.len()],
}

impl<'o> Status<'o> {
    /// Reads the long format; false if the branch or the files are missing.
    fn read_long(&mut self, output: &'o str) -> bool {
        const TITLES: [(&str, usize); 4] = [
            ("Unmerged paths:", CONFLICT),
            ("Changes to be committed:", STAGED),
            ("Changes not staged for commit:", CHANGED),
            ("Untracked files:", UNTRACKED),
        ];
        let (mut kind, mut has_files) = (None, false);
        for line in output.lines() {
            let is_item = line.starts_with('\t') || line.starts_with("        ");
            if let Some(on) = line.strip_prefix("On branch ") {
                self.branch = ["on ", on.trim()].concat();
            } else if let Some(at) = line.strip_prefix("HEAD detached at ") {
                self.branch = ["detached at ", at.trim()].concat();
            } else if self.branch.is_empty() {
            } else if let Some(distance) = line.strip_prefix("Your branch ") {
                self.branch.extend([", ", &remote_distance(distance)]);
            } else if line.starts_with("nothing to commit, working tree clean") {
                return true;
            } else if let Some((_, of)) = TITLES.iter().find(|(title, _)| line == *title) {
                (kind, has_files) = (Some(*of), true);
            } else if let Some(of) = kind.filter(|_| is_item) {
                let item = line.trim();
                let file = if of == UNTRACKED { item } else { item.split_once(": ").map_or(item, |it| it.1) };
                self.files[of].push(file.trim());
            } else if !line.trim().is_empty() && !line.starts_with("  (") {
                kind = None;
            }
        }
        has_files
    }

    /// Reads what git shows with a line for each file; false where a line is none of that.
    fn read_short(&mut self, output: &'o str) -> bool {
        let is_quiet = output.len() < 60 && output.to_lowercase().contains("no output");
        for (nth, line) in output.lines().enumerate().filter(|(_, line)| !is_quiet && !line.trim().is_empty())
        {
            if let Some(branch) = line.strip_prefix("## ") {
                self.branch = short_branch(branch);
                continue;
            }
            // Hosts trim what a command shows.
            let is_trimmed = nth == 0 && line.as_bytes().get(1) == Some(&b' ') && !line.starts_with(' ');
            let is_trimmed = is_trimmed && line.as_bytes().get(2).is_some_and(|byte| *byte != b' ');
            let Some((signs, file)) = line.split_at_checked(if is_trimmed { 1 } else { 2 }) else {
                return false;
            };
            let Some(file) = file.strip_prefix(' ') else { return false };
            let mut signs = signs.chars();
            let change = signs.next_back().unwrap_or(' ');
            let staged = signs.next().unwrap_or(' ');
            match (staged, change) {
                _ if ![staged, change].iter().all(|sign| " MTADRCU?!".contains(*sign)) => return false,
                ('?', '?') => self.files[UNTRACKED].push(file),
                ('!', '!') => {}
                ('U', _) | (_, 'U') | ('A', 'A') | ('D', 'D') => self.files[CONFLICT].push(file),
                _ => {
                    if staged != ' ' {
                        self.files[STAGED].push(file);
                    }
                    if change != ' ' {
                        self.files[CHANGED].push(file);
                    }
                }
            }
        }
        true
    }

    fn line(&self) -> String {
        let branch = Some(self.branch.clone()).filter(|branch| !branch.is_empty());
        let kinds = KINDS.iter().zip(&self.files).filter(|(_, files)| !files.is_empty());
        let mut parts: Vec<String> =
            kinds.map(|(kind, files)| [kind, ": ", &listed(files.iter().copied())].concat()).collect();
        if parts.is_empty() {
            parts.push("clean".to_owned());
        }
        branch.into_iter().chain(parts).collect::<Vec<_>>().join("; ")
    }
}

/// Returns the distance of a branch from its remote: `is ahead of 'origin/main' by 2 commits.`
fn remote_distance(distance: &str) -> String {
    let distance = distance.split(", and can be").next().unwrap_or(distance);
    let distance = distance.trim_start_matches("is ").trim_start_matches("and ").trim_end_matches([',', '.']);
    distance.replace('\'', "")
}

/// Returns the branch of `main...origin/main [ahead 2]`.
fn short_branch(branch: &str) -> String {
    let (branch, distance) = branch.split_once(" [").unwrap_or((branch, ""));
    let (branch, remote) = branch.split_once("...").unwrap_or((branch, ""));
    let distance = distance.trim_end_matches(']');
    let of = if distance.is_empty() { String::new() } else { format!(", {distance} of {remote}") };
    ["on ", branch, &of].concat()
}

#[cfg(test)]
mod tests {
    use wb_message::{Message, ToolVocabulary};

    use crate::facts::Facts;

    /// Returns what stopped and the last status after commands of the user.
    fn state(runs: &[(&str, &str)]) -> [Option<String>; 2] {
        let message = |(command, output): &(&str, &str)| Message::BashExecution {
            command: (*command).to_owned(),
            output: (*output).to_owned(),
            exit_code: Some(i32::from(output.contains("Automatic merge failed"))),
        };
        let facts = Facts::default()
            .with_messages(&runs.iter().map(message).collect::<Vec<_>>(), &ToolVocabulary::default());
        let state = facts.git_state();
        [state.stopped(), state.status()].map(|noted| noted.map(|noted| noted.text.inspect().to_owned()))
    }

    const CONFLICT: &str = "Auto-merging src/a.rs\nCONFLICT (content): Merge conflict in src/a.rs\nCONFLICT (modify/delete): b.md \
        deleted in HEAD and modified in topic.\nAutomatic merge failed; fix conflicts and then commit the result.";

    #[test]
    fn a_stopped_operation_is_known_until_it_ends() {
        let stopped = |command, output| state(&[(command, output)])[0].clone();
        let expected = "merge of topic stopped on conflicts in src/a.rs, b.md";
        assert_eq!(stopped("git merge topic", CONFLICT).as_deref(), Some(expected));
        assert_eq!(stopped("git merge topic | tail -1", CONFLICT).as_deref(), Some(expected));
        let picked = "CONFLICT (content): Merge conflict in a.rs\nerror: could not apply 3f9c2ab... Fix it";
        let expected = "cherry-pick of 3f9c2ab stopped on conflicts in a.rs";
        assert_eq!(stopped("git cherry-pick 3f9c2ab", picked).as_deref(), Some(expected));
        assert_eq!(
            stopped("git rebase main", "error: could not apply 3f9c2ab... Fix it").as_deref(),
            Some("rebase stopped on conflicts")
        );
        assert_eq!(stopped("git log -1 -p", picked), None);
        assert_eq!(stopped("cd /tmp/x && git merge topic", CONFLICT), None);
        for (ended, is_open) in [
            ("git merge --abort", false),
            ("git merge --continue", false),
            ("git commit --no-edit", false),
            ("git reset --hard", false),
            ("git add src/a.rs", true),
            ("git diff", true),
            ("git push", true),
        ] {
            let state = state(&[("git merge topic", CONFLICT), (ended, "")]);
            assert_eq!(state[0].is_some(), is_open, "{ended}");
        }
        let again = state(&[
            ("git rebase main", picked),
            (
                "git rebase --continue",
                "CONFLICT (content): Merge conflict in c.rs\nerror: could not apply 81a2be0",
            ),
        ]);
        assert_eq!(again[0].as_deref(), Some("rebase stopped on conflicts in c.rs"));
    }

    #[test]
    fn the_last_status_is_one_line() {
        let status = |command, output: &str| state(&[(command, output)])[1].clone().unwrap_or_default();
        let long = "On branch main\nYour branch is ahead of 'origin/main' by 2 commits.\n  (use \"git push\" to publish your local commits)\n\n\
            Changes to be committed:\n  (use \"git restore --staged <file>...\" to unstage)\n\tnew file:   src/b.rs\n\n\
            Changes not staged for commit:\n  (use \"git add <file>...\")\n\tmodified:   src/a.rs\n\tdeleted:    old.rs\n\n\
            Untracked files:\n\tnotes.md\n\nno changes added to commit\n";
        assert_eq!(
            status("git status && git diff --stat", long),
            "on main, ahead of origin/main by 2 commits; staged: src/b.rs; changed: src/a.rs, old.rs; untracked: notes.md"
        );
        let clean = "On branch main\nYour branch is up to date with 'origin/main'.\n\nnothing to commit, working tree clean";
        assert_eq!(
            status("cd /repo && git status", clean),
            "in /repo: on main, up to date with origin/main; clean"
        );
        let behind = clean.replace(
            "up to date with 'origin/main'",
            "behind 'origin/main' by 1 commit, and can be fast-forwarded",
        );
        assert_eq!(status("git status", &behind), "on main, behind origin/main by 1 commit; clean");
        assert_eq!(status("git status", "On branch main\n\n... cut"), "");
        assert_eq!(
            status(
                "git status -sb",
                "## main...origin/main [ahead 1, behind 2]\n M a.rs\nMM b.rs\n?? c/\nUU d.rs"
            ),
            "on main, ahead 1, behind 2 of origin/main; in conflict: d.rs; staged: b.rs; changed: a.rs, b.rs; untracked: c/"
        );
        assert_eq!(status("git status --short", "M a.rs\n M b.rs"), "changed: a.rs, b.rs");
        assert_eq!(status("git status --short", ""), "clean");
        assert_eq!(status("git status --short", "fatal: no such thing"), "");
        let many: Vec<String> = (0..11).map(|n| format!("?? {n}.rs")).collect();
        assert!(status("git status -s", &many.join("\n")).ends_with("6.rs, 7.rs and 3 more"));
    }

    #[test]
    fn a_status_expires_when_something_may_have_changed_it() {
        for (since, is_kept) in [
            ("ls; git log -3", true),
            ("cargo test", true),
            ("touch /tmp/x", true),
            ("git add a.rs", false),
            ("git commit -m x", false),
            ("echo 1 > a.rs", false),
            ("npm install", false),
            ("cargo fmt && cargo test", false),
        ] {
            let state = state(&[("git status -s", " M a.rs"), (since, "1 passed")]);
            assert_eq!(state[1].is_some(), is_kept, "{since}");
        }
        let state = state(&[("git add a.rs && git status -s", "M  a.rs")]);
        assert_eq!(state[1].as_deref(), Some("staged: a.rs"));
    }
}
