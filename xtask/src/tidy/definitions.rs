//! The names that a source file defines.

use super::rust::{Kind, Token};

/// The kind of a defined name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Fn,
    Mod,
    Type,
    /// A field, a variant, a constant, a parameter or a local variable.
    Other,
}

impl Class {
    /// Returns the word of `words.tsv` for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fn => "fn",
            Self::Mod => "mod",
            Self::Type => "type",
            Self::Other => "name",
        }
    }
}

/// A name at the place that defines it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'a> {
    pub(crate) class: Class,
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    pub(crate) is_test: bool,
    /// The keyword of an item, empty for others.
    pub(crate) keyword: &'a str,
    /// True if `pub` without a restriction precedes the keyword.
    pub(crate) is_public: bool,
}

const KEYWORDS: [&str; 22] = [
    "as", "async", "const", "crate", "else", "enum", "extern", "fn", "for", "if", "impl", "in", "let",
    "match", "move", "mut", "ref", "self", "static", "struct", "unsafe", "where",
];

/// Returns the names that the tokens define: bindings of match arms excepted, which no keyword
/// introduces.
pub(crate) fn definitions<'a>(tokens: &[Token<'a>]) -> Vec<Definition<'a>> {
    let code: Vec<Token<'a>> = tokens.iter().filter(|token| token.kind != Kind::Comment).copied().collect();
    let mut found = Finder { code: &code, found: Vec::new() };
    let mut depth = 0_usize;
    let mut modules = Vec::new();
    for at in 0..code.len() {
        match (code[at].kind, code[at].text) {
            (Kind::Mark, "{") => {
                depth += 1;
                let is_module = at >= 2 && code[at - 2].is("mod");
                modules.extend(is_module.then_some(depth));
            }
            (Kind::Mark, "}") => {
                modules.pop_if(|module| *module == depth);
                depth = depth.saturating_sub(1);
            }
            (Kind::Mark, "|") => found.closure(at),
            (Kind::Word, "type") if depth > modules.len() => {}
            (Kind::Word, keyword) => found.item(keyword, at),
            _ => {}
        }
    }
    found.found.dedup_by_key(|it| (it.name, it.line));
    found.found
}

struct Finder<'a, 'c> {
    code: &'c [Token<'a>],
    found: Vec<Definition<'a>>,
}

impl Finder<'_, '_> {
    fn item(&mut self, keyword: &str, at: usize) {
        match keyword {
            "fn" => {
                self.named(Class::Fn, at);
                self.fields(at, "(");
            }
            "mod" => self.named(Class::Mod, at),
            "trait" | "type" | "union" => self.named(Class::Type, at),
            "struct" => {
                self.named(Class::Type, at);
                self.fields(at, "{");
            }
            "enum" => {
                self.named(Class::Type, at);
                self.variants(at);
            }
            "const" | "static" => self.named(Class::Other, at),
            "let" => self.pattern(at, &["=", ";", ":"]),
            "for" => self.pattern(at, &["in"]),
            _ => {}
        }
    }

    fn push(&mut self, class: Class, at: usize) {
        let Token { text: name, line, is_test, .. } = self.code[at];
        self.found.push(Definition { class, name, line, is_test, keyword: "", is_public: false });
    }

    /// Adds the name behind a keyword.
    fn named(&mut self, class: Class, at: usize) {
        let is_name = |token: &Token<'_>| token.kind == Kind::Word && !KEYWORDS.contains(&token.text);
        if self.code.get(at + 1).is_some_and(is_name) {
            let mut before = self.code[..at].iter().rev();
            let is_public = before
                .find(|token| !matches!(token.text, "const" | "async" | "unsafe" | "extern"))
                .is_some_and(|token| token.is("pub"));
            self.push(class, at + 1);
            if let Some(definition) = self.found.last_mut() {
                definition.keyword = self.code[at].text;
                definition.is_public = is_public;
            }
        }
    }

    /// Returns the index of the opening bracket of an item, none where it has no such body.
    fn opening(&self, at: usize, bracket: &str) -> Option<usize> {
        let head = self.code.iter().enumerate().skip(at);
        let mut ends = head.filter(|(_, token)| token.is(bracket) || token.is("{") || token.is(";"));
        ends.next().filter(|(_, token)| token.is(bracket)).map(|(at, _)| at)
    }

    /// Adds the names that a single colon follows: fields of a struct, parameters of a function.
    fn fields(&mut self, at: usize, bracket: &str) {
        let Some(start) = self.opening(at, bracket) else { return };
        let mut depth = 0;
        for at in start..self.code.len() {
            depth += nesting(&self.code[at]);
            if depth == 0 {
                break;
            }
            let is_param = depth == 1 || bracket == "{";
            if is_param && self.has_colon(at) {
                self.push(Class::Other, at);
            }
        }
    }

