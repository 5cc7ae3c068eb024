//! Fitted estimates: a linear function of the kinds of characters in a text, one for each family of
//! models.
//!
//! One pass with a table sorts the bytes of a text into [`N_CLASSES`] classes by value. It counts
//! the bytes of each class and the runs of four of them: words, numbers, line breaks and
//! punctuation, which vocabularies split at. The weights were fitted on texts of real sessions
//! (`docs/evaluation/estimators.md`); they are integers, so every machine computes the same.
//!
//! ```
//! use wb_budget::{Family, FittedCounter, TokenCounter};
//!
//! let counter = FittedCounter::from_model_id("claude-sonnet-4-5").ok_or("no family")?;
//! assert_eq!(counter.family(), Family::Anthropic);
//! let tokens = counter.text("fn main() { println!(\"Hello\"); }");
//! assert!((8..16).contains(&tokens));
//! assert!(counter.upper(1_000) > 1_000); // the upper bound for 95 of 100 texts
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::TokenCounter;
use super::fitted_weights::{MARGINS, WEIGHTS};

/// Classes of bytes: later bytes of a character, small letters, capital letters, digits, blanks,
/// line breaks and tabs, punctuation, characters of two bytes, of three up to U+2FFF, kana and han,
/// hangul and above, characters of four bytes.
pub const N_CLASSES: usize = 12;

/// The classes with counted runs: small letters, digits, line breaks, punctuation.
const RUNS: [u8; 4] = [1, 3, 5, 6];
/// Parts of a token, the unit of weights.
const PARTS: u64 = 4096;

/// The class of each byte.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [6; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            b' ' => 4,
            b'\n' | b'\r' | b'\t' => 5,
            0x80..=0xBF => 0,
            0xC0..=0xDF => 7,
            0xE0..=0xE2 => 8,
            0xE3..=0xE9 => 9,
            0xEA..=0xEF => 10,
            0xF0..=0xFF => 11,
            _ => 6,
        };
        if byte == u8::MAX {
            return classes;
        }
        byte += 1;
    }
}

/// The weight of a byte by its class and the previous class, for each family.
const PAIRS: [[u32; 256]; 3] = [pairs(WEIGHTS[0]), pairs(WEIGHTS[1]), pairs(WEIGHTS[2])];

const fn pairs(weights: [u32; 16]) -> [u32; 256] {
    let mut pairs = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (before, class) = (at >> 4, at & 15);
        if class < N_CLASSES {
            pairs[at] = weights[class];
        }
        let mut run = 0;
        while run < RUNS.len() {
            if class == RUNS[run] as usize && before != class {
                pairs[at] += weights[N_CLASSES + run];
            }
            run += 1;
        }
        at += 1;
    }
    pairs
}

/// The weight of two bytes by their classes and the previous class, for each family: half the
/// look-ups.
static TRIPLES: [[u32; 4096]; 3] = [triples(&PAIRS[0]), triples(&PAIRS[1]), triples(&PAIRS[2])];

const fn triples(pairs: &[u32; 256]) -> [u32; 4096] {
    let mut triples = [0; 4096];
    let mut at = 0;
    while at < 4096 {
        triples[at] = pairs[at >> 4] + pairs[at & 0xFF];
        at += 1;
    }
    triples
}

/// A family of models with similar vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// OpenAI's models, fitted on exact counts of `o200k_base`.
    OpenAi,
    /// Claude, fitted on reported usage.
    Anthropic,
    /// Gemini and all others, fitted on little reported usage.
    Other,
}

/// Words in model ids, and their family.
const WORDS: [(&str, Family); 12] = [
    ("claude", Family::Anthropic),
    ("codex", Family::OpenAi),
    ("gpt", Family::OpenAi),
    ("deepseek", Family::Other),
    ("devstral", Family::Other),
    ("gemini", Family::Other),
    ("glm", Family::Other),
    ("grok", Family::Other),
    ("kimi", Family::Other),
    ("llama", Family::Other),
    ("mistral", Family::Other),
    ("qwen", Family::Other),
];

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Other];

    /// Finds the family of a model by the words in its id, `None` if no word is known.
    pub fn from_model_id(id: &str) -> Option<Self> {
        let id = id.to_ascii_lowercase();
        let family = WORDS.into_iter().find(|(word, _)| id.contains(word)).map(|(_, family)| family);
        family.or_else(|| is_o_series(&id).then_some(Self::OpenAi))
    }

    const fn pairs(self) -> &'static [u32; 256] {
        &PAIRS[self.index()]
    }

    const fn index(self) -> usize {
        match self {
            Self::OpenAi => 0,
            Self::Anthropic => 1,
            Self::Other => 2,
        }
    }
}

