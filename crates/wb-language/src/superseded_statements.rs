//! Statements of the user that replace an earlier one: `no, 9090`, `from now on, report in UTC`.
//!
//! Only words are considered. A later sentence replaces an earlier one if it says that something
//! changes, if both share words of their subject, and if they give other values of one kind.

use std::collections::HashSet;
use std::sync::LazyLock;

use wb_message::pairing::id_key;

use crate::constraint_rules::{Kind, kind};
use crate::sentences::sentences;
use crate::unspaced_scripts::{is_ending, is_wide, spaced};
use crate::word_patterns::{Grammar, Group, Words};

/// The longest statement that a later one supersedes, in bytes.
const STATEMENT_BYTES: usize = 300;
/// The longest text that may supersede what was said before, in bytes.
const UPDATE_BYTES: usize = 1_000;
/// The most subjects of a statement.
const MOST_SUBJECTS: usize = 8;

/// Patterns by which any sentence changes what was said before.
const CHANGES: &[&str] = &[
    "^^ ?quick update|correction|corrección ,",
    "from now on",
    "instead",
    "no longer",
    "has changed",
    "changed|moved|switched|switch to|from",
    "rebased onto",
    "switched|renamed|rotated",
    "rotation is done",
    "is retired|obsolete",
    "would rather",
    "scratch that",
    "going forward",
    "as of now|today",
    "i meant",
    "make that",
    "ab jetzt|sofort",
    "stattdessen",
    "nicht mehr",
    "désormais|dorénavant|plutôt",
    "à|a partir de maintenant|ahora",
    "ne plus",
    "en lugar|vez de",
    "ya no",
];
/// Patterns that change a statement of what is or must be.
const STATEMENT_CHANGES: &[&str] = &[
    "* now|jetzt|maintenant|ahora|actually|eigentlich",
    ", now|jetzt|maintenant|ahora|actually|eigentlich",
    "^^ new|neue|neuer|nouveau|nueva",
    "the|our|my|der|die|das|le|la|el|is new|neue|neuer|nouveau|nueva",
];
/// Patterns of an answer that corrects the last statement.
const CORRECTIONS: &[&str] =
    &["^^ no|sorry|wait|actually|oops|correction|nein|non|perdón|entschuldigung|pardon|rather", "^^ i meant"];

/// The compiled patterns.
struct ChangePatterns {
    grammar: Grammar,
    changes: Group,
    statement_changes: Group,
    corrections: Group,
}

static PATTERNS: LazyLock<ChangePatterns> = LazyLock::new(|| {
    let mut grammar = Grammar::new();
    let (changes, statement_changes) = (grammar.add(CHANGES), grammar.add(STATEMENT_CHANGES));
    let corrections = grammar.add(CORRECTIONS);
    ChangePatterns { grammar, changes, statement_changes, corrections }
});

/// Words that name a value which is replaced: `9090 instead of 8080`.
const OLD: &str = "instead of|rather than|no longer|not|statt|nicht|au lieu de|pas|en lugar de|en vez de";
/// Words that say what is or must be.
const STATES: &str = "is|are|was|were|must|should|will|=|stays|ist|sind|war|muss|soll|bleibt|est|sont|était|doit|es|son|\
    era|debe|está|equals|means|shall";
/// Words that are no subject.
const COMMON: &str = "from|with|that|this|then|than|into|onto|have|been|there|here|when|what|which|where|some|more|most|\
    each|every|after|before|under|over|below|above|please|make|keep|want|need|would|instead|update|\
    quick|current|total|does|they|them|your|only|just|also|still|already|done|good|thanks|dass|nicht|\
    eine|einen|bitte|jetzt|avec|pour|dans|cette|para|esta|este|como|ahora|changed|moved|like|and|but|\
    for|not|you|all|any|use|get|let|never|always|meant|mean|now|maintenant|actually|eigentlich|sorry|wait|oops|correction|nein|non|perdón|entschuldigung|pardon|rather|new|\
    neue|neuer|nouveau|nueva|the|our|my|der|die|das|le|la|el|is";
/// Stems that name what is measured, which many subjects have.
const MEASURES: &str =
    "budget|cap|ceil|cost|date|deadlin|due|expens|limit|number|price|schedul|spend|target|value";
/// Words before a noun in German, which begins with a capital letter.
const GERMAN_ARTICLES: &str = "der|die|das|den|dem|des|ein|eine|einen|unser";
const CURRENCIES: &str = "dollar|dollars|euro|euros|usd|eur|pounds|gbp";
const NUMBERS: &str = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|\
    seventy|eighty|ninety|hundred|thousand|million|half|dozen";
