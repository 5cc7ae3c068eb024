//! JSON text read from its start to its end, without building anything.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// A reader of JSON text, at a place in it.
///
/// Each method moves past what it returns; it returns nothing if something else follows, and then
/// nothing more should be read.
///
/// ```
/// use wb_record::JsonScan;
///
/// let (mut scan, mut seen) = (JsonScan::new(r#"{"a": [1, "x\n"], "b": null}"#), Vec::new());
/// scan.object(|key, scan| Some(seen.push((key, scan.value()?)))).unwrap();
/// assert_eq!(seen, [("a".into(), r#"[1, "x\n"]"#), ("b".into(), "null")]);
/// ```
#[derive(Clone, Debug)]
pub struct JsonScan<'a> {
    text: &'a str,
    at: usize,
    has_controls: bool,
    /// The closing brackets of the lists and objects that are passed over.
    ends: Vec<u8>,
}

/// A string, a number, a name or a sign of JSON, with its value in any spelling.
#[derive(Clone, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) place: Range<usize>,
    is_string: bool,
    value: Cow<'a, str>,
}

impl Token<'_> {
    /// Returns whether another token has the same value.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.is_string == other.is_string && self.value == other.value
    }
}

impl<'a> JsonScan<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        let has_controls = text.bytes().fold(u8::MAX, u8::min) < b' ';
        Self { text, at: 0, has_controls, ends: Vec::new() }
    }

    /// Returns the place of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the next byte after blanks.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at)?, b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Reads a string without its escapes; half of a surrogate pair becomes U+FFFD.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        self.eat(b'"')?;
        let start = self.at;
        if self.next_mark()? == b'"' {
            return Some(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        self.unescaped(start).map(Cow::Owned)
    }

    /// Reads the rest of a string that began at a place, from after its first backslash.
    fn unescaped(&mut self, start: usize) -> Option<String> {
        let mut text = String::with_capacity(self.text.len() - start);
        let mut from = start;
        loop {
            text.push_str(&self.text[from..self.at - 1]);
            from = self.at;
            match self.text.as_bytes().get(from)? {
                b'n' => {
                    text.push('\n');
                    self.at += 1;
                    from = self.at;
                }
                // The character itself.
                b'"' | b'\\' | b'/' => self.at += 1,
                _ => {
                    text.push(self.escaped()?);
                    from = self.at;
                }
            }
            if self.next_mark()? == b'"' {
                text.push_str(&self.text[from..self.at - 1]);
                // A few spare bytes are cheaper than a reallocation.
                if text.capacity() - text.len() > text.len() / 16 {
                    text.shrink_to_fit();
                }
                return Some(text);
            }
        }
    }

    /// Moves past the next quotation mark or backslash of a string, and returns it.
    fn next_mark(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let n = memchr2(b'"', b'\\', rest)?;
        // Control characters have escapes.
        if self.has_controls && rest[..n].iter().any(|byte| *byte < b' ') {
            return None;
        }
        self.at += n + 1;
        Some(rest[n])
    }

    /// Reads the character after a backslash.
    fn escaped(&mut self) -> Option<char> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'n' => '\n',
            b'"' | b'\\' | b'/' => char::from(byte),
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unit().map(|unit| self.char_of(unit)),
            _ => return None,
        })
    }

    /// Reads the four digits of a code unit.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        let unit =
            digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))?;
        self.at += 4;
        u16::try_from(unit).ok()
    }

    /// Returns the character of a code unit, with the second half of its pair.
    fn char_of(&mut self, first: u16) -> char {
        let at = self.at;
        let is_half = (0xD800..0xDC00).contains(&first);
        let pair = [first, if is_half { self.second().unwrap_or_default() } else { 0 }];
        let char = char::decode_utf16(pair).next().and_then(Result::ok);
        char.unwrap_or_else(|| {
            self.at = at;
            char::REPLACEMENT_CHARACTER
        })
    }

    fn second(&mut self) -> Option<u16> {
        self.text[self.at..].starts_with("\\u").then(|| self.at += 2)?;
        self.unit()
    }

    /// Reads the next token, whatever it belongs to.
    pub(crate) fn token(&mut self) -> Option<Token<'a>> {
        let first = self.peek()?;
        let start = self.at;
        let value = match first {
            b'"' => self.string()?,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                self.at += 1;
                Cow::Borrowed(&self.text[start..self.at])
            }
            _ => Cow::Borrowed(self.value()?),
        };
        Some(Token { place: start..self.at, is_string: first == b'"', value })
    }

    /// Reads a value of any kind; returns its text.
    pub fn value(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        Some(&self.text[start..self.at])
    }

    /// Reads an object; calls for each member with its key, and from where its value is read.
    pub fn object(&mut self, mut each: impl FnMut(Cow<'a, str>, &mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        self.each(b'}', |scan| {
            let key = scan.string()?;
            scan.eat(b':')?;
            each(key, scan)
        })
    }

    /// Reads a list; calls for each element from where it is read.
    pub fn list(&mut self, each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'[')?;
        self.each(b']', each)
    }

    /// Returns something if nothing follows but blanks.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Returns whether the values that were passed over are nested no deeper than parsers allow.
    pub fn is_shallow(&self) -> bool {
        // The capacity never shrinks.
        self.ends.capacity() <= 64
    }

    fn each(&mut self, end: u8, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.peek()? == end {
            return self.eat(end);
        }
        loop {
            each(self)?;
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                next => return (next == end).then_some(()),
            }
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn pass_key(&mut self) -> Option<()> {
        self.pass_string()?;
        self.eat(b':')
    }

    fn pass_string(&mut self) -> Option<()> {
        self.eat(b'"')?;
        while self.next_mark()? == b'\\' {
            match self.text.as_bytes().get(self.at)? {
                b'n' | b'"' | b'\\' | b'/' => self.at += 1,
                _ => _ = self.escaped()?,
            }
        }
        Some(())
    }

    /// Passes over a value, however deep it is nested.
    fn skip(&mut self) -> Option<()> {
        loop {
            let is_open = match self.peek()? {
                b'"' => self.pass_string().map(|()| false)?,
                b'{' => self.open(b'}')?,
                b'[' => self.open(b']')?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            };
            if !is_open && !self.next()? {
                return Some(());
            }
        }
    }

    /// Begins a list or an object; returns whether there is a value in it. One without a value is
    /// ended too.
    fn open(&mut self, end: u8) -> Option<bool> {
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return Some(false);
        }
        self.ends.push(end);
        if end == b'}' {
            self.pass_key()?;
        }
        Some(true)
    }

    /// Moves to the next value in the open list or object, and closes one without more values;
    /// returns whether there is a value.
    fn next(&mut self) -> Option<bool> {
        while let Some(end) = self.ends.last().copied() {
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    if end == b'}' {
                        self.pass_key()?;
                    }
                    return Some(true);
                }
                byte if byte == end => {
                    self.at += 1;
                    self.ends.pop();
                }
                _ => return None,
            }
        }
        Some(false)
    }

    fn word(&mut self, word: &str) -> Option<bool> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())?;
        Some(false)
    }

    fn number(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
        let digits = |at: usize| {
            let n = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            (n > 0).then_some(at + n)
        };
        let mut at = self.at + usize::from(is(self.at, b"-"));
        at = if is(at, b"0") { at + 1 } else { digits(at)? };
        if is(at, b".") {
            at = digits(at + 1)?;
        }
        if is(at, b"eE") {
            at = digits(at + 1 + usize::from(is(at + 1, b"+-")))?;
        }
        self.at = at;
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    const TEXT: &str = r#" {"a" : {"b":[1,"}\"",{}, [ ]],"c":-0.5e+10} ,"é\\":"x\ud83d/","b": 1.50E3 , "d":[null,true ,false]}"#;

    fn is_value(text: &str) -> bool {
        let mut scan = JsonScan::new(text);
        scan.value().is_some() && scan.end().is_some()
    }

    fn check(text: &str) {
        assert_eq!(is_value(text), serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text:?}");
    }

    #[test]
    fn what_is_read_is_what_is_json() {
        assert!(is_value(TEXT));
        for (at, char) in TEXT.char_indices() {
            check(&TEXT[..at]);
            let (before, after) = (&TEXT[..at], &TEXT[at + char.len_utf8()..]);
            check(&format!("{before}{after}"));
            for other in "{}[]\",:\\u0n-.e+ 19tx\u{1f}\n".chars() {
                check(&format!("{before}{other}{after}"));
                check(&format!("{before}{other}{char}{after}"));
            }
        }
        for text in
            ["", "01", "-", "1.", "1e", ".5", "\"\\u12g4\"", "nul", "[1 2]", "{\"a\" 1}", "{1:2}", "1 2"]
        {
            check(text);
        }
    }

    #[test]
    fn nothing_is_nested_too_deep() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(is_value(&deep) && !is_value(&deep[1..]));
    }

    #[test]
    fn members_and_elements_are_read_one_by_one() {
        let mut scan = JsonScan::new(r#" { "a" : [ 1 , {} ] , "b" : "c\n" } x"#);
        let mut seen = Vec::new();
        let read = scan.object(|key, scan| {
            if scan.peek()? == b'[' {
                return scan.list(|scan| {
                    seen.push((key.clone(), scan.value()?.into()));
                    Some(())
                });
            }
            seen.push((key, scan.string()?));
            Some(())
        });
        assert_eq!((read, scan.peek(), scan.end()), (Some(()), Some(b'x'), None));
        assert_eq!(
            seen,
            [("a", "1"), ("a", "{}"), ("b", "c\n")].map(|(key, value)| (key.into(), Cow::from(value)))
        );
    }

    #[test]
    fn escapes_of_all_kinds_are_resolved() {
        for (json, expected) in [
            (r#""""#, ""),
            (r#""é""#, "é"),
            (r#""a\n\"b\"\\\/\t\r\b\f""#, "a\n\"b\"\\/\t\r\u{8}\u{c}"),
            (r#""\u00e9\ud83d\ude00\u0041""#, "é😀A"),
            (r#""\ude00\ud83d\ud83d\ude00\ud83dx\ud83d\u0041""#, "\u{FFFD}\u{FFFD}😀\u{FFFD}x\u{FFFD}A"),
        ] {
            assert_eq!(JsonScan::new(json).string().as_deref(), Some(expected), "{json}");
        }
        for json in [r#""a"#, r#""\x""#, r#""\ud83d\u12g4""#, "\"\n\"", "7"] {
            assert_eq!(JsonScan::new(json).string(), None, "{json}");
        }
    }

    #[test]
    fn a_key_is_read_without_its_escapes() {
        let mut keys = Vec::new();
        let read = JsonScan::new(r#"{"\u0061":1,"b\n":2,"\ud83d":3}"#).object(|key, scan| {
            keys.push(key.into_owned());
            scan.value().map(drop)
        });
        assert_eq!((read, keys.concat().as_str()), (Some(()), "ab\n\u{fffd}"));
    }
}
