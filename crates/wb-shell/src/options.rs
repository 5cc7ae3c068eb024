//! Options of a command, and their values.

use super::lexer::Word;

/// Returns the words that are neither options nor values of `valued` options; after `--`, all
/// words.
pub(crate) fn plain<'w, 'a>(words: &'w [Word<'a>], valued: &[&str]) -> impl Iterator<Item = &'w Word<'a>> {
    let (mut is_value, mut is_over) = (false, false);
    words.iter().filter(move |word| {
        let skip = std::mem::replace(&mut is_value, !is_over && valued.contains(&word.text.as_ref()));
        let is_option = !is_over && is_option(word);
        is_over |= word.text == "--";
        !skip && !is_option
    })
}

/// Returns whether a word is an option; a lone dash is not.
pub(crate) fn is_option(word: &Word) -> bool {
    word.text.starts_with('-') && word.text.len() > 1
}

/// Returns whether an option is set, by its letter or in its long form.
pub(crate) fn has(words: &[Word], letter: char, long: &str) -> bool {
    let words = words.iter().take_while(|word| word.text != "--");
    words
        .into_iter()
        .any(|word| word.text == long || cluster(&word.text).is_some_and(|letters| letters.contains(letter)))
}

/// Returns the letters of `-abc`.
pub(crate) fn cluster(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))
}
