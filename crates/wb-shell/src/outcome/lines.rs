//! The sign of a line of output: what it implies for the outcome of the program.

use crate::outcome::sign_words::{Sign, without_end_colours, without_start_colour, words_sign};
use wb_message::bytes::{trim_end, trim_start};

/// Returns the sign of a line without blanks and colours at its ends.
pub(crate) fn sign(line: &str) -> Sign {
    if line.is_empty() || line.len() > 2_000 {
        return Sign::Nothing;
    }
    start_sign(line).unwrap_or_else(|| words_sign(line))
}

/// Strips blanks and colours from both ends.
pub(crate) fn bare(line: &str) -> &str {
    let mut line = trim_end(trim_start(line));
    while let Some(rest) = without_start_colour(line) {
        line = rest.trim_start();
    }
    without_end_colours(line)
}

/// Returns the sign in the start of a line.
fn start_sign(line: &str) -> Option<Sign> {
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let sign = match line.as_bytes()[0] {
        b'=' if starts(&["=== RUN", "=== PAUSE", "=== CONT"]) => Sign::Nothing,
        b'-' if starts(&["--- PASS"]) => Sign::Nothing,
        b'-' if starts(&["--- FAIL"]) => Sign::Verdict(5),
        b'o' if starts(&["ok "]) || starts(&["ok\t"]) => {
            if line.contains("[no test") {
                Sign::Empty
            } else {
                Sign::Passed(4)
            }
        }
        b't' if starts(&["test "]) && (line.ends_with("... ok") || line.ends_with("... ignored")) => {
            Sign::Nothing
        }
        b't' if starts(&["test result: ok. 0 passed"]) => Sign::Empty,
        b't' if starts(&["test result: ok"]) => Sign::Clean,
        b'P' if line == "PASS" => Sign::Passed(2),
        b'P' if starts(&["PASS ", "PASSED ", "PASS\t"]) => Sign::Passed(1),
        b'F' if line == "FAIL" || line == "FAILED" => Sign::Verdict(2),
        b'F' if starts(&["FAIL ", "FAIL\t", "FAIL:", "FAILED "]) => {
            Sign::Verdict(if line.contains("[build failed]") { 3 } else { 5 })
        }
        b'F' if starts(&["FAILURES", "FAILURE:"]) => Sign::Verdict(2),
        b'F' if starts(&["Finished "]) => Sign::Passed(3),
        b'F' if starts(&["Fast-forward"]) => Sign::Passed(2),
        b'n' if starts(&["not ok "]) => Sign::Verdict(5),
        b'n' if starts(&["npm ERR!", "npm error"]) => Sign::Verdict(npm_rank(line)),
        b'm' | b'g' if starts(&["make", "gmake"]) && line.contains("***") => Sign::Verdict(2),
        b'!' if starts(&["! [rejected]", "! [remote rejected]"]) => Sign::Failed(4),
        b'C' if starts(&["CONFLICT ("]) => Sign::Failed(5),
        b'C' if starts(&["Compiled successfully"]) => Sign::Passed(3),
        b'O' if line == "OK" => Sign::Passed(3),
        b'O' if starts(&["OK ("]) => Sign::Passed(4),
        b'B' if starts(&["BUILD SUCCESS"]) => Sign::Passed(4),
        b'B' if starts(&["Build succeeded"]) => Sign::Passed(3),
        b'S' if starts(&["Success: ", "Success."]) => Sign::Passed(3),
        b'R' if starts(&["Ran 0 tests"]) => Sign::Empty,
        b'W' | b'I' | b'D' | b'w' if starts(&["WARN", "INFO ", "INFO:", "DEBUG", "warning:"]) => {
            Sign::Nothing
        }
        b'*' if starts(&["* [new "]) => Sign::Passed(3),
        b'0'..=b'9' | b'a'..=b'f' if is_pushed(line) => Sign::Passed(3),
        b'K' if line == "Killed" => Sign::Failed(3),
        b'>' if starts(&["> ", ">> "]) => Sign::Nothing,
        b'E' if starts(&["E   "]) => Sign::Detail(5),
        // The subject of a commit may be anything.
        b'[' if is_commit(line) => Sign::Passed(3),
        0x80.. if line.starts_with(['✓', '✔', '√', '✅']) => success_mark(line),
        _ => return error_name(line).or_else(|| error_position(line)),
    };
    Some(sign)
}

/// Ranks a line of npm: most only repeat what ran where.
fn npm_rank(line: &str) -> u8 {
    const WHERE: [&str; 7] =
        ["code ", "path ", "workspace ", "location ", "command ", "A complete log", "errno"];
    let rest = line
        .trim_start_matches("npm")
        .trim_start()
        .trim_start_matches(|c: char| !c.is_whitespace())
        .trim_start();
    match rest {
        "" => 1,
        _ if WHERE.iter().any(|word| rest.starts_with(word)) => 1,
        _ if rest.contains("failed with error") => 2,
        _ => 4,
    }
}

/// Reads a line with a mark of success, which precedes names of tests and results of runs.
fn success_mark(line: &str) -> Sign {
    let results = ["built in", "passed", "uccess", "ompiled", "ompleted", "All "];
    if results.iter().any(|word| line.contains(word)) { Sign::Passed(3) } else { Sign::Nothing }
}

