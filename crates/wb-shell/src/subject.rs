//! The subject of a command, which identifies repeated runs of the same thing.

use wb_message::pairing::id_key;

use super::command::Command;
use super::kind::{Role, name, only_compiles, program, role};
use super::lexer::{Joint, Step, Word};
use super::options::{is_option, plain};
use crate::effects::base_name;

/// Programs whose first words are subcommands.
const WITH_SUBCOMMANDS: &[&str] = &[
    "cargo",
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "go",
    "git",
    "gh",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "mise",
    "mvn",
    "gradle",
    "gradlew",
    "mvnw",
    "dotnet",
    "pip",
    "pip3",
    "poetry",
    "uv",
    "bundle",
    "gem",
    "composer",
    "php",
    "terraform",
    "brew",
    "apt",
    "apt-get",
    "swift",
    "zig",
    "mix",
    "rustup",
    "nx",
    "turbo",
    "hatch",
    "tox",
    "nox",
    "rails",
    "flutter",
    "dart",
    "bazel",
    "xcodebuild",
    "ninja",
    "cmake",
    "systemctl",
    "supabase",
    "vercel",
];

/// Programs that run a script from an argument or a heredoc.
const INTERPRETERS: &[&str] =
    &["python", "node", "ruby", "perl", "php", "deno", "bun", "sh", "bash", "zsh", "dash", "psql", "sqlite3"];

/// Options whose value is not a file of the command.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--prefix",
    "--filter",
    "-F",
    "-w",
    "--workspace",
    "--cwd",
    "--dir",
    "--directory",
    "--manifest-path",
    "-R",
    "--repo",
    "--namespace",
    "--context",
    "--timeout",
];

/// Returns a hash that is equal for two runs of the same thing.
///
/// It covers the main program of a chain, its subcommand and the names of its files, but no
/// options, redirections, folders or filters. A run of one test and a run of all differ only in
/// their files.
pub fn subject(command: &str) -> u64 {
    Command::parse(command).subject()
}

/// Returns the [`Command::part`] of a build of the tests of a subject.
pub fn build_part(subject: u64) -> u64 {
    id_key("--no-run") ^ subject.rotate_left(1)
}

impl Command<'_> {
    /// Returns the [`subject`] of the command.
    pub fn subject(&self) -> u64 {
        id_key(&self.key().0)
    }

    fn key(&self) -> Key {
        // Among viewers, the one whose output the others filter.
        let shows = |(step, role): &(&Step, Role)| {
            step.before != Joint::Pipe && *role != Role::Quiet && !is_echo(step)
        };
        let step = self.acts().next_back();
        let step = step.or_else(|| self.with_roles().rfind(shows).map(|(step, _)| step));
        let step = step.or_else(|| self.steps.iter().rfind(|step| !is_echo(step)));
        step.map_or_else(Key::default, step_key)
    }

    /// Returns the hash of the selection, if the command runs only part of its subject.
    pub fn part(&self) -> Option<u64> {
        let step = self.acts().next_back()?;
        let words = program(&step.words);
        if let Some(inner) = script(words).filter(|_| is_shell(name(words))) {
            return Command::parse(inner).part();
        }
        if only_compiles(words) {
            return Some(build_part(self.subject()));
        }
        if !selects(words) {
            return None;
        }
        let mut key = step_key(step);
        for word in selections(words) {
            key.add(word);
        }
        Some(id_key(&key.0))
    }

    /// Returns whether the command, a part of its subject, runs all that a smaller part of it runs:
    /// its selections are parts of the names that the other selects.
    pub fn covers(&self, smaller: &Self) -> bool {
        // These options name a whole, and no part of a name.
        const WHOLES: [&str; 7] =
            ["--filter", "--test", "--tests", "--lib", "--bin", "--lf", "--last-failed"];
        let is_option = |name: &str| BY_NAME.iter().any(|option| option.trim_start_matches('-') == name);
        let selected = |command: &Self| -> Vec<String> {
            let step = command.acts().next_back();
            let words = step.map_or(&[][..], |step| program(&step.words));
            let is_whole = |word: &Word| WHOLES.contains(&word.text.split('=').next().unwrap_or_default());
            if !selects(words) || words.iter().any(is_whole) {
                return Vec::new();
            }
            let names = selections(words).into_iter().filter(|name| !name.is_empty() && !is_option(name));
            names.map(str::to_owned).collect()
        };
        let (names, others) = (selected(self), selected(smaller));
        let is_in = |other: &String| names.iter().any(|name| other.contains(name.as_str()));
        !others.is_empty() && others.iter().all(is_in)
    }
}

