//! The sign of the words in a line of output: `failed`, `error`, `passed` and the text around them.

use wb_message::bytes::trim_end;

/// The meaning of a line for the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Nothing,
    /// Something failed; a line of a higher rank explains it better.
    Failed(u8),
    /// A run failed; the line counts or names the failures.
    Verdict(u8),
    /// Something seems to have failed, but a successful program may print it too.
    Maybe(u8),
    /// The cause, if something failed.
    Detail(u8),
    /// A path or name does not exist.
    Missing,
    /// The result of a success, ranked.
    Passed(u8),
    /// The result of a success that counts zero failures.
    Clean,
    /// Nothing was tested.
    Empty,
}

/// The rank of a result that counts tests.
pub(crate) const COUNTED: u8 = 5;

/// Returns whether a text is a colour code without its start.
fn is_colour(text: &str) -> bool {
    text.strip_suffix('m').is_some_and(|codes| codes.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';')))
}

/// Strips colour codes and blanks from the end of a text.
pub(crate) fn without_end_colours(mut text: &str) -> &str {
    while text.ends_with('m')
        && let Some((rest, _)) = text.rsplit_once("\x1b[").filter(|(_, end)| is_colour(end))
    {
        text = rest.trim_end();
    }
    text
}

/// Strips a colour code from the start of a text.
pub(crate) fn without_start_colour(text: &str) -> Option<&str> {
    let [0x1b, b'[', rest @ ..] = text.as_bytes() else { return None };
    let n_bytes = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    text.get(n_bytes + 3..)
}

/// A word of a line, and the text around it.
struct LineWord<'l> {
    line: &'l str,
    start: usize,
    end: usize,
}

impl<'l> LineWord<'l> {
    fn is(&self, word: &str) -> bool {
        self.text().eq_ignore_ascii_case(word)
    }

    fn text(&self) -> &'l str {
        &self.line[self.start..self.end]
    }

    /// Returns the text before the word, without colours and blanks at its end.
    fn before(&self) -> &'l str {
        without_end_colours(trim_end(&self.line[..self.start]))
    }

    /// Returns the text after the word, without colours at its start.
    fn after(&self) -> &'l str {
        let mut text = &self.line[self.end..];
        while let Some(rest) = without_start_colour(text) {
            text = rest;
        }
        text
    }

    /// Returns the count of the word: the number before it, with at most one word between.
    fn count(&self) -> Option<u64> {
        const KINDS: [&str; 9] =
            ["test", "tests", "previous", "type", "files", "suites", "examples", "specs", "targets"];
        let before = self.before();
        let number = last_number(before);
        number.or_else(|| {
            let (rest, word) = before.rsplit_once(' ')?;
            let is_kind = KINDS.iter().any(|kind| word.eq_ignore_ascii_case(kind));
            if is_kind { last_number(rest.trim_end()) } else { None }
        })
    }

    /// Returns the count if it is a result: it starts the line, or follows a sign or a known word.
    fn result_count(&self) -> Option<u64> {
        let count = self.count()?;
        let number = self.before().trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let lead = without_end_colours(number.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end());
        let word = lead.rsplit(' ').next().unwrap_or_default();
        let is_result = matches!(word, "Found" | "found" | "with" | "to" | "and" | "generated")
            || !lead.ends_with(char::is_alphanumeric);
        is_result.then_some(count)
    }

    /// Returns the number after the word, as in `failures=2`.
    fn amount(&self) -> Option<u64> {
        let rest = self.after().trim_start_matches([':', '=', ' ', '\t']);
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let ends = rest
            .as_bytes()
            .get(n_digits)
            .is_none_or(|byte| matches!(byte, b',' | b')' | b';' | b' ' | b'|' | b'.' | 0x1b));
        if self.after().len() > rest.len() && ends { rest[..n_digits].parse().ok() } else { None }
    }
}

/// Returns the separate number at the end of a text.
fn last_number(text: &str) -> Option<u64> {
    let n_digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    if n_digits == 0 {
        return None;
    }
    let (before, number) = text.split_at(text.len() - n_digits);
    let is_apart = before.is_empty() || before.ends_with([' ', '(', ',', '|', 'm', '\t']);
    if is_apart { number.parse().ok() } else { None }
}

