//! A lexer that splits a shell command into simple commands with words, redirections and heredocs.
//!
//! Nothing is expanded; a word that the shell would expand is marked.

use std::borrow::Cow;

use wb_message::text::head;

use super::brackets::{after_bracket, heredoc};

/// The longest arithmetic expression, in bytes.
const ARITHMETIC_BYTES: usize = 512;

/// A word of a command.
#[derive(Clone, Debug, Default)]
pub struct Word<'a> {
    /// The text without quotes and escapes.
    pub text: Cow<'a, str>,
    /// The word as written.
    pub raw: &'a str,
    /// The word has no variable, glob, brace or substitution.
    pub is_fixed: bool,
}

/// The separator between a simple command and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// A semicolon, a line end, an ampersand, a bracket, or the start.
    Next,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
    /// After `|`.
    Pipe,
}

/// A redirection of output to a file.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    /// The file.
    pub file: Word<'a>,
    /// The output is appended to the file.
    pub appends: bool,
}

/// One simple command.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The joint before it.
    pub(crate) before: Joint,
    /// The words, the program first.
    pub words: Vec<Word<'a>>,
    /// The files to which its output is redirected.
    pub(crate) targets: Vec<Target<'a>>,
    /// The text of its heredoc.
    pub body: Option<&'a str>,
    /// The number of subshells around it.
    pub depth: usize,
}

impl Step<'_> {
    fn new(before: Joint, depth: usize) -> Self {
        Self { before, words: Vec::new(), targets: Vec::new(), body: None, depth }
    }
}

/// Returns the simple commands of a command line or script.
pub(crate) fn steps(command: &str) -> Vec<Step<'_>> {
    let mut lexer = Lexer {
        text: command,
        at: 0,
        steps: Vec::new(),
        step: Step::new(Joint::Next, 0),
        awaited: Vec::new(),
        cases: Vec::new(),
        is_in_test: false,
    };
    while lexer.take() {}
    lexer.end_step(Joint::Next);
    lexer.steps
}

/// Returns whether a word may precede the program of a step.
fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time")
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    steps: Vec<Step<'a>>,
    step: Step<'a>,
    /// Heredocs whose bodies start after the line, and their steps.
    awaited: Vec<(usize, Cow<'a, str>)>,
    /// The depth of each open `case`, whose patterns end in a bracket.
    cases: Vec<usize>,
    /// The position is inside `[[ … ]]`, where no sign joins or redirects.
    is_in_test: bool,
}

