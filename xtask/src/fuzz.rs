//! `cargo xtask fuzz`: gives any bytes to everything that takes what others wrote, and writes down
//! what came of it.
//!
//! The targets are in `fuzz/`, which is no crate of the workspace. Each begins with the composed
//! files of the repository and with what earlier runs kept. The figures are what libFuzzer prints.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{commit_of_head, date_of_head, write};

const TARGETS: [&str; 7] = ["read", "compact", "validate", "repair", "call", "compose", "damage"];

/// The folders of the composed files that a run starts with.
const SEEDS: [&str; 3] = ["fixtures/sessions", "fixtures/bindings", "crates/wb-formats/tests/fixtures"];

/// The file with a test for each finding.
const REGRESSIONS: &str = "crates/wb-formats/tests/it/damage/fuzzed.rs";

/// The page of results.
const PAGE: &str = "docs/evaluation/fuzz.md";

/// The minutes that a target runs by default.
const MINUTES: u64 = 10;

/// The words that start libFuzzer. There is no unsafe code here for a sanitizer to look after.
const RUN: &str = "run nightly cargo fuzz run --sanitizer none";

const LIMITS: &str = "-timeout=10 -max_len=65536 -rss_limit_mb=2048 -print_final_stats=1";

const USAGE: &str = "usage: cargo xtask fuzz [read|compact|validate|repair|call|compose|damage] [--minutes N]\nhint: it needs a nightly \
                     toolchain and cargo-fuzz: cargo install cargo-fuzz";

/// Runs one target or all, one after the other, up to the first finding.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (targets, minutes) = parsed(words)?;
    for target in targets {
        seed(root, target)?;
        let run = Run::start(root, target, minutes)?;
        println!("{}", run.row("today", "here").trim_end());
        let row = run.row(&date_of_head(root)?, &commit_of_head(root, PAGE)?);
        write_page(root, &row)?;
        if let Some(finding) = run.finding {
            return Err(format!("{target}: {finding}\nhint: the input is in fuzz/artifacts/{target}"));
        }
    }
    Ok(())
}

fn parsed<'a>(words: &[&'a str]) -> Result<(Vec<&'a str>, u64), String> {
    let (targets, minutes) = match words {
        [targets @ .., "--minutes", n] => (targets, n.parse().map_err(|_| USAGE.to_owned())?),
        targets => (targets, MINUTES),
    };
    match targets {
        [] => Ok((TARGETS.to_vec(), minutes)),
        [target] if TARGETS.contains(target) => Ok((vec![target], minutes)),
        _ => Err(USAGE.to_owned()),
    }
}

