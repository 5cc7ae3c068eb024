//! Statements of the user that replace an earlier one: `no, 9090`, `from now on, report in UTC`.
//!
//! Only words are considered. A later sentence replaces an earlier one if it says that something
//! changes, if both share words of their subject, and if they give other values of one kind. The
//! words of a change are English, German, French and Spanish; a text without spaces is not read.

use crate::constraint_rules::{Kind, kind};
use crate::sentences::sentences;
use wb_message::text::head;

/// The longest statement that a later one replaces, in bytes.
pub const STATEMENT_BYTES: usize = 300;

/// The longest text that may change what was said before, in bytes.
const UPDATE_BYTES: usize = 1_000;
/// The most subjects of a statement.
const MOST_SUBJECTS: usize = 8;

/// Phrases by which any sentence changes what was said before.
const CHANGES: [&str; 35] = [
    "from now on",
    "instead",
    "no longer",
    "changed to",
    "has changed",
    "moved to",
    "moved from",
    "switched",
    "switch to",
    "rebased onto",
    "renamed",
    "rotated",
    "rotation is done",
    "would rather",
    "is retired",
    "is obsolete",
    "scratch that",
    "going forward",
    "as of now",
    "as of today",
    "i meant",
    "make that",
    "ab jetzt",
    "ab sofort",
    "stattdessen",
    "nicht mehr",
    "désormais",
    "dorénavant",
    "à partir de maintenant",
    "plutôt",
    "ne plus",
    "a partir de ahora",
    "en lugar de",
    "en vez de",
    "ya no",
];
/// Headings at the start of such a sentence, and the bytes in which one is searched.
const HEADINGS: [&str; 3] = ["update:", "correction:", "corrección:"];
const START_BYTES: usize = 40;
/// Words that change a statement of what is or must be, unless they begin the sentence.
const NOW: [&str; 6] = ["now", "jetzt", "maintenant", "ahora", "actually", "eigentlich"];
/// The word `new`, and the words that it follows if it names what is there already.
const NEW: [&str; 5] = ["new", "neue", "neuer", "nouveau", "nueva"];
const BEFORE_NEW: [&str; 10] = ["the", "our", "my", "der", "die", "das", "le", "la", "el", "is"];
/// Words at the start of an answer that corrects the last statement.
const CORRECTIONS: [&str; 12] = [
    "no",
    "sorry",
    "wait",
    "actually",
    "oops",
    "correction",
    "nein",
    "non",
    "perdón",
    "entschuldigung",
    "pardon",
    "rather",
];
/// Words that name a value which is replaced: `9090 instead of 8080`.
const OLD: [&str; 10] = [
    "instead of",
    "rather than",
    "no longer",
    "not",
    "statt",
    "nicht",
    "au lieu de",
    "pas",
    "en lugar de",
    "en vez de",
];
/// Words that say what is or must be.
const STATES: [&str; 27] = [
    "is", "are", "was", "were", "must", "should", "will", "=", "stays", "ist", "sind", "war", "muss", "soll",
    "bleibt", "est", "sont", "était", "doit", "es", "son", "era", "debe", "está", "equals", "means", "shall",
];
/// Words that are no subject.
const COMMON: [&str; 72] = [
    "from", "with", "that", "this", "then", "than", "into", "onto", "will", "must", "should", "have", "been",
    "there", "here", "when", "what", "which", "where", "some", "more", "most", "each", "every", "after",
    "before", "under", "over", "below", "above", "please", "make", "keep", "want", "need", "would", "rather",
    "instead", "update", "quick", "current", "total", "does", "they", "them", "your", "only", "just", "also",
    "still", "already", "done", "good", "thanks", "dass", "nicht", "eine", "einen", "bitte", "jetzt", "avec",
    "pour", "dans", "cette", "para", "esta", "este", "como", "ahora", "changed", "moved", "like",
];
/// Stems that name what is measured, which many subjects have.
const MEASURES: [&str; 15] = [
    "budget", "cap", "ceil", "cost", "date", "deadlin", "due", "expens", "limit", "number", "price",
    "schedul", "spend", "target", "value",
];
/// Words before a noun in German, which begins with a capital letter.
const GERMAN_ARTICLES: [&str; 10] =
    ["der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "unser"];
const CURRENCIES: [&str; 8] = ["dollar", "dollars", "euro", "euros", "usd", "eur", "pounds", "gbp"];
const NUMBERS: [&str; 24] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty",
    "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million",
    "half", "dozen",
];
const DATES: [&str; 19] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// The kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Amount,
    Date,
    Number,
    Path,
    Code,
    Name,
}

