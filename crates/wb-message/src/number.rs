//! Numbers for people to read.

/// Writes a number with its thousands grouped.
///
/// ```
/// assert_eq!(wb_message::number::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

fn grouped_digits(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Groups the thousands of counts in a text, such as a report; line numbers and versions stay unchanged.
pub fn grouped_in(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_name = out.last().is_some_and(|before| matches!(before.as_str(), "line" | "version"));
        let digits = word.trim_end_matches([',', ';', '.', ':', ')']);
        let is_count = !is_name && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let rest = &word[digits.len()..];
        out.push(if is_count { grouped_digits(digits) + rest } else { word.to_owned() });
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_group_from_the_right() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn counts_in_a_text_group_and_names_stay() {
        for (text, expected) in [
            (
                "irreducible: 12345 tokens remain, 999; 1000.",
                "irreducible: 12,345 tokens remain, 999; 1,000.",
            ),
            ("truncated last line skipped: line 12345", "truncated last line skipped: line 12345"),
            ("entry a12345 of src/12345.rs", "entry a12345 of src/12345.rs"),
            ("", ""),
        ] {
            assert_eq!(grouped_in(text), expected);
        }
    }
}
