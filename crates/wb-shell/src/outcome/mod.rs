//! The outcome of a tool call, judged by its output and by the host's report.
//!
//! `cargo test | tail` ends with the exit code of `tail`, so exit code 0 proves nothing if a
//! command masks the code of another program. Viewers are the opposite: `cat` and `git log` may
//! print any word, and only the host's report counts for them.

mod host;
mod sign_words;
mod lines;
mod reading;

use wb_message::markers::CLEARED_TOOL_RESULT;

use self::host::{CLOSED_PIPE, HostReport, is_not_found, is_unfinished};
use self::reading::{N_WHY, Reading, TESTED, cut};
use crate::Command;
use crate::kind::{ExitOneMeans, Kind, VisibleOutput};

pub use self::host::{Outcome, Reported, Verdict};

/// Judges the outcome of a call. `command` is `None` for tools other than a shell.
///
/// Only the start and the end of a long output are read.
pub fn judge<'a>(command: Option<&str>, output: &'a str, reported: Reported) -> Verdict<'a> {
    judge_command(command.map(Command::parse).as_ref(), output, reported)
}

/// Judges the outcome of a call whose command is already parsed.
pub fn judge_command<'a>(command: Option<&Command<'_>>, output: &'a str, reported: Reported) -> Verdict<'a> {
    let kind = command.map(|command| command.kind);
    let mut host = HostReport::new(output, reported, kind.is_none_or(|kind| kind.is_viewer));
    let echoes = |command: &Command<'_>| !command.kind.is_viewer && command.echoes_exit();
    if host.ended_well != Some(false) && command.is_some_and(echoes) {
        host.take_echo();
    }
    if host.body.trim() == CLEARED_TOOL_RESULT && host.ended_well != Some(false) {
        let is_known = host.ended_well.is_some() && kind.is_none_or(|kind| !kind.masks_exit_code);
        return host.verdict(if is_known { Outcome::Ok } else { Outcome::Unknown });
    }
    if host.is_not_run() {
        // What the host adds to its own words.
        let why = host.body.trim().lines().skip(1).filter(|line| !line.trim().is_empty());
        return Verdict { why: why.take(N_WHY).map(cut).collect(), ..host.verdict(Outcome::NotRun) };
    }
    if is_unfinished(host.body) {
        return host.verdict(Outcome::Unknown);
    }
    match kind {
        Some(kind) => with_command(kind, &host),
        None => without_command(&host),
    }
}

fn with_command<'a>(kind: Kind, host: &HostReport<'a>) -> Verdict<'a> {
    let reading = Reading::new(host.body);
    let outcome = match host.ended_well {
        Some(false) => with_error(kind, host, &reading),
        _ => without_error(kind, host, &reading),
    };
    let mut verdict = host.verdict(outcome);
    match outcome {
        Outcome::Failed if kind.is_viewer && reading.complaints[0].is_some() => {
            verdict.why = reading.complaints.iter().flatten().map(|line| cut(line)).collect();
        }
        Outcome::Failed => (verdict.why, verdict.has_more) = (reading.why(host.body), reading.has_more()),
        Outcome::Ok if kind.exit_one == ExitOneMeans::NoMatch && is_silent(host.body) => {
            verdict.shown = Some(NO_MATCH);
        }
        Outcome::Ok if kind.is_viewer && host.ended_well == Some(false) => {
            verdict.shown = reading.complaints[0].map(cut);
        }
        Outcome::Ok if !kind.is_viewer => {
            let shown = reading.shown.map(|(_, line)| line);
            verdict.shown = shown.or_else(|| only_line(host.body)).map(cut);
        }
        _ => {}
    }
    verdict
}

/// Judges a tool other than a shell; its output may be anything, so little of it counts.
fn without_command<'a>(host: &HostReport<'a>) -> Verdict<'a> {
    let outcome = match host.ended_well {
        Some(true) => Outcome::Ok,
        Some(false) if is_not_found(host.body) => Outcome::NotThere,
        Some(false) => Outcome::Failed,
        None => without_report(host.body),
    };
    let mut verdict = host.verdict(outcome);
    if outcome == Outcome::Failed {
        verdict.why.extend(first_line(host.body).map(cut));
    }
    verdict
}

