//! Effects of a git command on the repository and its files.

use std::borrow::Cow;

use super::brackets::inner_body;
use super::effects::{Effects, FileEffect, GitEffect};
use super::lexer::{Step, Word};
use super::options::{has, is_option, plain};
use crate::effects::base_name;

/// Global options of git that take a value.
const VALUED: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// Subcommands that may stop on conflicts.
const STOPPING: [&str; 5] = ["merge", "rebase", "cherry-pick", "revert", "am"];

/// Subcommands that only show something.
const VIEWS: &[&str] = &[
    "diff",
    "log",
    "show",
    "status",
    "blame",
    "grep",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "reflog",
    "rev-parse",
    "rev-list",
    "cat-file",
    "describe",
    "shortlog",
    "help",
    "for-each-ref",
    "name-rev",
    "merge-base",
    "show-ref",
    "check-ignore",
    "symbolic-ref",
    "var",
    "version",
    "whatchanged",
    "range-diff",
    "diff-tree",
    "cherry",
    "annotate",
];

/// The folder after `-C`, the subcommand and the words after it.
pub(crate) type Call<'w, 'a> = (Option<&'w Word<'a>>, &'w str, &'w [Word<'a>]);

/// Parses the words after `git`.
pub(crate) fn call<'w, 'a>(words: &'w [Word<'a>]) -> Option<Call<'w, 'a>> {
    let (mut at, mut folder) = (0, None);
    while let Some(word) = words.get(at) {
        if !word.text.starts_with('-') {
            return Some((folder, &word.text, &words[at + 1..]));
        }
        if word.text == "-C" {
            folder = words.get(at + 1);
        }
        at += 1 + usize::from(VALUED.contains(&word.text.as_ref()));
    }
    None
}

/// Returns whether a subcommand only shows something.
pub(crate) fn is_view(sub: &str, words: &[Word]) -> bool {
    const LISTS: [&str; 12] = [
        "-l",
        "--list",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--sort",
        "--format",
        "--column",
        "--get",
        "--show-current",
    ];
    const CHANGES: [&str; 5] = ["-d", "-D", "-m", "-M", "--delete"];
    let is =
        |word: &Word, options: &[&str]| options.contains(&word.text.split('=').next().unwrap_or_default());
    let first = plain(words, &[]).next().map(|word| word.text.as_ref());
    match sub {
        "branch" | "tag" => {
            let is_numbered = |word: &Word| sub == "tag" && word.text.starts_with("-n");
            words.iter().any(|word| is(word, &LISTS) || is_numbered(word))
                || words.iter().all(|word| is_option(word) && !is(word, &CHANGES))
        }
        "stash" | "worktree" | "notes" => matches!(first, Some("list" | "show")),
        "remote" => matches!(first, None | Some("show" | "get-url")),
        "config" => {
            plain(words, &[]).nth(1).is_none() || words.iter().any(|word| word.text.starts_with("--get"))
        }
        _ => VIEWS.contains(&sub),
    }
}

/// Returns whether `git apply` applies the patch to files, and not in reverse.
pub(crate) fn applies(words: &[Word]) -> bool {
    const NOT: [&str; 7] =
        ["--check", "--stat", "--numstat", "--summary", "--cached", "--reverse", "--build-fake-ancestor"];
    !words.iter().any(|word| NOT.contains(&word.text.as_ref())) && !has(words, 'R', "--reverse")
}

/// The words of a subcommand.
struct Args<'w, 'a> {
    words: &'w [Word<'a>],
}

impl<'w, 'a> Args<'w, 'a> {
    fn has(&self, options: &[&str]) -> bool {
        self.options().any(|word| options.contains(&word.text.as_ref()))
    }

    fn options(&self) -> impl Iterator<Item = &'w Word<'a>> {
        self.words.iter().take_while(|word| word.text != "--").filter(|word| word.text.starts_with('-'))
    }

    /// Returns the words before `--` that are neither options nor values of `valued` options.
    fn plain(&self, valued: &[&str]) -> impl Iterator<Item = &'w Word<'a>> {
        let n_words = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        plain(&self.words[..n_words], valued)
    }

    /// Returns the words after `--`.
    fn after_dashes(&self) -> Option<&'w [Word<'a>]> {
        let at = self.words.iter().position(|word| word.text == "--")?;
        Some(&self.words[at + 1..])
    }

    fn name(&self, valued: &[&str]) -> Option<Cow<'a, str>> {
        self.plain(valued)
            .next()
            .filter(|word| word.is_fixed || word.text.contains('@'))
            .map(|word| word.text.clone())
    }
}