/// Options that select part of what could run.
const BY_NAME: [&str; 16] = [
    "-k",
    "-t",
    "-run",
    "--run",
    "--grep",
    "-g",
    "--filter",
    "--test",
    "--tests",
    "-only",
    "--lib",
    "--bin",
    "--lf",
    "--last-failed",
    "--testNamePattern",
    "--test-name-pattern",
];

fn selects(words: &[Word]) -> bool {
    let words = runner(words);
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_ref());
    let is_test = ["test", "t", "nextest"].contains(&text(1)) || !["cargo", "go"].contains(&text(0));
    let is_by_name = words.iter().skip(1).any(|word| is_by_name(word) || word.text.contains("::"));
    is_test && (is_by_name || filters(words).next().is_some())
}

/// Returns the selections by options and filters, sorted.
fn selections<'w>(words: &'w [Word<'_>]) -> Vec<&'w str> {
    let words = runner(words);
    let mut all: Vec<&str> =
        words.iter().map(|word| word.text.as_ref()).filter(|word| word.contains("::")).collect();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| is_by_name(word)) {
        let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let next = words.get(at + 1).filter(|next| value.is_empty() && !is_option(next));
        all.extend([name.trim_start_matches('-'), next.map_or(value, |next| &next.text)]);
    }
    all.extend(filters(words).map(|word| word.text.as_ref()));
    all.sort_unstable();
    all.dedup();
    all
}

fn is_by_name(word: &Word) -> bool {
    BY_NAME.contains(&word.text.split('=').next().unwrap_or_default())
}

/// Returns the words by which `cargo test` filters the names of tests.
fn filters<'w, 'a>(words: &'w [Word<'a>]) -> impl Iterator<Item = &'w Word<'a>> {
    const WITH_VALUE: [&str; 19] = [
        "--exclude",
        "--color",
        "--jobs",
        "--target-dir",
        "--message-format",
        "--config",
        "-Z",
        "-p",
        "--package",
        "--features",
        "-F",
        "--profile",
        "-j",
        "--manifest-path",
        "--target",
        "--test",
        "--bin",
        "--bench",
        "--example",
    ];
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word.text == text);
    let n_words = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let after = if is(0, "cargo") && is(1, "test") { words.get(2..n_words) } else { None };
    plain(after.unwrap_or_default(), &WITH_VALUE).filter(|word| !word.text.starts_with('+'))
}

fn is_echo(step: &Step) -> bool {
    program(&step.words).first().is_some_and(|word| matches!(word.text.as_ref(), "echo" | "printf" | "cd"))
}

/// The words that identify a subject, each followed by a separator.
#[derive(Default)]
struct Key(String);

impl Key {
    fn add(&mut self, word: &str) {
        self.0.push_str(word);
        self.0.push('\0');
    }
}

fn step_key(step: &Step) -> Key {
    let mut key = Key::default();
    let words = runner(program(&step.words));
    let Some((first, mut rest)) = words.split_first() else { return key };
    let mut name = base_name(&first.text);
    if is_shell(name) {
        if let Some(inner) = script(rest) {
            return Command::parse(inner).key();
        }
        if let Some(at) = rest.iter().position(|word| !word.text.starts_with('-')) {
            (name, rest) = (base_name(&rest[at].text), &rest[at + 1..]);
        }
    }
    let name = versionless(name);
    key.add(name);
    if WITH_SUBCOMMANDS.contains(&name) {
        add_subcommand(&mut key, name, &mut rest);
    } else if let Some(word) = rest.first().filter(|word| is_name(&word.text)) {
        key.add(&word.text);
    }
    if INTERPRETERS.contains(&name) {
        key.add(step.body.or_else(|| script(rest)).unwrap_or_default());
    }
    files(name, rest).for_each(|file| key.add(file));
    // The file is all that identifies `cat > a.txt`.
    let written = step.targets.iter().filter(|_| role(step) == Role::Quiet);
    written.for_each(|target| key.add(base_name(&target.file.text)));
    key
}

