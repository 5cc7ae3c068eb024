//! Patterns of words in a sentence.
//!
//! A pattern is a list of words, separated by blanks:
//! - `a|b` is either word, `?a` is optional, `*` is any word, `..` up to eight of them
//! - `,` is a sign that ends a clause
//! - `^` is the start of a clause, `^^` that of the sentence, `$` its end
//! - `%ing` and `%ed` are words with that ending, `%do` a verb that asks for something
//!
//! A quote, a code span or an address is one word that no pattern contains.

use std::cell::Cell;

use crate::tokens::{Piece, pieces};
use crate::vocabulary::{
    BREAK, IS_ADVERB, IS_CONJUNCTION, IS_ED, IS_ING, IS_OPENING, IS_VERB, IS_WHO, IS_WISH, IS_WORD, OTHER,
    Vocabulary, is_pair,
};

/// The maximum number of words that `..` matches.
const GAP_WORDS: usize = 8;

/// A bit for each pattern of a grammar.
type Bits = [u64; 8];
/// The number of required words of a pattern that are checked before it is matched.
const N_SIEVES: usize = 3;
type Sieves = [Bits; N_SIEVES];

/// Patterns and their words.
#[derive(Debug)]
pub(crate) struct Grammar {
    vocabulary: Vocabulary,
    patterns: Vec<Pattern>,
    /// For each word, the patterns that require it.
    sieves: Vec<Sieves>,
    /// The patterns that require no word.
    unneeded: Sieves,
}

/// Patterns of a grammar that are matched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(Bits);

#[derive(Debug)]
struct Pattern {
    start: Start,
    parts: Vec<Part>,
}

/// The position at which a pattern may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Anywhere,
    Clause,
    Sentence,
}

#[derive(Debug)]
enum Part {
    /// One of the words, or any word with one of the traits.
    Word {
        ids: Vec<u16>,
        traits: u32,
        is_needed: bool,
    },
    Gap,
    End,
}

impl Grammar {
    pub(crate) fn new() -> Self {
        let (patterns, sieves) = (Vec::new(), Vec::new());
        Self { vocabulary: Vocabulary::new(), patterns, sieves, unneeded: Sieves::default() }
    }

    /// Adds patterns, up to 512 in all.
    pub(crate) fn add(&mut self, patterns: &[&str]) -> Group {
        let mut group = Bits::default();
        for pattern in patterns {
            set(&mut group, self.patterns.len());
            let pattern = self.compile(pattern);
            self.sift(&pattern);
            self.patterns.push(pattern);
        }
        Group(group)
    }

    fn compile(&mut self, pattern: &str) -> Pattern {
        let (first, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
        let (start, parts) = match first {
            "^" => (Start::Clause, rest),
            "^^" => (Start::Sentence, rest),
            _ => (Start::Anywhere, pattern),
        };
        let parts = parts.split(' ').filter(|part| !part.is_empty()).map(|part| self.part(part)).collect();
        Pattern { start, parts }
    }

    fn part(&mut self, part: &str) -> Part {
        match part {
            "$" => return Part::End,
            ".." => return Part::Gap,
            _ => {}
        }
        let (mut ids, mut traits) = (Vec::new(), 0);
        for word in part.strip_prefix('?').unwrap_or(part).split('|') {
            match word {
                "*" => traits |= IS_WORD,
                "%ing" => traits |= IS_ING,
                "%ed" => traits |= IS_ED,
                "%do" => traits |= IS_VERB,
                word => ids.push(self.vocabulary.add(word)),
            }
        }
        Part::Word { ids, traits, is_needed: !part.starts_with('?') }
    }

    /// Records the words that the next pattern requires.
    fn sift(&mut self, pattern: &Pattern) {
        let nth = self.patterns.len();
        self.sieves.resize(self.vocabulary.len(), Sieves::default());
        let mut needed = pattern.parts.iter().filter_map(|part| match part {
            Part::Word { ids, traits, is_needed: true } if traits & !IS_VERB == 0 => Some((ids, *traits)),
            _ => None,
        });
        for sieve in 0..N_SIEVES {
            let Some((ids, traits)) = needed.next() else {
                set(&mut self.unneeded[sieve], nth);
                continue;
            };
            let verbs = (traits != 0).then(|| self.vocabulary.verbs()).into_iter().flatten();
            verbs
                .chain(ids.iter().copied())
                .for_each(|id| set(&mut self.sieves[usize::from(id)][sieve], nth));
        }
    }
}

impl Group {
    /// Returns the union of two groups.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }
}

fn set(bits: &mut Bits, nth: usize) {
    debug_assert!(nth / 64 < bits.len(), "there is room for 512 patterns");
    if let Some(bits) = bits.get_mut(nth / 64) {
        *bits |= 1 << (nth % 64);
    }
}

/// The words of a sentence, on which patterns are matched.
#[derive(Debug)]
pub(crate) struct Words<'g> {
    grammar: &'g Grammar,
    all: Vec<Token>,
    /// The index of the first token after the opening words.
    first: usize,
    /// The patterns whose required words are present.
    likely: Bits,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    traits: u32,
    id: u16,
    /// Hidden from patterns.
    is_masked: bool,
}

