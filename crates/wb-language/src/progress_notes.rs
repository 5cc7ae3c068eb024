//! Finds in what an agent says between its calls the sentences that tell how things are.
//!
//! What only says what comes next is overtaken by the next call. Only words are looked at, so some sentences are missed and
//! some others are taken.

use wb_message::text::one_line;

use crate::sentences::sentences;

/// Bytes of the sentences that are taken of one text.
const NOTE_BYTES: usize = 300;
/// Bytes of a sentence below which it is a word or two: "Found it!".
const LEAST_BYTES: usize = 24;

/// First words of a sentence that says what comes next.
const ANNOUNCES: [&str; 23] = [
    "now", "next", "first", "then", "before", "after", "to", "let", "time", "update", "add", "create",
    "check", "run", "start", "read", "look", "fix", "i'm", "i'll", "we'll", "need", "try",
];
/// What such a sentence has inside, or one that merely says that the agent goes on.
const PASSES_INSIDE: [&str; 14] = [
    "let me ",
    "let's ",
    "let us ",
    "i'll ",
    "i will ",
    "going to ",
    "we'll ",
    "i have all",
    "i have enough",
    "i have everything",
    "i have what",
    "clear picture",
    "接下来",
    "让我",
];
/// What the agent does that it tells of: any other verb in the present says what comes next.
const TELLS: [&str; 26] = [
    "found",
    "find",
    "see",
    "saw",
    "notice",
    "think",
    "know",
    "knew",
    "understand",
    "believe",
    "suspect",
    "was",
    "had",
    "have",
    "did",
    "didn't",
    "don't",
    "can't",
    "cannot",
    "could",
    "couldn't",
    "made",
    "kept",
    "left",
    "ran",
    "wrote",
];
/// Words in `ing` that say nothing of what is being done.
const THINGS: [&str; 7] = ["nothing", "everything", "something", "anything", "existing", "missing", "during"];

/// Returns the first sentences of a text that tell how things are, on one line; nothing if there is none.
pub fn progress_note(text: &str) -> Option<String> {
    let mut out = String::new();
    let tells = |sentence: &str| sentence.len() >= LEAST_BYTES && !announces(sentence);
    // Items of a list say little without what introduces them.
    let prose = sentences(text).into_iter().filter(|it| !it.in_item).map(|it| it.text);
    for sentence in prose.filter(|it| tells(it)) {
        if out.is_empty() {
            out = one_line(sentence, NOTE_BYTES);
            continue;
        }
        if out.len() + sentence.len() > NOTE_BYTES {
            break;
        }
        out.push(' ');
        out.push_str(&one_line(sentence, NOTE_BYTES));
    }
    (!out.is_empty()).then_some(out)
}

/// Tells of a sentence that says what comes next, asks, or introduces what follows it.
pub fn announces(sentence: &str) -> bool {
    let words = sentence.trim_matches(|c: char| !c.is_alphanumeric() && !":?：？".contains(c));
    if words.ends_with([':', '?', '：', '？']) || words.starts_with("现在") {
        return true;
    }
    let lower = words.to_lowercase().replace('’', "'");
    let mut each = lower.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let (first, second) = (each.next().unwrap_or_default(), each.next().unwrap_or_default());
    let is_step = match first {
        "i" => !TELLS.contains(&second) && !second.ends_with("ed"),
        "we" => second.starts_with("need") || second == "should",
        _ => ANNOUNCES.contains(&first) || first.ends_with("ing") && !THINGS.contains(&first),
    };
    is_step || PASSES_INSIDE.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_how_things_are_is_taken_and_what_announces_is_not() {
        for (text, expected) in [
            ("Let me look at the reader.", None),
            ("Now I’ll port src/cart.rs, since it is next.", None),
            ("Found it!", None),
            ("I have all the context I need for that.", None),
            ("I add it to tests/checkout.rs, sorted by code.", None),
            ("Pinning the typings of the editor exactly.", None),
            (
                "I found two readers that count blank lines.",
                Some("I found two readers that count blank lines."),
            ),
            ("I checked tests/old.rs: nobody builds it.", Some("I checked tests/old.rs: nobody builds it.")),
            ("Nothing reads src/old.rs any more.", Some("Nothing reads src/old.rs any more.")),
            ("The settings have three parts that matter here:", None),
            (
                "The reader counts blank lines twice. Let me mend that first.",
                Some("The reader counts blank lines twice."),
            ),
            (
                "Good. Clippy only complains about tests/old.rs. Next I look at the writer.",
                Some("Clippy only complains about tests/old.rs."),
            ),
            ("It does two things:\n- counts lines that are blank\n- skips them while it writes", None),
            ("现在检查下 web 端是否有测试框架和相关测试文件。", None),
        ] {
            assert_eq!(progress_note(text).as_deref(), expected, "{text}");
        }
        let many = progress_note(&"The reader counts blank lines. ".repeat(12));
        assert!(many.is_some_and(|it| it.len() <= NOTE_BYTES && it.ends_with("blank lines.")));
        let long = progress_note(&["The writer keeps a lock", &" and another one".repeat(40), "."].concat());
        assert!(long.is_some_and(|it| it.chars().count() == NOTE_BYTES && it.ends_with('…')));
    }
}
