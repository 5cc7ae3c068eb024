//! Counts against another implementation, on generated texts.

use proptest::prelude::*;
use tiktoken_rs::CoreBPE;
use wb_budget::TokenCounter;
use wb_tokens::Vocabulary;

fn other(vocabulary: Vocabulary) -> &'static CoreBPE {
    match vocabulary {
        Vocabulary::O200kBase => tiktoken_rs::o200k_base_singleton(),
        Vocabulary::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
    }
}

/// Words, code, numbers, white space and scripts as in transcripts, and arbitrary characters.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "fn ",
        "self.",
        "getUserName",
        "HTTPServer's",
        "don't",
        "WE'LL",
        "\r\n",
        "\n\n  ",
        "\t\t",
        "    ",
        " ",
        "0x7fff",
        "2026-11-22",
        "1234567",
        "==>",
        "...",
        "\"key\": ",
        "/usr/lib/",
        "😀👍🏽",
        "汉字",
        "のテスト",
        "한국어",
        "Привет",
        "עברית",
        "ไทย",
        "é",
        "e\u{301}",
        "\u{a0}",
        "\u{200d}",
        "<|endoftext|>",
        "aGVsbG8=",
    ];
    prop_oneof![
        4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        2 => "[a-zA-Z]{1,12} ?",
        1 => "\\PC{0,6}",
        1 => any::<char>().prop_map(String::from),
    ]
    .prop_filter("newer than the Unicode of one of the tokenizers", |text| {
        text.chars().all(|c| c < '\u{323b0}')
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn counts_equal_those_of_a_second_tokenizer(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        for vocabulary in Vocabulary::ALL {
            let theirs = other(vocabulary).count_ordinary(&text) as u64;
            prop_assert_eq!(vocabulary.counter().unwrap().text(&text), theirs, "{}: {:?}", vocabulary, text);
        }
    }
}
