//! Names in a text that a later step may need: paths, files, identifiers, URLs, hashes.
//!
//! The rules are separate from those of the digest on purpose: a measure that shared them would not
//! see what they miss.

use std::iter::FusedIterator;

/// Extensions that identify a file name without a folder.
const ENDINGS: [&str; 15] =
    ["ts", "tsx", "js", "json", "md", "py", "rs", "go", "sh", "yml", "yaml", "toml", "css", "html", "jsonl"];
/// Punctuation around a name.
const AROUND: [char; 13] = ['.', ',', ':', ';', '(', ')', '[', ']', '{', '}', '"', '\'', '`'];
/// The minimum length of a name.
const MIN_CHARS: usize = 5;

/// Returns the names of at least five characters in a text, in order and with repetitions.
///
/// A name is the longest match of the first of these: a path with a slash, a file with a usual
/// extension, an identifier with an inner capital, one with an underscore, a URL, 7 to 40
/// hexadecimal digits.
///
/// ```
/// let text = "see `src/lib.rs`, parseHeader() and 0a1b2c3.";
/// let found: Vec<_> = wb_replay::entities(text).collect();
/// assert_eq!(found, ["src/lib.rs", "parseHeader", "0a1b2c3"]);
/// ```
pub fn entities(text: &str) -> impl FusedIterator<Item = &str> {
    let names = Scan { text, at: 0, before: None, path_end: 0, dashed_end: 0 };
    names.map(|name| name.trim_matches(AROUND)).filter(|name| name.chars().nth(MIN_CHARS - 1).is_some())
}

/// An iterator over names that scans each run of characters once.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    before: Option<char>,
    /// The end of the last run of path characters.
    path_end: usize,
    /// The end of the last run of word characters and dashes.
    dashed_end: usize,
}

impl<'a> Iterator for Scan<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        while let Some(c) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            if let Some(end) = self.end_of_name(c) {
                let name = &self.text[self.at..end];
                (self.at, self.before) = (end, name.chars().next_back());
                return Some(name);
            }
            self.before = Some(c);
            self.at += c.len_utf8();
        }
        None
    }
}

impl FusedIterator for Scan<'_> {}

impl Scan<'_> {
    /// Returns the end of the name that starts here with `c`.
    fn end_of_name(&mut self, c: char) -> Option<usize> {
        if !is_part(c) && c != '/' {
            return None;
        }
        let at_edge = self.before.is_some_and(is_word) != is_word(c);
        self.path()
            .or_else(|| if at_edge && is_dashed(c) { self.file() } else { None })
            .or_else(|| if at_edge && is_word(c) { self.identifier() } else { None })
            .or_else(|| if c == 'h' { self.address() } else { None })
    }

    /// Returns the end of a path: names with slashes between them, without trailing slashes.
    fn path(&mut self) -> Option<usize> {
        if self.at < self.path_end {
            return None;
        }
        let run = self.run(self.at, |c| is_part(c) || c == '/');
        let path = run.trim_end_matches('/');
        let found = path.contains('/').then(|| self.at + path.len());
        self.path_end = self.at + run.len();
        found
    }

    /// Returns the end of a file name with a usual extension.
    fn file(&mut self) -> Option<usize> {
        if self.at >= self.dashed_end {
            self.dashed_end = self.at + self.run(self.at, is_dashed).len();
        }
        let ending = self.text[self.dashed_end..].strip_prefix('.')?;
        let word = &ending[..ending.find(|c| !is_word(c)).unwrap_or(ending.len())];
        ENDINGS.contains(&word).then(|| self.dashed_end + 1 + word.len())
    }

    /// Returns the end of the word if it is an identifier or a hash.
    fn identifier(&self) -> Option<usize> {
        let word = self.run(self.at, is_word);
        let is_name = has_inner_capital(word) || has_underscore(word) || is_hash(word);
        is_name.then(|| self.at + word.len())
    }

    fn address(&self) -> Option<usize> {
        let rest = self.text[self.at..].strip_prefix("http")?;
        let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix("://")?;
        let n_bytes = rest.find(is_space).unwrap_or(rest.len());
        (n_bytes > 0).then(|| self.text.len() - rest.len() + n_bytes)
    }

    /// Returns the longest run of matching characters.
    fn run(&self, from: usize, belongs: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[from..];
        &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())]
    }
}

/// Returns whether a word has a capital inside and enough after it, as `parseHeader` or
/// `HttpClient`.
fn has_inner_capital(word: &str) -> bool {
    let is_lower = |c: char| c.is_ascii_lowercase();
    let (rest, n_after) = match word.strip_prefix(|c: char| c.is_ascii_uppercase()) {
        Some(rest) => (rest, 2),
        None => (word, 3),
    };
    let inner = rest.trim_start_matches(is_lower);
    let after = inner.strip_prefix(|c: char| c.is_ascii_uppercase());
    inner.len() < rest.len() && after.is_some_and(|after| after.chars().nth(n_after - 1).is_some())
}

