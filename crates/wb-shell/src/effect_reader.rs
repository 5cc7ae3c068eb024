//! Reads the effects of a command on files and git repositories, step by step.

use std::borrow::Cow;

use wb_message::tools::normal_path;

use crate::command::Command;
use crate::effects::{Effects, FileEffect, GitEffect};
use crate::groups::with_certainty;
use crate::kind::{name, program};
use crate::lexer::{Joint, Step, Word, steps};
use crate::patch_files::patch_effects;
use crate::{files, git, options};

/// The depth to which shells inside shells are read.
const MAX_SHELLS: usize = 4;
const MAX_PATH_BYTES: usize = 4096;
/// The number of file effects that are read from one command.
const MAX_FILES: usize = 512;

impl<'a> Command<'a> {
    /// Returns the effects of the command on files and git repositories.
    pub fn effects(&self) -> Effects<'a> {
        let mut reader = EffectReader { place: Place::Start, out: Effects::default(), n_shells: 0 };
        reader.read(&self.steps);
        reader.out
    }
}

/// The working directory of a step.
#[derive(Clone, Debug)]
enum Place<'a> {
    /// The directory in which the command started.
    Start,
    At(Cow<'a, str>),
    Unknown,
}

impl<'a> Place<'a> {
    /// Returns a path relative to the directory in which the command started.
    fn path(&self, path: Cow<'a, str>) -> Option<Cow<'a, str>> {
        if path.is_empty() || path == "-" || path.starts_with("/dev/") || path.len() > MAX_PATH_BYTES {
            return None;
        }
        let path = match self {
            _ if path.starts_with(['/', '~']) => path,
            Self::Start => path,
            Self::At(folder) if folder.len() + path.len() < MAX_PATH_BYTES => {
                Cow::Owned(format!("{folder}/{path}"))
            }
            Self::At(_) | Self::Unknown => return None,
        };
        let path = match path {
            Cow::Borrowed(path) => normal_path(path),
            Cow::Owned(path) => Cow::Owned(normal_path(&path).into_owned()),
        };
        Some(if path.is_empty() { Cow::Borrowed(".") } else { path })
    }

    fn after_cd(&self, words: &[Word<'a>]) -> Self {
        let folder = words.iter().skip(1).find(|word| !matches!(word.text.as_ref(), "-P" | "-L" | "--"));
        let folder = folder.filter(|word| word.is_fixed).and_then(|word| self.path(word.text.clone()));
        folder.map_or(Self::Unknown, Self::At)
    }

    fn into_owned<'b>(self) -> Place<'b> {
        match self {
            Self::Start => Place::Start,
            Self::At(folder) => Place::At(Cow::Owned(folder.into_owned())),
            Self::Unknown => Place::Unknown,
        }
    }
}

struct EffectReader<'a> {
    place: Place<'a>,
    out: Effects<'a>,
    n_shells: usize,
}

impl<'a> EffectReader<'a> {
    fn read(&mut self, steps: &[Step<'a>]) {
        let mut outer: Vec<Place<'a>> = Vec::new();
        for (step, is_certain) in with_certainty(steps) {
            while outer.len() < step.depth {
                outer.push(self.place.clone());
            }
            while outer.len() > step.depth {
                self.place = outer.pop().unwrap_or(Place::Unknown);
            }
            if is_certain {
                self.read_step(step);
            } else if matches!(name(program(&step.words)), "cd" | "pushd" | "popd") {
                self.place = Place::Unknown;
            }
        }
        // A subshell that is still open at the end does not move the outer command.
        if let Some(place) = outer.into_iter().next() {
            self.place = place;
        }
    }

    fn read_step(&mut self, step: &Step<'a>) {
        let words = program(&step.words);
        match name(words) {
            "cd" if step.before != Joint::Pipe => self.place = self.place.after_cd(words),
            "pushd" | "popd" => self.place = Place::Unknown,
            "sh" | "bash" | "zsh" | "dash" => self.run_shell(words, step),
            "git" => self.run_git(words, step),
            "gh" | "glab" => self.out.git.extend(git::request_effect(words)),
            "patch" if options::has(words, 'R', "--reverse") || options::has(words, 'C', "--dry-run") => {}
            "patch" | "apply_patch" | "applypatch" => self.apply_patch(words, step),
            program => self.add(files::effects(program, words)),
        }
        let targets = step.targets.iter().filter(|target| target.file.is_fixed);
        self.add(targets.map(|target| {
            let path = target.file.text.clone();
            if target.appends { FileEffect::Edited(path) } else { FileEffect::Wrote(path) }
        }));
    }

    fn add(&mut self, files: impl IntoIterator<Item = FileEffect<'a>>) {
        let place = &self.place;
        let n_free = MAX_FILES.saturating_sub(self.out.files.len());
        let files = files.into_iter().filter_map(|file| file.with_paths(|path| place.path(path)));
        self.out.files.extend(files.take(n_free));
    }

    fn apply_patch(&mut self, words: &[Word<'a>], step: &Step<'a>) {
        let argument = || words.get(1).map(|word| word.text.clone());
        match step.body.map(Cow::Borrowed).or_else(argument) {
            Some(Cow::Borrowed(patch)) => self.add(patch_effects(patch)),
            Some(Cow::Owned(patch)) => {
                let files = patch_effects(&patch).into_iter();
                self.add(files.map(FileEffect::into_owned).collect::<Vec<_>>());
            }
            None => {}
        }
    }

    fn run_git(&mut self, words: &[Word<'a>], step: &Step<'a>) {
        let Some((folder, sub, rest)) = git::call(&words[1..]) else { return };
        if sub == "apply" {
            if step.body.is_some() && git::applies(rest) {
                self.apply_patch(&[], step);
            }
            return;
        }
        let mut effects = Effects::default();
        git::add(sub, rest, step, &mut effects);
        self.out.git.extend(effects.git);
        let place = match folder {
            Some(folder) => self.place.after_cd(&[Word::default(), folder.clone()]),
            None => self.place.clone(),
        };
        let before = std::mem::replace(&mut self.place, place);
        self.add(effects.files);
        self.place = before;
    }

    /// Reads the command passed to a shell: `bash -lc '…'` or a heredoc.
    fn run_shell(&mut self, words: &[Word<'a>], step: &Step<'a>) {
        let is_command = |word: &Word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c')
        };
        let command = words.iter().position(is_command).and_then(|at| words.get(at + 1));
        let command = match (command, step.body) {
            (Some(word), _) => word.text.clone(),
            (None, Some(body)) if words.len() < 3 => Cow::Borrowed(body),
            _ => return,
        };
        if self.n_shells == MAX_SHELLS {
            return;
        }
        self.n_shells += 1;
        let place = self.place.clone();
        match command {
            Cow::Borrowed(command) => self.read(&steps(command)),
            Cow::Owned(command) => self.read_owned(&command),
        }
        self.place = place;
        self.n_shells -= 1;
    }

    fn read_owned(&mut self, command: &str) {
        let mut reader = EffectReader {
            place: self.place.clone().into_owned(),
            out: Effects::default(),
            n_shells: self.n_shells,
        };
        reader.read(&steps(command));
        self.out.files.extend(reader.out.files.into_iter().map(FileEffect::into_owned));
        self.out.git.extend(reader.out.git.into_iter().map(GitEffect::into_owned));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::subject::subject;

    fn effects(command: &str) -> Effects<'_> {
        Command::parse(command).effects()
    }

    fn describe(effect: &FileEffect) -> String {
        match effect {
            FileEffect::Wrote(path) => format!("+{path}"),
            FileEffect::Edited(path) => format!("~{path}"),
            FileEffect::Deleted(path) => format!("-{path}"),
            FileEffect::Moved { from, to } => format!("{from}>{to}"),
            FileEffect::Restored(path) => format!("<{path}"),
        }
    }

    fn check(command: &str, expected: &str) {
        let files: Vec<_> = effects(command).files.iter().map(describe).collect();
        assert_eq!(files.join(" "), expected, "{command}");
    }

    fn check_git(command: &str, expected: &[GitEffect]) {
        assert_eq!(effects(command).git, expected, "{command}");
    }

    #[test]
    fn redirections_write_and_append() {
        check("echo a > b.txt && echo c >> b.txt", "+b.txt ~b.txt");
        check("cat > a.py <<'EOF'\nrm -rf b > c\nEOF\npython a.py 2>&1 | tee log", "+a.py +log");
        check("a 2>/dev/null > /dev/null; b >&2; c > $F; d > e*", "");
        check("[[ a > b ]] && c; (( d > e )); if [[ a > b || c > d ]]; then e; fi", "");
        check("cargo test &> out.log; x | tee -a y", "+out.log ~y");
        check("echo \"'a$'\" > b; grep -E \"'x$'\" f && rm g", "+b -g");
    }

    #[test]
    fn programs_that_change_files_name_them() {
        check("touch a b; rm -rf c d; unlink e", "+a +b -c -d -e");
        check("mv a b; mv c d e/; git mv f g", "a>b c>e/c d>e/d f>g");
        check("cp -r a b; cp c d/; cp e .; cp f g h; cp -t i j", "+b +d/c +e +h/f +h/g +i/j");
        check(
            "sed -i 's/a/b/' c.rs d.rs; sed -i '' 's/a/b/' e; sed -n 1p f; sed -i.bak -e x -e y g",
            "~c.rs ~d.rs ~e ~g",
        );
        check(
            "sed -Ei 's/a/b/' h; perl -pi -e 's/a/b/' i j; perl -i -pe 's/a/b/' k; perl -e 'print' l",
            "~h ~i ~j ~k",
        );
        check("curl -sSLo a https://example.org/b; wget -O c https://example.org; dd if=a of=d", "+a +c +d");
        check("truncate -s 0 a; rm *.log $X; mkdir -p b; rmdir c", "~a");
        check("dd if=a of=$X; dd of=\"b c\"; install -d e f; install -m 755 g h", "+b c +h");
    }

    #[test]
    fn paths_follow_cd() {
        check("cd a && touch b && cd ../c && touch d", "+a/b +c/d");
        check("(cd a && touch b); touch c", "+a/b +c");
        check("cd /r/a && touch ../b ~/c /d", "+/r/b ~/c".replace("~/c", "+~/c +/d").as_str());
        check("cd $X && touch a /b; pushd c; touch d", "+/b");
        check("cd a; git -C b rm c; git checkout -- .", "-a/b/c <a");
    }

    #[test]
    fn wrappers_and_shells_are_looked_through() {
        check("sudo -u me rm a; A=1 B='x y' timeout -k 5 30 touch b; env X=1 nice -n 5 touch c", "-a +b +c");
        check("bash -lc 'cd a && touch b'; touch c", "+a/b +c");
        check("bash -c \"touch \\\"a b\\\"\"", "+a b");
        check("bash <<'EOF'\ntouch a\nEOF", "+a");
        check("python <<'EOF'\nrm a\nEOF", "");
        check("for f in a b; do touch c; done", "+c");
    }

    #[test]
    fn steps_that_may_not_have_run_are_left_out() {
        check("make || touch a; touch b", "+b");
        check("[ -f a ] && rm a; test -d b && rm -r b", "");
        check("if true; then rm a; else rm b; fi; rm c", "-c");
        check("echo 'rm a' # rm b", "");
        check("make || { echo; rm a; }; make || (echo; rm b); rm c", "-c");
        check("if a; then if b; then c; fi; rm d; fi; f() { rm e; touch g; }; f", "");
        check("make || cd a; touch b /c", "+/c");
    }

    #[test]
    fn patches_name_their_files() {
        check(
            "cd a && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b\n+x\n*** End Patch\nEOF",
            "+a/b",
        );
        check("git apply <<'EOF'\n--- a/b.rs\n+++ b/b.rs\n@@\nEOF", "~b.rs");
        check("git apply fix.patch; patch -p1 < a.diff", "");
        let diff = "<<'EOF'\n--- a/b.rs\n+++ b/b.rs\n@@\nEOF\n";
        for call in
            ["git apply --check", "git apply --stat -p1", "git apply -R", "patch --dry-run", "patch -Rp1"]
        {
            check(&format!("{call} {diff}"), "");
        }
        check(&format!("git apply --index {diff}"), "~b.rs");
    }

    #[test]
    fn git_restores_files_and_checks_out_branches() {
        check(
            "git checkout -- a.rs b; git checkout HEAD~1 c.rs; git restore d; git restore --staged e; git checkout .",
            "<a.rs <b ~c.rs <d <.",
        );
        check("git rm -r a; git rm --cached b; git checkout --theirs c.rs", "-a ~c.rs");
        check_git(
            "git checkout main && git switch -c a/b origin/main",
            &[GitEffect::CheckedOut("main".into()), GitEffect::Branched("a/b".into())],
        );
        check_git("git checkout src/a.rs; gh pr view 3; gh pr checkout", &[]);
        check_git(
            "git checkout -; gh pr checkout 12 -b fix",
            &["-", "pull request 12"].map(|it| GitEffect::CheckedOut(it.into())),
        );
        check_git(
            "gh pr create --fill; gh pr create --dry-run; glab mr create",
            &[GitEffect::Proposed, GitEffect::Proposed],
        );
        check_git("gh issue create -t pr; gh pr edit 3 --title create", &[]);
        check_git(
            "git worktree add -b fix ../fix main; git worktree list; git worktree remove ../fix",
            &[GitEffect::AddedWorktree("../fix".into())],
        );
        let names = ["v1.x", "a.rs", "v2.0.rc1"].map(|name| GitEffect::CheckedOut(name.into()));
        check_git("git switch v1.x; git switch a.rs; git checkout v2.0.rc1", &names);
        check("git switch v1.x; git checkout 1.2.x", "");
    }

    #[test]
    fn git_commands_have_effects_on_the_repository() {
        let commit = |message: &'static str| GitEffect::Committed { message: Some(message.into()) };
        check_git("git add -A && git commit -m \"Add x\n\nWhy\"", &[commit("Add x")]);
        check_git(
            "git commit -m \"$(cat <<'EOF'\nDon't\n\nb\nEOF\n)\" && git push",
            &[commit("Don't"), GitEffect::Pushed],
        );
        check_git(
            "git commit -am 'a' ; git commit --message=b; git commit -F - <<E\nc\nE",
            &[commit("a"), commit("b"), commit("c")],
        );
        check_git(
            "git commit --amend --no-edit; git commit --dry-run; git commit -m \"$M\"",
            &[GitEffect::Amended { message: None }, GitEffect::Committed { message: None }],
        );
        check_git("git stash; git stash pop; git stash list", &[GitEffect::Stashed, GitEffect::Unstashed]);
        check_git(
            "git merge --no-ff -m x topic; git merge --abort",
            &[GitEffect::Merged("topic".into()), GitEffect::Aborted("merge")],
        );
        check_git(
            "git cherry-pick --continue; git rebase --skip; git rebase --quit",
            &[
                GitEffect::Continued("cherry-pick"),
                GitEffect::Continued("rebase"),
                GitEffect::Aborted("rebase"),
            ],
        );
        check_git(
            "git pull --rebase; git rebase main; git rebase --abort",
            &[GitEffect::Pulled, GitEffect::Rebased, GitEffect::Aborted("rebase")],
        );
        check_git(
            "git reset HEAD a; git reset --hard; git reset HEAD~1",
            &[GitEffect::Reset { hard: true }, GitEffect::Reset { hard: false }],
        );
        check_git(
            "git tag -a v1 -m x; git tag -l; git branch; git branch -D a; git branch b",
            &[
                GitEffect::Tagged("v1".into()),
                GitEffect::Unbranched("a".into()),
                GitEffect::Branched("b".into()),
            ],
        );
        check_git(
            "git cherry-pick abc1234; git revert --no-edit HEAD; git clean -fd; git log",
            &[GitEffect::Picked("abc1234".into()), GitEffect::Reverted("HEAD".into()), GitEffect::Cleaned],
        );
        check_git("git push -n; git push -fn; git clean -nfd; git clean -fdn; git mv -n a b", &[]);
        check_git(
            "git tag --merged main; git tag -n5 v1; git tag --sort=x v1; git tag --points-at HEAD",
            &[],
        );
        let picked = [GitEffect::Picked("a1".into()), GitEffect::Reverted("b2".into())];
        check_git("git cherry-pick -X theirs a1; git revert --strategy ours -m 1 b2", &picked);
        for deletion in
            ["git push origin :topic", "git push -d origin topic", "git push origin :refs/heads/topic"]
        {
            check_git(deletion, &[GitEffect::Unbranched("origin/topic".into())]);
        }
        check_git("git push --dry-run; git -C /a -c x=y --no-pager push -u origin b", &[GitEffect::Pushed]);
    }

    #[test]
    fn paths_and_changes_are_bounded() {
        let command = "cd a;>b;".repeat(20_000);
        let files = effects(&command).files;
        assert!(files.iter().all(|file| path_bytes(file) <= MAX_PATH_BYTES) && files.len() <= MAX_FILES);
        assert_eq!(effects(&format!("touch {}", "a ".repeat(20_000))).files.len(), MAX_FILES);
    }

    fn path_bytes(file: &FileEffect) -> usize {
        describe(file).len() - 1
    }

    fn odd_command() -> impl Strategy<Value = String> {
        let parts = [
            "git ", "commit ", "-m ", "sed -i ", "rm ", "cd ", "a", "b/", "../", "'", "\"", "$(", ")", "`",
            "<<E", "\nE\n", "\n", " ", "&&", "||", "|", ";", ">", ">>", "2>&1", "\\", "é", "汉", "bash -c ",
            "${", "}", "#", "(", "if ", "fi", "--", "*", "~", "-",
        ];
        prop::collection::vec(prop::sample::select(parts.to_vec()), 0..40).prop_map(|parts| parts.concat())
    }

    #[test]
    fn long_commands_do_not_exhaust_the_stack() {
        for part in [
            "npx ",
            "sudo ",
            "$(",
            "\"$(",
            "(",
            "bash -c '",
            "a && ",
            "`",
            "<<A ",
            "<<A;",
            "((",
            "[[ > ",
            "{ ",
            "if ",
            "f() {",
            "case a) ",
        ] {
            let command = part.repeat(20_000);
            effects(&command);
            subject(&command);
            Command::parse(&command).part();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_command_or_patch_panics(command in prop_oneof![odd_command(), any::<String>()]) {
            let effects = effects(&command);
            subject(&command);
            Command::parse(&command).part();
            patch_effects(&command);
            let is_piece = |path: &Cow<str>| match path {
                Cow::Borrowed(path) => *path == "." || command.contains(path),
                Cow::Owned(_) => true,
            };
            let paths = effects.files.iter().filter_map(|file| match file {
                FileEffect::Wrote(path) | FileEffect::Edited(path) | FileEffect::Deleted(path) => Some(path),
                _ => None,
            });
            prop_assert!(paths.into_iter().all(is_piece));
        }
    }
}