/// Copies the composed files to where a target begins, under names of their whole paths.
fn seed(root: &Path, target: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("fuzz/corpus/{target}: {error}");
    let corpus = root.join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus).map_err(failed)?;
    for file in crate::tidy::tree::Tree::read(root)?.files {
        if SEEDS.iter().any(|folder| file.path.starts_with(folder)) {
            let name = file.path.replace('/', "__");
            std::fs::copy(root.join(&file.path), corpus.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// The result of a run, from the output of libFuzzer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Run {
    target: String,
    seconds: u64,
    executions: u64,
    /// Edges of the program that were taken.
    edges: u64,
    /// Inputs that were kept, since each takes an edge that the others do not.
    kept: u64,
    finding: Option<String>,
}

impl Run {
    fn start(root: &Path, target: &str, minutes: u64) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cargo fuzz: {error}\n{USAGE}");
        let time = format!("-max_total_time={}", minutes * 60);
        let words = RUN.split(' ').chain([target, "--", &time]).chain(LIMITS.split(' '));
        let mut program = Command::new("rustup");
        program.args(words).current_dir(root.join("fuzz")).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        let mut child = program.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
        let mut run = Self { target: target.to_owned(), ..Self::default() };
        for line in child.stderr.take().into_iter().flat_map(|lines| BufReader::new(lines).split(b'\n')) {
            run.take(&String::from_utf8_lossy(&line.map_err(failed)?));
        }
        let status = child.wait().map_err(failed)?;
        match &run.finding {
            None if !status.success() => Err(format!("cargo fuzz run {target}: {status}\n{USAGE}")),
            _ => Ok(run),
        }
    }

    /// Takes in one line.
    fn take(&mut self, line: &str) {
        let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
        let behind = |word: &str| number(line.split_once(word)?.1.trim_start());
        let set = |place: &mut u64, new: Option<u64>| *place = new.unwrap_or(*place);
        set(&mut self.executions, behind("stat::number_of_executed_units:"));
        set(
            &mut self.seconds,
            line.strip_prefix("Done ").and_then(|rest| number(rest.split_once(" in ")?.1)),
        );
        if line.starts_with('#') {
            set(&mut self.edges, behind(" cov: "));
            set(&mut self.kept, behind(" corp: "));
        }
        let is_panic = line.starts_with("thread ") && line.contains(" panicked at ");
        if is_panic || (self.finding.is_none() && line.contains("ERROR: libFuzzer")) {
            self.finding = Some(line.to_owned());
        }
    }

    fn row(&self, date: &str, commit: &str) -> String {
        let Self { target, seconds, executions, edges, kept, .. } = self;
        let finding = if self.finding.is_some() { "one, at which it ended" } else { "none" };
        format!(
            "| {target} | {date} | {commit} | {seconds} | {executions} | {edges} | {kept} | {finding} |\n"
        )
    }
}

const TITLE: &str = "\
# Any bytes

[cargo-fuzz](https://github.com/rust-fuzz/cargo-fuzz) feeds arbitrary bytes to everything that reads foreign files,
starting from the composed files of this repository. A panic is a finding, and so is a broken law:

- `read`: a session that opens shows all its conversations, and an empty change keeps its bytes;
- `compact`, with each strategy and a small window: no new refusal, the result reads as planned, undo restores the bytes;
- `validate`: any JSON as a request in the four dialects, and any session as its next request;
- `repair`: as `compact`; also no text of user or model is lost, and a second repair changes nothing;
- `call`: any text as a call in JSON, or as its messages, has one answer, the same each time;
- `compose`: in requests of blocks of each type, what only one provider has identifies its requests, and a repair
  leaves nothing that the provider refuses;
- `damage`: logs damaged as crashes and hosts damage them: all of the above, and `validate` and `doctor` find what a
  repair reports as left.

Each row is the last run of its target.

- command: `cargo xtask fuzz`

| target | date | commit | seconds | executions | edges | inputs kept | findings |
|---|---|---|---:|---:|---:|---:|---|
";

fn write_page(root: &Path, row: &str) -> Result<(), String> {
    let old = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    let tests = std::fs::read_to_string(root.join(REGRESSIONS)).unwrap_or_default();
    write(root, PAGE, page(&old, row, &tests))
}

/// Returns the page with a new row in the place of that of the same target, and what was found
/// until now.
fn page(old: &str, row: &str, tests: &str) -> String {
    let of = |target: &str| {
        let start = format!("| {target} |");
        [row].into_iter().chain(old.lines()).find(|line| line.starts_with(&start)).map(str::trim_end)
    };
    let mut page = TITLE.to_owned();
    for row in TARGETS.into_iter().filter_map(of) {
        let _ = writeln!(page, "{row}");
    }
    let n = tests.matches("#[test]").count();
    let _ = writeln!(
        page,
        "\nEarlier findings are fixed, each with a test: {n} of them [here](../../{REGRESSIONS})."
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
INFO: seed corpus: files: 63 min: 52b max: 347417b total: 461884b rss: 31Mb
#64\tINITED cov: 20000 ft: 40000 corp: 63/180Kb exec/s: 0 rss: 40Mb
#70\tNEW    cov: 20499 ft: 48949 corp: 68/185Kb lim: 65536 exec/s: 0 rss: 41Mb L: 223/65536 MS: 1 Custom-
Done 31499 runs in 21 second(s)
stat::number_of_executed_units: 31499
";

    fn run_from(output: &str) -> Run {
        let mut run = Run { target: "read".to_owned(), ..Run::default() };
        output.lines().for_each(|line| run.take(line));
        run
    }

    #[test]
    fn the_figures_are_those_that_are_printed() {
        let row = run_from(OUTPUT).row("2026-01-02", "0a1b2c3");
        assert_eq!(row, "| read | 2026-01-02 | 0a1b2c3 | 21 | 31499 | 20499 | 68 | none |\n");
    }

    #[test]
    fn a_panic_is_a_finding_and_so_is_what_libfuzzer_ends() {
        let panic =
            "thread '<unnamed>' (17) panicked at src/lib.rs:57:5:\n==17== ERROR: libFuzzer: deadly signal";
        assert!(run_from(panic).finding.is_some_and(|it| it.contains("src/lib.rs:57")));
        assert!(run_from("==17== ERROR: libFuzzer: timeout after 10 seconds").finding.is_some());
    }

    #[test]
    fn a_row_takes_the_place_of_the_one_of_its_target() {
        let first = page("", &run_from(OUTPUT).row("2026-01-02", "a"), "#[test]\nfn it_ends() {}");
        let other = page(&first, "| compact | 2026-01-03 | b |\n", "");
        let again = page(&other, "| read | 2026-01-04 | c |\n", "");
        assert!(first.contains("each with a test: 1 of them"), "{first}");
        let rows: Vec<&str> = again.lines().filter(|line| line.contains("| 2026")).collect();
        assert_eq!(rows, ["| read | 2026-01-04 | c |", "| compact | 2026-01-03 | b |"]);
    }

    #[test]
    fn one_target_or_all_are_run_for_as_long_as_is_said() {
        assert_eq!(parsed(&[]), Ok((TARGETS.to_vec(), MINUTES)));
        assert_eq!(parsed(&["repair", "--minutes", "1"]), Ok((vec!["repair"], 1)));
        assert!(parsed(&["reed"]).is_err() && parsed(&["--minutes", "x"]).is_err());
    }
}