/// A value, lowercase.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    kind: ValueKind,
    text: String,
    /// Its place among the words.
    nth: usize,
}

/// A sentence with the values that it gives to a subject.
#[derive(Debug)]
struct Statement {
    /// The words, lowercase and without signs.
    words: Vec<String>,
    subjects: Vec<String>,
    values: Vec<Value>,
    /// The place of the first word that says what is or must be.
    state: Option<usize>,
    forbids: bool,
}

/// The kind of words by which a sentence changes what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// By a phrase, whatever it changes.
    Any,
    /// By a word that changes a statement.
    OfStatement,
    /// Not, unless it is the same statement with another value.
    None,
}

/// Statements in the user's words that may change what was said before.
#[derive(Debug)]
pub struct Update {
    statements: Vec<(Statement, Change)>,
    forbids: bool,
    /// True for an answer that only corrects a value.
    is_correction: bool,
}

impl Update {
    /// Reads the user's words; `None` if they change nothing.
    pub fn parse(words: &str) -> Option<Self> {
        let is_short = words.len() <= STATEMENT_BYTES;
        let of_all = if is_short { change(words) } else { Change::None };
        let mut statements = Vec::new();
        let words = if words.len() > UPDATE_BYTES { "" } else { words };
        for sentence in clauses(words) {
            let statement = Statement::parse(sentence);
            let change = if of_all == Change::None { change(sentence) } else { of_all };
            let changes = change != Change::None || statement.state.is_some() || statement.corrects(words);
            if !statement.values.is_empty() && changes && statement.subjects.len() <= MOST_SUBJECTS {
                statements.push((statement, change));
            }
        }
        let is_correction = matches!(&statements[..], [(only, _)] if only.corrects(words));
        let forbids = statements.iter().any(|(statement, _)| statement.forbids);
        (!statements.is_empty()).then_some(Self { statements, forbids, is_correction })
    }

    /// Reports whether it only corrects a value of what was said last.
    pub fn is_correction(&self) -> bool {
        self.is_correction
    }

    /// Reports whether it gives another value to what a short earlier statement says.
    pub fn replaces(&self, earlier: &str) -> bool {
        if earlier.len() > STATEMENT_BYTES || !self.may_concern(earlier) {
            return false;
        }
        clauses(earlier).into_iter().any(|clause| {
            let earlier = Statement::parse(clause);
            self.statements.iter().any(|(later, change)| self.is_newer(later, *change, &earlier))
        })
    }

    /// A quick check that most statements fail.
    fn may_concern(&self, earlier: &str) -> bool {
        let earlier = earlier.to_lowercase();
        let is_in = |subject: &String| earlier.contains(subject.as_str());
        self.is_correction
            || self.statements.iter().any(|(later, _)| later.subjects.iter().any(is_in) || later.names_old())
    }

    fn is_newer(&self, later: &Statement, change: Change, earlier: &Statement) -> bool {
        // A ban holds unless a ban replaces it.
        if earlier.forbids && !self.forbids {
            return false;
        }
        if later.names_old_value_of(earlier) {
            return true;
        }
        let n_shared = later.subjects.iter().filter(|it| earlier.subjects.contains(it)).count();
        // Any capitalized word may be a name.
        let counts = |value: &&Value| value.kind != ValueKind::Name || n_shared > 1;
        if !later.values.iter().filter(counts).any(|value| earlier.has_other(value)) {
            return false;
        }
        let n_least = later.subjects.len().min(earlier.subjects.len());
        let is_about_it = earlier.subjects.len() <= MOST_SUBJECTS
            && n_shared > 0
            && (n_shared * 2 >= n_least || n_shared > 1);
        match change {
            _ if self.is_correction && later.subjects.is_empty() => true,
            Change::Any => is_about_it,
            Change::OfStatement => {
                let states = earlier.state.is_some() || earlier.is_rule();
                is_about_it && states && !later.has_other_topic(earlier)
            }
            Change::None => later.is_same_but_for_values(earlier),
        }
    }
}