/// Returns whether an id is `o1`, `o3-mini` and so on.
fn is_o_series(id: &str) -> bool {
    let name = id.rsplit('/').next().unwrap_or(id);
    name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Estimates tokens by the kinds of characters in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FittedCounter {
    family: Family,
}

impl FittedCounter {
    /// Builds the estimator of a family.
    pub const fn new(family: Family) -> Self {
        Self { family }
    }

    /// Builds the estimator of a model's family, `None` if the family is unknown.
    pub fn from_model_id(id: &str) -> Option<Self> {
        Family::from_model_id(id).map(Self::new)
    }

    /// Returns the family.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Returns the upper bound of an estimate: 95 of 100 texts have at most this number of tokens.
    pub fn upper(&self, estimate: u64) -> u64 {
        let margin = estimate.saturating_mul(self.margin_permille()).div_ceil(1000);
        estimate.saturating_add(margin)
    }
}

impl TokenCounter for FittedCounter {
    fn text(&self, text: &str) -> u64 {
        let class = |byte: u8| usize::from(CLASSES[usize::from(byte)]);
        let triples = &TRIPLES[self.family.index()];
        let (twos, last) = text.as_bytes().as_chunks::<2>();
        let (mut before, mut parts) = (0, 0_u64);
        for [one, two] in twos {
            let at = before << 8 | class(*one) << 4 | class(*two);
            parts += u64::from(triples[at & 0xFFF]);
            before = at & 0xF;
        }
        for byte in last {
            parts += u64::from(self.family.pairs()[before << 4 | class(*byte)]);
        }
        parts.div_ceil(PARTS)
    }

    fn margin_permille(&self) -> u64 {
        MARGINS[self.family.index()]
    }
}

/// Counts the bytes of each class in a text, then the runs: the input of the fit.
pub fn features(text: &str) -> [u64; 16] {
    let mut counts = [0; 16];
    let mut before = 0;
    for byte in text.as_bytes() {
        let class = CLASSES[usize::from(*byte)];
        counts[usize::from(class)] += 1;
        if let Some(run) = RUNS.iter().position(|run| *run == class).filter(|_| before != class) {
            counts[N_CLASSES + run] += 1;
        }
        before = class;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_count_every_byte_and_four_kinds_of_runs() {
        let counts = features("Fix it,\n\n42 é汉한😀!!");
        assert_eq!(counts, [1 + 2 + 2 + 3, 4, 1, 2, 2, 2, 3, 1, 0, 1, 1, 1, 2, 1, 1, 2]);
    }

    #[test]
    fn an_estimate_is_the_weighted_sum_of_the_features() {
        let text = "impl Display for Köln { /* 漢字, 한글, 😀 */ }\n\n\t1_000 == 2";
        for family in Family::ALL {
            let weights = WEIGHTS[family.index()];
            let parts: u64 =
                features(text).iter().zip(weights).map(|(n, weight)| n * u64::from(weight)).sum();
            assert_eq!(FittedCounter::new(family).text(text), parts.div_ceil(PARTS), "{family:?}");
        }
    }

    #[test]
    fn families_are_identified_by_words_of_the_id() {
        let families = |ids: &[&str]| ids.iter().map(|id| Family::from_model_id(id)).collect::<Vec<_>>();
        assert_eq!(families(&["us.anthropic.claude-opus-5", "Claude"]), [Some(Family::Anthropic); 2]);
        assert_eq!(families(&["openai/gpt-5.4", "o3-mini", "codex-mini"]), [Some(Family::OpenAi); 3]);
        assert_eq!(families(&["models/gemini-3-flash", "kimi-k2"]), [Some(Family::Other); 2]);
        assert_eq!(families(&["", "olmo", "my-model"]), [None; 3]);
    }

    #[test]
    fn an_empty_text_has_no_tokens_and_bounds_saturate() {
        let counter = FittedCounter::new(Family::Other);
        assert_eq!(counter.text(""), 0);
        assert_eq!(counter.upper(u64::MAX), u64::MAX);
    }
}
