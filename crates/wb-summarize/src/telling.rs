//! Which lines and words of a text tell something; by words alone, so that some are missed and some are not meant.

/// Tells whether an answer says more than a word or two.
pub(crate) fn says_something(text: &str) -> bool {
    text.split_whitespace().nth(2).is_some()
}

/// Tells whether a line asks for something or forbids it; one of a log or of code does not.
pub(crate) fn is_constraint(line: &str) -> bool {
    const WORDS: [&str; 8] = ["must", "never", "don't", "always", "only", "without", "avoid", "ensure"];
    let is_data = line.contains("\":") || line.trim_start().starts_with(['{', '[', '<', '|', '}', '/']);
    !is_data && has_word(line, &WORDS, &[("do", "not"), ("make", "sure"), ("should", "not")])
}

/// Tells whether a line gives a reason: a sentence, not a heading or the start of a list.
pub(crate) fn is_decision(line: &str) -> bool {
    const PAIRS: [(&str, &str); 3] = [("instead", "of"), ("root", "cause"), ("the", "reason")];
    let line = line.trim();
    let is_sentence = line.len() > 32 && !line.starts_with('#') && !line.ends_with(':');
    is_sentence && has_word(line, &["because", "decided", "therefore"], &PAIRS)
}

/// Tells whether a line has one of the words, or two words in a row, in any case of letters.
fn has_word(line: &str, words: &[&str], pairs: &[(&str, &str)]) -> bool {
    let mut last = "";
    line.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).any(|word| {
        let before = std::mem::replace(&mut last, word);
        words.iter().any(|known| word.eq_ignore_ascii_case(known))
            || pairs
                .iter()
                .any(|(one, two)| before.eq_ignore_ascii_case(one) && word.eq_ignore_ascii_case(two))
    })
}

/// Returns the first line that names an error, else the last line that is not blank; nothing of blank ones.
pub(crate) fn telling_line(output: &str) -> Option<&str> {
    const WORDS: [&str; 6] = ["error", "failed", "panicked", "exception", "fail", "fatal"];
    // Tools add how a command ended; the list of commands has that.
    const ENDS: [&str; 3] = ["Command exited with code", "Command aborted", "Exit code"];
    let is_end = |line: &str| ENDS.iter().any(|end| line.starts_with(end));
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty() && !is_end(line));
    let names_error = |line: &&str| has_word(line, &WORDS, &[]);
    lines.clone().find(names_error).or_else(|| lines.next_back())
}

pub(crate) fn is_identifier(word: &str) -> bool {
    let hex = |word: &str| {
        (7..=40).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let issue = |word: &str| {
        word.strip_prefix('#').is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    word.starts_with("https://") || word.starts_with("http://") || hex(word) || issue(word)
}