/// Adds the effects of a subcommand; paths are verbatim, and those with variables are left out.
pub(crate) fn add<'a>(sub: &str, words: &[Word<'a>], step: &Step<'a>, out: &mut Effects<'a>) {
    let args = Args { words };
    if let Some(stopped) = STOPPING.iter().find(|it| **it == sub) {
        if args.has(&["--abort", "--quit"]) {
            return out.git.push(GitEffect::Aborted(stopped));
        }
        if args.has(&["--skip"]) || args.has(&["--continue"]) && sub != "rebase" {
            return out.git.push(GitEffect::Continued(stopped));
        }
    }
    let tries = matches!(sub, "push" | "clean" | "rm" | "mv") && has(words, 'n', "--dry-run");
    if tries || args.has(&["--help", "-h", "--dry-run"]) || is_view(sub, words) {
        return;
    }
    match sub {
        "checkout" | "switch" | "restore" => add_checkout(sub, &args, out),
        "rm" if !args.has(&["--cached"]) => {
            out.files.extend(args.words.iter().filter_map(path).map(FileEffect::Deleted));
        }
        "mv" => {
            if let [from, to] = args.plain(&[]).collect::<Vec<_>>()[..]
                && let (Some(from), Some(to)) = (path(from), path(to))
            {
                out.files.push(FileEffect::Moved { from, to });
            }
        }
        _ => out.git.extend(effect(sub, &args, step)),
    }
}

/// Returns what a command did with a pull request: `gh pr checkout 12`, `glab mr create`.
pub(crate) fn request_effect<'a>(words: &[Word<'a>]) -> Option<GitEffect<'a>> {
    let [_, kind, verb, rest @ ..] = words else { return None };
    let args = Args { words: rest };
    match verb.text.as_ref() {
        _ if !matches!(kind.text.as_ref(), "pr" | "mr") => None,
        "checkout" | "co" => {
            let number = args.name(&["-b", "--branch", "-R", "--repo"])?;
            Some(GitEffect::CheckedOut(format!("pull request {number}").into()))
        }
        "create" if !args.has(&["--dry-run", "--help", "-h"]) => Some(GitEffect::Proposed),
        _ => None,
    }
}

/// Returns the path that a word names.
fn path<'a>(word: &Word<'a>) -> Option<Cow<'a, str>> {
    (word.is_fixed && !word.text.starts_with('-')).then(|| word.text.clone())
}

fn effect<'a>(sub: &str, args: &Args<'_, 'a>, step: &Step<'a>) -> Option<GitEffect<'a>> {
    const MESSAGES: &[&str] = &["-m", "-F", "-s", "-X", "--message", "--strategy", "--strategy-option"];
    const PICKS: &[&str] = &["-m", "-X", "--mainline", "--strategy", "--strategy-option"];
    Some(match sub {
        "commit" => {
            let message = message(args.words, step);
            if args.has(&["--amend"]) {
                GitEffect::Amended { message }
            } else {
                GitEffect::Committed { message }
            }
        }
        "push" => return Some(deleted_on_remote(args).map_or(GitEffect::Pushed, GitEffect::Unbranched)),
        "pull" => GitEffect::Pulled,
        "merge" => GitEffect::Merged(args.name(MESSAGES)?),
        "rebase" if !args.has(&["--skip", "--show-current-patch", "--edit-todo"]) => GitEffect::Rebased,
        "cherry-pick" => GitEffect::Picked(args.name(PICKS)?),
        "revert" => GitEffect::Reverted(args.name(PICKS)?),
        "stash" => match args.plain(&["-m"]).next().map_or("push", |word| &word.text) {
            "push" | "save" => GitEffect::Stashed,
            "pop" | "apply" => GitEffect::Unstashed,
            _ => return None,
        },
        "reset" => return reset(args),
        "tag" if !args.has(&["-d", "--delete", "-v", "--verify"]) => {
            GitEffect::Tagged(args.name(&["-m", "-F", "-u", "--message", "--file", "--local-user"])?)
        }
        "branch" => return branch(args),
        "worktree" if args.plain(&[]).next()?.text == "add" => {
            let options = &["-b", "-B", "--reason"];
            GitEffect::AddedWorktree(args.plain(options).nth(1).and_then(path)?)
        }
        "clean" if has(args.words, 'f', "--force") => GitEffect::Cleaned,
        _ => return None,
    })
}

/// Returns the branch that a push deletes, below its remote: `git push origin :topic`.
fn deleted_on_remote<'a>(args: &Args<'_, 'a>) -> Option<Cow<'a, str>> {
    let mut plain = args.plain(&["-o", "--push-option"]);
    let (remote, branch) = (plain.next()?, plain.next()?);
    let is_deletion = args.has(&["-d", "--delete"]);
    let name = branch.text.strip_prefix(':').or_else(|| is_deletion.then_some(&*branch.text))?;
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    (plain.next().is_none() && !name.is_empty()).then(|| format!("{}/{name}", remote.text).into())
}