/// Returns the parts of a text that may be statements.
fn clauses(text: &str) -> Vec<&str> {
    let is_statement = |it: &&str| it.len() <= STATEMENT_BYTES && !it.ends_with(['?', '？']);
    sentences(text).into_iter().map(|it| it.text).filter(is_statement).flat_map(|it| it.split("; ")).collect()
}

/// Returns how a text changes what was said before.
fn change(text: &str) -> Change {
    let words: Vec<String> = words_of(text).map(|word| bare(word).to_lowercase()).collect();
    let start = head(text, START_BYTES).to_lowercase();
    if HEADINGS.iter().any(|heading| start.contains(heading)) {
        return Change::Any;
    }
    let joined = [" ", &words.join(" "), " "].concat();
    let has = |phrase: &&str| joined.contains(&[" ", phrase, " "].concat());
    if CHANGES.iter().any(has) {
        return Change::Any;
    }
    let is = |list: &[&str], at: usize| words.get(at).is_some_and(|word| list.contains(&word.as_str()));
    let is_new = |at: usize| is(&NEW, at) && (at == 0 || is(&BEFORE_NEW, at - 1));
    let changes = (0..words.len()).any(|at| at > 0 && is(&NOW, at) || is_new(at));
    if changes { Change::OfStatement } else { Change::None }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    without_label(text).split_whitespace()
}

/// Returns a text without a label such as `HARD CONSTRAINT:`.
fn without_label(text: &str) -> &str {
    match text.split_once(": ") {
        Some((label, rest)) if !label.contains(|c: char| c.is_lowercase() || c.is_ascii_digit()) => rest,
        _ => text,
    }
}

fn bare(word: &str) -> &str {
    let word = word.trim_end_matches(['.', ',', ';', ':', '!', ')', ']', '"', '`', '”', '\'', '*']);
    word.trim_start_matches(['(', '[', '"', '`', '“', '\'', '*'])
}

/// Returns the stem of a word, by the usual endings of English.
fn stem(word: &str) -> &str {
    const ENDINGS: [&str; 10] = ["ings", "ing", "ers", "er", "ed", "ly", "es", "s", "en", "e"];
    let cut = |ending: &&str| word.strip_suffix(*ending).filter(|stem| stem.len() >= 3);
    ENDINGS.iter().find_map(cut).unwrap_or(word)
}

impl Statement {
    fn parse(sentence: &str) -> Self {
        let raw: Vec<&str> = words_of(sentence).collect();
        let words: Vec<String> = raw.iter().map(|word| bare(word).to_lowercase()).collect();
        let values = values(&raw, &words);
        let is_value = |nth: usize| values.iter().any(|value| value.nth == nth);
        let mut subjects: Vec<String> = Vec::new();
        for (nth, word) in words.iter().enumerate() {
            if is_value(nth) {
                // The folder of a path is a subject.
                let folder = word.split_once('/').map(|(folder, _)| folder).filter(|it| it.len() > 2);
                subjects.extend(folder.map(str::to_owned));
                continue;
            }
            let parts = word.split(['-', '\'', '’', ':']).filter(|part| part.chars().count() > 2);
            let is_subject = |part: &&str| !is_common(part) && part.chars().all(char::is_alphabetic);
            subjects.extend(parts.filter(is_subject).map(|part| stem(part).to_owned()));
        }
        let has_path = values.iter().any(|value| value.kind == ValueKind::Path);
        if has_path && subjects.iter().any(|subject| subject == "rebas" || subject == "switch") {
            subjects.push("branch".to_owned());
        }
        // A measure is the subject where nothing else is.
        if subjects.iter().any(|subject| !MEASURES.contains(&subject.as_str())) {
            subjects.retain(|subject| !MEASURES.contains(&subject.as_str()));
        }
        let state = words.iter().position(|word| STATES.contains(&word.as_str()));
        let forbids = kind(sentence) == Some(Kind::Forbids);
        Self { words, subjects, values, state, forbids }
    }

    fn is_rule(&self) -> bool {
        kind(&self.words.join(" ")).is_some()
    }

