//! Constraints of the user: what is forbidden, required, preferred or corrected.
//!
//! Only words are considered. A constraint is a whole sentence, verbatim; bug reports, questions,
//! logs and steps of a task are not constraints.

pub use crate::constraint_rules::Kind;
use crate::constraint_rules::kind;
use crate::one_time_requests::is_one_time_request;
use crate::plain_words;
use crate::rule_score::{Setting, is_lasting};
use crate::sentences::{Sentence, names_rules, sentences};

/// A sentence that applies beyond the current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constraint<'a> {
    /// The effect.
    pub kind: Kind,
    /// The sentence or list item, verbatim, with the sentence before it that it refers to, or the
    /// list that it introduces.
    pub text: &'a str,
    /// The sentence alone.
    pub rule: &'a str,
    /// Binds beyond the current step.
    pub is_lasting: bool,
}

/// The maximum bytes of a preceding sentence, if the constraint begins with a reference to it.
const BEFORE_BYTES: usize = 300;
/// The maximum bytes of a preceding sentence, if the constraint contains a reference to it.
const BEFORE_INSIDE_BYTES: usize = 160;
/// The maximum bytes of a constraint with its preceding sentence.
const BOTH_BYTES: usize = 560;
/// The maximum bytes of a constraint with its list.
const LIST_BYTES: usize = 1000;
/// The maximum bytes of a sentence that introduces a list of rules.
const INTRO_BYTES: usize = 160;
/// The maximum bytes of a block of code that belongs to a constraint.
const CODE_BYTES: usize = 300;

/// Returns the constraints in the user's words, in order.
pub fn constraints(user_words: &str) -> Vec<Constraint<'_>> {
    let all = sentences(user_words);
    let mut found: Vec<Constraint<'_>> = Vec::new();
    let mut taken = 0;
    let settings = settings(user_words, &all);
    for (at, sentence) in all.iter().enumerate() {
        if sentence.end() <= taken {
            continue;
        }
        let is_lasting = is_lasting(&settings, at);
        let lasting = || is_lasting.then_some(Kind::Requires);
        let Some(kind) = settings[at].kind.or_else(lasting) else { continue };
        if kind != Kind::Forbids && (is_one_time_request(sentence.text) || answers_itself(sentence.text)) {
            continue;
        }
        // "3. new comments" names a task, unless other items are rules.
        let has_rules = || settings.iter().any(|it| it.is_item && it.kind.is_some());
        let is_numbered = || user_words[..sentence.start].trim_end().ends_with(['.', ')']);
        let is_title = || sentence.is_item && !settings[at].is_listed && is_title(sentence.text);
        if settings[at].kind.is_none() && is_title() && is_numbered() && !has_rules() {
            continue;
        }
        // It adopts the quote before, whose rules are listed themselves.
        let is_after_quote = at > 0 && all[at - 1].is_quoted && !sentence.is_quoted;
        if is_after_quote && settings[at].kind.is_none() && reference_index(sentence.text) == Some(0) {
            continue;
        }
        // It describes a fault: the next sentence says what happens instead.
        if all.get(at + 1).is_some_and(|next| next.block == sentence.block && is_contradiction(next.text)) {
            continue;
        }
        let end = list_end(&all, at).or_else(|| code_end(user_words, sentence)).unwrap_or(sentence.end());
        let text = &user_words[sentence.start..end];
        let mut new = Constraint { kind, text, rule: sentence.text, is_lasting };
        if let Some((before, is_inside)) = antecedent(&all, at, end) {
            let is_rule = before.end() == taken;
            if !is_rule {
                new.text = &user_words[before.start..end];
            } else if let Some(known) =
                found.pop_if(|known| is_inside && known.text.len() <= BEFORE_INSIDE_BYTES)
            {
                // Two rules are one if the second refers to the first.
                new.text = &user_words[taken - known.text.len()..end];
                new.is_lasting |= known.is_lasting;
                if known.kind == Kind::Forbids {
                    (new.kind, new.rule) = (known.kind, known.rule);
                }
            }
        }
        found.push(new);
        taken = end;
    }
    found
}

/// Returns each sentence of a text with its surroundings.
pub(crate) fn settings<'a>(text: &'a str, all: &[Sentence<'a>]) -> Vec<Setting<'a>> {
    let mut is_rule_list = false;
    let setting = |it: &Sentence<'a>| {
        if !it.is_item {
            is_rule_list = introduces_rules(it.text);
        }
        Setting {
            sentence: it.text,
            kind: kind(it.text),
            block: it.block,
            is_item: it.is_item,
            is_listed: is_rule_list && it.is_item,
            is_quoted: it.is_quoted,
            is_introduced: text[..it.start].trim_end().ends_with([':', '：']),
        }
    };
    all.iter().map(setting).collect()
}