/// Recognises `1a2b3c4..5d6e7f8  main -> main`.
fn is_pushed(line: &str) -> bool {
    let n_digits = line.bytes().take_while(u8::is_ascii_hexdigit).count();
    n_digits >= 7 && line[n_digits..].starts_with("..") && line.contains(" -> ")
}

/// Recognises `[main 1a2b3c4] Subject`.
fn is_commit(line: &str) -> bool {
    let head = line[1..].split(']').next().unwrap_or_default();
    head.rsplit_once(' ')
        .is_some_and(|(_, id)| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Recognises `ValueError: …` and `java.io.IOException: …`.
fn error_name(line: &str) -> Option<Sign> {
    let line = line.strip_prefix('[').unwrap_or(line);
    let n_bytes =
        line.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')).count();
    let (name, rest) = line.split_at(n_bytes);
    let is_name = n_bytes > 9 && (name.ends_with("Error") || name.ends_with("Exception"));
    (is_name
        && (rest.is_empty()
            || rest.starts_with(':')
            || rest.starts_with(" [")
            || rest.starts_with(" while ")))
    .then_some(Sign::Maybe(6))
}

/// Recognises `src/a.go:12:3: …`, which compilers write.
fn error_position(line: &str) -> Option<Sign> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let path = line.bytes().take_while(|byte| byte.is_ascii_graphic() && *byte != b':').count();
    let digits = |at: usize| line.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let colon = |at: usize| line.as_bytes().get(at) == Some(&b':');
    let (row, n_row) = (path + 1, if colon(path) { digits(path + 1) } else { 0 });
    if n_row > 0 && colon(row + n_row) && line[..path].ends_with("_test.go") && is_assertion(line) {
        return Some(Sign::Detail(5));
    }
    let (column, n_column) =
        (row + n_row + 1, if n_row > 0 && colon(row + n_row) { digits(row + n_row + 1) } else { 0 });
    if n_column > 0 && line.ends_with('━') {
        return Some(Sign::Detail(5));
    }
    if n_column == 0 || !colon(column + n_column) || !line[..path].contains('.') {
        return None;
    }
    let rest = line[column + n_column + 1..].trim_start();
    let is_milder = ["warning", "note", "info", "help", "hint", "Warning", "WARN"]
        .iter()
        .any(|word| rest.starts_with(word));
    Some(if is_milder { Sign::Nothing } else { Sign::Failed(5) })
}

/// Returns whether a message of a test compares an actual with an expected value.
fn is_assertion(line: &str) -> bool {
    ["xpected", " got ", "want", "rror", "hould"].iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Sign) {
        assert_eq!(sign(bare(line)), expected, "{line}");
    }

    #[test]
    fn marks_of_test_runners_at_the_start_are_read() {
        check("FAIL src/a.test.ts", Sign::Verdict(5));
        check(" \x1b[1m\x1b[31mFAIL\x1b[39m\x1b[22m a.test.ts", Sign::Verdict(5));
        check("--- FAIL: TestA (0.01s)", Sign::Verdict(5));
        check("FAILED tests/a.py::test_b - AssertionError: no", Sign::Verdict(5));
        check("not ok 3 - adds", Sign::Verdict(5));
        check("test a::b ... FAILED", Sign::Verdict(5));
        check("ok  \texample.org/a\t0.2s", Sign::Passed(4));
        check("ok  \texample.org/a\t0.2s [no tests to run]", Sign::Empty);
        check("test result: ok. 12 passed; 0 failed", Sign::Clean);
        check("test result: ok. 0 passed; 0 failed", Sign::Empty);
    }

    #[test]
    fn names_of_passed_tests_say_nothing() {
        check("test handles_error::when_it_failed ... ok", Sign::Nothing);
        check("    \u{2713} reports 3 errors when it failed", Sign::Nothing);
        check("=== RUN   TestFailed", Sign::Nothing);
        check("--- PASS: TestError (0.01s)", Sign::Nothing);
        check("WARNING retry failed, trying again", Sign::Nothing);
        check("1a2b3c4..5d6e7f8  main -> main", Sign::Passed(3));
        check("> tool --fail-on error", Sign::Nothing);
    }

    #[test]
    fn errors_of_compilers_and_programs_are_read() {
        check("cmd/a.go:12:3: undefined: b", Sign::Failed(5));
        check("a.c:12:3: warning: unused", Sign::Nothing);
        check("ValueError: bad", Sign::Maybe(6));
        check("java.io.IOException: gone", Sign::Maybe(6));
        check("E       AssertionError: assert 1 == 2", Sign::Detail(5));
        check("    a_test.go:12: expected 2, got 3", Sign::Detail(5));
        check("thread 'a' panicked at src/a.rs:1:2:", Sign::Failed(6));
        check("npm ERR! Missing script: \"x\"", Sign::Verdict(4));
        check("npm error code 2", Sign::Verdict(1));
        check("make: *** [Makefile:3: all] Error 2", Sign::Verdict(2));
        check("CONFLICT (content): Merge conflict in a.rs", Sign::Failed(5));
        check("sh: foo: command not found", Sign::Failed(5));
    }
}
