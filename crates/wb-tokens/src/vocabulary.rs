//! The vocabularies of OpenAI and the models that use them.

use std::fmt;
use std::sync::LazyLock;

use toktok::Tokenizer;
use wb_budget::TokenCounter;

/// A built-in vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-5, the o series, and the texts of gpt-oss.
    O200kBase,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100kBase,
}

/// Prefixes of model ids with their vocabularies; a longer prefix precedes its own prefixes.
///
/// The list follows `tiktoken/model.py` of OpenAI's tiktoken.
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

/// The error for a vocabulary that cannot be loaded: a broken build, since tables are compiled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the vocabulary {name} cannot be loaded: {reason}")]
pub struct VocabularyError {
    name: &'static str,
    reason: String,
}

type Loaded = LazyLock<Result<Tokenizer, String>>;

static O200K_BASE: Loaded = LazyLock::new(|| load(Vocabulary::O200kBase));
static CL100K_BASE: Loaded = LazyLock::new(|| load(Vocabulary::Cl100kBase));

fn load(vocabulary: Vocabulary) -> Result<Tokenizer, String> {
    Tokenizer::builtin(vocabulary.name()).map_err(|error| error.to_string())
}

impl Vocabulary {
    /// Every vocabulary.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// Returns OpenAI's name of the vocabulary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Returns the vocabulary of a model by its id, with or without a provider prefix
    /// (`openai/gpt-4o`), if it is one of OpenAI's.
    pub fn of_model(id: &str) -> Option<Self> {
        let id = id.rsplit('/').next().unwrap_or(id);
        PREFIXES.into_iter().find(|(prefix, _)| has_prefix(id, prefix)).map(|(_, vocabulary)| vocabulary)
    }

    /// Returns the counter; the first call loads the vocabulary, in about half a second.
    pub fn counter(self) -> Result<ExactCounter, VocabularyError> {
        let loaded = match self {
            Self::O200kBase => &*O200K_BASE,
            Self::Cl100kBase => &*CL100K_BASE,
        };
        match loaded {
            Ok(tokenizer) => Ok(ExactCounter { vocabulary: self, tokenizer }),
            Err(reason) => Err(VocabularyError { name: self.name(), reason: reason.clone() }),
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns whether an id has a prefix; the prefix `o` needs a digit after it.
fn has_prefix(id: &str, prefix: &str) -> bool {
    let Some(rest) = id.strip_prefix(prefix) else { return false };
    prefix != "o" || rest.starts_with(|first: char| first.is_ascii_digit())
}

/// A counter with a built-in vocabulary; it is cheap to copy.
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
