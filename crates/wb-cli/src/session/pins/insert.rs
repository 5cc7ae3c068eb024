//! Inserts texts into a digest.

/// Inserts texts below the header of a digest, and removes the copies that an earlier digest
/// carried.
pub(crate) fn with_words(digest: &str, words: &str) -> String {
    let Some((header, rest)) = digest.split_once('\n').filter(|_| !words.is_empty()) else {
        return digest.to_owned();
    };
    let bare = |line: &str| line.trim_start().trim_start_matches("- ").trim_end().to_owned();
    let known: Vec<String> = words.lines().map(bare).filter(|line| !line.is_empty()).collect();
    let is_copy = |line: &&str| known.contains(&bare(line));
    let rest: Vec<&str> = rest.split('\n').filter(|line| !is_copy(line)).collect();
    format!("{header}\n\n{words}{}", rest.join("\n"))
}