impl Token {
    fn is(self, known: u32) -> bool {
        self.traits & known != 0
    }
}

thread_local! {
    /// The list of the sentence that was read last, for the next one.
    static SPARE: Cell<Vec<Token>> = const { Cell::new(Vec::new()) };
}

impl Drop for Words<'_> {
    fn drop(&mut self) {
        SPARE.set(std::mem::take(&mut self.all));
    }
}

impl<'g> Words<'g> {
    pub(crate) fn new(grammar: &'g Grammar, sentence: &str) -> Self {
        let mut all = SPARE.take();
        all.clear();
        all.reserve(sentence.len() / 4 + 4);
        let mut sieves = grammar.unneeded;
        pieces(sentence, |piece| {
            let (id, traits) = match piece {
                Piece::Word(word) => grammar.vocabulary.find(word),
                Piece::Opaque => (OTHER, IS_WORD),
                Piece::Break if all.last().is_some_and(|last| last.id == BREAK) => return,
                Piece::Break => (BREAK, IS_OPENING),
            };
            all.push(Token { traits, id, is_masked: false });
            if id != OTHER {
                pour(&mut sieves, &grammar.sieves[usize::from(id)]);
            }
        });
        let first = all.iter().take_while(|word| word.is(IS_OPENING)).count();
        let likely = std::array::from_fn(|at| sieves.iter().fold(u64::MAX, |bits, sieve| bits & sieve[at]));
        Self { grammar, all, first, likely }
    }

    /// Hides the words of each match from later patterns.
    pub(crate) fn mask(&mut self, group: Group) {
        for pattern in self.likely(group) {
            for at in 0..self.all.len() {
                if let Some(end) = self.match_end(pattern, at) {
                    self.all[at..end].iter_mut().for_each(|word| word.is_masked = true);
                }
            }
        }
    }

    /// Returns whether one of the patterns matches.
    pub(crate) fn has(&self, group: Group) -> bool {
        self.likely(group).any(|pattern| (0..self.all.len()).any(|at| self.match_end(pattern, at).is_some()))
    }

    /// Returns whether the required words of one of the patterns are present.
    pub(crate) fn may_have(&self, group: Group) -> bool {
        self.likely.iter().zip(group.0).any(|(likely, bits)| likely & bits != 0)
    }

