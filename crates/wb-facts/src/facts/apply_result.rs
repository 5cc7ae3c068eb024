//! Takes in what a call or a command did, and forgets what it overtakes.

use std::borrow::Cow;

use wb_message::pairing::id_key;
use wb_message::tools::normal_path;
use wb_message::{ToolRole, ToolVocabulary};

use super::calls::{OpenCall, patch};
use super::edited_definitions::Definitions;
use super::files::{Change, is_same_file};
use super::git_state::ends_conflicts;
use super::ledger::Activity;
use super::names::has_file_ending;
use super::sources::{Evidence, shows_working_copy};
use super::turns::Run;
use super::wording::git_line;
use super::{Facts, Noted};
use crate::facts::lines::line_number;
use wb_digest::labels::{ON_BRANCH, TICKED_LAST};
use wb_shell::outcome::{Outcome, Reported, Verdict, judge, judge_command};
use wb_shell::{Command, Effects, FileEffect, GitEffect, base_name, patch_effects};

pub(super) const MOST_GIT: usize = 12;
/// Files of one command that are kept.
const MOST_SHOWN: usize = 3;

/// Returns the lines that explain a failure, with a mark where there are more.
fn reasons<'a>(verdict: &Verdict<'a>) -> Vec<&'a str> {
    verdict.why.iter().copied().chain(verdict.has_more.then_some("…")).collect()
}

impl Facts {
    /// Notes what a call did and how it ended.
    pub(super) fn answered(
        &mut self,
        call: &OpenCall,
        output: &str,
        is_error: bool,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        let role = vocabulary.call_role(&call.name, &call.input);
        let reported = if is_error { Reported::Error } else { Reported::Ok };
        let command = call.command();
        let diff = patch(&call.input, command.as_deref());
        if let Some(command) = command.as_deref().filter(|_| diff.is_none()) {
            self.ran(command, output, reported, at);
            return;
        }
        let on = call.path(vocabulary);
        let what = [call.name.as_str(), " ", on.as_deref().unwrap_or_default()].concat();
        let subject = id_key(&[call.name.as_str(), " ", on.as_deref().map_or("", base_name)].concat());
        let verdict = judge(None, output, reported);
        let worked = self.settle([subject; 2], what.trim(), &verdict, output, &[], at);
        self.ledger.called((&call.name, &call.input), output, worked, at, vocabulary);
        if !worked {
            return;
        }
        if let Some(diff) = diff {
            for effect in patch_effects(diff) {
                self.file_changed(&effect, at);
            }
            for (path, defines) in Definitions::of_patch(diff) {
                self.turns.current().defines(&normal_path(path), &defines);
            }
            return;
        }
        let Some(path) = on else {
            if let Some(path) = open_file(output).filter(|_| role == Some(ToolRole::Edit)) {
                self.file_changed(&FileEffect::Edited(normal_path(path)), at);
            }
            return;
        };
        match role {
            Some(ToolRole::Read) => {
                self.files.read(&path, at);
                if !vocabulary.is_partial_read(&call.input) {
                    self.overtake(|shown| shown.is_of(&path));
                }
                self.sources.push(Evidence::File(path.into_owned()), at);
            }
            Some(ToolRole::Edit) => self.edited(&path, call, output, at),
            Some(ToolRole::Write) => self.written(&path, call, at),
            _ => {}
        }
    }

    /// Forgets the lines of all that showed such a thing: it does not hold any more.
    fn overtake(&mut self, is_such: impl Fn(&Evidence) -> bool) {
        self.mentions.overtake(&self.sources.take(is_such));
    }

    fn edited(&mut self, path: &str, call: &OpenCall, output: &str, at: u32) {
        self.git_state.changed(path);
        self.mentions.replaced(&call.replaced);
        if call.replaces_all
            && let [line] = call.replaced.as_slice()
        {
            self.mentions.overtake_lines(|known| known.contains(line.as_str()));
        }
        if call.moves_lines {
            let from = output.lines().find_map(line_number).unwrap_or(0);
            let shown = self.sources.matching(|shown| shown.is_of(path));
            self.mentions.unnumber(&shown.collect::<Vec<_>>(), from);
            self.mentions.overtake_lines(|line| numbered_path(line).is_some_and(|of| is_same_file(of, path)));
        }
        if let Some(task) = &call.ticked {
            self.ticked = Some(Noted::new([path, TICKED_LAST, task].concat(), at));
        }
        self.sources.push(Evidence::File(path.to_owned()), call.at);
        self.files.changed(path, Change::Edited, at, false);
        self.turns.current().changes(path, "edited", at);
        self.turns.current().defines(path, &call.defines);
    }

