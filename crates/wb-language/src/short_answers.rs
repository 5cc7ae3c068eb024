//! Short answers of the user, and the questions that they answer.

use std::collections::BTreeSet;

use wb_message::text::{one_line, tail};

use crate::host_words::NODS;
use crate::plain_words;
use crate::user_text::is_acknowledgement;
use wb_message::excerpt::GAP;
use wb_message::excerpt::{ending, sentence_starts};

/// The longest answer, in bytes.
const ANSWER_BYTES: usize = 100;
/// The maximum number of words of an answer that chooses or confirms something.
const FEW_WORDS: usize = 5;
/// The bytes at the end of a reply in which a question is searched.
const END_BYTES: usize = 600;
/// The characters of a question with the text after it, and of the end of a reply without a
/// question.
const QUESTION_CHARS: usize = 160;
const TO_CHARS: usize = 120;
/// The bytes at the end of a reply in which options are searched, the most options that are kept of
/// an answer, and the characters of each.
const OPTIONS_BYTES: usize = 2_000;
const MOST_OPTIONS: usize = 3;
const OPTION_CHARS: usize = 100;
/// The signs before an option.
const MARKUP: &[char] = &[' ', '*', '-', '#', '>', '('];

/// Words that open any answer, and words that do so before a comma or the end.
const OPENS: [&str; 4] = ["yes", "yep", "yeah", "yup"];
const OPENS_APART: [&str; 17] = [
    "no", "nope", "nah", "correct", "exactly", "agreed", "right", "true", "ja", "nein", "oui", "non", "si",
    "sí", "对", "不", "不是",
];
/// Words that choose something, and words that may accompany them.
const CHOICES: [&str; 8] = ["both", "all", "first", "second", "third", "option", "latter", "former"];
const CHOICE_FILLERS: [&str; 10] =
    ["the", "one", "number", "and", "or", "of", "them", "only", "just", "please"];
/// Words before the number or letter of an option, words after it, and words after those.
const OPTION_LEADS: [&str; 26] = [
    "option",
    "options",
    "choice",
    "variant",
    "alternative",
    "approach",
    "solution",
    "number",
    "with",
    "prefer",
    "pick",
    "choose",
    "take",
    "like",
    "variante",
    "lösung",
    "ansatz",
    "nimm",
    "lieber",
    "choix",
    "prends",
    "préfère",
    "opción",
    "alternativa",
    "elijo",
    "prefiero",
];
const OPTION_VERBS: [&str; 14] = [
    "is", "s", "sounds", "looks", "seems", "works", "was", "ist", "klingt", "passt", "est", "es", "parece",
    "suena",
];
const OPTION_VERDICTS: [&str; 27] = [
    "correct", "right", "fine", "good", "better", "best", "ok", "okay", "perfect", "great", "it", "enough",
    "richtig", "gut", "besser", "korrekt", "correcte", "bon", "bonne", "mieux", "correcta", "correcto",
    "buena", "mejor", "bien", "juste", "what",
];
/// Words before an option that is judged, and words after one that is led in.
const OPTION_OPENS: [&str; 24] = [
    "the", "think", "then", "so", "yes", "no", "ok", "believe", "guess", "and", "but", "sorry", "actually",
    "that", "die", "der", "das", "la", "le", "el", "also", "denke", "crois", "creo",
];
const OPTION_ENDS: [&str; 16] = [
    "but", "and", "then", "please", "because", "since", "as", "though", "aber", "und", "bitte", "mais", "et",
    "pero", "y", "first",
];
/// The same in Chinese and Japanese, next to the number.
const BEFORE_NUMBER: [&str; 6] = ["选", "选择", "方案", "选项", "案", "第"];
const AFTER_NUMBER: [&str; 8] = ["是对", "正确", "对", "更好", "番", "が正", "でいい", "でお願"];
/// Words for the first options.
const ORDINALS: [(&str, &str); 3] = [("first", "1"), ("second", "2"), ("third", "3")];
/// The longest answer that names an option and says more, in bytes.
const NAMED_BYTES: usize = 200;
/// The first word of a confirmation, and its other words.
const CONFIRMATION_STARTS: [&str; 4] = ["that", "thats", "it", "this"];
const CONFIRMATION_WORDS: [&str; 11] =
    ["was", "is", "s", "it", "worked", "did", "one", "the", "fixed", "correct", "exactly"];