const DATES: &str = "january|february|march|april|may|june|july|august|september|october|november|december|monday|\
    tuesday|wednesday|thursday|friday|saturday|sunday";

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
    /// The effect, if it is a rule.
    kind: Option<Kind>,
}

/// The kind of words by which a sentence changes what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A phrase changes whatever was said.
    Any,
    /// A word changes a statement of what is or must be.
    OfStatement,
}

/// Statements in the user's words that may change what was said before.
#[derive(Debug)]
pub struct Update {
    statements: Vec<(Statement, Option<Change>)>,
    /// The topics of the statements, if no word says that something changes: only a statement with
    /// the same topic may be superseded then.
    topics: Option<Vec<u64>>,
    /// True for an answer that only corrects a value.
    is_correction: bool,
}

impl Update {
    /// Reads the user's words; `None` if they change nothing.
    pub fn parse(words: &str) -> Option<Self> {
        if words.len() > UPDATE_BYTES {
            return None;
        }
        let words = &*spaced(words);
        let of_all = if words.len() <= STATEMENT_BYTES { change(words) } else { None };
        let is_answer = Words::new(&PATTERNS.grammar, words).has(PATTERNS.corrections);
        let mut statements = Vec::new();
        for clause in clauses(words) {
            let Some(statement) = Statement::read(clause, true) else { continue };
            let change = of_all.or_else(|| change(clause));
            let changes =
                change.is_some() || statement.state.is_some() || is_answer && statement.subjects.is_empty();
            if changes && statement.subjects.len() <= MOST_SUBJECTS {
                statements.push((statement, change));
            }
        }
        let is_correction = is_answer && matches!(&statements[..], [(only, _)] if only.subjects.is_empty());
        let is_plain = |(it, change): &(Statement, Option<Change>)| change.is_none() && !it.names_old_value();
        let topics = (!is_correction && statements.iter().all(is_plain)).then(|| topics(words));
        (!statements.is_empty()).then_some(Self { statements, topics, is_correction })
    }

    /// Reports whether it only corrects a value of what was said last.
    pub fn is_correction(&self) -> bool {
        self.is_correction
    }

    /// Returns whether it may supersede a text with these [`topics`]; a quick check that spares
    /// most texts from being read.
    pub fn may_supersede(&self, topics: &[u64]) -> bool {
        self.topics.as_ref().is_none_or(|own| topics.iter().any(|topic| own.contains(topic)))
    }

    /// Reports whether it gives another value to what a short earlier statement says.
    pub fn supersedes(&self, earlier: &str) -> bool {
        let earlier = &*spaced(earlier);
        let may_differ = || self.topics.is_none() || self.may_supersede(&topics(earlier));
        if earlier.len() > STATEMENT_BYTES || !self.may_concern(earlier) || !may_differ() {
            return false;
        }
        clauses(earlier).into_iter().any(|clause| {
            let is_older = |earlier: &Statement| {
                self.statements.iter().any(|(later, change)| self.is_newer(later, *change, earlier))
            };
            Statement::read(clause, false).as_ref().is_some_and(is_older)
        })
    }

    /// A quick check that most statements fail.
    fn may_concern(&self, earlier: &str) -> bool {
        let earlier = earlier.to_lowercase();
        let has = |text: &str| earlier.contains(text);
        let concerns = |it: &Statement| {
            it.subjects.iter().any(|subject| has(subject)) || it.values.iter().any(|value| has(&value.text))
        };
        self.is_correction || self.statements.iter().any(|(later, _)| concerns(later))
    }

    fn is_newer(&self, later: &Statement, change: Option<Change>, earlier: &Statement) -> bool {
        // A ban holds unless a ban replaces it.
        if earlier.forbids() && !self.statements.iter().any(|(it, _)| it.forbids()) {
            return false;
        }
        if later.names_old_value_of(earlier) {
            return true;
        }
        let is_shared = |it: &&String| earlier.subjects.iter().any(|other| is_same(it, other));
        let n_shared = later.subjects.iter().filter(is_shared).count();
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
            _ if self.is_correction => true,
            Some(Change::Any) => is_about_it,
            Some(Change::OfStatement) => {
                let states = earlier.state.is_some() || earlier.kind.is_some();
                is_about_it && states && !later.has_other_topic(earlier)
            }
            None => later.is_same_but_for_values(earlier),
        }
    }
}