fn reset<'a>(args: &Args<'_, 'a>) -> Option<GitEffect<'a>> {
    let hard = args.has(&["--hard"]);
    let moves = hard || args.has(&["--soft", "--mixed", "--keep", "--merge"]);
    let mut plain = args.plain(&[]);
    let target =
        plain.next().is_some_and(|word| word.text.starts_with("HEAD~") || word.text.starts_with("HEAD^"));
    let names_files = plain.next().is_some() || args.after_dashes().is_some();
    (moves || (target && !names_files)).then_some(GitEffect::Reset { hard })
}

fn branch<'a>(args: &Args<'_, 'a>) -> Option<GitEffect<'a>> {
    if args.has(&["-d", "-D", "--delete"]) {
        return args.name(&[]).map(GitEffect::Unbranched);
    }
    let makes = args.options().all(|word| matches!(word.text.as_ref(), "-f" | "--force" | "-t" | "--track"));
    if makes { args.name(&[]).map(GitEffect::Branched) } else { None }
}

fn add_checkout<'a>(sub: &str, args: &Args<'_, 'a>, out: &mut Effects<'a>) {
    let makes = args.has(&["-b", "-B", "-c", "-C", "--orphan", "--create"]);
    if makes && sub != "restore" {
        return out.git.extend(args.name(&[]).map(GitEffect::Branched));
    }
    let restores = |word: &&Word<'a>| sub == "restore" || sub == "checkout" && is_file(&word.text);
    let sides = args.has(&["--ours", "--theirs", "--merge", "-p", "--patch"]);
    if sub == "restore" && args.has(&["--staged", "-S"]) && !args.has(&["--worktree", "-W"]) {
        return;
    }
    // A file from another commit differs from the last one.
    let is_other_commit =
        |word: &Word<'_>| !matches!(word.text.as_ref(), "HEAD" | "@") && !is_file(&word.text);
    let edits = sides
        || args.options().any(|word| word.text == "-s" || word.text.starts_with("--source"))
        || (sub == "checkout" && args.plain(&[]).next().is_some_and(is_other_commit));
    let plain = args.plain(&["-s", "--source"]).filter(restores);
    let files = plain.chain(args.after_dashes().unwrap_or_default()).filter_map(path);
    let n_before = out.files.len();
    out.files
        .extend(files.map(|file| if edits { FileEffect::Edited(file) } else { FileEffect::Restored(file) }));
    if out.files.len() == n_before && sub != "restore" && args.after_dashes().is_none() {
        out.git.extend(args.name(&[]).map(GitEffect::CheckedOut));
    }
}

/// Returns whether a word after `git checkout` is likely a file: `.`, or a name with an extension.
fn is_file(word: &str) -> bool {
    let (stem, ending) = base_name(word).rsplit_once('.').unwrap_or_default();
    let number = stem.strip_prefix('v').unwrap_or(stem);
    // `v1.x` and `2.0.rc1` are versions.
    let is_version = !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && ["x", "rc", "beta", "alpha", "dev"].iter().any(|end| ending.starts_with(end));
    word == "."
        || (ending.len() <= 5
            && !is_version
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns the first line of a commit's message.
fn message<'a>(words: &[Word<'a>], step: &Step<'a>) -> Option<Cow<'a, str>> {
    let is_cluster = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
    for (at, word) in words.iter().enumerate() {
        if word.text == "--message" || is_cluster(&word.text) {
            return message_text(words.get(at + 1)?);
        }
        if let Some(raw) = word.raw.strip_prefix("--message=").or_else(|| word.raw.strip_prefix("-m")) {
            return first_line(Cow::Borrowed(raw.trim_matches(['\'', '"'])));
        }
    }
    let reads = words.iter().any(|word| matches!(word.text.as_ref(), "-F" | "--file" | "--file=-"));
    step.body.filter(|_| reads).and_then(|body| first_line(Cow::Borrowed(body)))
}

fn message_text<'a>(word: &Word<'a>) -> Option<Cow<'a, str>> {
    match inner_body(word.raw).filter(|_| word.raw.trim_start_matches('"').starts_with("$(cat")) {
        Some(body) => first_line(Cow::Borrowed(body)),
        None if word.is_fixed || !word.text.starts_with(['$', '`']) => first_line(word.text.clone()),
        None => None,
    }
}

fn first_line(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    match text {
        Cow::Borrowed(text) => text.trim().lines().next().map(|line| Cow::Borrowed(line.trim_end())),
        Cow::Owned(text) => text.trim().lines().next().map(|line| Cow::Owned(line.trim_end().to_owned())),
    }
}
