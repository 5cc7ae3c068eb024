//! Rust source as a list of tokens, enough for rules about comments, strings and names.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or a keyword.
    Word,
    /// A string literal of any sort.
    Text,
    /// A character, a number or a lifetime.
    Literal,
    /// One character of punctuation.
    Mark,
    /// A comment, documentation included.
    Comment,
}

/// A token of a source file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The number of the line that it starts on.
    pub(crate) line: usize,
    /// True if it is part of an item under `#[cfg(test)]`.
    pub(crate) is_test: bool,
}

impl Token<'_> {
    /// Returns whether it is this word or mark.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text == text
    }
}

/// Splits a source file into tokens.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    while let Some(token) = scanner.token() {
        tokens.push(token);
    }
    mark_tests(&mut tokens);
    tokens
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Scanner<'a> {
    fn token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let (start, line) = (self.at, self.line);
        let kind = match *self.bytes.get(start)? {
            b'/' if self.rest().starts_with("//") => self.line_comment(),
            b'/' if self.rest().starts_with("/*") => self.block_comment(),
            b'"' => self.string(),
            b'\'' => self.quote(),
            b'r' | b'b' | b'c' if self.has_raw_string() => self.raw_string(),
            b'b' | b'c' if self.bytes.get(start + 1) == Some(&b'"') => {
                self.at += 1;
                self.string()
            }
            byte if is_word(byte) => self.word(byte),
            _ => {
                self.at += 1;
                Kind::Mark
            }
        };
        let text = &self.text[start..self.at];
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
        Some(Token { kind, text, line, is_test: false })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).filter(|byte| byte.is_ascii_whitespace()) {
            self.line += usize::from(*byte == b'\n');
            self.at += 1;
        }
    }

    /// Moves behind the next occurrence of the text, or to the end.
    fn skip_past(&mut self, end: &str) {
        self.at = self.rest().find(end).map_or(self.text.len(), |at| self.at + at + end.len());
    }

    fn line_comment(&mut self) -> Kind {
        self.at = self.rest().find('\n').map_or(self.text.len(), |at| self.at + at);
        Kind::Comment
    }

    fn block_comment(&mut self) -> Kind {
        let mut depth = 0;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                break;
            }
            depth += i32::from(rest.starts_with("/*")) - i32::from(rest.starts_with("*/"));
            let is_mark = rest.starts_with("/*") || rest.starts_with("*/");
            self.at += if is_mark { 2 } else { rest.chars().next().map_or(1, char::len_utf8) };
            if depth == 0 {
                break;
            }
        }
        Kind::Comment
    }

    fn string(&mut self) -> Kind {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(self.text.len());
        Kind::Text
    }

    /// Reads a character or a lifetime.
    fn quote(&mut self) -> Kind {
        let mut chars = self.rest()[1..].chars();
        let first = chars.next();
        if first == Some('\\') {
            self.at += 3;
            self.skip_past("'");
        } else if chars.next() == Some('\'') {
            self.at += 2 + first.map_or(0, char::len_utf8);
        } else {
            self.at += 1;
            self.skip_word();
        }
        Kind::Literal
    }

    fn has_raw_string(&self) -> bool {
        let rest = self.rest().trim_start_matches(['b', 'c']);
        self.rest().len() - rest.len() <= 1
            && rest.strip_prefix('r').is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    }

    fn raw_string(&mut self) -> Kind {
        let opening = self.rest().find('"').unwrap_or_default();
        let n_hashes = self.rest()[..opening].matches('#').count();
        self.at += opening + 1;
        self.skip_past(&format!("\"{}", "#".repeat(n_hashes)));
        Kind::Text
    }

    fn word(&mut self, first: u8) -> Kind {
        self.skip_word();
        if !first.is_ascii_digit() {
            return Kind::Word;
        }
        let is_fraction = self.bytes.get(self.at) == Some(&b'.')
            && self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit);
        if is_fraction {
            self.at += 1;
            self.skip_word();
        }
        Kind::Literal
    }

    fn skip_word(&mut self) {
        while self.bytes.get(self.at).copied().is_some_and(is_word) {
            self.at += 1;
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Marks the items under `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn mark_tests(tokens: &mut [Token<'_>]) {
    let mut at = 0;
    while at < tokens.len() {
        let end = if is_test_attribute(&tokens[at..]) { item_end(tokens, at) } else { at };
        tokens[at..end].iter_mut().for_each(|token| token.is_test = true);
        at = end.max(at + 1);
    }
}

fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let code = tokens.iter().filter(|token| token.kind != Kind::Comment);
    let start = code.clone().take(3);
    if !start.map(|token| token.text).eq(["#", "[", "cfg"]) {
        return false;
    }
    let condition: Vec<_> = code.skip(3).take_while(|token| !token.is("]")).collect();
    condition.iter().any(|token| token.is("test")) && !condition.iter().any(|token| token.is("not"))
}

/// Returns the index behind the item whose attribute starts here.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match (token.kind, token.text) {
            (Kind::Mark, "{" | "(" | "[") => depth += 1,
            (Kind::Mark, "}" | ")" | "]") => {
                depth -= 1;
                // A field or a variant ends with the braces around it.
                if depth < 0 {
                    return at;
                }
                if depth == 0 && token.text == "}" {
                    return at + 1;
                }
            }
            (Kind::Mark, ";" | ",") if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Returns the words that an identifier consists of, in lower case.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let is_start = c == '_' || (c.is_uppercase() && was_lower);
        if is_start && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        tokens(text).iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn comments_strings_and_characters_are_one_token_each() {
        let text = r##"a("x\"//y", r#"b"c"#, 'd', '\'', b"e", &'f g) /* h /* i */ */ // j"##;
        let found: Vec<_> = kinds(text).into_iter().filter(|(kind, _)| *kind != Kind::Mark).collect();
        let wanted = [
            (Kind::Word, "a"),
            (Kind::Text, r#""x\"//y""#),
            (Kind::Text, r##"r#"b"c"#"##),
            (Kind::Literal, "'d'"),
            (Kind::Literal, r"'\''"),
            (Kind::Text, "b\"e\""),
            (Kind::Literal, "'f"),
            (Kind::Word, "g"),
            (Kind::Comment, "/* h /* i */ */"),
            (Kind::Comment, "// j"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn numbers_and_ranges_are_no_words() {
        let words = kinds("0..n + 1.5e3 + 0xff_u8").into_iter().filter(|(kind, _)| *kind == Kind::Word);
        assert_eq!(words.collect::<Vec<_>>(), [(Kind::Word, "n")]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let tokens = tokens("a\n\"b\n\"\n/* c\n*/ d");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 2, 4, 5]);
    }

    #[test]
    fn items_under_cfg_test_are_marked_and_those_after_them_are_not() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}\n#[cfg(not(test))]\nfn d() {}\n\
                    #[cfg(all(test, unix))]\nuse e;\nfn f() {}";
        let tokens = tokens(text);
        let is_name = |token: &&Token<'_>| token.kind == Kind::Word && token.text.len() == 1;
        let marked: String =
            tokens.iter().filter(|token| token.is_test).filter(is_name).map(|t| t.text).collect();
        let plain: String =
            tokens.iter().filter(|token| !token.is_test).filter(is_name).map(|t| t.text).collect();
        assert_eq!((marked.as_str(), plain.as_str()), ("be", "acdf"));
    }

    #[test]
    fn a_name_is_split_at_underscores_and_capitals() {
        assert_eq!(parts("of_told_XML"), ["of", "told", "xml"]);
        assert_eq!(parts("AsItStands"), ["as", "it", "stands"]);
    }
}