impl<'a> Lexer<'a> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts_with(&self, sign: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(sign.as_bytes())
    }

    /// Skips a sign if it comes next.
    fn eat(&mut self, sign: &str) -> bool {
        let is_next = self.starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Consumes the next sign or word; returns whether there was one.
    fn take(&mut self) -> bool {
        while matches!(self.byte(0), b' ' | b'\t' | b'\r') || self.starts_with("\\\n") {
            self.at += 1 + usize::from(self.byte(0) == b'\\');
        }
        match self.byte(0) {
            0 if self.at >= self.text.len() => return false,
            b'\n' => self.end_line(),
            b'#' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
            b'<' | b'>' | b'&' | b'|' | b'(' | b')' if self.is_in_test => self.at += 1,
            b'(' if self.byte(1) == b'(' && self.take_arithmetic() => {}
            b'(' if self.take_function() => {}
            b'&' if self.byte(1) == b'>' => {
                self.at += 1;
                self.redirect_output();
            }
            b';' | b'&' | b'|' | b'(' | b')' => self.take_joint(),
            b'>' => self.redirect_output(),
            b'<' => self.redirect_input(),
            _ => self.take_word(),
        }
        true
    }

    /// Consumes `((…))` as a word.
    fn take_arithmetic(&mut self) -> bool {
        let is_first = self.step.words.iter().all(|word| word.raw == "for" || is_keyword(word.raw));
        let near = if is_first { head(&self.text[self.at..], ARITHMETIC_BYTES) } else { "" };
        let raw = &near[..after_bracket(near, 0, 0)];
        let is_one = raw.ends_with("))");
        if is_one {
            self.at += raw.len();
            self.step.words.push(Word { text: Cow::Borrowed(raw), raw, is_fixed: false });
        }
        is_one
    }

    /// Consumes the brackets of `name()`, and inserts the word `function`.
    fn take_function(&mut self) -> bool {
        let rest = self.text[self.at + 1..].trim_start_matches([' ', '\t']);
        let is_name = |words: &[Word]| matches!(words, [name] if !name.raw.ends_with('='));
        let is_function = rest.starts_with(')') && is_name(&self.step.words);
        if is_function {
            self.at = self.text.len() - rest.len() + 1;
            let word = Word { text: Cow::Borrowed("function"), raw: "function", is_fixed: true };
            self.step.words.insert(0, word);
        }
        is_function
    }

    fn take_joint(&mut self) {
        let first = self.byte(0);
        let joint = if self.eat("&&") {
            Joint::And
        } else if self.eat("||") {
            Joint::Or
        } else if self.eat("|&") || self.eat("|") {
            Joint::Pipe
        } else {
            self.at += 1;
            Joint::Next
        };
        // A bracket keeps the joint before it: `a && (b)`.
        let keeps = first == b'(' && self.step.words.is_empty();
        let joint = if keeps { self.step.before } else { joint };
        self.end_step(joint);
        match first {
            b'(' => self.step.depth += 1,
            b')' if self.cases.last() == Some(&self.step.depth) => {}
            b')' => self.step.depth = self.step.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn end_step(&mut self, before: Joint) {
        self.is_in_test = false;
        let depth = self.step.depth;
        let has_body = self.awaited.last().is_some_and(|(step, _)| *step == self.steps.len());
        if self.step.words.is_empty() && self.step.targets.is_empty() && !has_body {
            // The stronger of two adjacent joints wins: a line may end after `&&`.
            if before != Joint::Next || self.text.as_bytes().get(self.at.wrapping_sub(1)) != Some(&b'\n') {
                self.step.before = before;
            }
            return;
        }
        match self.step.words.iter().map(|word| word.raw).find(|word| !is_keyword(word)) {
            Some("case") => self.cases.push(depth),
            Some("esac") => _ = self.cases.pop(),
            _ => {}
        }
        self.steps.push(std::mem::replace(&mut self.step, Step::new(before, depth)));
    }

    fn end_line(&mut self) {
        self.at += 1;
        self.end_step(Joint::Next);
        for (step, end) in std::mem::take(&mut self.awaited) {
            let (body, rest) = heredoc(&self.text[self.at..], &end);
            self.at = self.text.len() - rest.len();
            if let Some(step) = self.steps.get_mut(step) {
                step.body = Some(body);
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(0), b' ' | b'\t') {
            self.at += 1;
        }
    }

    fn redirect_output(&mut self) {
        self.at += 1;
        let appends = self.eat(">");
        let is_copy = self.eat("&");
        if self.byte(0) == b'(' {
            return;
        }
        self.eat("|");
        self.skip_blanks();
        let file = self.word();
        let is_stream = is_copy && file.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_stream && !file.raw.is_empty() {
            self.step.targets.push(Target { file, appends });
        }
    }

    fn redirect_input(&mut self) {
        self.at += 1;
        if self.byte(0) == b'(' {
            return;
        }
        let is_heredoc = self.starts_with("<") && !self.starts_with("<<");
        while matches!(self.byte(0), b'<' | b'>' | b'&') {
            self.at += 1;
        }
        if is_heredoc {
            self.eat("-");
        }
        self.skip_blanks();
        let word = self.word();
        if is_heredoc && !word.raw.is_empty() {
            self.awaited.push((self.steps.len(), word.text));
        }
    }

    fn take_word(&mut self) {
        let word = self.word();
        let is_stream = matches!(self.byte(0), b'<' | b'>')
            && !word.raw.is_empty()
            && word.raw.bytes().all(|byte| byte.is_ascii_digit());
        if word.raw.is_empty() {
            // Neither a known sign nor a word: skip it.
            self.at += self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        } else if !is_stream {
            match word.raw {
                "[[" => self.is_in_test = self.step.words.iter().all(|word| is_keyword(word.raw)),
                "]]" => self.is_in_test = false,
                _ => {}
            }
            self.step.words.push(word);
        }
    }

    /// Reads a word, which ends at a blank or a sign.
    fn word(&mut self) -> Word<'a> {
        let start = self.at;
        let mut word = Word { text: Cow::Borrowed(""), raw: "", is_fixed: true };
        while self.at < self.text.len() {
            match self.byte(0) {
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' => self.single_quoted(&mut word),
                b'"' => self.double_quoted(&mut word),
                b'\\' => self.escaped(&mut word),
                b'$' | b'`' => self.expansion(&mut word),
                _ => self.plain(&mut word),
            }
        }
        word.raw = &self.text[start..self.at];
        word
    }

    fn add(&self, word: &mut Word<'a>, from: usize, to: usize) {
        let part = &self.text[from..to];
        if word.text.is_empty() {
            word.text = Cow::Borrowed(part);
        } else {
            word.text.to_mut().push_str(part);
        }
    }

    fn plain(&mut self, word: &mut Word<'a>) {
        let start = self.at;
        while self.at < self.text.len() {
            match self.byte(0) {
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'\''
                | b'"' | b'\\' | b'$' | b'`' => break,
                b'*' | b'?' | b'[' | b'{' => word.is_fixed = false,
                _ => {}
            }
            self.at += 1;
        }
        self.add(word, start, self.at);
    }

    fn single_quoted(&mut self, word: &mut Word<'a>) {
        let start = self.at + 1;
        let end = self.text[start..].find('\'').map_or(self.text.len(), |end| start + end);
        self.add(word, start, end);
        self.at = (end + 1).min(self.text.len());
    }

    fn double_quoted(&mut self, word: &mut Word<'a>) {
        self.at += 1;
        let mut start = self.at;
        while self.at < self.text.len() && self.byte(0) != b'"' {
            match self.byte(0) {
                b'\\' if matches!(self.byte(1), b'"' | b'\\' | b'$' | b'`' | b'\n') => {
                    self.add(word, start, self.at);
                    start = self.at + 1;
                    self.at += 2;
                }
                // Inside double quotes a dollar before a quote is literal.
                b'$' if self.byte(1) == b'\'' => self.at += 1,
                b'$' | b'`' => {
                    self.add(word, start, self.at);
                    self.expansion(word);
                    start = self.at;
                }
                _ => self.at += 1,
            }
        }
        self.add(word, start, self.at);
        self.at = (self.at + 1).min(self.text.len());
    }

    fn escaped(&mut self, word: &mut Word<'a>) {
        let start = self.at + 1;
        let n_bytes = self.text[start..].chars().next().map_or(0, char::len_utf8);
        if !self.text[start..].starts_with('\n') {
            self.add(word, start, start + n_bytes);
        }
        self.at = start + n_bytes;
    }

    /// Consumes a text that the shell would expand, verbatim.
    fn expansion(&mut self, word: &mut Word<'a>) {
        let start = self.at;
        self.at += 1;
        match self.byte(0) {
            _ if self.text.as_bytes()[start] == b'`' => {
                self.at += self.text[self.at..].find('`').map_or(self.text.len() - self.at, |end| end + 1);
            }
            b'\'' if self.text.as_bytes()[start] == b'$' => return self.single_quoted(word),
            b'(' => self.at = after_bracket(self.text, self.at, 0),
            b'{' => {
                self.at += self.text[self.at..].find('}').map_or(self.text.len() - self.at, |end| end + 1);
            }
            // A lone dollar is literal, as at the end of a pattern.
            byte if !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'@' | b'*' | b'#' | b'?') => {
                return self.add(word, start, self.at);
            }
            _ => {}
        }
        word.is_fixed = false;
        self.add(word, start, self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: &str) {
        let describe = |step: &Step| {
            let words: Vec<_> = step.words.iter().map(|word| word.text.as_ref()).collect();
            let targets = step.targets.iter().map(|target| format!(">{}", target.file.text));
            let body = step.body.map(|body| format!("<{}", body.trim_end()));
            format!("{:?}@{}:{}", step.before, step.depth, words.join("_"))
                + &targets.chain(body).collect::<String>()
        };
        let found: Vec<_> = steps(command).iter().map(describe).collect();
        assert_eq!(found.join(" "), expected, "{command}");
    }

    #[test]
    fn commands_are_split_at_joints_and_brackets() {
        check("a b && c || d; e | f & g", "Next@0:a_b And@0:c Or@0:d Next@0:e Pipe@0:f Next@0:g");
        check("a &&\n b\n\n# c; d\ne", "Next@0:a And@0:b Next@0:e");
        check("a && (b; c) | d", "Next@0:a And@1:b Next@1:c Pipe@0:d");
        check("a \\\n  b", "Next@0:a_b");
        check("", "");
    }

    #[test]
    fn quotes_keep_words_together() {
        check(r#"a 'b; c' "d && $(e "f)") g" h\ i"#, r#"Next@0:a_b; c_d && $(e "f)") g_h i"#);
        check(r"grep -E '^a|b$' f | wc", "Next@0:grep_-E_^a|b$_f Pipe@0:wc");
        check(r#"echo "a\"b" 'it'\''s' x$"#, r#"Next@0:echo_a"b_it's_x$"#);
        check("a 'never closed", "Next@0:a_never closed");
        check("a \"$(never closed", "Next@0:a_$(never closed");
    }

    #[test]
    fn redirections_name_files_and_streams_do_not() {
        check("a >b 2>&1 >> c 2> d &> e < f", "Next@0:a>b>c>d>e");
        check("a 2>&1 >&2 | b <<< 'c d'", "Next@0:a Pipe@0:b");
        check("diff <(a) <(b) > c", "Next@0:diff Next@1:a Next@1:b Next@0:>c");
    }

    #[test]
    fn the_body_of_a_heredoc_is_not_a_command() {
        check("cat > a <<'EOF'\nrm -rf b\nEOF\nc", "Next@0:cat>a<rm -rf b Next@0:c");
        check("cat <<-X | d && e\n\tf\n\tX\ng", "Next@0:cat<\tf Pipe@0:d And@0:e Next@0:g");
        check("cat <<A\nnever closed", "Next@0:cat<never closed");
        check("git commit -m \"$(cat <<'EOF'\nDon't ) do\nEOF\n)\" && b", {
            "Next@0:git_commit_-m_$(cat <<'EOF'\nDon't ) do\nEOF\n) And@0:b"
        });
    }

    #[test]
    fn a_word_that_the_shell_would_expand_is_not_fixed() {
        for (word, is_fixed) in
            [("a.rs", true), ("'*'", true), ("*.rs", false), ("$A/b", false), ("a{b,c}", false), ("x$", true)]
        {
            assert_eq!(steps(word)[0].words[0].is_fixed, is_fixed, "{word}");
        }
    }
}