/// The known words in lower case, each followed by a blank.
const KNOWN: &str = "no fail exit pass error fatal panic built tests added failed passed errors denied exited cannot \
    issues failure failing passing command changed nothing failures problems panicked uncaught traceback unhandled \
    exit_code elifecycle successfully segmentation ";
/// The bytes of the longest known word.
const LONGEST: usize = "segmentation".len();

/// Returns for each byte a bit set of the lengths of the known words that have it at `index`.
const fn lengths(index: usize) -> [u16; 256] {
    let (known, mut all, mut start, mut end) = (KNOWN.as_bytes(), [0; 256], 0, 0);
    while end < known.len() {
        if known[end] == b' ' {
            let byte = known[start + index];
            all[byte as usize] |= 1 << (end - start);
            all[byte.to_ascii_uppercase() as usize] |= 1 << (end - start);
            start = end + 1;
        }
        end += 1;
    }
    all
}

const FIRST: [u16; 256] = lengths(0);
const SECOND: [u16; 256] = lengths(1);

/// Bytes that words are made of.
const IS_PART: [bool; 256] = {
    let (mut parts, mut at) = ([false; 256], 0_usize);
    while at < 256 {
        let byte = at.to_le_bytes()[0];
        parts[at] = byte.is_ascii_alphanumeric() || byte == b'_';
        at += 1;
    }
    parts
};

/// Returns the strongest sign among the words of a line.
pub(crate) fn words_sign(line: &str) -> Sign {
    let bytes = line.as_bytes();
    let (mut at, mut found) = (0, Sign::Nothing);
    while at < bytes.len() {
        if !IS_PART[usize::from(bytes[at])] {
            at += if bytes[at] == 0x1b { colour_bytes(&bytes[at..]) } else { 1 };
            continue;
        }
        let start = at;
        while at < bytes.len() && IS_PART[usize::from(bytes[at])] {
            at += 1;
        }
        if may_be_known(&bytes[start..at]) {
            found = stronger(found, word_sign(&LineWord { line, start, end: at }));
        }
    }
    found
}

/// Returns whether a word has the length and the first two letters of a known one.
fn may_be_known(word: &[u8]) -> bool {
    let [first, second, ..] = word else { return false };
    let lengths = FIRST[usize::from(*first)] & SECOND[usize::from(*second)];
    word.len() <= LONGEST && lengths >> word.len() & 1 != 0
}

fn colour_bytes(bytes: &[u8]) -> usize {
    let n_bytes = bytes.iter().skip(2).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    (n_bytes + 3).min(bytes.len())
}

fn stronger(one: Sign, two: Sign) -> Sign {
    let weight = |sign: Sign| match sign {
        Sign::Nothing => 0,
        Sign::Passed(rank) => 10 + rank,
        Sign::Empty => 20,
        Sign::Missing => 25,
        Sign::Clean => 30,
        Sign::Detail(rank) => 35 + rank,
        Sign::Maybe(rank) => 50 + rank,
        Sign::Failed(rank) | Sign::Verdict(rank) => 60 + rank,
    };
    if weight(two) > weight(one) { two } else { one }
}