/// Returns whether a sentence depends on the answer to a question before: "if the latter, reload
/// them".
fn answers_itself(sentence: &str) -> bool {
    const STARTS: [&str; 14] = [
        "if the latter",
        "if the former",
        "if so",
        "if not",
        "if yes",
        "if no",
        "wenn ja",
        "wenn nein",
        "wenn nicht",
        "falls ja",
        "si oui",
        "sinon",
        "en ese caso",
        "si no es así",
    ];
    let lower = sentence.trim_start().to_lowercase();
    let is_start = |start: &&str| lower.strip_prefix(*start).is_some_and(|rest| rest.starts_with([',', ':']));
    STARTS.iter().any(is_start)
}

/// Returns whether a list item is so short that it names something and asks for nothing.
fn is_title(item: &str) -> bool {
    const MOST_WORDS: usize = 2;
    item.is_ascii() && plain_words(item).nth(MOST_WORDS).is_none()
}

/// Returns whether a sentence introduces a list of rules.
fn introduces_rules(sentence: &str) -> bool {
    sentence.len() <= INTRO_BYTES && sentence.ends_with([':', '：', '。']) && names_rules(sentence)
}

/// Returns whether a sentence says what happens in place of what the one before asks for.
fn is_contradiction(sentence: &str) -> bool {
    const STARTS: [&str; 33] = [
        "right now",
        "currently",
        "at the moment",
        "at present",
        "but it",
        "but now",
        "it doesn't",
        "it does not",
        "it isn't",
        "that doesn't",
        "they don't",
        "yet it",
        "instead it",
        "instead, it",
        "now it",
        "im moment",
        "momentan",
        "derzeit",
        "zurzeit",
        "aktuell ",
        "tut sie",
        "tut es",
        "pour l'instant",
        "actuellement",
        "en ce moment",
        "ahora se",
        "ahora no",
        "actualmente",
        "de momento",
        "现在没",
        "目前",
        "今は",
        "現在",
    ];
    let lower = sentence.to_lowercase().replace('’', "'");
    STARTS.iter().any(|start| lower.starts_with(start))
}

/// Returns the sentence before a constraint that refers to it, and whether the reference is not the
/// first word.
fn antecedent<'s, 'a>(all: &'s [Sentence<'a>], at: usize, end: usize) -> Option<(&'s Sentence<'a>, bool)> {
    let before = all.get(at.checked_sub(1)?)?;
    let is_inside = has_no_object(all[at].text) || reference_index(all[at].text)? > 0;
    let most = if is_inside { BEFORE_INSIDE_BYTES } else { BEFORE_BYTES };
    let fits = before.text.len() <= most && end - before.start <= BOTH_BYTES;
    (fits && before.block == all[at].block).then_some((before, is_inside))
}

/// Returns whether a ban names nothing that it forbids: `Never exceed without approval.`
fn has_no_object(sentence: &str) -> bool {
    const BANS: [&str; 8] = ["never", "don't", "dont", "not", "cannot", "can't", "mustn't", "avoid"];
    const AFTER: [&str; 14] = [
        "without", "unless", "until", "before", "after", "when", "while", "if", "during", "again", "yet",
        "ever", "anymore", "once",
    ];
    let is_one_of = |word: &str, list: &[&str]| list.iter().any(|known| is_word(word, known));
    let mut words = sentence.split(|c: char| c.is_whitespace() || ",.;!".contains(c));
    words.by_ref().take(MOST_NAMES + 1).any(|word| is_one_of(word, &BANS))
        && words.next().is_some_and(|verb| !verb.is_empty())
        && words.next().is_none_or(|next| next.is_empty() || is_one_of(next, &AFTER))
}

/// Returns whether a word is a known one, in whatever case and with whatever apostrophe.
fn is_word(word: &str, known: &str) -> bool {
    word.chars().map(|c| if c == '’' { '\'' } else { c.to_ascii_lowercase() }).eq(known.chars())
}

