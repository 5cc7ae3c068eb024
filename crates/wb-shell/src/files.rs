//! Effects of programs that change files.

use std::borrow::Cow;

use super::effects::FileEffect;
use super::lexer::Word;
use super::options::{cluster, has, plain};
use crate::effects::base_name;

/// Returns the effects of a program on its files; paths are verbatim.
pub(crate) fn effects<'a>(program: &str, words: &[Word<'a>]) -> Vec<FileEffect<'a>> {
    let words = words.get(1..).unwrap_or_default();
    let all = |valued: &[&str], effect: fn(Cow<'a, str>) -> FileEffect<'a>| {
        plain(words, valued).filter(|word| word.is_fixed).map(|word| effect(word.text.clone())).collect()
    };
    match program {
        "touch" => all(&["-t", "-d", "-r"], FileEffect::Wrote),
        "rm" | "unlink" | "trash" => all(&[], FileEffect::Deleted),
        "truncate" => all(&["-s", "-r"], FileEffect::Edited),
        "tee" if has(words, 'a', "--append") => all(&[], FileEffect::Edited),
        "tee" => all(&[], FileEffect::Wrote),
        "install" if has(words, 'd', "--directory") => Vec::new(),
        "cp" | "install" | "ln" => pairs(words).into_iter().map(|(_, to)| FileEffect::Wrote(to)).collect(),
        "mv" => pairs(words)
            .into_iter()
            .filter_map(|(from, to)| Some(FileEffect::Moved { from: from?, to }))
            .collect(),
        "sed" | "gsed" | "perl" | "ruby" => in_place(program, words),
        "curl" => output(words, 'o', "--output"),
        "wget" => output(words, 'O', "--output-document"),
        "dd" => words
            .iter()
            .filter(|word| word.is_fixed)
            .filter_map(|word| word.text.strip_prefix("of="))
            .map(|path| FileEffect::Wrote(path.to_owned().into()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns sources and destinations of copied or moved files; the source is `None` if unknown.
fn pairs<'a>(words: &[Word<'a>]) -> Vec<(Option<Cow<'a, str>>, Cow<'a, str>)> {
    let mut plain: Vec<&Word<'a>> = plain(words, &["-t", "-m", "-o", "-g", "-S"]).collect();
    let folder = words.iter().position(|word| word.text == "-t").and_then(|at| words.get(at + 1));
    let Some(to) = folder.or_else(|| if plain.len() > 1 { plain.pop() } else { None }) else {
        return Vec::new();
    };
    if !to.is_fixed {
        return Vec::new();
    }
    let is_folder = folder.is_some() || plain.len() > 1 || to.text.ends_with(['/', '.']);
    let pair = |from: &&Word<'a>| {
        let name = base_name(&from.text);
        let is_into = is_folder && !matches!(name, "." | "..");
        let end = match is_into {
            true if from.is_fixed => Cow::Owned(format!("{}/{name}", to.text.trim_end_matches('/'))),
            true => return None,
            false => to.text.clone(),
        };
        Some((from.is_fixed.then(|| from.text.clone()), end))
    };
    plain.iter().filter_map(pair).collect()
}

/// Returns whether a program edits its files in place: `sed -i`, `perl -pi`.
pub(crate) fn edits_in_place(program: &str, words: &[Word]) -> bool {
    let known = if program.ends_with("sed") { "nErsuzb" } else { "pnlaw0123456789" };
    words.iter().any(|word| {
        let before_i = cluster(&word.text).and_then(|letters| letters.split_once('i'));
        before_i.is_some_and(|(before, _)| before.chars().all(|letter| known.contains(letter)))
            || word.text.starts_with("--in-place")
    })
}

/// Returns the files that a script edits in place.
fn in_place<'a>(program: &str, words: &[Word<'a>]) -> Vec<FileEffect<'a>> {
    let is_sed = program.ends_with("sed");
    // A script follows a cluster of letters: `-pe '…'`.
    let takes_script = |word: &Word| {
        let letters = cluster(&word.text).unwrap_or_default();
        let ends = letters.ends_with(['e', 'f', 'E']) && !(is_sed && letters.ends_with('E'));
        ends && !(is_sed && letters.starts_with('i')) || word.text == "--expression"
    };
    if !edits_in_place(program, words) {
        return Vec::new();
    }
    let (mut files, mut has_script, mut is_script) = (Vec::new(), false, false);
    for word in words {
        if std::mem::replace(&mut is_script, takes_script(word)) {
            has_script = true;
        } else if !word.text.starts_with('-') && !word.text.is_empty() {
            files.push(word);
        }
    }
    let n_scripts =
        usize::from(!has_script && !words.iter().any(|word| word.text.starts_with("--expression=")));
    let files = files.into_iter().skip(n_scripts).filter(|word| word.is_fixed);
    files.map(|word| FileEffect::Edited(word.text.clone())).collect()
}

/// Returns the destination of a download.
fn output<'a>(words: &[Word<'a>], letter: char, long: &str) -> Vec<FileEffect<'a>> {
    let names = |word: &Word| {
        word.text == long || cluster(&word.text).is_some_and(|letters| letters.ends_with(letter))
    };
    let file = words.iter().position(names).and_then(|at| words.get(at + 1));
    file.filter(|file| file.is_fixed).map(|file| FileEffect::Wrote(file.text.clone())).into_iter().collect()
}