fn word_sign(word: &LineWord) -> Sign {
    match word.text().len() {
        2 if word.is("no") => no_sign(word),
        4 if word.is("fail") => fail_sign(word),
        4 if word.is("exit") => exit_sign(word),
        4 if word.is("pass") => counted_pass(word, COUNTED),
        5 if word.is("error") => error_sign(word),
        5 if word.is("fatal") => fatal_sign(word),
        5 if word.is("panic") && word.start == 0 && word.after().starts_with(':') => Sign::Failed(6),
        5 if word.is("built") && word.after().starts_with(" in ") => Sign::Passed(3),
        5 if word.is("tests") && word.count() == Some(0) => Sign::Empty,
        5 if word.is("added") && word.start == 0 && word.line.contains("package") => Sign::Passed(2),
        6 if word.is("failed") => failed_sign(word),
        6 if word.is("passed") => counted_pass(word, COUNTED),
        6 if word.is("errors") => counted(word),
        6 if word.is("denied") && word.before().ends_with("ermission") => Sign::Maybe(4),
        6 if word.is("exited") => exit_sign(word),
        6 if word.is("cannot") && word.after().starts_with(" find module") => Sign::Maybe(5),
        7 if word.is("failure") || word.is("failing") => failure_sign(word),
        7 if word.is("passing") => counted_pass(word, COUNTED),
        7 if word.is("command") && word.after().starts_with(" not found") => Sign::Failed(5),
        7 if word.is("changed") && word.before().ends_with(['e', 's']) && word.line.contains("file") => {
            changed_sign(word)
        }
        7 if word.is("nothing") && word.after().starts_with(" to commit") => Sign::Passed(3),
        8 if word.is("failures") => counted(word),
        8 if word.is("problems") => findings_sign(word),
        8 if word.is("panicked") && word.after().starts_with(" at") => Sign::Failed(6),
        8 if word.is("uncaught") && word.start == 0 => Sign::Maybe(5),
        9 if word.is("traceback") && word.after().starts_with(" (most recent call last") => Sign::Maybe(2),
        9 if word.is("unhandled") && word.start == 0 => Sign::Maybe(5),
        9 if word.is("exit_code") => exit_sign(word),
        10 if word.is("elifecycle") => Sign::Verdict(2),
        12 if word.is("successfully") && !word.before().contains(['"', '(']) => Sign::Passed(2),
        12 if word.is("segmentation") && word.after().starts_with(" fault") => Sign::Failed(5),
        6 if word.is("issues") => findings_sign(word),
        _ => Sign::Nothing,
    }
}

fn changed_sign(word: &LineWord) -> Sign {
    let is_count = word.line.starts_with(|c: char| c.is_ascii_digit());
    if is_count { Sign::Passed(4) } else { Sign::Nothing }
}

/// Reads a count of failures, before or after the word.
fn counted(word: &LineWord) -> Sign {
    match (word.result_count(), word.amount()) {
        (Some(0), _) | (None, Some(0)) => Sign::Clean,
        (None, None) => Sign::Nothing,
        _ => Sign::Verdict(3),
    }
}

fn counted_pass(word: &LineWord, rank: u8) -> Sign {
    match word.count() {
        Some(0) => Sign::Empty,
        Some(_) => Sign::Passed(rank),
        None if word.before().ends_with("checks") || word.before().ends_with("tests") => Sign::Passed(4),
        None => Sign::Nothing,
    }
}

/// Reads `12 problems`, which counts if it starts the line or follows `Found`.
fn findings_sign(word: &LineWord) -> Sign {
    let before = word.before();
    let is_result = before.contains("ound ")
        || before.trim_start_matches(['✖', '✗', '×', 'X', ' ']).bytes().all(|byte| byte.is_ascii_digit());
    match word.count() {
        Some(0) if is_result => Sign::Clean,
        Some(_) if is_result => Sign::Verdict(3),
        None if word.after().starts_with(" found in") && !word.line.contains("o issues") => Sign::Verdict(3),
        _ => Sign::Nothing,
    }
}

fn no_sign(word: &LineWord) -> Sign {
    let after = word.after();
    if [" tests to run", " tests ran", " tests found", " test files", " test found", " tests collected"]
        .iter()
        .any(|end| after.starts_with(end))
    {
        return Sign::Empty;
    }
    if after.starts_with(" such file or directory") { Sign::Missing } else { Sign::Nothing }
}

fn fail_sign(word: &LineWord) -> Sign {
    let is_loud = word.text() == "FAIL";
    let before = word.before();
    match counted(word) {
        found @ (Sign::Verdict(_) | Sign::Clean) => found,
        _ if is_loud && (before.is_empty() || before == "[" || before.ends_with("---")) => Sign::Verdict(5),
        _ if is_loud && (word.after().is_empty() || before.ends_with(':')) => Sign::Verdict(4),
        _ => Sign::Nothing,
    }
}