/// Judges a tool other than a shell without a report of the host.
fn without_report(body: &str) -> Outcome {
    let first = body.trim_start().lines().next().unwrap_or("");
    let is_error = ["Error", "ERROR", "error:", "<tool_use_error>", "Failed to ", "ENOENT"]
        .iter()
        .any(|word| first.starts_with(word));
    match is_error {
        true if is_not_found(body) => Outcome::NotThere,
        true => Outcome::Failed,
        false => Outcome::Ok,
    }
}

/// The result of a search without a match.
pub(crate) const NO_MATCH: &str = "no match";

/// Returns whether an output says nothing; an old host writes `Error` for an empty one.
fn is_silent(body: &str) -> bool {
    matches!(body.trim(), "" | "Error" | "(no output)")
}

/// Judges a command that failed according to the host.
fn with_error(kind: Kind, host: &HostReport, reading: &Reading) -> Outcome {
    let is_one = matches!(host.exit, None | Some(1));
    let is_silent = is_silent(host.body);
    let is_negative = (is_one || host.exit == Some(123)) && (is_silent || reading.complaints[0].is_none());
    let mut complaints = reading.complaints.iter().flatten().peekable();
    let is_missing =
        host.exit != Some(127) && complaints.peek().is_some() && complaints.all(|line| is_not_found(line));
    match kind.exit_one {
        ExitOneMeans::NoMatch | ExitOneMeans::Different
            if is_negative && (is_silent || kind.is_viewer || !reading.is_bad() && kind.masks_exit_code) =>
        {
            return Outcome::Ok;
        }
        // The rest was shown in spite of a path that is not there.
        _ if kind.is_viewer && is_missing && reading.n_lines > reading.n_complaints => return Outcome::Ok,
        ExitOneMeans::False if is_one && is_silent => return Outcome::Ok,
        ExitOneMeans::NoProgram if is_one => return Outcome::NotThere,
        _ => {}
    }
    // `head` closes the pipe that it reads.
    let is_closed_pipe = host.exit == Some(CLOSED_PIPE) && !reading.is_bad();
    match () {
        () if is_closed_pipe => Outcome::Ok,
        // A silent viewer had its errors redirected: `ls a 2>/dev/null`.
        () if kind.is_viewer && is_silent => Outcome::NotThere,
        () if (is_missing && kind.is_viewer) || (reading.has_no_folder && !reading.is_unknown_program) => {
            Outcome::NotThere
        }
        () => Outcome::Failed,
    }
}

/// Judges a command that succeeded according to the host, or has no report.
fn without_error(kind: Kind, host: &HostReport, reading: &Reading) -> Outcome {
    let is_proven = host.ended_well == Some(true) && !kind.masks_exit_code;
    let is_empty = reading.n_empty > 0 && reading.shown.is_none_or(|(rank, _)| rank < TESTED);
    match () {
        () if reading.is_unknown_program => Outcome::Failed,
        () if kind.is_viewer && reading.n_missing > 0 && reading.n_missing == reading.n_lines => {
            Outcome::NotThere
        }
        () if kind.is_viewer || kind.is_silent => Outcome::Ok,
        () if is_proven && is_empty => Outcome::Unknown,
        () if is_proven && (!reading.is_verdict || reading.is_clean) => Outcome::Ok,
        () if reading.is_bad() => Outcome::Failed,
        () if is_empty => Outcome::Unknown,
        () if kind.masks_exit_code && reading.shown.is_none() && is_cut(kind, host.body) => Outcome::Unknown,
        () if host.ended_well.is_none() && reading.shown.is_none() => Outcome::Unknown,
        () => Outcome::Ok,
    }
}

/// Returns whether the end of an output, which would report a failure, may be missing.
fn is_cut(kind: Kind, body: &str) -> bool {
    match kind.visible_output {
        VisibleOutput::End => false,
        VisibleOutput::FirstLines(n_lines) => body.lines().nth(n_lines.saturating_sub(1)).is_some(),
        VisibleOutput::FirstBytes(n_bytes) => body.trim_end().len() + 1 >= n_bytes,
        VisibleOutput::Selection => true,
    }
}