/// Returns whether the user's words only answer or approve, or name an option and say a little
/// more: `yes, that was it`, `2`, `ok, go on`, `sorry, 1 is correct`.
pub fn is_answer(words: &str) -> bool {
    let words = words.trim();
    if words.len() > NAMED_BYTES || words.contains(['?', '？', '\n']) {
        return false;
    }
    !named_options(words).is_empty() || words.len() <= ANSWER_BYTES && is_mere_answer(words)
}

fn is_mere_answer(words: &str) -> bool {
    let all: Vec<String> = plain_words(words).take(FEW_WORDS + 1).map(str::to_lowercase).collect();
    let Some((first, others)) = all.split_first() else { return false };
    let is_few = all.len() <= FEW_WORDS;
    let is_apart = || {
        let rest =
            words.char_indices().find(|(_, c)| !c.is_alphanumeric()).map_or("", |(at, _)| &words[at..]);
        rest.is_empty() || rest.starts_with([',', '.', '!', ';', ':', '，', '。', '！'])
    };
    let confirms = || {
        others.iter().all(|word| CONFIRMATION_WORDS.contains(&word.as_str()) || NODS.contains(&word.as_str()))
    };
    OPENS.contains(&first.as_str())
        || is_acknowledgement(words)
        || OPENS_APART.contains(&first.as_str()) && is_apart()
        || is_few && CONFIRMATION_STARTS.contains(&first.as_str()) && confirms()
        || is_few && is_choice(&all)
}

/// Returns whether words in lower case only choose something: `2`, `1 and 3`, `the second one`.
fn is_choice(all: &[String]) -> bool {
    let chooses = |word: &String| {
        let is_sign = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_number = word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit());
        is_sign || is_number || CHOICES.contains(&word.as_str())
    };
    all.iter().any(chooses) && all.iter().all(|word| chooses(word) || CHOICE_FILLERS.contains(&word.as_str()))
}

/// Returns the question that the user's words answer, on one line: the last one of the reply, or
/// else the end of the reply.
///
/// Returns `None` if the words are not an answer, or only acknowledge a reply without a question.
pub fn answered_question(words: &str, reply: &str) -> Option<String> {
    if !is_answer(words) || reply.trim().is_empty() {
        return None;
    }
    let end = tail(reply.trim(), END_BYTES);
    let asked = last_question(end);
    if asked.is_none() && is_acknowledgement(words) {
        return None;
    }
    let line = one_line(&end[asked.unwrap_or(0)..], usize::MAX);
    let question_line =
        if asked.is_some() { one_line(&line, QUESTION_CHARS) } else { ending(&line, TO_CHARS).to_owned() };
    let is_whole =
        end.len() == reply.trim().len() && asked.unwrap_or(0) == 0 && question_line.len() >= line.len();
    let mut question = if is_whole { question_line } else { [GAP, " ", &question_line].concat() };
    for option in chosen_options(words, reply).filter(|option| !line.contains(option.as_str())) {
        question.extend([" · ", &option]);
    }
    Some(question)
}

/// Returns the options of a reply that the user's words name by number or letter.
fn chosen_options<'r>(words: &str, reply: &'r str) -> impl Iterator<Item = String> + use<'r> {
    let all: Vec<String> = plain_words(words).take(FEW_WORDS + 1).map(str::to_lowercase).collect();
    let names = if is_choice(&all) {
        all.iter().map(|word| ordinal(word).to_owned()).collect()
    } else {
        named_options(words)
    };
    let names: BTreeSet<String> = names.into_iter().filter(|word| word.len() <= 2).collect();
    let option = move |name: String| {
        let line =
            tail(reply, OPTIONS_BYTES).lines().rfind(|line| option_name(line).as_ref() == Some(&name))?;
        Some(one_line(line.trim_start_matches(MARKUP), OPTION_CHARS))
    };
    names.into_iter().take(MOST_OPTIONS).filter_map(option)
}