fn failure_sign(word: &LineWord) -> Sign {
    match counted(word) {
        found @ (Sign::Verdict(_) | Sign::Clean) => found,
        _ if word.text() == "FAILURE" && word.before().ends_with("BUILD") => Sign::Verdict(3),
        _ => Sign::Nothing,
    }
}

/// Returns the `3` of `3 of 200 runs`.
fn ratio_count(before: &str) -> Option<&str> {
    let words: Vec<&str> = before.split_whitespace().rev().take(4).collect();
    let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let at = words.iter().position(|word| *word == "of").filter(|at| *at > 0)?;
    words.get(at - 1).filter(is_number)?;
    words.get(at + 1).filter(is_number).copied()
}

fn failed_sign(word: &LineWord) -> Sign {
    let (before, after) = (word.before(), word.after());
    if let Some(n) = ratio_count(before) {
        return if n == "0" { Sign::Clean } else { Sign::Verdict(3) };
    }
    match (word.count(), word.amount()) {
        (Some(0), _) | (None, Some(0)) => return Sign::Clean,
        (Some(_), _) => return Sign::Verdict(3),
        _ => {}
    }
    let ends =
        after.is_empty() || after.starts_with([':', '.', ';', ',', '!', '(']) || after.starts_with(" with");
    match word.text() {
        "FAILED" if before.is_empty() => Sign::Verdict(5),
        "FAILED" if before.ends_with("...") || before.contains("::") => Sign::Verdict(5),
        "FAILED" if ends || before.ends_with(':') || after.starts_with(" [") => Sign::Verdict(3),
        "Failed" | "failed" if before.is_empty() && (after.starts_with(" to ") || after.starts_with(':')) => {
            Sign::Maybe(4)
        }
        _ if ends && before.split_whitespace().count() <= 4 => Sign::Maybe(4),
        _ => Sign::Nothing,
    }
}

fn fatal_sign(word: &LineWord) -> Sign {
    let is_named = word.after().starts_with(':') || word.after().starts_with(" error");
    match word.start {
        0 if is_named => Sign::Failed(5),
        _ if is_named && word.after().starts_with(" error:") => Sign::Failed(5),
        _ => Sign::Nothing,
    }
}

fn error_sign(word: &LineWord) -> Sign {
    let (before, after) = (word.before(), word.after());
    if word.count().is_some_and(|count| count == 0) {
        return Sign::Nothing;
    }
    if is_position(before) {
        return Sign::Failed(6);
    }
    if before.is_empty() {
        return leading_error(word.text(), after);
    }
    match word.result_count() {
        Some(_) => Sign::Verdict(3),
        None if before.ends_with(':') && after.starts_with(':') => Sign::Maybe(4),
        None if word.text() == "ERROR" && before.starts_with('[') && before.ends_with(']') => Sign::Failed(4),
        None => Sign::Nothing,
    }
}

/// Returns whether a text ends in a position: `a.c:3:1:`, `a.ts(3,1):`, `a.ts:3:1 -`, `3:1` alone.
fn is_position(text: &str) -> bool {
    let text = text.strip_suffix([':', '-']).unwrap_or(text).trim();
    let place = text.rsplit([' ', '\t']).next().unwrap_or(text);
    let path = place.split([':', '(']).next().unwrap_or_default();
    let has_end = place.len() > path.len() && place.ends_with(|c: char| c.is_ascii_digit() || c == ')');
    let is_alone = place.len() == text.len() && path.bytes().all(|byte| byte.is_ascii_digit());
    has_end && (path.contains(['.', '/']) || is_alone)
}

