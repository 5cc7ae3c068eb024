//! Counts against OpenAI's documentation.

use wb_budget::TokenCounter;
use wb_tokens::Vocabulary;

/// Texts with their tokens in `cl100k_base` and `o200k_base`, from OpenAI's cookbook "How to count
/// tokens with tiktoken".
const PUBLIC: [(&str, u64, u64); 4] = [
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 9, 8),
    ("tiktoken is great!", 6, 6),
];

#[test]
fn counts_match_the_published_ones() {
    let cl100k = Vocabulary::Cl100kBase.counter().unwrap();
    let o200k = Vocabulary::O200kBase.counter().unwrap();
    for (text, in_cl100k, in_o200k) in PUBLIC {
        assert_eq!((cl100k.text(text), o200k.text(text)), (in_cl100k, in_o200k), "{text}");
    }
}

#[test]
fn an_empty_text_has_no_tokens_and_a_marker_is_counted_as_text() {
    for vocabulary in Vocabulary::ALL {
        let counter = vocabulary.counter().unwrap();
        assert_eq!(counter.text(""), 0);
        assert!(counter.text("<|endoftext|>") > 1, "{vocabulary}");
    }
}

#[test]
fn models_are_recognized_by_the_prefix_of_their_id() {
    let o200k = Some(Vocabulary::O200kBase);
    for id in
        ["gpt-5.4", "gpt-5-mini", "openai/gpt-4o-mini", "gpt-4.1-2025-04-14", "o3", "o4-mini", "gpt-oss-120b"]
    {
        assert_eq!(Vocabulary::of_model(id), o200k, "{id}");
    }
    for id in ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo-0125"] {
        assert_eq!(Vocabulary::of_model(id), Some(Vocabulary::Cl100kBase), "{id}");
    }
    for id in ["claude-opus-5", "gemini-3-flash", "olmo-3", "", "openai/"] {
        assert_eq!(Vocabulary::of_model(id), None, "{id}");
    }
}

/// Merging with repeated passes over the whole text would take minutes.
#[test]
fn a_megabyte_without_blanks_is_counted_fast() {
    for text in ["a", " ", "-", "汉", "ab1_"] {
        let long = text.repeat(1_000_000 / text.len());
        let n_tokens = Vocabulary::O200kBase.counter().unwrap().text(&long);
        assert!((1_000..1_000_000).contains(&n_tokens), "{text}: {n_tokens}");
    }
}
