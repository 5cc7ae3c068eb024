//! By what a command is known again.

use super::kind::{base_name, is_quiet, is_viewer, program};
use super::words::{Joint, Step, Word, steps};

/// Programs whose first words say what they do.
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

/// Programs that run a script which is handed to them.
const INTERPRETERS: &[&str] =
    &["python", "node", "ruby", "perl", "php", "deno", "bun", "sh", "bash", "zsh", "dash", "psql", "sqlite3"];

/// Options with a value that is no file of the command.
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

/// Returns a hash that is the same where the same thing is run again: of the program that matters in a chain, its
/// subcommand and the names of its files, without options, redirections, folders and filters.
///
/// A run of one test and a run of all are told apart only by the files they name: see [`runs_part`].
///
/// ```
/// use wb_summarize::shell::subject;
///
/// assert_eq!(subject("cargo test 2>&1 | tail -20"), subject("cd a && cargo test --all"));
/// assert_ne!(subject("cargo test"), subject("cargo build"));
/// ```
pub fn subject(command: &str) -> u64 {
    let steps = steps(command);
    let acts = steps.iter().rev().find(|step| !is_quiet(step) && !is_viewer(step));
    // Of programs that show something, the one that the others filter.
    let shows =
        || steps.iter().rev().find(|step| step.before != Joint::Pipe && !is_quiet(step) && !is_echo(step));
    let step = acts.or_else(shows).or_else(|| steps.iter().rev().find(|step| !is_echo(step)));
    step.map_or_else(Hash::new, of_step).0
}

/// Returns whether a command runs part of what its [`subject`] can: tests by name, as with `-k`, `-run` or `a.py::test_b`.
///
/// Where such a run goes well, a failure of a run of everything is not mended by it.
///
/// ```
/// use wb_summarize::shell::runs_part;
///
/// assert!(runs_part("cargo test parses_a_line 2>&1 | tail"));
/// assert!(!runs_part("cargo test --all 2>&1 | tail"));
/// ```
pub fn runs_part(command: &str) -> bool {
    let steps = steps(command);
    steps.iter().filter(|step| !is_quiet(step) && !is_viewer(step)).any(|step| selects(&step.words))
}

fn selects(words: &[Word]) -> bool {
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
    let words = runner(program(words));
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_ref());
    let is_test = ["test", "t", "nextest"].contains(&text(1)) || !["cargo", "go"].contains(&text(0));
    let option = |word: &Word| BY_NAME.contains(&word.text.split('=').next().unwrap_or_default());
    let after = words.iter().skip(2).take_while(|word| word.text != "--");
    let names_test = text(0) == "cargo" && text(1) == "test" && has_filter(after);
    let is_by_name = words.iter().skip(1).any(|word| option(word) || word.text.contains("::"));
    is_test && (is_by_name || names_test)
}

/// Returns whether a word stands alone among options and their values.
fn has_filter<'w, 'a: 'w>(words: impl Iterator<Item = &'w Word<'a>>) -> bool {
    const WITH_VALUE: [&str; 8] =
        ["-p", "--package", "--features", "-F", "--profile", "-j", "--manifest-path", "--target"];
    let mut is_value = false;
    words.into_iter().any(|word| {
        let skip = std::mem::replace(&mut is_value, WITH_VALUE.contains(&word.text.as_ref()));
        !skip && !word.text.starts_with(['-', '+'])
    })
}

fn is_echo(step: &Step) -> bool {
    program(&step.words).first().is_some_and(|word| matches!(word.text.as_ref(), "echo" | "printf" | "cd"))
}