/// Returns whether a word has an underscore with enough after it, as `n_lines`.
fn has_underscore(word: &str) -> bool {
    let mut rest = word.chars();
    rest.next();
    rest.as_str().split_once('_').is_some_and(|(_, after)| after.chars().nth(2).is_some())
}

fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_dashed(c: char) -> bool {
    c == '-' || is_word(c)
}

/// Returns whether the character may be part of a path segment.
fn is_part(c: char) -> bool {
    matches!(c, '@' | '.') || is_dashed(c)
}

/// Returns whether the character is a blank or a record separator.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts with their names by the regular expression that defines the measure.
    const TABLE: [(&str, &[&str]); 28] = [
        ("", &[]),
        ("no names here, only words.", &[]),
        ("see src/lib.rs, ./a/b.py and ../x/y.", &["src/lib.rs", "/a/b.py"]),
        ("/usr/local/bin/ and //double//slash// and a// b", &["/usr/local/bin", "//double//slash"]),
        ("a/b/ c/d e/", &[]),
        ("@scope/package-name@1.2.3/index.js", &["@scope/package-name@1.2.3/index.js"]),
        (
            "main.rs lib.tsx data.jsonl x.json5 a.tsb notes.md.",
            &["main.rs", "lib.tsx", "data.jsonl", "notes.md"],
        ),
        ("-weird.py --flag.toml x-y-z.html", &["weird.py", "flag.toml", "x-y-z.html"]),
        ("it's file.rs's and a.b.c.ts and archive.tar.gz", &["file.rs"]),
        ("parseHeader parseHEADER httpX aBcd aBcde", &["parseHeader", "parseHEADER", "aBcde"]),
        ("HttpClient HTTPClient AbC AbCd AbCde Abcd", &["HttpClient", "AbCde"]),
        (
            "n_lines _private __init__ a_b a_bc a_bcd _abc snake_case_name x_1234",
            &["n_lines", "__init__", "a_bcd", "snake_case_name", "x_1234"],
        ),
        (
            "https://example.org/a?b=c#d, http://x (https://y.z/w) xhttps://q/r",
            &["https://example.org/a?b=c#d", "http://x", "https://y.z/w", "https://q/r"],
        ),
        ("{\"url\": \"https://example.org/x\", \"path\": \"a/b.rs\"}", &["https://example.org/x", "a/b.rs"]),
        (
            "deadbeef 0a1b2c3 0a1b2c 0a1b2c3g DEADBEEF 0000000000000000000000000000000000000000 11111111111111111111111111111111111111111",
            &["deadbeef", "0a1b2c3", "0000000000000000000000000000000000000000"],
        ),
        (
            "größe_des_fensters straßeName überTeil src/größe.rs 日本語/ファイル.md",
            &["größe_des_fensters", "src/größe.rs", "日本語/ファイル.md"],
        ),
        ("日本_語テキ 変数_ab a_日本語", &["日本_語テキ", "a_日本語"]),
        (
            "`tests/it/main.rs`:12:5 (crates/wb-cli/src/args.rs) [docs/adr] 'x/y'",
            &["tests/it/main.rs", "crates/wb-cli/src/args.rs", "docs/adr"],
        ),
        ("C:\\Users\\mira\\file.txt and C:/Users/mira", &["/Users/mira"]),
        ("user@example.org a.b@c.d/e", &["a.b@c.d/e"]),
        (
            "foo-bar/baz_qux.rs::parse_all() -> Result<ParseError, io::Error>",
            &["foo-bar/baz_qux.rs", "parse_all", "ParseError"],
        ),
        ("1e10/2 3/4 50% 12:30/12:45 and/or", &["1e10/2", "30/12", "and/or"]),
        (
            "camelCase.method_name snake_case.rs camelCase.json",
            &["camelCase", "method_name", "snake_case.rs", "camelCase.json"],
        ),
        (
            "x\tsrc/a.rs\u{a0}src/b.rs\u{2003}https://a.b/c\u{2028}d",
            &["src/a.rs", "src/b.rs", "https://a.b/c"],
        ),
        ("http:// https:/x httpss://abc", &["//abc"]),
        ("a-b_c-d_efg-h ab-cdEfgh", &["d_efg", "cdEfgh"]),
        ("....././... @@@/@@@ ---/---", &["@@@/@@@", "---/---"]),
        ("src/lib.rs/ src/lib.rs. src/lib.rs...", &["src/lib.rs", "src/lib.rs", "src/lib.rs"]),
    ];

    #[test]
    fn names_are_found_as_in_the_table() {
        for (text, names) in TABLE {
            assert_eq!(entities(text).collect::<Vec<_>>(), *names, "{text:?}");
        }
    }
}