    /// Reports whether it has only other values of the kind of a value.
    fn has_other(&self, value: &Value) -> bool {
        let mut of_kind = self.values.iter().filter(|it| it.kind == value.kind).peekable();
        of_kind.peek().is_some() && of_kind.all(|it| it.text != value.text)
    }

    /// Reports whether the values before what is said differ: `/v1 is slow`, `/v2 is slow`.
    fn has_other_topic(&self, earlier: &Self) -> bool {
        let topic = |it: &Self| {
            let state = it.state.unwrap_or(0);
            it.values
                .iter()
                .filter(|value| value.nth < state)
                .map(|value| value.text.clone())
                .collect::<Vec<_>>()
        };
        let (own, its) = (topic(self), topic(earlier));
        !own.is_empty() && !its.is_empty() && own != its
    }

    /// Reports whether only the values differ, which follow what is said: `the port is 8080`.
    fn is_same_but_for_values(&self, earlier: &Self) -> bool {
        let (Some(own), Some(its)) = (self.state, earlier.state) else { return false };
        let is_topic = self.words[..own] == earlier.words[..its];
        let has_subject = own > 0 && !self.subjects.is_empty() && self.subjects == earlier.subjects;
        is_topic && has_subject && self.values.len() == earlier.values.len()
    }

    fn names_old(&self) -> bool {
        let joined = [" ", &self.words.join(" "), " "].concat();
        OLD.iter().any(|phrase| joined.contains(&[" ", phrase, " "].concat()))
    }

    /// Reports whether it replaces a value by name: `9090 instead of 8080`, `not 8080`.
    fn names_old_value_of(&self, earlier: &Self) -> bool {
        let is_old = |value: &Value| {
            let before = self.words[value.nth.saturating_sub(3)..value.nth].join(" ");
            OLD.iter().any(|phrase| before.ends_with(phrase))
        };
        let is_in = |value: &Value| earlier.values.iter().any(|it| it.text == value.text);
        self.values.len() > 1
            && earlier.state.is_some()
            && self.values.iter().any(|value| value.text.len() > 2 && is_old(value) && is_in(value))
    }

    /// Reports whether a text that begins with a word of correction says nothing but a value.
    fn corrects(&self, words: &str) -> bool {
        let first = words.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
        let is_correction =
            CORRECTIONS.contains(&first.as_str()) || words.to_lowercase().starts_with("i meant");
        is_correction && self.subjects.is_empty()
    }
}

fn is_common(word: &str) -> bool {
    let is_in = |list: &[&str]| list.contains(&word);
    is_in(&COMMON)
        || is_in(&CURRENCIES)
        || is_in(&STATES)
        || is_in(&NOW)
        || is_in(&NEW)
        || is_in(&BEFORE_NEW)
        || is_in(&CORRECTIONS)
        || is_in(&["and", "but", "for", "not", "you", "all", "any", "use", "get", "let"])
        || is_in(&["never", "always", "meant", "mean"])
}

/// Returns the values among words; several words may give one value.
fn values(raw: &[&str], words: &[String]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some((kind, n_words)) = value_at(raw, words, at) else {
            at += 1;
            continue;
        };
        out.push(Value { kind, text: words[at..at + n_words].join(" "), nth: at });
        at += n_words;
    }
    out
}