/// The FNV-1a hash of words with a mark after each.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: &str) {
        for byte in word.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn of_step(step: &Step) -> Hash {
    let mut hash = Hash::new();
    let words = runner(program(&step.words));
    let Some((first, mut rest)) = words.split_first() else { return hash };
    let mut name = base_name(&first.text);
    if matches!(name, "sh" | "bash" | "zsh" | "dash") {
        if let Some(inner) = script(rest) {
            return Hash(subject(inner));
        }
        if let Some(at) = rest.iter().position(|word| !word.text.starts_with('-')) {
            (name, rest) = (base_name(&rest[at].text), &rest[at + 1..]);
        }
    }
    let name = versionless(name);
    hash.add(name);
    if WITH_SUBCOMMANDS.contains(&name) {
        add_subcommand(&mut hash, name, &mut rest);
    } else if let Some(word) = rest.first().filter(|word| is_name(&word.text)) {
        hash.add(&word.text);
    }
    if INTERPRETERS.contains(&name) {
        hash.add(step.body.or_else(|| script(rest)).unwrap_or_default());
    }
    files(rest).for_each(|file| hash.add(file));
    // Of `cat > a.txt` the file is all there is.
    let written = step.targets.iter().filter(|_| is_quiet(step));
    written.for_each(|target| hash.add(base_name(&target.file.text)));
    hash
}

/// Returns whether a word may be the name of what a program does.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
}

/// Returns `python` of `python3.11`.
fn versionless(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(bare, "python" | "pip" | "ruby" | "node") { bare } else { name }
}

/// Returns the script that stands in the words, after `-c` or `-e`.
fn script<'w>(words: &'w [Word<'_>]) -> Option<&'w str> {
    let takes = |word: &Word| matches!(word.text.as_ref(), "-c" | "-lc" | "-e" | "-ic" | "--eval");
    let at = words.iter().position(takes)?;
    words.get(at + 1).map(|word| word.text.as_ref())
}

/// Skips programs that run another one: `npx`, `uv run`, `python -m`.
fn runner<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let mut words = words;
    while let Some(rest) = run_by(words) {
        words = rest;
    }
    words
}

/// Returns the words of the program that another one runs.
fn run_by<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
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

/// Adds the subcommand, and for a script of a package its name; leaves the words after it.
fn add_subcommand(hash: &mut Hash, name: &str, rest: &mut &[Word]) {
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
    hash.add(&word);
    let is_group =
        name == "gh" || matches!(word.as_str(), "compose" | "container" | "image" | "stash" | "remote");
    if is_group && let Some(word) = take(rest) {
        hash.add(&word);
    }
    // What is installed is what the command is about.
    if matches!(word.as_str(), "install" | "add" | "get" | "i" | "remove" | "uninstall") {
        rest.iter().filter(|word| !word.text.starts_with('-')).for_each(|word| hash.add(&word.text));
    }
}

/// Visits the names of the files among the words.
fn files<'w>(words: &'w [Word<'_>]) -> impl Iterator<Item = &'w str> {
    let mut is_value = false;
    words.iter().map(|word| word.text.as_ref()).filter_map(move |word| {
        let skip = std::mem::replace(&mut is_value, VALUED.contains(&word));
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
    fn options_filters_and_folders_do_not_matter() {
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
        check_same(&["./run.sh", "bash scripts/run.sh", "sh ./run.sh 2>/dev/null"]);
        check_same(&["npx tsc --noEmit", "tsc", "cd a && npx tsc --noEmit 2>&1 | head -50"]);
        check_same(&["python a.py", "python3 ./x/a.py --flag", "cat > a.py <<'E'\nx\nE\npython3 a.py"]);
    }

    #[test]
    fn a_run_of_part_of_the_tests_is_told() {
        for command in [
            "cargo test -p a parses 2>&1 | tail",
            "cd a && pytest -k x",
            "pytest a.py::test_b",
            "go test -run TestA ./...",
            "npx vitest --testNamePattern=x",
        ] {
            assert!(runs_part(command), "{command}");
        }
        for command in [
            "cargo test -p a --all-features",
            "pytest a.py",
            "go test ./...",
            "npm test",
            "go build -t x",
            "cat a::b",
        ] {
            assert!(!runs_part(command), "{command}");
        }
    }

    #[test]
    fn programs_subcommands_and_files_do() {
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