    /// Returns the patterns of a group whose required words are present, in order.
    fn likely(&self, group: Group) -> impl Iterator<Item = &'g Pattern> + use<'g> {
        let (grammar, likely) = (self.grammar, self.likely);
        (0..likely.len()).flat_map(move |at| {
            let mut bits = likely[at] & group.0[at];
            std::iter::from_fn(move || {
                let nth = bits.checked_ilog2().map(|_| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                grammar.patterns.get(at * 64 + nth)
            })
        })
    }

    /// Returns the end of the match of a pattern at a token.
    fn match_end(&self, pattern: &Pattern, at: usize) -> Option<usize> {
        let end = self.matches(&pattern.parts, at)?;
        let is_start = match pattern.start {
            Start::Anywhere => true,
            Start::Sentence => at == self.first || at == 0,
            Start::Clause => self.is_clause_start(at),
        };
        is_start.then_some(end)
    }

    fn matches(&self, parts: &[Part], at: usize) -> Option<usize> {
        let Some((part, rest)) = parts.split_first() else { return Some(at) };
        let continue_at = |at: usize| self.matches(rest, at);
        match part {
            Part::End => self.all[at..].iter().all(|word| word.id == BREAK).then(|| continue_at(at))?,
            Part::Gap => {
                let is_near =
                    |at: &usize| at.checked_sub(1).is_none_or(|before| self.all[before].id != BREAK);
                let last = self.all.len().min(at + GAP_WORDS);
                (at..=last).take_while(is_near).find_map(continue_at)
            }
            Part::Word { ids, traits, is_needed } => match self.is_word(ids, *traits, at) {
                true if *is_needed => continue_at(at + 1),
                true => continue_at(at + 1).or_else(|| continue_at(at)),
                false if *is_needed => None,
                false => continue_at(at),
            },
        }
    }

    fn is_word(&self, ids: &[u16], traits: u32, at: usize) -> bool {
        let Some(word) = self.all.get(at).filter(|word| !word.is_masked) else { return false };
        word.is(traits) || (word.id != OTHER && ids.contains(&word.id))
    }

    /// Returns whether the clause before a token is a statement, so that a joined clause is one
    /// too.
    fn is_statement(&self, at: usize) -> bool {
        let clause = self.all[..at].iter().rposition(|word| word.id == BREAK).map_or(0, |before| before + 1);
        let words = &self.all[clause..at];
        let is_statement = |pair: &[Token]| pair[0].is(IS_WHO) && !pair[1].is(IS_WISH);
        words.first().is_none_or(|first| !first.is(IS_WISH | IS_VERB)) && words.windows(2).any(is_statement)
    }

    fn is_clause_start(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).and_then(|before| self.all.get(before)) else { return true };
        let is_led = || at > 1 && is_pair(self.all[at - 2].traits, before.traits);
        let is_joined = || before.is(IS_CONJUNCTION) && !self.is_statement(at - 1);
        at == self.first
            || before.id == BREAK
            || is_joined()
            || is_led()
            || before.is(IS_ADVERB) && self.is_clause_start(at - 1)
    }
}

fn pour(sieves: &mut Sieves, more: &Sieves) {
    for (bits, more) in sieves.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *bits |= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence and the patterns that are masked in it.
    struct MaskedSentence<'a>(&'a str, Vec<&'a str>);

    impl<'a> MaskedSentence<'a> {
        fn new(sentence: &'a str) -> Self {
            Self(sentence, Vec::new())
        }

        fn mask(&mut self, patterns: &[&'a str]) {
            self.1.extend(patterns);
        }

        fn has(&self, patterns: &[&str]) -> bool {
            let mut grammar = Grammar::new();
            let (hidden, patterns) = (grammar.add(&self.1), grammar.add(patterns));
            let mut words = Words::new(&grammar, self.0);
            words.mask(hidden);
            words.has(patterns)
        }
    }

    #[test]
    fn a_pattern_matches_its_words() {
        let check = |sentence, pattern, expected| {
            assert_eq!(MaskedSentence::new(sentence).has(&[pattern]), expected, "{sentence:?} {pattern:?}");
        };
        check("Please don't push", "^ don't *", true);
        check("I don't know", "^ don't *", false);
        check("fix it, never push", "^ never", true);
        check("he said \"never push\"", "never", false);
        check("see https://a.b/never/c, ok", "never", false);
        check("Don’t", "^^ don't", true);
        check("hmm, no, wait", "^^ no ,", true);
        check("i really want", "i ?really want", true);
        check("i want", "i ?really want", true);
        check("without touching it", "without %ing", true);
        check("only use bun", "^ only %do", true);
        check("use, not", "use *", false);
    }

    #[test]
    fn a_masked_word_does_not_match() {
        let mut words = MaskedSentence::new("there must be more, and it must stay");
        words.mask(&["there must"]);
        assert!(words.has(&["must stay"]));
        assert!(!words.has(&["there must"]));
    }
}