/// Returns the kind of the value that begins at a place, and its number of words.
fn value_at(raw: &[&str], words: &[String], at: usize) -> Option<(ValueKind, usize)> {
    let word = words[at].as_str();
    let has = |list: &[&str], at: usize| words.get(at).is_some_and(|word| list.contains(&word.as_str()));
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let has_letter = word.contains(char::is_alphabetic);
    let is_capital = |at: usize| raw.get(at).is_some_and(|word| bare(word).starts_with(char::is_uppercase));
    if NUMBERS.contains(&word) {
        let n_numbers = words[at..].iter().take_while(|word| NUMBERS.contains(&word.as_str())).count();
        return has(&CURRENCIES, at + n_numbers).then_some((ValueKind::Amount, n_numbers));
    }
    if DATES.contains(&word) && is_capital(at) {
        let has_day = words.get(at + 1).is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()));
        return (has_day || word != "may").then_some((ValueKind::Date, 1 + usize::from(has_day)));
    }
    if word.contains('/') && word.len() > 3 && has_letter && !word.contains("//") {
        return Some((ValueKind::Path, 1));
    }
    if word.starts_with(['$', '€', '£']) || has_digit && !has_letter && has(&CURRENCIES, at + 1) {
        return Some((ValueKind::Amount, 1));
    }
    if has_digit && !has_letter {
        let is_date = word.len() > 4 && word.matches('-').count() > 0;
        return Some((if is_date { ValueKind::Date } else { ValueKind::Number }, 1));
    }
    if has_digit {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit()) || word.contains('.');
        return Some((if is_number { ValueKind::Number } else { ValueKind::Code }, 1));
    }
    let is_noun = |at: usize| at > 0 && GERMAN_ARTICLES.contains(&words[at - 1].as_str());
    let may_be_name =
        |at: &usize| is_capital(*at) && words[*at] != "i" && !is_common(&words[*at]) && !is_noun(*at);
    let n_names = (at..words.len()).take_while(may_be_name).count();
    let is_name = n_names > 1 || n_names == 1 && at > 0;
    is_name.then_some((ValueKind::Name, n_names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaces(later: &str, earlier: &str) -> bool {
        Update::parse(later).is_some_and(|update| update.replaces(earlier))
    }

    #[test]
    fn a_later_value_of_the_same_subject_replaces_an_earlier_one() {
        for (earlier, later) in [
            ("The port is 8080.", "The port is 9090."),
            ("the port is 8080", "Use 9090 instead of 8080."),
            ("the port is 8080", "The port is 9090 now, not 8080."),
            ("Target Node 18 for the worker, it must run there.", "We moved to Node 22 for the worker."),
            ("The release is planned, it is due on Friday.", "The release moved to Monday."),
            ("Report sizes in MB.", "From now on, report sizes in KiB."),
            ("The reviewer of the parser is Ana Diaz.", "Tom Kerr is now the reviewer of the parser."),
            ("Keep the cost of a run under $40.", "Update: a run may cost ninety dollars."),
            ("We work on branch feat/cart.", "I switched to feat/cart-v2, work there."),
            ("Never print the key AB-12.", "The key rotated. Never print the new key CD-34."),
            ("Der Port ist 8080.", "Ab jetzt ist der Port 9090."),
            ("Le port est 8080.", "Désormais le port est 9090."),
            ("El puerto es 8080.", "A partir de ahora el puerto es 9090."),
        ] {
            assert!(replaces(later, earlier), "{earlier:?} {later:?}");
        }
    }

    #[test]
    fn other_subjects_tasks_reports_and_bans_stay() {
        for (earlier, later) in [
            ("The production database is Postgres 16.", "The staging database is Postgres 14."),
            ("The project ceiling of spending is $500.", "New ceiling for trip costs: stay below $90."),
            ("The primary region is eu-north-3.", "The backup region is us-west-2."),
            ("Fix issue 12 in the parser.", "Now fix issue 13 in the parser."),
            ("Fix issue 12 in the parser.", "Fix issue 13 in the parser."),
            ("The route /v1/cart is slow.", "The route /v2/cart is slow."),
            ("The route /v1/cart is slow.", "Add a new route /v3/cart."),
            ("Never push to Main.", "From now on, push to Develop."),
            ("Keep answers short.", "From now on, answer in German."),
            ("The port is 8080.", "Is the port 9090 now?"),
            ("The port is 8080.", "The port is 8080 now, as I said."),
            ("The port is 8080.", "thanks, 3 tests pass now"),
            ("Test 3 is red.", "Test 4 is red."),
        ] {
            assert!(!replaces(later, earlier), "{earlier:?} {later:?}");
        }
    }

    #[test]
    fn a_correction_without_a_subject_gives_the_last_value() {
        for later in ["no, 9090", "sorry, 9090", "I meant 9090.", "Nein, 9090"] {
            let update = Update::parse(later).expect("it changes a value");
            assert!(update.is_correction() && update.replaces("the port is 8080"), "{later}");
            assert!(!update.replaces("call it Kite"), "{later}");
        }
        assert!(Update::parse("no, do not").is_none() && Update::parse("go on").is_none());
        assert!(!Update::parse("No, the port is 9090.").expect("a statement").is_correction());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(one in "[ -~é「。]{0,80}", two in "[ -~é]{0,80}") {
            _ = replaces(&one, &two);
        }
    }
}
