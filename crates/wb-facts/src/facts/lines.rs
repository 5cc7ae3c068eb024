//! Lines in the output of tools: their numbers, and the place of a name.

use std::borrow::Cow;

/// Returns the first place of a name in a line; both are short.
pub(super) fn offset_of(name: &str, line: &str) -> Option<usize> {
    let (name, bytes) = (name.as_bytes(), line.as_bytes());
    let first = name.first()?;
    let starts = bytes.iter().enumerate().filter(|(_, byte)| *byte == first).map(|(at, _)| at);
    starts.into_iter().find(|at| bytes[*at..].starts_with(name))
}

/// Returns the bytes of the number that a tool puts before a line: `12→`, `12:`, `12-` or digits
/// and a tab.
pub(super) fn number_bytes(line: &str) -> usize {
    let n_digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[n_digits..].chars().next() {
        Some(sign @ ('→' | ':' | '-' | '\t' | '|')) if n_digits > 0 => n_digits + sign.len_utf8(),
        _ => 0,
    }
}

/// Returns the number that a tool puts before a line of a file.
pub(crate) fn line_number(line: &str) -> Option<u32> {
    let line = line.trim_start();
    line[..number_bytes(line)].trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Puts the path before each hit of a search that lists hits below their file.
///
/// `src/a.rs:` and `  Line 7: fn a()` become `src/a.rs:7: fn a()`.
pub(super) fn with_paths(output: &str) -> Cow<'_, str> {
    if !output.starts_with("Found ") || !output.contains("\n  Line ") {
        return Cow::Borrowed(output);
    }
    let (mut path, mut lines) = ("", Vec::new());
    for line in output.lines() {
        if let Some(hit) = line.strip_prefix("  Line ").filter(|_| !path.is_empty()) {
            lines.push(Cow::Owned([path, ":", hit].concat()));
        } else {
            path = line.strip_suffix(':').filter(|_| !line.starts_with(' ')).unwrap_or("");
            lines.push(Cow::Borrowed(line));
        }
    }
    Cow::Owned(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_at_its_first_place() {
        assert_eq!(offset_of("ab", "aab ab"), Some(1));
        assert_eq!((offset_of("ab", "a"), offset_of("", "a"), offset_of("é", "aé")), (None, None, Some(1)));
    }

    #[test]
    fn a_number_is_read_with_the_sign_behind_it_alone() {
        let numbers = ["  12→a", "7:b", "8-c", "9\td", "10|e", "11 f", "g"].map(line_number);
        assert_eq!(numbers, [Some(12), Some(7), Some(8), Some(9), Some(10), None, None]);
    }

    #[test]
    fn a_hit_below_its_file_gets_the_path() {
        let hits =
            "Found 2 matches\nsrc/a.rs:\n  Line 7: fn a()\n  Line 9: a();\n\nsrc/b.rs:\n  Line 1: use a;";
        let expected = "Found 2 matches\nsrc/a.rs:\nsrc/a.rs:7: fn a()\nsrc/a.rs:9: a();\n\nsrc/b.rs:\nsrc/b.rs:1: use a;";
        assert_eq!(with_paths(hits), expected);
        assert_eq!(with_paths("src/a.rs:\n  Line 7: fn a()"), "src/a.rs:\n  Line 7: fn a()");
    }
}