/// Returns the topics of the statements in a text: the words before the one that says what is or
/// must be, each as a number.
pub fn topics(text: &str) -> Vec<u64> {
    let of_clause = |clause: &str| {
        let words: Vec<String> = words_of(clause).map(|word| bare(word).to_lowercase()).collect();
        let state = words.iter().position(|word| is_in(STATES, word)).filter(|state| *state > 0)?;
        Some(id_key(&words[..state].join(" ")))
    };
    clauses(&spaced(text)).into_iter().filter_map(of_clause).collect()
}

/// Returns the parts of a text that may be statements.
fn clauses(text: &str) -> Vec<&str> {
    let is_statement = |it: &&str| it.len() <= STATEMENT_BYTES && !it.ends_with(['?', '？']);
    sentences(text).into_iter().map(|it| it.text).filter(is_statement).flat_map(|it| it.split("; ")).collect()
}

/// Returns how a text changes what was said before.
fn change(text: &str) -> Option<Change> {
    let words = Words::new(&PATTERNS.grammar, text);
    if words.has(PATTERNS.changes) {
        return Some(Change::Any);
    }
    words.has(PATTERNS.statement_changes).then_some(Change::OfStatement)
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

/// Returns whether two subjects are one; in a script without blanks, one may be the end of the
/// other.
fn is_same(one: &str, two: &str) -> bool {
    one == two || one.starts_with(is_wide) && (one.ends_with(two) || two.ends_with(one))
}

/// Returns the stem of a word, by the usual endings of English.
fn stem(word: &str) -> &str {
    const ENDINGS: [&str; 10] = ["ings", "ing", "ers", "er", "ed", "ly", "es", "s", "en", "e"];
    let cut = |ending: &&str| word.strip_suffix(*ending).filter(|stem| stem.len() >= 3);
    ENDINGS.iter().find_map(cut).unwrap_or(word)
}

impl Statement {
    /// Reads a sentence; `None` if it has no values and needs some.
    fn read(sentence: &str, needs_values: bool) -> Option<Self> {
        let raw: Vec<&str> = words_of(sentence).collect();
        let words: Vec<String> = raw.iter().map(|word| bare(word).to_lowercase()).collect();
        let values = values(&raw, &words);
        if needs_values && values.is_empty() {
            return None;
        }
        let is_value = |nth: usize| values.iter().any(|value| value.nth == nth);
        let mut subjects: Vec<String> = Vec::new();
        for (nth, word) in words.iter().enumerate() {
            if is_value(nth) {
                // The folder of a path is a subject.
                let folder = word.split_once('/').map(|(folder, _)| folder).filter(|it| it.len() > 2);
                subjects.extend(folder.map(str::to_owned));
                continue;
            }
            let least = if word.starts_with(is_wide) { 2 } else { 3 };
            let parts = word.split(['-', '\'', '’', ':']).filter(|part| part.chars().count() >= least);
            let is_subject =
                |part: &&str| !is_common(part) && !is_ending(part) && part.chars().all(char::is_alphabetic);
            subjects.extend(parts.filter(is_subject).map(|part| stem(part).to_owned()));
        }
        let has_path = values.iter().any(|value| value.kind == ValueKind::Path);
        if has_path && subjects.iter().any(|subject| subject == "rebas" || subject == "switch") {
            subjects.push("branch".to_owned());
        }
        // A measure is the subject where nothing else is.
        if subjects.iter().any(|subject| !is_in(MEASURES, subject)) {
            subjects.retain(|subject| !is_in(MEASURES, subject));
        }
        let state = words.iter().position(|word| is_in(STATES, word));
        Some(Self { words, subjects, values, state, kind: kind(sentence) })
    }

    fn forbids(&self) -> bool {
        self.kind == Some(Kind::Forbids)
    }

    /// Reports whether it has only other values of the kind of a value.
    fn has_other(&self, value: &Value) -> bool {
        let mut of_kind = self.values.iter().filter(|it| it.kind == value.kind).peekable();
        of_kind.peek().is_some() && of_kind.all(|it| it.text != value.text)
    }

    /// Reports whether the values before what is said differ: `/v1 is slow`, `/v2 is slow`.
    fn has_other_topic(&self, earlier: &Self) -> bool {
        let (own, its) = (self.topic(), earlier.topic());
        !own.is_empty() && !its.is_empty() && own != its
    }

    fn topic(&self) -> Vec<&str> {
        let is_before = |value: &&Value| self.state.is_some_and(|state| value.nth < state);
        self.values.iter().filter(is_before).map(|value| value.text.as_str()).collect()
    }

    /// Reports whether only the values differ, which follow what is said: `the port is 8080`.
    fn is_same_but_for_values(&self, earlier: &Self) -> bool {
        let (Some(own), Some(its)) = (self.state, earlier.state) else { return false };
        let is_topic = self.words[..own] == earlier.words[..its];
        let has_subject = own > 0 && !self.subjects.is_empty() && self.subjects == earlier.subjects;
        is_topic && has_subject && self.values.len() == earlier.values.len()
    }

    /// Reports whether it replaces a value by name: `9090 instead of 8080`, `not 8080`.
    fn names_old_value_of(&self, earlier: &Self) -> bool {
        let is_known = |value: &Value| earlier.values.iter().any(|it| it.text == value.text);
        self.values.len() > 1
            && earlier.state.is_some()
            && self.values.iter().any(|value| value.text.len() > 2 && self.is_old(value) && is_known(value))
    }

    /// Reports whether it may replace a value by name.
    fn names_old_value(&self) -> bool {
        self.values.len() > 1 && self.values.iter().any(|value| self.is_old(value))
    }

    fn is_old(&self, value: &Value) -> bool {
        let before = self.words[value.nth.saturating_sub(3)..value.nth].join(" ");
        OLD.split('|').any(|phrase| before.ends_with(phrase))
    }
}

/// Returns whether a word is in a list with `|` between the words.
fn is_in(list: &str, word: &str) -> bool {
    list.split('|').any(|it| it == word)
}

fn is_common(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| [COMMON, CURRENCIES, STATES].iter().flat_map(|list| list.split('|')).collect());
    WORDS.contains(word)
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
    let has = |list: &str, at: usize| words.get(at).is_some_and(|word| is_in(list, word));
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let has_letter = word.contains(char::is_alphabetic);
    let is_capital = |at: usize| raw.get(at).is_some_and(|word| bare(word).starts_with(char::is_uppercase));
    if is_in(NUMBERS, word) {
        let n_numbers = words[at..].iter().take_while(|word| is_in(NUMBERS, word)).count();
        return has(CURRENCIES, at + n_numbers).then_some((ValueKind::Amount, n_numbers));
    }
    if is_in(DATES, word) && is_capital(at) {
        let has_day = words.get(at + 1).is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()));
        return (has_day || word != "may").then_some((ValueKind::Date, 1 + usize::from(has_day)));
    }
    if word.contains('/') && word.len() > 3 && has_letter && !word.contains("//") {
        return Some((ValueKind::Path, 1));
    }
    if word.starts_with(['$', '€', '£']) || has_digit && !has_letter && has(CURRENCIES, at + 1) {
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
    let is_noun = |at: usize| at > 0 && is_in(GERMAN_ARTICLES, &words[at - 1]);
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
        Update::parse(later).is_some_and(|update| update.supersedes(earlier))
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
            ("端口是 8080。", "从现在起端口是 9090。"),
            ("端口是8080", "现在端口改成9090了"),
            ("服务的端口是 8080。", "服务的端口是 9090。"),
            ("端口是 8080。", "用 9090，而不是 8080。"),
            ("ポートは8080です。", "これからはポートは9090です。"),
            ("ポートは8080です。", "ポートを9090に変更してください。"),
            ("ポートは8080です。", "8080ではなく9090を使ってください。"),
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
            ("端口是 8080。", "现在修 9090 号问题。"),
            ("端口是 8080。", "超时是 30 秒。"),
            ("ポートは8080です。", "タイムアウトは30秒です。"),
            ("Test 3 is red.", "Test 4 is red."),
        ] {
            assert!(!replaces(later, earlier), "{earlier:?} {later:?}");
        }
    }

    #[test]
    fn a_statement_without_a_word_of_change_is_compared_with_its_topic_alone() {
        let update = |text: &str| Update::parse(text).expect("it may change something");
        let plain = update("The port of the worker is 8080.");
        assert!(plain.may_supersede(&topics("The port of the worker is 9090.")));
        assert!(!plain.may_supersede(&topics("The port of the server is 9090.")));
        for text in ["From now on, the port is 8080.", "The port is 8080, not 9090.", "no, 8080"] {
            assert!(update(text).may_supersede(&[]), "{text}");
        }
    }

    #[test]
    fn a_correction_without_a_subject_gives_the_last_value() {
        for later in ["no, 9090", "sorry, 9090", "I meant 9090.", "Nein, 9090", "不，9090", "いや、9090"]
        {
            let update = Update::parse(later).expect("it changes a value");
            assert!(update.is_correction() && update.supersedes("the port is 8080"), "{later}");
            assert!(!update.supersedes("call it Kite"), "{later}");
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