/// Returns the numbers and letters of the options that words name: `sorry, 2 is fine, but …`.
fn named_options(words: &str) -> Vec<String> {
    let may_name = |word: &str| is_sign(word) || ORDINALS.iter().any(|(it, _)| word.eq_ignore_ascii_case(it));
    if !plain_words(words).any(may_name) {
        return numbers_of_wide_text(words).collect();
    }
    let all: Vec<&str> = plain_words(words).collect();
    let named = (0..all.len()).filter(|at| names_option(words, &all, *at));
    named.map(|at| ordinal(&all[at].to_lowercase()).to_owned()).chain(numbers_of_wide_text(words)).collect()
}

/// Returns whether a word names an option: one that is led in or judged.
fn names_option(words: &str, all: &[&str], at: usize) -> bool {
    let is = |list: &[&str], at: usize| {
        all.get(at).is_some_and(|word| list.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    let start = all[at].as_ptr() as usize - words.as_ptr() as usize;
    let (before, after) = (words[..start].trim_end(), &words[start + all[at].len()..]);
    let is_ordinal = ORDINALS.iter().any(|(word, _)| all[at].eq_ignore_ascii_case(word));
    let is_after = |list: &[&str]| at.checked_sub(1).is_some_and(|before| is(list, before));
    let is_led = is_after(&OPTION_LEADS);
    let is_apart =
        before.is_empty() || before.ends_with(['.', ',', ';', '!', ':']) || is_after(&OPTION_OPENS);
    let verb = at + 1 + usize::from(is(&["one"], at + 1));
    let is_judged = is(&OPTION_VERBS, verb) && is(&OPTION_VERDICTS, verb + 1);
    let ends = || {
        let next = after.trim_start();
        next.is_empty() || next.starts_with([',', '.', ';', '!', ')']) || is(&OPTION_ENDS, at + 1)
    };
    (is_sign(all[at]) || is_ordinal)
        && (is_led || is_apart)
        && (is_judged || is_led && is_sign(all[at]) && ends())
}

/// Returns whether a word is a digit or a letter by which options are named.
fn is_sign(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| matches!(byte, b'1'..=b'9' | b'A'..=b'H'))
}

/// Returns the number that a word for one of the first options means.
fn ordinal(word: &str) -> &str {
    ORDINALS.iter().find(|(known, _)| *known == word).map_or(word, |(_, number)| number)
}

/// Returns the numbers of options in Chinese and Japanese text.
fn numbers_of_wide_text(words: &str) -> impl Iterator<Item = String> {
    let digits = words.char_indices().filter(|(_, c)| c.is_ascii_digit());
    let named = digits.filter(|(at, _)| {
        let (before, after) = (&words[..*at], &words[*at + 1..]);
        BEFORE_NUMBER.iter().any(|it| before.ends_with(it))
            || AFTER_NUMBER.iter().any(|it| after.starts_with(it))
    });
    named.map(|(_, digit)| digit.to_string())
}

/// Returns the number or letter of an option: `2. the cache`, `**B)** the parser`.
fn option_name(line: &str) -> Option<String> {
    let line = line.trim_start_matches(MARKUP);
    let end = line.find(|c: char| !c.is_ascii_alphanumeric()).filter(|end| (1..=2).contains(end))?;
    line[end..].starts_with(['.', ')', ':']).then(|| line[..end].to_lowercase())
}

/// Returns the start of the last question of a text: that of its sentence or line, but not far
/// before its end.
fn last_question(text: &str) -> Option<usize> {
    let is_end = |at: &usize| {
        let rest = &text[at + 1..];
        rest.is_empty() || rest.starts_with([' ', '\n', '*', '"', '”', ')', '`'])
    };
    let ascii = text.rmatch_indices('?').map(|(at, _)| at).find(is_end);
    let end = ascii.max(text.rfind('？'))?;
    let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let start = line + sentence_starts(&text[line..end]).last().unwrap_or(0);
    Some(end - ending(&text[start..end], QUESTION_CHARS - 1).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_differ_from_requests() {
        for words in [
            "yes",
            "Yes, that was it",
            "yes, the document first",
            "yeah do it all",
            "no, the block stays as it is",
            "No.",
            "ok, go on",
            "2",
            "1+2",
            "the second one, please",
            "option b",
            "both",
            "that was it",
            "It worked!",
            "that's right",
            "好的",
            "不，另一个",
            "the tests are wrong then, sorry I missed this. 1 is correct",
            "I think the second one is better, but keep its name",
            "go with B, but leave the cache as it is",
            "Nimm 2, aber ohne den Cache.",
            "我选2，但是名字不要改",
            "2番でお願いします。名前はそのままで",
        ] {
            assert!(is_answer(words), "{words}");
        }
        for words in [
            "",
            "?",
            "yes?",
            "ok, create a branch for it",
            "great, now the writer",
            "no new dependencies",
            "no tests for the writer please",
            "correct the spelling of the title",
            "the parser",
            "it should skip blank lines",
            "that is slow",
            "push",
            "404 is shown for the start page",
            "wait with 3 more tries",
            "step 1 is correct, now the writer",
            "A is missing in the list",
            "run it with 2 threads",
            "yes\nand another thing",
            "Yes, but first write tests for all that it does with blank lines, then change it, then show me the diff.",
        ] {
            assert!(!is_answer(words), "{words}");
        }
    }

    #[test]
    fn an_answer_is_to_the_last_question_or_the_end_of_the_reply() {
        let check = |words: &str, reply: &str, expected: Option<&str>| {
            assert_eq!(answered_question(words, reply).as_deref(), expected, "{words} {reply}");
        };
        check("yes", "Shall I push it?", Some("Shall I push it?"));
        let reply = "The tests pass. Which one do you want?\n\n1. the cache\n2. the `a?.b` fix";
        check("2", reply, Some("… Which one do you want? 1. the cache 2. the `a?.b` fix"));
        let reply = "It is slow.\n\n1. Keep the cache\n2. **Drop it**\n**B)** Wait\n\nWhat is next?";
        check("1+2", reply, Some("… What is next? · 1. Keep the cache · 2. **Drop it**"));
        check("b", reply, Some("… What is next? · B)** Wait"));
        check("3", reply, Some("… What is next?"));
        check(
            "sorry, the tests are wrong. 2 is correct, but keep a copy",
            reply,
            Some("… What is next? · 2. **Drop it**"),
        );
        check("the first one is fine, but wait", reply, Some("… What is next? · 1. Keep the cache"));
        check("方案2更好", reply, Some("… What is next? · 2. **Drop it**"));
        check(
            "yes, that was it",
            "I read the log. It was the stale lock.",
            Some("I read the log. It was the stale lock."),
        );
        check("yes", "It is done:\n- a\n- b, or `c`\nPush it?", Some("… Push it?"));
        check(
            "yes",
            &[&"so ".repeat(100), "or not?"].concat(),
            Some(&["… ", &"so ".repeat(51), "or not?"].concat()),
        );
        check("ok", "All done.", None);
        check("fix the parser", "Shall I push it?", None);
        check("yes", " ", None);
        let long = ["It is read. ".repeat(200).as_str(), "Is it the lock?"].concat();
        check("yes", &long, Some("… Is it the lock?"));
        let long = answered_question("no, it waits", &"The importer waits for a lock. ".repeat(200)).unwrap();
        assert!(long.starts_with("… The importer") && long.chars().count() <= TO_CHARS + 2, "{long}");
    }
}