/// Returns the index of the word by which a sentence refers to the one before: `Never push it.`
///
/// Returns `None` if there is no such word, or if the sentence names a thing before it.
fn reference_index(sentence: &str) -> Option<usize> {
    let mut n_names = 0;
    for (at, word) in sentence.split_whitespace().enumerate() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase().replace('’', "'");
        let word_stem = lower.split('\'').next().unwrap_or_default();
        let is_over = word.ends_with([',', ';', ':', '.', '!']);
        let is_code = word.contains(['`', '/', '_', '"']) || bare.contains(['.', ':']);
        if is_code {
            return None;
        }
        if word_stem == "that" {
            let next = sentence.split_whitespace().nth(at + 1).unwrap_or_default();
            let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
            if at == 0 || is_over || next.is_empty() || AFTER_THAT.contains(&next) {
                return Some(at);
            }
        } else if BACK.contains(&word_stem) {
            return Some(at);
        }
        let is_name = at > 0 && bare.starts_with(char::is_uppercase) && bare != bare.to_uppercase();
        if is_name || DETERMINERS.contains(&word_stem) {
            return None;
        }
        n_names += usize::from(!NAMELESS.contains(&lower.as_str()));
        if n_names > MOST_NAMES {
            return None;
        }
    }
    None
}

/// Words that refer to the sentence before, and words after a `that` which does.
const BACK: [&str; 8] = ["it", "this", "they", "these", "those", "them", "its", "their"];
const AFTER_THAT: [&str; 16] = [
    "in", "on", "from", "to", "with", "for", "without", "again", "at", "by", "until", "unless", "when", "if",
    "here", "there",
];
/// Words that introduce a thing.
const DETERMINERS: [&str; 14] =
    ["the", "a", "an", "any", "all", "each", "every", "no", "my", "our", "your", "some", "both", "anything"];
/// Words that name no thing, and the most other words before a reference.
const NAMELESS: [&str; 34] = [
    "please", "also", "and", "but", "so", "just", "ever", "do", "don't", "dont", "not", "never", "always",
    "must", "should", "shall", "can", "cannot", "can't", "may", "you", "we", "i", "only", "then", "make",
    "sure", "ensure", "try", "to", "be", "if", "when", "that",
];
const MOST_NAMES: usize = 2;