    fn written(&mut self, path: &str, call: &OpenCall, at: u32) {
        self.git_state.changed(path);
        self.overtake(|shown| shown.is_of(path));
        self.sources.push(Evidence::File(path.to_owned()), call.at);
        self.files.changed(path, Change::Written, at, false);
        self.turns.current().changes(path, "written", at);
        self.turns.current().defines(path, &call.defines);
    }

    /// Notes what a shell or a patch has made of a file.
    fn file_changed(&mut self, effect: &FileEffect<'_>, at: u32) {
        use FileEffect as Effect;
        let path = effect.path();
        self.ledger.known.acted(path);
        self.git_state.changed(path);
        if let Effect::Moved { to, .. } = effect {
            self.ledger.known.acted(to);
        }
        // The new content is not visible when a shell or a patch changes a file.
        self.overtake(|shown| shown.is_of(path));
        self.mentions.overtake_lines(|line| starts_with_path(line, path));
        self.files.take_in(effect, at);
        if matches!(effect, Effect::Deleted(_) | Effect::Moved { .. }) {
            self.ticked.take_if(|list| {
                list.text.inspect().split(TICKED_LAST).next().is_some_and(|of| is_same_file(of, path))
            });
        }
        let turn = self.turns.current();
        match effect {
            Effect::Wrote(path) => turn.changes(path, "written", at),
            Effect::Edited(path) => turn.changes(path, "edited", at),
            Effect::Deleted(path) => turn.changes(path, "deleted", at),
            Effect::Restored(path) => turn.changes(path, "restored", at),
            Effect::Moved { from, to } => turn.changes(from, &["moved to ", to].concat(), at),
        }
    }

    /// Notes a failure or a success; true if it worked, as far as is known. A run of a part is also
    /// known by that part, and settles nothing else.
    fn settle(
        &mut self,
        [subject, part]: [u64; 2],
        what: &str,
        verdict: &Verdict<'_>,
        output: &str,
        checks: &[Activity],
        at: u32,
    ) -> bool {
        match verdict.outcome {
            Outcome::Failed => {
                let last = || output.lines().map(str::trim).rfind(|line| !line.is_empty());
                let lines =
                    if verdict.why.is_empty() { last().into_iter().collect() } else { reasons(verdict) };
                self.failures.failed([subject, part], what, lines, checks.to_vec(), at);
                false
            }
            Outcome::NotThere => false,
            Outcome::NotRun => {
                let mut run = Run::new(what, subject, at).ended(verdict.to_string(), verdict.why.clone());
                run.is_notable = !verdict.why.is_empty();
                self.turns.current().ran(run);
                false
            }
            Outcome::Ok => {
                let is_whole = part == subject;
                let settling = if is_whole { checks } else { &[] };
                self.turns.settled(&self.failures.worked([subject, part], what, settling));
                if !settling.is_empty() {
                    self.overtake(|shown| shown.failed_in(checks));
                }
                true
            }
            Outcome::Unknown => true,
        }
    }

    /// Notes the output of a command. A result is replaced by the next run of the command; every
    /// part of a plain listing may still hold.
    fn shows(
        &mut self,
        command: &Command<'_>,
        subject: u64,
        at: u32,
        is_evident: Option<Vec<Activity>>,
        worked: bool,
    ) {
        if let Some(checks) = is_evident {
            self.overtake(|shown| *shown == Evidence::Command(subject));
            if !worked && !checks.is_empty() {
                self.sources.push(Evidence::Failed(checks), at);
            }
        }
        self.sources.push(Evidence::Command(subject), at);
        for path in shown_files(command) {
            self.sources.push(Evidence::File(path.to_owned()), at);
        }
        if shows_working_copy(command.text) {
            self.overtake(|shown| *shown == Evidence::WorkingCopy);
            self.sources.push(Evidence::WorkingCopy, at);
        }
    }

