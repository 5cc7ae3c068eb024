//! Lines that tools show: their numbers, and where a name stands in one.

/// Returns where a name stands first in a line; both are short.
pub(super) fn place_of(name: &str, line: &str) -> Option<usize> {
    let (name, bytes) = (name.as_bytes(), line.as_bytes());
    let first = name.first()?;
    let starts = bytes.iter().enumerate().filter(|(_, byte)| *byte == first).map(|(at, _)| at);
    starts.into_iter().find(|at| bytes[*at..].starts_with(name))
}

/// Returns how many bytes the number takes that a tool puts before a line: `12→`, `12:`, `12-` or digits and a tab.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_where_it_stands_first() {
        assert_eq!(place_of("ab", "aab ab"), Some(1));
        assert_eq!((place_of("ab", "a"), place_of("", "a"), place_of("é", "aé")), (None, None, Some(1)));
    }

    #[test]
    fn a_number_is_read_with_the_sign_behind_it_alone() {
        let numbers = ["  12→a", "7:b", "8-c", "9\td", "10|e", "11 f", "g"].map(line_number);
        assert_eq!(numbers, [Some(12), Some(7), Some(8), Some(9), Some(10), None, None]);
    }
}