    fn variants(&mut self, at: usize) {
        let Some(start) = self.opening(at, "{") else { return };
        let mut depth = 0;
        for at in start..self.code.len() {
            depth += nesting(&self.code[at]);
            if depth == 0 {
                break;
            }
            let is_first = at > 0 && matches!(self.code[at - 1].text, "{" | "," | "]");
            let is_variant = depth == 1 && is_first && self.code[at].kind == Kind::Word;
            if is_variant || self.has_colon(at) {
                self.push(Class::Other, at);
            }
        }
    }

    /// Returns whether one colon, not two, follows a name that no path precedes.
    fn has_colon(&self, at: usize) -> bool {
        let is =
            |at: Option<usize>, mark| at.and_then(|at| self.code.get(at)).is_some_and(|token| token.is(mark));
        self.code[at].kind == Kind::Word
            && is(Some(at + 1), ":")
            && !is(Some(at + 2), ":")
            && !is(at.checked_sub(1), ":")
    }

    /// Adds the variables of a pattern, up to one of the ends.
    fn pattern(&mut self, start: usize, ends: &[&str]) {
        let mut names = Vec::new();
        for at in start + 1..self.code.len() {
            let token = self.code[at];
            if ends.iter().any(|end| token.is(end)) {
                for at in names {
                    self.push(Class::Other, at);
                }
                return;
            }
            // It is the `for` of an impl or of a lifetime.
            if token.is(";") || (token.is("{") && ends == ["in"]) {
                return;
            }
            names.extend(self.is_variable(at).then_some(at));
        }
    }

    fn closure(&mut self, start: usize) {
        let before = start.checked_sub(1).map(|at| self.code[at].text);
        if !matches!(before, Some("(" | "," | "=" | "{" | ";" | ">" | "move" | "return")) {
            return;
        }
        let end = (start + 1..self.code.len()).find(|at| self.code[*at].is("|"));
        for at in start + 1..end.unwrap_or(start) {
            if self.is_variable(at) {
                self.push(Class::Other, at);
            }
        }
    }

    fn is_variable(&self, at: usize) -> bool {
        let token = self.code[at];
        token.kind == Kind::Word
            && token.text.starts_with(|c: char| c.is_lowercase())
            && !KEYWORDS.contains(&token.text)
            && !self.code.get(at + 1).is_some_and(|next| matches!(next.text, "(" | "{" | "!"))
            && !self.code[at - 1].is(":")
    }
}

fn nesting(token: &Token<'_>) -> i32 {
    match (token.kind, token.text) {
        (Kind::Mark, "{" | "(" | "[") => 1,
        (Kind::Mark, "}" | ")" | "]") => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust::tokens;

    fn names(text: &str) -> Vec<(&'static str, String)> {
        let tokens = tokens(text);
        definitions(&tokens).iter().map(|it| (it.class.as_str(), it.name.to_owned())).collect()
    }

    fn check(text: &str, wanted: &[(&str, &str)]) {
        let found = names(text);
        let found: Vec<_> = found.iter().map(|(class, name)| (*class, name.as_str())).collect();
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn items_are_found_with_their_fields_and_variants() {
        check(
            "pub struct A<T: B> { #[c] pub d: E, f: g::H }",
            &[("type", "A"), ("name", "d"), ("name", "f")],
        );
        check(
            "enum A { B, #[c] D(E), F { g: H } }",
            &[("type", "A"), ("name", "B"), ("name", "D"), ("name", "F"), ("name", "g")],
        );
        check("pub(crate) mod a; const B: u8 = c::D;", &[("mod", "a"), ("name", "B")]);
    }

    #[test]
    fn parameters_and_variables_are_found_and_uses_are_not() {
        check(
            "const fn a(&self, mut b: C, d: impl Fn(e) -> F) { g.h(I { j: k }); let (l, Some(m)) = n; for o in p {} q.map(|r| s) }",
            &[
                ("fn", "a"),
                ("name", "b"),
                ("name", "d"),
                ("name", "l"),
                ("name", "m"),
                ("name", "o"),
                ("name", "r"),
            ],
        );
    }

    #[test]
    fn an_associated_type_is_no_type_of_its_crate() {
        check(
            "impl A for B { type C = D; fn e() {} }\nmod f { type G = H; }\ntype I = J;",
            &[("fn", "e"), ("mod", "f"), ("type", "G"), ("type", "I")],
        );
    }

    #[test]
    fn what_is_public_is_known_behind_const_and_async() {
        let tokens = tokens("pub const fn a() {}\npub(crate) fn b() {}\nfn c() {}");
        let public: Vec<_> = definitions(&tokens).iter().map(|it| it.is_public).collect();
        assert_eq!(public, [true, false, false]);
    }
}