    /// Notes a command, how it ended, and what it did.
    pub(super) fn ran(&mut self, command: &str, output: &str, reported: Reported, at: u32) {
        let command = Command::parse(command);
        let verdict = judge_command(Some(&command), output, reported);
        if verdict.outcome == Outcome::NotRun {
            self.settle([command.subject(); 2], command.text, &verdict, output, &[], at);
            return;
        }
        let effects = command.effects();
        self.ledger.ran(&command, &effects, output, verdict.outcome, at);
        let subject = command.subject();
        let subjects = [subject, command.part().unwrap_or(subject)];
        let checks = self.ledger.activities.checked_at(at);
        let worked = self.settle(subjects, command.text, &verdict, output, &checks, at);
        if may_change(&command, &checks) {
            self.git_state.status = None;
        }
        let is_evident = (!worked || verdict.shown.is_some()).then_some(checks);
        self.shows(&command, subject, at, is_evident, worked);
        if !effects.git.is_empty() {
            self.overtake(|shown| *shown == Evidence::WorkingCopy);
        }
        if effects.git.iter().any(changes_files) {
            self.overtake(|shown| matches!(shown, Evidence::File(_)));
        }
        let outcome = verdict.to_string();
        let is_evident = !worked || verdict.shown.is_some() || !effects.git.is_empty();
        if !is_evident && (command.kind.is_viewer || command.kind.is_silent) {
            // Its output is kept as lines, its changes as files.
            self.turns.current().forget_run(subject);
        } else {
            let lines = reasons(&verdict).into_iter().chain(verdict.shown);
            let mut run = Run::new(command.text, subject, at).ended(outcome, lines);
            run.is_notable = is_evident || !effects.files.is_empty();
            self.turns.current().ran(run);
        }
        let in_scratch = is_scratch(command.text);
        let stops = !in_scratch && self.git_state.stops(&effects.git, output, at);
        if worked && !stops {
            self.did(&command, &effects, output, at);
        }
        if let Some(branch) = shown_branch(command.text, output) {
            push_newest(&mut self.git, Noted::new([ON_BRANCH, branch].concat(), at), MOST_GIT);
        }
    }

    /// Notes which files a command changed whose output is gone.
    pub(super) fn ran_unseen(&mut self, command: &str, at: u32) {
        for effect in &Command::parse(command).effects().files {
            self.file_changed(effect, at);
        }
    }

    /// Notes what a command changed that worked.
    fn did(&mut self, command: &Command<'_>, effects: &Effects<'_>, output: &str, at: u32) {
        let in_scratch = is_scratch(command.text);
        for effect in &effects.files {
            self.file_changed(effect, at);
        }
        // A script may have changed again what was restored.
        for path in differing_files(command.text, output) {
            if self.files.is_restored(path) {
                self.file_changed(&FileEffect::Edited(Cow::Borrowed(path)), at);
            }
        }
        for effect in effects.git.iter().filter(|_| !in_scratch) {
            if ends_conflicts(effect) {
                self.failures.merged();
            }
            push_newest(&mut self.git, Noted::new(git_line(effect, output), at), MOST_GIT);
        }
        if !in_scratch {
            self.git_state.worked(command, &effects.git, output, at);
        }
    }
}

/// Reports whether a command may change the working copy. Commands that run something may, except
/// for checks without a fix option.
fn may_change(command: &Command<'_>, checks: &[Activity]) -> bool {
    const FIXERS: [&str; 6] = ["fmt", "format", "fix", "write", "install", "update"];
    let acts = !command.kind.is_viewer && !command.kind.is_silent;
    let fixes = || FIXERS.iter().any(|it| command.text.contains(it));
    command.changes_git() || acts && (checks.is_empty() || fixes())
}

/// Returns the files that a command names which merely shows something.
fn shown_files<'c>(command: &'c Command<'_>) -> impl Iterator<Item = &'c str> {
    let steps = command.steps.iter().filter(|_| command.kind.is_viewer);
    let words = steps.flat_map(|step| step.words.iter().skip(1)).map(|word| word.text.as_ref());
    words
        .filter(|word| has_file_ending(word) && !word.starts_with('-') && !word.contains('*'))
        .take(MOST_SHOWN)
}

/// Returns the files of the working copy that a command shows as changed.
fn differing_files<'o>(command: &str, output: &'o str) -> impl Iterator<Item = &'o str> {
    let is_diff = command.contains("git diff") && !command.contains("..");
    let lines = output.lines().filter(move |_| is_diff);
    lines.filter_map(|line| Some(line.strip_prefix("diff --git a/")?.split_once(" b/")?.0))
}

/// Reports whether files may have other contents afterwards than those that were shown.
fn changes_files(effect: &GitEffect<'_>) -> bool {
    matches!(effect, GitEffect::CheckedOut(_) | GitEffect::Reset { hard: true } | GitEffect::Stashed)
}

/// Returns the branch that git says the working copy is on.
fn shown_branch<'o>(command: &str, output: &'o str) -> Option<&'o str> {
    let long = || output.lines().find_map(|line| line.strip_prefix("On branch "));
    let alone = || Some(output.trim()).filter(|line| !line.is_empty() && !line.contains(char::is_whitespace));
    // Elsewhere it may be another repository.
    if command.contains("cd ") || command.contains(" -C ") {
        return None;
    }
    if command.contains("git branch --show-current") { alone() } else { long() }
        .filter(|_| command.contains("git"))
}

