//! Chinese and Japanese statements with blanks between their words.

use std::borrow::Cow;

/// Words that say what is, that something changes or what is replaced, and the English ones.
const WORDS: [(&str, &str); 53] = [
    ("从现在开始", "from now on"),
    ("从现在起", "from now on"),
    ("今后", "from now on"),
    ("以后", "from now on"),
    ("而不是", "instead of"),
    ("而非", "instead of"),
    ("不是", "not"),
    ("不再", "no longer"),
    ("不对", "no ,"),
    ("不，", "no ,"),
    ("不,", "no ,"),
    ("抱歉", "sorry ,"),
    ("更正", "correction ,"),
    ("改成", "changed to"),
    ("改为", "changed to"),
    ("换成", "changed to"),
    ("变成", "changed to"),
    ("调整为", "changed to"),
    ("现在", "now"),
    ("必须", "must"),
    ("应该", "should"),
    ("我们", ""),
    ("因为", ""),
    ("为了", ""),
    ("是", "is"),
    ("为", "is"),
    ("的", ""),
    ("请", ""),
    ("把", ""),
    ("了", ""),
    ("用", ""),
    ("これからは", "from now on"),
    ("今後は", "from now on"),
    ("いいえ", "no ,"),
    ("いえ、", "no ,"),
    ("いや、", "no ,"),
    ("違います", "no ,"),
    ("すみません", "sorry ,"),
    ("訂正", "correction ,"),
    ("変更", "changed to"),
    ("変わり", "changed to"),
    ("変えて", "changed to"),
    ("今は", "now"),
    ("は", "is"),
    ("の", ""),
    ("を", ""),
    ("に", ""),
    ("が", ""),
    ("で", ""),
    ("、", ","),
    ("，", ","),
    ("。", "."),
    ("！", "!"),
];
/// Words after the value that is replaced.
const AFTER_OLD: [&str; 4] = ["ではなく", "じゃなく", "でなく", "の代わりに"];

/// Returns a text with blanks between its words, if it has Chinese or Japanese ones.
pub(crate) fn spaced(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(is_wide) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    let (mut rest, mut was_wide) = (text, None);
    while let Some(c) = rest.chars().next() {
        let n_bytes = if let Some(after) = AFTER_OLD.iter().find(|word| rest.starts_with(**word)) {
            let value = out.trim_end().rfind(' ').map_or(0, |blank| blank + 1);
            out.insert_str(value, "instead of ");
            out.push(' ');
            after.len()
        } else if let Some((word, english)) = WORDS.iter().find(|(word, _)| rest.starts_with(*word)) {
            let is_sign = matches!(*english, "," | "." | "!");
            out.push_str(if is_sign { "" } else { " " });
            out.extend([*english, " "]);
            word.len()
        } else {
            let is_wide = is_wide(c);
            if was_wide.is_some_and(|was| was != is_wide) {
                out.push(' ');
            }
            was_wide = Some(is_wide);
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[n_bytes..];
    }
    Cow::Owned(out)
}

/// Returns whether a character is one of a script without blanks, signs excluded.
pub(crate) fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Returns whether a word has only the characters of Japanese endings.
pub(crate) fn is_ending(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '\u{3040}'..='\u{309f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_and_the_replaced_value_follows_a_negation() {
        let check = |text: &str, expected: &str| {
            assert_eq!(spaced(text).split_whitespace().collect::<Vec<_>>().join(" "), expected);
        };
        check("端口是8080。", "端口 is 8080.");
        check("不，9090", "no , 9090");
        check("8080ではなく9090を使う", "instead of 8080 9090 使う");
        check("plain", "plain");
    }
}