/// Returns the end of the list that a sentence introduces.
fn list_end(all: &[Sentence<'_>], at: usize) -> Option<usize> {
    let intro = &all[at];
    if !intro.text.ends_with([':', '：']) {
        return None;
    }
    let items = all[at + 1..].iter().take_while(|next| next.is_item);
    items.map(Sentence::end).take_while(|end| end - intro.start <= LIST_BYTES).last()
}

/// Returns the end of the short block of code that a sentence introduces.
fn code_end(user_words: &str, intro: &Sentence<'_>) -> Option<usize> {
    const FENCE: &str = "```";
    if !intro.text.ends_with([':', '：']) {
        return None;
    }
    let rest = user_words[intro.end()..].trim_start();
    let code = rest.strip_prefix(FENCE)?;
    let end = user_words.len() - code.len() + code.find(FENCE)? + FENCE.len();
    (end - intro.end() <= CODE_BYTES).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = constraints(text).iter().map(|it| it.text).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn titles_of_numbered_tasks_and_answers_to_a_question_are_no_rules() {
        for text in [
            "1. lint failing\n2. update from main\n3. new comments",
            "are they loaded once? if the latter, then the session needs to reload them before each call.",
            "Gibt es Tests? Falls ja, immer zuerst laufen lassen.",
        ] {
            assert_eq!(constraints(text), [], "{text}");
        }
        assert_eq!(constraints("Is it live? If so, never push to main.").len(), 1);
    }

    #[test]
    fn a_constraint_is_the_whole_sentence_verbatim() {
        let long = "When the cache at https://a.example/x.y?z=1 is cold, e.g. after v1.2 starts, don't wait for `a. b`.";
        check(&format!("The page is slow. {long} Thanks."), &[long]);
        check("- build it\n- never push", &["never push"]);
        check("1. Keep a.rs as it is (do not format it!). 2", &["Keep a.rs as it is (do not format it!)."]);
    }

    #[test]
    fn a_sentence_that_refers_back_includes_the_one_before() {
        check("Add a cache. It must not block.", &["Add a cache. It must not block."]);
        check("Add a cache.\n\nIt must not block.", &["It must not block."]);
        check("Never block. It must be fast.", &["Never block.", "It must be fast."]);
        let rules = |text| constraints(text).iter().map(|it| (it.kind, it.rule)).collect::<Vec<_>>();
        assert_eq!(rules("Never push. You must not merge it."), [(Kind::Forbids, "Never push.")]);
        assert_eq!(rules("Add a cache. It must not block."), [(Kind::Forbids, "It must not block.")]);
    }

    #[test]
    fn a_sentence_includes_the_one_that_names_its_subject() {
        for whole in [
            "Use the v2 API. Never call it from the UI thread.",
            "The log holds keys. Please don't ever print its lines.",
            "Port the cart. Make sure that they do not block.",
            "Use only the v2 API. You must not call it from the UI thread.",
            "I saw that you push. Don't do that again.",
            "The budget cap is $956. Never exceed without my approval.",
            "The vault is at door 4. Do not open.",
        ] {
            check(&["Thanks. ", whole].concat(), &[whole]);
        }
        for (text, rule) in [
            ("Port the cart. Never touch the API, it is public.", "Never touch the API, it is public."),
            ("Port the cart. Make sure that all tests pass.", "Make sure that all tests pass."),
            ("Port it. Never call `it` twice.", "Never call `it` twice."),
            ("Port it.\n\nNever call it twice.", "Never call it twice."),
            ("Port it. Always run tests before it is merged.", "Always run tests before it is merged."),
        ] {
            check(text, &[rule]);
        }
        let long = format!("The cart {}is slow.", "of the shop ".repeat(15));
        check(&[&long, " Never call it twice."].concat(), &["Never call it twice."]);
    }

    #[test]
    fn a_rule_lasts_and_a_demand_of_a_step_does_not() {
        let lasting = |text: &str| -> Vec<String> {
            constraints(text).into_iter().filter(|it| it.is_lasting).map(|it| it.text.to_owned()).collect()
        };
        for (rule, task) in [
            ("Before you touch the schema, show me the SQL.", " The orders page is slow, start there."),
            ("Bevor du eine Datei löschst, frag mich.", " Räum jetzt den Ordner tools auf."),
            ("Avant de supprimer un fichier, pose-moi la question.", " Range le dossier outils."),
            ("Antes de borrar un archivo, pregúntame.", " Ordena la carpeta de herramientas."),
            ("删除文件之前先问我。", "整理一下 tools 目录。"),
            ("ファイルを消す前に私に確認してください。", "tools フォルダを整理して。"),
        ] {
            assert_eq!(lasting(&[rule, task].concat()), [rule]);
        }
        for step in ["No, use the other file.", "Don't fix it yet, only explain it.", "Fix the test."] {
            assert!(lasting(step).is_empty(), "{step}");
        }
    }

    #[test]
    fn a_rule_includes_its_list() {
        check("Do not touch:\n- a.rs\n- b.rs\n\nThen build.", &["Do not touch:\n- a.rs\n- b.rs"]);
    }

    #[test]
    fn each_item_of_a_list_of_rules_is_one() {
        check("House rules:\n- small commits\n- tabs\n\nFix it.", &["small commits", "tabs"]);
        check("チームの規約です。\n・関数は短く", &["関数は短く"]);
        check("The rule engine crashes.\n- fix the parser\n- add a test", &[]);
    }

    #[test]
    fn quoted_lines_are_rules_if_the_text_adopts_them() {
        check(
            "> Names are written in English, never in Dutch.\n\nThat applies to you too.",
            &["Names are written in English, never in Dutch."],
        );
        check(
            "> Names are written in English.\n\nThat applies to you too, and never push to main.",
            &["Names are written in English.", "That applies to you too, and never push to main."],
        );
        check("I get the following:\n> it must not be null", &[]);
    }

    #[test]
    fn a_rule_includes_its_short_code() {
        let rule = "You must use exactly this command:\n\n```\ngit diff > patch.txt\n```";
        check(&[rule, "\n\nThanks."].concat(), &[rule]);
        let long = format!("Never do this:\n```\n{}```", "make\n".repeat(80));
        check(&long, &["Never do this:"]);
    }

    #[test]
    fn quotes_are_not_rules() {
        check("it prints\n```\nyou must log in\n```\nfix that", &[]);
        check("it says \"never do that\"", &[]);
        check("2024-01-02 03:04:05 you must not\n> never\nERROR must not be null", &[]);
        let document =
            format!("Read this, but change no file.\n\n# Guide\n{}", "You must not.\n".repeat(200));
        check(&document, &["Read this, but change no file."]);
    }

    proptest! {
        #[test]
        fn every_constraint_is_a_slice_of_the_text(
            parts in prop::collection::vec(prop::sample::select(vec![
                "never", "don't", " ", " ", "\n", "\n- ", ". ", "it must", "`", "\"", "(", ")", "é", "不要", "。", "```",
                "# ", "<log>", "</", "ISSUE:\n", ":", "?", "no", ",", "as", "possible", "\u{2028}", "1. ", "https://",
            ]), 0..30)
        ) {
            let text = parts.concat();
            let range = text.as_bytes().as_ptr_range();
            for found in constraints(&text) {
                let part = found.text.as_bytes().as_ptr_range();
                prop_assert!(range.start <= part.start && part.end <= range.end && !found.text.is_empty());
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            _ = constraints(&text);
        }
    }
}