/// Returns the path of `src/a.rs:12: …` or `src/a.rs-12-…`, a line of a file as searches show it.
fn numbered_path(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let is_place = |at: usize| {
        let n_digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        n_digits > 0 && bytes.get(at + 1 + n_digits) == Some(&bytes[at])
    };
    let word = bytes.iter().take_while(|byte| !byte.is_ascii_whitespace());
    let mut signs = word.enumerate().filter(|(_, byte)| matches!(byte, b':' | b'-')).map(|(at, _)| at);
    let at = signs.find(|at| is_place(*at))?;
    Some(line[..at].trim_start_matches("./")).filter(|path| path.contains('.'))
}

/// Returns the file that a tool has open and has changed, by the heading of what it shows then:
/// `[File: src/a.rs (120 lines total)]`. A refused edit shows how the file would have looked.
pub(super) fn open_file(output: &str) -> Option<&str> {
    let heading =
        output.lines().find_map(|line| line.trim_end().strip_prefix("[File: ")?.strip_suffix(" total)]"));
    let (path, _) = heading?.rsplit_once(" (")?;
    (!output.contains("would have looked")).then_some(path)
}

/// Reports whether a line is one of that file in search results: `src/a.rs:12: …`.
fn starts_with_path(line: &str, path: &str) -> bool {
    if numbered_path(line).is_some_and(|of| is_same_file(of, path)) {
        return true;
    }
    let named = line.split_once(':').map(|(named, _)| named.trim_start_matches("./"));
    named.is_some_and(|named| named.contains('.') && is_same_file(named, path))
}

/// Reports whether a command works in a scratch folder, whose commits are not those of the project.
fn is_scratch(command: &str) -> bool {
    ["cd /tmp", "cd \"$(mktemp", "cd $(mktemp", "-C /tmp", "git init"].iter().any(|it| command.contains(it))
}

pub(super) fn push_newest(list: &mut Vec<Noted>, new: Noted, most: usize) {
    list.retain(|known| known.text != new.text);
    if list.len() == most {
        list.remove(0);
    }
    list.push(new);
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::{Block, Message};

    use super::*;

    #[test]
    fn an_edit_without_a_path_changes_the_open_file() {
        let changed = |output: &str| {
            let call = Block::call("c1", "edit", json!({"search": "x", "replace": "y"}));
            let messages =
                [Message::assistant_blocks(vec![call]), Message::tool_result("c1", "edit", output)];
            let facts = Facts::default().with_messages(&messages, &ToolVocabulary::UNIVERSAL);
            facts.files().newest().map(|file| (file.path.clone(), file.change.clone())).collect::<Vec<_>>()
        };
        let shown = "Text replaced.\r\n[File: /w/src/a.rs (12 lines total)]\r\n1:y";
        assert_eq!(changed(shown), [("/w/src/a.rs".to_owned(), Some(Change::Edited))]);
        assert_eq!(changed(&format!("This is how your edit would have looked if applied\n{shown}")), []);
        assert_eq!(changed("Text replaced."), []);
    }

    #[test]
    fn a_text_editor_tool_reads_and_changes_files_and_runs_nothing() {
        let calls = [
            json!({"command": "create", "path": "a.rs", "file_text": "fn a() {}"}),
            json!({"command": "str_replace", "path": "b.rs", "old_str": "x", "new_str": "y"}),
            json!({"command": "view", "path": "c.rs", "view_range": [1, 9]}),
        ];
        for tool in ["str_replace_based_edit_tool", "str_replace_editor", "file_editor"] {
            let mut facts = Facts::default();
            for (at, input) in calls.iter().enumerate() {
                let id = at.to_string();
                let call = Message::assistant_blocks(vec![Block::call(&id, tool, input.clone())]);
                for message in [call, Message::tool_result(&id, tool, "Done.")] {
                    facts.observe(&message, &ToolVocabulary::UNIVERSAL);
                }
            }
            let changes: Vec<_> =
                facts.files().newest().map(|it| (it.path.as_str(), it.change.as_ref())).collect();
            assert_eq!(
                changes,
                [("c.rs", None), ("b.rs", Some(&Change::Edited)), ("a.rs", Some(&Change::Written))],
                "{tool}"
            );
            assert!(facts.turns().iter().all(|turn| turn.runs.is_empty()), "{tool}");
        }
    }
}