/// Returns the line of an output that has no other, is short and has a number: a result.
fn only_line(body: &str) -> Option<&str> {
    const MOST_BYTES: usize = 60;
    let line = body.trim();
    let is_result = line.len() <= MOST_BYTES && line.contains(|c: char| c.is_ascii_digit());
    (is_result && !line.contains('\n')).then_some(line)
}

fn first_line(body: &str) -> Option<&str> {
    body.lines().map(str::trim).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wb_message::text::head;

    use super::reading::N_WHY;
    use super::*;

    fn check(command: &str, output: &str, reported: Reported, expected: Outcome) {
        assert_eq!(judge(Some(command), output, reported).outcome, expected, "{command}: {output}");
    }

    fn check_tool(output: &str, reported: Reported, expected: Outcome) {
        assert_eq!(judge(None, output, reported).outcome, expected, "{output}");
    }

    const FAILING: &str = "test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed";

    #[test]
    fn a_masked_exit_code_is_checked_against_the_output() {
        for command in [
            "cargo test | tail",
            "cargo test 2>&1 | grep test",
            "cargo test || true",
            "cargo test; echo done",
        ] {
            check(command, FAILING, Reported::Ok, Outcome::Failed);
            check(command, FAILING, Reported::Exit(0), Outcome::Failed);
            check(command, "test result: ok. 2 passed; 0 failed", Reported::Ok, Outcome::Ok);
        }
        check("make | head", "make: *** [Makefile:2: all] Error 1", Reported::Ok, Outcome::Failed);
        check(
            "python a.py | head",
            "Traceback (most recent call last):\nValueError: x",
            Reported::Ok,
            Outcome::Failed,
        );
        check("mise run lint | tail -3", "[lint] ERROR task failed", Reported::Ok, Outcome::Failed);
        check("cargo test; echo \"EXIT: $?\"", "EXIT: 101", Reported::Ok, Outcome::Failed);
        check(
            "eslint . | tail -1",
            "\u{2716} 3 problems (1 error, 2 warnings)",
            Reported::Ok,
            Outcome::Failed,
        );
        check("make; echo $?", "2", Reported::Ok, Outcome::Failed);
        check("make > log 2>&1; echo \"rc=$?\"", "rc=2", Reported::Ok, Outcome::Failed);
        check("make > log 2>&1; echo \"rc=$?\"", "rc=0", Reported::Nothing, Outcome::Ok);
        check("make 2>&1 | grep error; echo \"exit: $?\"", "exit: 1", Reported::Ok, Outcome::Ok);
        for command in
            ["make; echo $?; ls | wc -l", "make; rc=$?; ls | wc -l", "echo \"$?\" > rc; make | wc -l"]
        {
            assert_eq!(judge(Some(command), "a\n2", Reported::Ok).exit, None, "{command}");
        }
        for command in ["make; rc=$?; tail log; echo \"rc=$rc\"", "make | tee log; echo ${PIPESTATUS[0]}"] {
            assert_eq!(judge(Some(command), "a\n2", Reported::Ok).exit, Some(2), "{command}");
        }
        check("npm run x | tail", "sh: x: command not found", Reported::Ok, Outcome::Failed);
    }

    #[test]
    fn words_shown_by_viewers_do_not_count() {
        let text = "error: failed\nFAIL a\nTraceback (most recent call last):\n3 failed";
        for command in [
            "cat a.log",
            "grep -n error src/a.rs | head",
            "cd a && rg failed",
            "git log -3",
            "git diff | head -50",
            "sed -n '1,20p' a",
            "find . -name x | xargs grep FAIL",
            "ls && cat a",
            "find . -name '*.rs' -exec grep error {} \\;",
            "git -C a grep failed",
            "git tag --merged main",
            "git ls-files | xargs -I{} git show main:{} | grep x",
            "git ls-files | xargs -d '\\n' cat",
            "git ls-files | xargs sed -n 1,5p",
        ] {
            check(command, text, Reported::Ok, Outcome::Ok);
        }
        let acts = ["find . -exec cat {} \\; -exec ./run {} \\;", "sed -Ei s/a/b/ c", "git remote add a b"];
        assert!(acts.iter().all(|command| !Command::parse(command).kind.is_viewer));
        check("cargo test > log 2>&1; grep FAIL log", "FAIL a", Reported::Ok, Outcome::Failed);
    }

    #[test]
    fn a_proven_exit_code_outweighs_words_but_not_a_verdict() {
        check("python a.py", "ValueError: caught\nerror: said", Reported::Exit(0), Outcome::Ok);
        check("npm test", "Error: said by a test\n12 passing\n0 failing", Reported::Ok, Outcome::Ok);
        check("npm test", "1 failed, 2 passed", Reported::Ok, Outcome::Failed);
        check("bun test | tail", "error: said by a test\n 3 pass\n 0 fail", Reported::Ok, Outcome::Ok);
    }

    #[test]
    fn a_negative_answer_is_not_a_failure() {
        check("grep x a", "", Reported::Exit(1), Outcome::Ok);
        check("cd a && rg x", "(no output)\n\nCommand exited with code 1", Reported::Error, Outcome::Ok);
        check("cargo test | grep warning", "", Reported::Exit(1), Outcome::Ok);
        check("diff a b", "1c1\n< a\n---\n> b", Reported::Exit(1), Outcome::Ok);
        check("git diff --quiet", "", Reported::Exit(1), Outcome::Ok);
        check("test -f a", "", Reported::Exit(1), Outcome::Ok);
        check("which a", "", Reported::Exit(1), Outcome::NotThere);
        let found = "src/a.rs:3:fn main() {\nrg: bunfig.toml: No such file or directory (os error 2)";
        check("rg -n main src bunfig.toml", found, Reported::Exit(2), Outcome::Ok);
        check("rg x a.rs", "rg: a.rs: No such file or directory", Reported::Exit(2), Outcome::NotThere);
        check("grep '(' a", "grep: Unmatched ( or \\(", Reported::Exit(2), Outcome::Failed);
    }

    #[test]
    fn a_result_of_one_line_is_shown_and_what_was_not_there_next_to_what_was() {
        let shown = |command: &str, output: &'static str, exit| {
            judge(Some(command), output, Reported::Exit(exit)).shown
        };
        assert_eq!(shown("python a.py", "344\n", 0), Some("344"));
        assert_eq!(shown("python a.py", "done", 0), None);
        assert_eq!(shown("python a.py", "344\n345", 0), None);
        let partly = "fn main() {}\nsed: can't read b: No such file or directory";
        assert_eq!(shown("sed -n 1p a b", partly, 2), Some("sed: can't read b: No such file or directory"));
        let partly = judge(Some("sed -n 1p a b"), partly, Reported::Exit(2)).to_string();
        assert_eq!(partly, "ok in part (exit 2)");
        assert_eq!(judge(Some("grep x a"), "", Reported::Exit(1)).to_string(), "ok");
        assert_eq!(shown("cat a.rs", "fn main() {}", 0), None);
    }

    #[test]
    fn a_guessed_path_is_not_found() {
        check("cat a.rs", "cat: a.rs: No such file or directory", Reported::Exit(1), Outcome::NotThere);
        check(
            "ls a | head",
            "ls: cannot access 'a': No such file or directory",
            Reported::Ok,
            Outcome::NotThere,
        );
        check(
            "cd a && cargo test",
            "bash: line 1: cd: a: No such file or directory",
            Reported::Exit(1),
            Outcome::NotThere,
        );
        check("git -C a log 2>/dev/null", "", Reported::Exit(128), Outcome::NotThere);
        check(
            "sed -n 1p a && sed -n 1p b",
            "error: text,\nsed: can't read b: No such file or directory",
            Reported::Exit(2),
            Outcome::Ok,
        );
        check("cat > a/b <<E\nE", "bash: a/b: No such file or directory", Reported::Exit(1), Outcome::Failed);
        check_tool("ENOENT: no such file or directory, open 'a'", Reported::Error, Outcome::NotThere);
        check_tool("Could not find the text in a.rs", Reported::Error, Outcome::Failed);
    }

    #[test]
    fn a_call_that_ran_or_tested_nothing_is_unknown() {
        check("go test ./... | tail", "ok  \ta\t0.1s [no tests to run]", Reported::Ok, Outcome::Unknown);
        check(
            "cargo test x",
            "running 0 tests\ntest result: ok. 0 passed; 0 failed",
            Reported::Exit(0),
            Outcome::Unknown,
        );
        check("python -m unittest", "Ran 0 tests in 0.0s\n\nOK", Reported::Ok, Outcome::Unknown);
        let output = "Finished `test` profile\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed";
        check("cargo test x | tail", output, Reported::Ok, Outcome::Unknown);
        check("make | grep -c x", "3", Reported::Ok, Outcome::Unknown);
        check("make | grep 'error TS' | wc -l", "11", Reported::Ok, Outcome::Unknown);
        check("make | head -2", "a\nb", Reported::Ok, Outcome::Unknown);
        check("make | head -3", "a\nb", Reported::Ok, Outcome::Ok);
        check("make | head -c 3", "a\nb", Reported::Ok, Outcome::Unknown);
        check("make | head -c4000", "a\nb", Reported::Ok, Outcome::Ok);
        check("make | head --lines=2", "a\nb", Reported::Ok, Outcome::Unknown);
        check("make | grep -E 'error|warning'", "", Reported::Ok, Outcome::Ok);
        check("npm run dev", "Command running in background with ID: a1", Reported::Ok, Outcome::Unknown);
        check(
            "ls",
            "<command with shellId: 3 is still running after 30 seconds>",
            Reported::Ok,
            Outcome::Unknown,
        );
        check("npm test", "x\n\nCommand aborted", Reported::Error, Outcome::Unknown);
        check("npm test | tail", CLEARED_TOOL_RESULT, Reported::Ok, Outcome::Unknown);
        check("./run.sh", "working", Reported::Nothing, Outcome::Unknown);
        check_tool("The user doesn't want to proceed with this tool use.", Reported::Error, Outcome::NotRun);
        check("git commit", "The user doesn't want to proceed.\nnot yet", Reported::Error, Outcome::NotRun);
        check("./say", "Exit code 1\nThe user doesn't want to proceed.", Reported::Error, Outcome::Unknown);
    }

    #[test]
    fn exit_codes_are_read_where_hosts_write_them() {
        for output in [
            "Exit code 2\nx",
            "Exit code: 2\nWall time: 1 seconds\nOutput:\nx",
            "<returncode>2</returncode>\n<output>\nx\n</output>",
            "<system>Command failed with exit code: 2.</system>\nx",
            "x\n\nCommand exited with code 2",
            "x\n[Command finished with exit code 2]",
            "x\n<shellId: 3 completed with exit code 2>",
            "Output: x\nExit Code: 2\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 12",
        ] {
            let verdict = judge(Some("make"), output, Reported::Nothing);
            assert_eq!(
                (verdict.outcome, verdict.exit, &verdict.why[..]),
                (Outcome::Failed, Some(2), &["x"][..]),
                "{output}"
            );
        }
        check("make", "x\n<shellId: 3 completed with exit code 2>", Reported::Ok, Outcome::Failed);
        for output in ["x\n[Command finished with exit code 1]", "Exit code: 101\nx", "x\n[exit code 1]"] {
            check("python a.py", output, Reported::Ok, Outcome::Failed);
            check("cat log", output, Reported::Ok, Outcome::Ok);
        }
        check("grep x a", "\n[Command finished with exit code 1]", Reported::Ok, Outcome::Ok);
        check("make", "<system>Command executed successfully.</system>\nx", Reported::Nothing, Outcome::Ok);
    }

    #[test]
    fn the_most_informative_lines_are_kept_in_their_order() {
        let output = "Traceback (most recent call last):\n  File \"a.py\"\nValueError: bad\nerror: could not compile\nexit code: 1";
        assert_eq!(judge(Some("python a.py"), output, Reported::Exit(1)).why, ["ValueError: bad"]);
        let output =
            "a.ts(1,1): error TS1: a\na.ts(2,1): error TS1: b\na.ts(2,1): error TS1: b\nFound 2 errors.";
        assert_eq!(
            judge(Some("tsc"), output, Reported::Exit(2)).why,
            ["a.ts(1,1): error TS1: a", "a.ts(2,1): error TS1: b"]
        );
        let failed = |n: usize| {
            let lines: Vec<String> = (0..n).map(|n| format!("--- FAIL: TestCart{n} (0.01s)")).collect();
            let output = lines.join("\n");
            judge(Some("go test ./..."), &output, Reported::Exit(1)).has_more
        };
        assert_eq!([1, 3, 4, 9].map(failed), [false, false, true, true]);
        let verdict = judge(Some("jq . a"), "{\"error\": 1}\njq: error: bad\n", Reported::Exit(5));
        assert_eq!(verdict.why, ["jq: error: bad"]);
        assert_eq!(judge(Some("./x"), "first\nlast\n", Reported::Exit(1)).why, ["last"]);
    }

    #[test]
    fn the_result_of_a_success_is_shown() {
        let shown = |command, output| judge(Some(command), output, Reported::Ok).shown;
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed\n\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed";
        assert_eq!(shown("cargo test", output), Some("test result: ok. 2 passed; 0 failed"));
        assert_eq!(
            shown("git commit -m a", "[main 1a2b3c4] a\n 3 files changed, 1 insertion(+)"),
            Some("3 files changed, 1 insertion(+)")
        );
        assert_eq!(
            shown("pytest", "== \x1b[32m5 passed\x1b[0m in 2s =="),
            Some("== \x1b[32m5 passed\x1b[0m in 2s ==")
        );
        assert_eq!(shown("cat a", "5 passed"), None);
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = "é".repeat(9_000);
        for (command, output) in [
            (Some("./x"), format!("x {long}")),
            (Some("./x"), format!("Error: {}", head(&long, 1_900))),
            (Some("cat a"), format!("cat: {long}")),
            (None, long.clone()),
        ] {
            let verdict = judge(command, &output, Reported::Exit(1));
            assert!(
                verdict.why.iter().all(|line| line.len() <= 1_000) && !verdict.why.is_empty(),
                "{command:?}"
            );
        }
    }

    #[test]
    fn an_output_between_tags_on_one_line_is_read() {
        for output in [
            "<output>boom</output>",
            "<returncode>1</returncode>\n<output>boom</output>",
            "<output>\nboom\n</output>",
        ] {
            assert_eq!(judge(Some("./x"), output, Reported::Error).why, ["boom"], "{output}");
        }
    }

    #[test]
    fn both_ends_of_a_long_output_are_read() {
        let filler = "line\n".repeat(20_000);
        let at_end = format!("{filler}FAIL a\n");
        let at_start = format!("FAIL a\n{filler}");
        let between = format!("{filler}FAIL a\n{filler}");
        for (output, expected) in
            [(at_end, Outcome::Failed), (at_start, Outcome::Failed), (between, Outcome::Ok)]
        {
            assert_eq!(judge(Some("a | tee b"), &output, Reported::Ok).outcome, expected);
        }
    }

    fn odd_text() -> impl Strategy<Value = String> {
        let parts = [
            "error",
            "FAILED",
            "3 ",
            "failed",
            ":",
            "::",
            "a.rs:1:2: ",
            "é",
            "\u{1b}[",
            "31m",
            "✓ ",
            " ",
            "\n",
            "\r\n",
            "exit code ",
            "Exit code ",
            "1",
            "passed",
            "汉",
            "Traceback",
            "[",
            "]",
            "npm ERR!",
            "<output>",
            "</output>",
            "> ",
            "(",
            "ls: ",
            "━",
            "_test.go:",
        ];
        prop::collection::vec(prop::sample::select(parts.to_vec()), 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_reported_line_is_part_of_the_output(output in prop_oneof![odd_text(), any::<String>()], command in ".{0,40}", code in -1..3) {
            let is_part = |line: &str| output.as_bytes().as_ptr_range().contains(&line.as_ptr()) && output.contains(line);
            for reported in [Reported::Nothing, Reported::Ok, Reported::Error, Reported::Exit(code)] {
                for command in [None, Some(command.as_str()), Some("cargo test | tail"), Some("cat a")] {
                    let verdict = judge(command, &output, reported);
                    prop_assert!(verdict.why.len() <= N_WHY);
                    prop_assert!(verdict.why.iter().chain(&verdict.shown).all(|line| is_part(line)));
                }
            }
        }
    }
}
