//! The parser of scripts: words, before they become messages.

/// A word of a script: one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    /// The letter of the message's kind.
    pub(crate) head: char,
    /// The text of its body.
    pub(crate) text: Option<String>,
    /// The size of its body in tokens.
    pub(crate) n_tokens: Option<usize>,
    /// The call id of a result, or the entry of a branch.
    pub(crate) id: Option<String>,
    /// The argument in parentheses.
    pub(crate) arg: Option<String>,
    /// One of `!`, `?` and `_`.
    pub(crate) flag: Option<char>,
    /// The tool of an orphan.
    pub(crate) tool: Option<String>,
    /// The assistant's calls.
    pub(crate) calls: Vec<Call>,
}

/// A call of an assistant's word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) name: String,
    /// The call's id, if the script gives one.
    pub(crate) id: Option<String>,
    /// The argument in parentheses.
    pub(crate) arg: Option<String>,
    /// The size of the call's argument in tokens.
    pub(crate) n_tokens: Option<usize>,
}

/// The letters and their marks.
const HEADS: [(char, &str); 10] = [
    ('u', "*\""),
    ('a', "*\"?:"),
    ('t', "*\"!?_#:"),
    ('n', "*\"!_#:"),
    ('b', "*\"!("),
    ('d', "*\""),
    ('r', "*\"("),
    ('k', "*\"#"),
    ('s', "*\""),
    ('c', "*\""),
];

/// Parses a script into words, with groups expanded.
///
/// # Panics
/// Panics with the place and the reason if the script is bad.
pub(crate) fn parse(script: &str) -> Vec<Word> {
    let mut parser = Parser { script, at: 0 };
    let words = parser.words();
    if parser.peek().is_some() {
        parser.fail("`]` closes nothing");
    }
    words
}

struct Parser<'a> {
    script: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn fail(&self, why: &str) -> ! {
        let column = self.script[..self.at].chars().count();
        panic!("bad script: {why}\n  {}\n  {}^", self.script.replace('\n', " "), " ".repeat(column));
    }

    fn peek(&self) -> Option<char> {
        self.script[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Reads words up to the end of the script or of the group.
    fn words(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.take_while(char::is_whitespace);
            match self.peek() {
                None | Some(']') => return words,
                Some('[') => words.extend(self.group()),
                Some(_) => words.push(self.word()),
            }
        }
    }

    fn group(&mut self) -> Vec<Word> {
        self.take();
        let words = self.words();
        if !self.take_if(']') {
            self.fail("the group is not closed by `]`");
        }
        if !self.take_if('x') {
            self.fail("a group wants a count, as in `[a:read t]x20`");
        }
        let n_times = self.number();
        (0..n_times).flat_map(|_| words.iter().cloned()).collect()
    }

    fn word(&mut self) -> Word {
        let start = self.at;
        let head = self.take().unwrap_or_default();
        let Some((_, marks)) = HEADS.iter().find(|(known, _)| *known == head) else {
            self.at = start;
            self.fail(&format!("no message is written `{head}`"));
        };
        let mut word = Word { head, ..Word::default() };
        while let Some(mark) = self.peek().filter(|c| !c.is_whitespace() && *c != ']') {
            if !marks.contains(mark) {
                self.fail(&format!("`{mark}` does not go with `{head}`, which takes {marks}"));
            }
            self.take();
            self.mark(&mut word, mark);
        }
        word
    }

    fn mark(&mut self, word: &mut Word, mark: char) {
        match mark {
            '*' => word.n_tokens = Some(self.number()),
            '"' => word.text = Some(self.quoted()),
            '(' => word.arg = Some(self.in_parentheses()),
            '#' => word.id = Some(self.name("an id")),
            ':' if word.head == 'a' => word.calls = self.calls(),
            ':' => word.tool = Some(self.name("a tool's name")),
            flag => word.flag = Some(flag),
        }
    }

    fn calls(&mut self) -> Vec<Call> {
        let mut calls = vec![self.call()];
        while self.take_if(',') {
            calls.push(self.call());
        }
        calls
    }

    fn call(&mut self) -> Call {
        let mut call = Call { name: self.name("a tool's name"), ..Call::default() };
        loop {
            if self.take_if('#') {
                call.id = Some(self.name("an id"));
            } else if self.take_if('(') {
                call.arg = Some(self.in_parentheses());
            } else if self.take_if('*') {
                call.n_tokens = Some(self.number());
            } else {
                return call;
            }
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &str {
        let rest = &self.script[self.at..];
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn number(&mut self) -> usize {
        match self.take_while(|c| c.is_ascii_digit()).parse() {
            Ok(number) => number,
            Err(_) => self.fail("a number is missing"),
        }
    }

    fn name(&mut self, what: &str) -> String {
        let name = self.take_while(|c| c.is_alphanumeric() || "_-.|".contains(c)).to_owned();
        if name.is_empty() {
            self.fail(&format!("{what} is missing"));
        }
        name
    }

    fn quoted(&mut self) -> String {
        let text = self.take_while(|c| c != '"').to_owned();
        if !self.take_if('"') {
            self.fail("the text is not closed by `\"`");
        }
        text
    }

    fn in_parentheses(&mut self) -> String {
        let start = self.at;
        let mut depth = 1;
        while let Some(c) = self.take() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 {
                return self.script[start..self.at - 1].to_owned();
            }
        }
        self.fail("the argument is not closed by `)`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(script: &str) -> String {
        let caught = std::panic::catch_unwind(|| parse(script)).expect_err("the script is bad");
        caught.downcast_ref::<String>().expect("a formatted panic").clone()
    }

    #[test]
    fn a_bad_script_is_refused_with_the_place() {
        assert_eq!(complaint("u a t* a"), "bad script: a number is missing\n  u a t* a\n        ^");
        assert!(complaint("u z").contains("no message is written `z`\n  u z\n    ^"));
        assert!(complaint("u!").contains("`!` does not go with `u`"));
        assert!(complaint("a:").contains("a tool's name is missing"));
        assert!(complaint("a:read,").contains("a tool's name is missing"));
        assert!(complaint("[u a").contains("not closed by `]`"));
        assert!(complaint("u ]").contains("`]` closes nothing"));
        assert!(complaint("[u a]").contains("a group wants a count"));
        assert!(complaint("u\"never ending").contains("not closed by `\"`"));
        assert!(complaint("b(make").contains("not closed by `)`"));
        assert!(complaint("a:read#").contains("an id is missing"));
    }

    #[test]
    fn groups_nest_and_arguments_may_hold_parentheses() {
        assert_eq!(parse("[u [a]x2]x3").len(), 9);
        assert_eq!(parse("b(echo (a b))")[0].arg.as_deref(), Some("echo (a b)"));
    }
}