/// Returns whether a word may name an action of a program.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
}

fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "zsh" | "dash")
}

/// Returns `python` of `python3.11`.
fn versionless(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(bare, "python" | "pip" | "ruby" | "node") { bare } else { name }
}

/// Returns the script after `-c` or `-e`.
fn script<'w>(words: &'w [Word<'_>]) -> Option<&'w str> {
    let takes = |word: &Word| matches!(word.text.as_ref(), "-c" | "-lc" | "-e" | "-ic" | "--eval");
    let at = words.iter().position(takes)?;
    words.get(at + 1).map(|word| word.text.as_ref())
}

/// Skips programs that run another one: `npx`, `uv run`, `python -m`.
fn runner<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let mut words = words;
    while let Some(rest) = runner_target(words) {
        words = rest;
    }
    words
}

/// Returns the words of the program that a runner starts.
fn runner_target<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_ref());
    let n_words = match (versionless(base_name(text(0))), text(1)) {
        ("npx" | "bunx", _) => 1,
        ("uv" | "poetry" | "pipenv" | "rye" | "pdm" | "hatch", "run")
        | ("bundle" | "pnpm" | "mise", "exec")
        | ("pnpm" | "yarn", "dlx")
        | ("python", "-m") => 2,
        _ => return None,
    };
    let first = words[n_words..].iter().position(|word| !word.text.starts_with('-'))?;
    Some(&words[n_words + first..])
}

/// Adds the subcommand, or the name of a package script; leaves the words after it.
fn add_subcommand(key: &mut Key, name: &str, rest: &mut &[Word]) {
    let mut is_value = false;
    let mut take = |rest: &mut &[Word]| {
        for at in 0..rest.len() {
            let word = rest[at].text.as_ref();
            let skip = std::mem::replace(&mut is_value, VALUED.contains(&word));
            if !skip && !word.starts_with(['-', '+']) && !word.contains('=') {
                let found = word.to_owned();
                *rest = &rest[at + 1..];
                return Some(found);
            }
        }
        None
    };
    let first = take(rest);
    // `npm test` is short for `npm run test`.
    let is_short = matches!(name, "npm" | "yarn" | "pnpm" | "bun" | "mise" | "task" | "just")
        && first.as_deref().is_some_and(|first| matches!(first, "run" | "run-script"));
    let second = if is_short { take(rest) } else { None };
    let Some(word) = second.or(first) else { return };
    key.add(&word);
    let is_group =
        name == "gh" || matches!(word.as_str(), "compose" | "container" | "image" | "stash" | "remote");
    if is_group && let Some(word) = take(rest) {
        key.add(&word);
    }
    // An installation is identified by its packages.
    if matches!(word.as_str(), "install" | "add" | "get" | "i" | "remove" | "uninstall") {
        rest.iter().filter(|word| !word.text.starts_with('-')).for_each(|word| key.add(&word.text));
    }
}