/// Reads a line that starts with `error`.
fn leading_error(word: &str, after: &str) -> Sign {
    // A count or a repetition explains less than the cause.
    let repeats = [
        "could not compile",
        "test failed, to rerun",
        "aborting due to",
        "process didn't exit",
        "Command failed",
        "script ",
    ];
    let is_repeat = repeats.iter().any(|end| after.trim_start_matches([':', ' ', '"']).starts_with(end));
    match word {
        _ if is_repeat => Sign::Failed(2),
        _ if after.starts_with("[E") || after.starts_with(" TS") => Sign::Failed(6),
        "error" if after.starts_with(':') => Sign::Failed(5),
        "error" if after.starts_with('[') => Sign::Failed(5),
        _ if after.starts_with(':') || word == "ERROR" => Sign::Maybe(4 + u8::from(word != "ERROR")),
        "Error" if after.starts_with(' ') => Sign::Maybe(4),
        _ => Sign::Nothing,
    }
}

fn exit_sign(word: &LineWord) -> Sign {
    let mut after = word.after();
    for end in [" with", " code", " status", "_code", "_CODE"] {
        after = after.strip_prefix(end).unwrap_or(after);
    }
    let rest = after.trim_start_matches([':', '=', ' ']);
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_named = after.len() < word.after().len() || (word.start == 0 && after.starts_with([':', '=']));
    let code: u32 = rest[..n_digits].parse().unwrap_or(0);
    if is_named && code > 0 { Sign::Failed(1) } else { Sign::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Sign) {
        assert_eq!(words_sign(line), expected, "{line}");
    }

    #[test]
    fn failures_are_a_verdict_and_zero_failures_are_clean() {
        check("12 passed, 2 failed in 3s", Sign::Verdict(3));
        check("Tests:  1 failed, 2 passed", Sign::Verdict(3));
        check("\x1b[31m\x1b[1m3 failed\x1b[22m\x1b[39m", Sign::Verdict(3));
        check("FAILED (failures=1, errors=2)", Sign::Verdict(5));
        check("Found 3 errors.", Sign::Verdict(3));
        check("Found 2 issues", Sign::Verdict(3));
        check("12 problems (10 errors, 2 warnings)", Sign::Verdict(3));
        check("3 tests failed", Sign::Verdict(3));
        check("0 of 200 runs failed", Sign::Clean);
        check("3 of 200 runs failed", Sign::Verdict(3));
        check("12 passed, 0 failed", Sign::Clean);
        check("0 errors, 1 warning", Sign::Clean);
        check("failures: 0", Sign::Clean);
        check("0 issues.", Sign::Clean);
        check("Handled 3 errors gracefully", Sign::Nothing);
        check("epoch 1 error 0.03", Sign::Nothing);
        check("due to 3 previous errors", Sign::Verdict(3));
        check("we have 12 issues to look at", Sign::Nothing);
    }

    #[test]
    fn the_word_error_counts_after_a_position_and_as_a_heading() {
        check("src/a.ts(3,1): error TS2304: no name", Sign::Failed(6));
        check("src/a.ts:3:1 - error TS2304: no name", Sign::Failed(6));
        check("a.c:3:1: error: expected ;", Sign::Failed(6));
        check("  12:5  error  'x' is unused  no-unused", Sign::Failed(6));
        check("error[E0308]: mismatched types", Sign::Failed(6));
        check("error: could not compile `a`", Sign::Failed(2));
        check("[lint] ERROR task failed", Sign::Failed(4));
        check("2024-01-01 04:55:17,734 :: ERROR :: text", Sign::Nothing);
        check("no errors", Sign::Nothing);
        check("--on-error=stop and fail-fast", Sign::Nothing);
        check("handles_error and error_handler", Sign::Nothing);
    }

    #[test]
    fn exit_codes_in_the_output_count_unless_zero() {
        check("EXIT: 1", Sign::Failed(1));
        check("exit code: 101", Sign::Failed(1));
        check("Process completed with exit code 1", Sign::Failed(1));
        check("EXIT_CODE=2", Sign::Failed(1));
        check("exit code: 0", Sign::Nothing);
        check("exit early if 3 are left", Sign::Nothing);
    }

    #[test]
    fn a_run_without_tests_differs_from_one_without_failures() {
        check("collected 0 items / no tests ran in 0.01s", Sign::Empty);
        check("No tests found, exiting", Sign::Empty);
        check("running 0 tests", Sign::Empty);
        check("5 passed in 2s", Sign::Passed(COUNTED));
    }
}
