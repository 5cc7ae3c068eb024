//! Counts that OpenAI's own documents tell.

use wb_budget::TokenCounter;
use wb_tokens::Vocabulary;

/// Texts with their tokens in `cl100k_base` and `o200k_base`, as OpenAI's cookbook "How to count tokens with tiktoken"
/// tells them.
const PUBLIC: [(&str, u64, u64); 4] = [
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 9, 8),
    ("tiktoken is great!", 6, 6),
];

#[test]
fn public_counts_are_ours() {
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
fn models_are_known_by_how_their_id_begins() {
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

/// A merge that goes over the whole text again and again would take minutes here.
#[test]
fn a_megabyte_without_a_blank_is_counted_at_once() {
    for text in ["a", " ", "-", "汉", "ab1_"] {
        let long = text.repeat(1_000_000 / text.len());
        let n_tokens = Vocabulary::O200kBase.counter().unwrap().text(&long);
        assert!((1_000..1_000_000).contains(&n_tokens), "{text}: {n_tokens}");
    }
}