/// Returns the names of the files among the words of a program.
fn files<'w>(program: &str, words: &'w [Word<'_>]) -> impl Iterator<Item = &'w str> {
    // `go test -c` compiles alone.
    let is_go = program == "go";
    let mut is_value = false;
    words.iter().map(|word| word.text.as_ref()).filter_map(move |word| {
        let skip = std::mem::replace(&mut is_value, VALUED.contains(&word) && !(is_go && word == "-c"));
        let is_file = word.contains(['/', '.']) && !word.starts_with('-') && !word.contains([' ', '\n', '=']);
        if skip || !is_file {
            return None;
        }
        if word.contains("://") {
            return Some(word);
        }
        let path = word.split("::").next().unwrap_or(word).trim_end_matches("/...");
        let name = base_name(path);
        (!name.is_empty() && name.bytes().any(|byte| byte != b'.')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_same(commands: &[&str]) {
        for command in commands {
            assert_eq!(subject(command), subject(commands[0]), "{command}");
        }
    }

    fn check_other(one: &str, two: &str) {
        assert_ne!(subject(one), subject(two), "{one} / {two}");
    }

    #[test]
    fn subjects_ignore_options_filters_and_folders() {
        check_same(&[
            "cargo test",
            "cargo test 2>&1 | tail -20",
            "cd a && cargo test --all",
            "export A=1; RUST_LOG=x timeout 60 cargo +nightly test | grep FAIL | head",
            "bash -lc 'cargo test'",
            "cargo test; echo \"EXIT: $?\"",
            "cargo test > log 2>&1; tail -5 log",
        ]);
        check_same(&[
            "npm test",
            "npm run test",
            "cd web && npm test -- --watch=false",
            "npm --prefix web test",
        ]);
        check_same(&[
            "pytest tests/a.py -k x",
            "python -m pytest ./tests/a.py",
            "uv run pytest tests/a.py::test_b -q",
        ]);
        check_same(&["go test -c ./cart", "go test ./cart", "go test -tags x -run One ./cart | tail -5"]);
        check_same(&["./run.sh", "bash scripts/run.sh", "sh ./run.sh 2>/dev/null"]);
        check_same(&["npx tsc --noEmit", "tsc", "cd a && npx tsc --noEmit 2>&1 | head -50"]);
        check_same(&["python a.py", "python3 ./x/a.py --flag", "cat > a.py <<'E'\nx\nE\npython3 a.py"]);
    }

    #[test]
    fn a_part_covers_the_parts_with_longer_names() {
        let covers = |one: &str, other: &str| Command::parse(one).covers(&Command::parse(other));
        assert!(covers("go test -run Overlap ./cart", "go test -v -run Overlap_Start ./cart | tail -5"));
        assert!(covers("cargo test cart", "cargo test cart::add"));
        assert!(!covers("go test -run Overlap_Start ./cart", "go test -run Overlap ./cart"));
        assert!(!covers("cargo test cart", "cargo test"));
        assert!(!covers("vitest --run", "vitest --run -t cart"));
        assert!(!covers("cargo test --test cart", "cargo test --test cart_api"));
    }

    #[test]
    fn a_run_of_part_of_the_tests_is_detected() {
        for command in [
            "cargo test -p a parses 2>&1 | tail",
            "cd a && pytest -k x",
            "pytest a.py::test_b",
            "go test -run TestA ./...",
            "npx vitest --testNamePattern=x",
            "bash -lc 'cargo test one'",
        ] {
            assert!(Command::parse(command).part().is_some(), "{command}");
        }
        for command in [
            "cargo test -p a --all-features",
            "cargo test --color always --workspace --exclude a",
            "pytest a.py",
            "go test ./...",
            "npm test",
            "go build -t x",
            "cat a::b",
            "cargo test one && cargo build",
            "bash -lc 'echo a::b; cargo test'",
        ] {
            assert!(Command::parse(command).part().is_none(), "{command}");
        }
    }

    #[test]
    fn a_part_does_not_depend_on_output_options() {
        let part = |command: &str| Command::parse(command).part();
        for (one, same) in [
            ("pytest -k x", "pytest -q -k x 2>&1 | tail"),
            ("cargo test one", "cd a && cargo test one -- --nocapture"),
            ("go test -tags x -v -run A ./b", "go test -tags=x ./b -run=A | tail"),
        ] {
            assert!(part(one).is_some() && part(one) == part(same), "{one} / {same}");
        }
        assert_ne!(part("cargo test --lib"), part("cargo test --test it"));
        assert_ne!(part("pytest -k x"), part("pytest -k y"));
    }

    #[test]
    fn subjects_differ_by_program_subcommand_and_files() {
        check_other("cargo test", "cargo build");
        check_other("npm test", "npm run build");
        check_other("pytest a.py", "pytest b.py");
        check_other("python -c 'a'", "python -c 'b'");
        check_other("python - <<E\na\nE", "python - <<E\nb\nE");
        check_other("cat a.rs", "cat b.rs");
        check_other("curl https://example.org/a", "curl https://example.org/b");
        check_other("git commit -m a", "git push");
        check_other("gh pr create -t x", "gh pr comment 1");
        check_other("pip install a", "pip install b");
        check_other("tool status", "tool doctor");
        check_other("cat > a.txt <<E\nE", "cat > b.txt <<E\nE");
    }
}
