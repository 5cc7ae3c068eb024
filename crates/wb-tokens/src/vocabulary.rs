//! The vocabularies of OpenAI, and which model reads which.

use std::fmt;
use std::sync::LazyLock;

use toktok::Tokenizer;
use wb_budget::TokenCounter;

/// A vocabulary that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-5, the o series, and gpt-oss as far as texts go.
    O200kBase,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100kBase,
}

/// How ids of models begin, and what those models read; the longer of two that fit stands first.
///
/// As in `tiktoken/model.py` of OpenAI's tiktoken, and `gpt-5`, which that list has as `o200k_base` too.
const PREFIXES: [(&str, Vocabulary); 10] = [
    ("chatgpt-4o", Vocabulary::O200kBase),
    ("codex-mini", Vocabulary::O200kBase),
    ("gpt-4.1", Vocabulary::O200kBase),
    ("gpt-4.5", Vocabulary::O200kBase),
    ("gpt-4o", Vocabulary::O200kBase),
    ("gpt-5", Vocabulary::O200kBase),
    ("gpt-oss", Vocabulary::O200kBase),
    ("gpt-3.5", Vocabulary::Cl100kBase),
    ("gpt-4", Vocabulary::Cl100kBase),
    ("o", Vocabulary::O200kBase),
];

/// A vocabulary could not be loaded; its tables are compiled in, so that is a fault of the build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the vocabulary {name} cannot be loaded: {why}")]
pub struct VocabularyError {
    name: &'static str,
    /// What its loader said.
    why: String,
}

type Loaded = LazyLock<Result<Tokenizer, String>>;

static O200K_BASE: Loaded = LazyLock::new(|| load(Vocabulary::O200kBase));
static CL100K_BASE: Loaded = LazyLock::new(|| load(Vocabulary::Cl100kBase));

fn load(vocabulary: Vocabulary) -> Result<Tokenizer, String> {
    Tokenizer::builtin(vocabulary.name()).map_err(|error| error.to_string())
}

impl Vocabulary {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// Returns the name that OpenAI gave it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Finds the vocabulary that a model reads by the model's id, with or without the provider in front
    /// (`openai/gpt-4o`); nothing for models of others.
    pub fn of_model(id: &str) -> Option<Self> {
        let id = id.rsplit('/').next().unwrap_or(id);
        PREFIXES.into_iter().find(|(prefix, _)| begins(id, prefix)).map(|(_, vocabulary)| vocabulary)
    }

    /// Returns the counter of this vocabulary; the first call loads it, in about half a second.
    pub fn counter(self) -> Result<ExactCounter, VocabularyError> {
        let loaded = match self {
            Self::O200kBase => &*O200K_BASE,
            Self::Cl100kBase => &*CL100K_BASE,
        };
        match loaded {
            Ok(tokenizer) => Ok(ExactCounter { vocabulary: self, tokenizer }),
            Err(why) => Err(VocabularyError { name: self.name(), why: why.clone() }),
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Tells whether an id begins so; the prefix `o` stands for `o` and a number.
fn begins(id: &str, prefix: &str) -> bool {
    let Some(rest) = id.strip_prefix(prefix) else { return false };
    prefix != "o" || rest.starts_with(|first: char| first.is_ascii_digit())
}

/// Counts the tokens of texts as a vocabulary has them; a copy costs nothing.
#[derive(Clone, Copy)]
pub struct ExactCounter {
    vocabulary: Vocabulary,
    tokenizer: &'static Tokenizer,
}

impl fmt::Debug for ExactCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactCounter").field("vocabulary", &self.vocabulary).finish_non_exhaustive()
    }
}

impl TokenCounter for ExactCounter {
    fn text(&self, text: &str) -> u64 {
        self.tokenizer.count(text.as_bytes()) as u64
    }
}
