//! The rule about words that the repository does without: `words.tsv` lists them, `exempt.tsv` the
//! texts that it does not bind.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::definitions::{Class, Definition};
use super::rust::{Kind, Token, parts};
use super::tree::{File, Source, Tree};

/// A row of `words.tsv`.
#[derive(Debug)]
struct Row {
    words: Vec<&'static str>,
    places: &'static str,
    instead: &'static str,
}

impl Row {
    fn is_for(&self, place: &str) -> bool {
        self.places.split(' ').any(|it| it == place)
    }
}

/// The rows by their first words, the longest first.
static ROWS: LazyLock<HashMap<&str, Vec<Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<Row>> = HashMap::new();
    for [phrase, places, instead] in table(include_str!("words.tsv")) {
        let words: Vec<_> = phrase.split(' ').collect();
        rows.entry(words[0]).or_default().push(Row { words, places, instead });
    }
    for rows in rows.values_mut() {
        rows.sort_by_key(|row| std::cmp::Reverse(row.words.len()));
    }
    rows
});

static EXEMPT: LazyLock<Vec<[&str; 3]>> = LazyLock::new(|| table(include_str!("exempt.tsv")).collect());

/// Reads the rows of a file whose columns are separated by tabs.
fn table(text: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.filter_map(|row| row.split('\t').collect::<Vec<_>>().try_into().ok())
}

/// Finds banned words in comments, pages, texts of the command, errors and names.
pub(crate) fn banned_words(tree: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let pages = tree.files.iter().filter(|file| file.is(&[".md"])).map(|page| (page, hits_of_page(page)));
    let mut findings = Vec::new();
    for (file, hits) in pages.chain(sources.iter().map(|source| (source.file, hits(source)))) {
        let exempt: Vec<&str> =
            EXEMPT.iter().filter(|[path, ..]| is_at(&file.path, path)).map(|[_, line, _]| *line).collect();
        if hits.is_empty() || exempt.contains(&"*") {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        for Hit { line, what, instead } in hits {
            let text = lines.get(line - 1).copied().unwrap_or_default();
            if !exempt.iter().any(|part| text.contains(part)) {
                findings.push(format!("{}:{line}: {what} → {instead}", file.path));
            }
        }
    }
    findings
}

fn is_at(path: &str, place: &str) -> bool {
    place.strip_prefix('*').map_or_else(|| path.starts_with(place), |part| path.contains(part))
}

struct Hit {
    line: usize,
    what: String,
    instead: &'static str,
}

fn hits_of_page(page: &File) -> Vec<Hit> {
    let lines: Vec<_> = (1..).zip(page.text.lines()).collect();
    let mut hits = Vec::new();
    in_prose(&prose(&lines), false, &mut hits);
    hits
}

/// Returns whether a file is code that must not name where things came from; `wb-compat` repeats
/// recorded behaviours.
fn is_without_origins(file: &File) -> bool {
    file.in_crate().is_some_and(|(dir, _)| dir.starts_with("crates/") && dir != "crates/wb-compat")
}

fn hits(source: &Source<'_>) -> Vec<Hit> {
    let no_origins = is_without_origins(source.file);
    let mut hits = Vec::new();
    for block in comment_blocks(&source.tokens) {
        in_prose(&prose(&block), no_origins, &mut hits);
    }
    for token in texts_for_users(source) {
        in_prose(&words_of_text(token), no_origins, &mut hits);
    }
    in_names(&source.definitions, no_origins, &mut hits);
    hits.sort_by_key(|hit| hit.line);
    hits
}

/// A word of prose in lower case with its line; an empty one between two sentences or clauses.
type Word = (String, usize);

/// Returns the comments, those on adjacent lines as one block, as lines without their slashes.
fn comment_blocks<'a>(tokens: &[Token<'a>]) -> Vec<Vec<(usize, &'a str)>> {
    let mut blocks: Vec<Vec<(usize, &str)>> = Vec::new();
    for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
        let lines = (token.line..).zip(token.text.lines().map(body));
        match blocks.last_mut() {
            Some(block) if block.last().is_some_and(|(line, _)| line + 1 == token.line) => {
                block.extend(lines);
            }
            _ => blocks.push(lines.collect()),
        }
    }
    blocks
}

/// Returns a line of a comment without its slashes.
pub(crate) fn body(comment: &str) -> &str {
    let rest = comment.trim_start_matches('/');
    rest.strip_prefix('!').unwrap_or(rest).trim()
}

/// Returns the words of lines without code: neither between backticks nor in fences.
fn prose(lines: &[(usize, &str)]) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut is_block, mut in_code) = (false, false);
    for (number, line) in lines {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        if is_fence || is_block {
            continue;
        }
        // A paragraph ends, and with it what one backtick too few has opened.
        if line.trim().is_empty() {
            in_code = false;
            words.push((String::new(), *number));
        }
        for (at, part) in line.split('`').enumerate() {
            in_code ^= at > 0;
            if in_code { words.push((String::new(), *number)) } else { split(part, *number, &mut words) }
        }
    }
    words
}

/// Appends the words of a line; a hyphen or an apostrophe is part of a word.
fn split(text: &str, line: usize, words: &mut Vec<Word>) {
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || matches!(c, '_' | '-' | '\'') {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push((std::mem::take(&mut word), line));
        }
        if !c.is_whitespace() && !matches!(c, '*') {
            words.push((String::new(), line));
        }
    }
}

/// Returns the string literals that users read: those of `wb` with more than one word, since a
/// single word is a name of a document, and those of errors of every crate.
fn texts_for_users<'t, 'a>(Source { file, tokens, .. }: &'t Source<'a>) -> Vec<&'t Token<'a>> {
    let of_command = file.path.starts_with("crates/wb-cli/src/");
    let is_command = |token: &Token<'_>| of_command && token.text.contains(char::is_whitespace);
    let is_error = |at: usize| at >= 2 && tokens[at - 1].is("(") && tokens[at - 2].is("error");
    let texts = tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Text && !token.is_test);
    texts.filter(|(at, token)| is_command(token) || is_error(*at)).map(|(_, token)| token).collect()
}

fn words_of_text(token: &Token<'_>) -> Vec<Word> {
    // An escape sequence is no part of a word.
    let mut text = String::new();
    let mut chars = token.text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => text.push('\n'),
                _ => text.push(';'),
            },
            c => text.push(c),
        }
    }
    let mut words = Vec::new();
    for (number, line) in (token.line..).zip(text.lines()) {
        for (at, part) in line.split('`').enumerate() {
            if at % 2 == 0 { split(part, number, &mut words) } else { words.push((String::new(), number)) }
        }
    }
    words
}

fn in_prose(words: &[Word], no_origins: bool, hits: &mut Vec<Hit>) {
    let is_banned = |row: &Row| row.is_for("prose") || no_origins && row.is_for("origin");
    let mut at = 0;
    while at < words.len() {
        let (word, line) = &words[at];
        let is_next = |row: &&Row| starts_with(&words[at..], &row.words, |(word, _)| word);
        let row = ROWS
            .get(word.as_str())
            .and_then(|rows| rows.iter().filter(|row| is_banned(row) || row.is_for("ok")).find(is_next));
        if let Some(row) = row.filter(|row| is_banned(row)) {
            hits.push(Hit {
                line: *line,
                what: format!("\"{}\"", row.words.join(" ")),
                instead: row.instead,
            });
        }
        at += row.map_or(1, |row| row.words.len());
    }
}

fn starts_with<T>(words: &[T], row: &[&str], text: impl Fn(&T) -> &String) -> bool {
    words.len() >= row.len() && words.iter().zip(row).all(|(word, wanted)| text(word) == wanted)
}

fn in_names(definitions: &[Definition<'_>], no_origins: bool, hits: &mut Vec<Hit>) {
    for definition in definitions {
        let name = definition.name;
        let words = parts(name);
        let class = definition.class.as_str();
        let whole = (definition.class != Class::Other).then(|| whole_name(name, class)).flatten();
        if let Some(row) = whole.or_else(|| part_of_name(&words, no_origins)) {
            hits.push(Hit {
                line: definition.line,
                what: format!("the {class} `{name}`"),
                instead: row.instead,
            });
        }
    }
}

/// Returns the row that bans a name as a whole.
fn whole_name(name: &str, class: &str) -> Option<&'static Row> {
    let name = name.to_lowercase();
    let rows = ROWS.get(name.as_str())?;
    rows.iter().find(|row| row.words.len() == 1 && row.is_for(class))
}

fn part_of_name(words: &[String], no_origins: bool) -> Option<&'static Row> {
    let is_banned = |row: &Row| row.is_for("name") || no_origins && row.is_for("origin");
    let mut at = 0;
    while at < words.len() {
        let rows = ROWS.get(words[at].as_str()).into_iter().flatten();
        let mut rows = rows.filter(|row| is_banned(row) || row.is_for("ok") || row.is_for("ok-name"));
        match rows.find(|row| starts_with(&words[at..], &row.words, |word| word)) {
            Some(row) if is_banned(row) => return Some(row),
            Some(row) => at += row.words.len(),
            None => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::from_files(&[(path, text)]);
        let found = banned_words(&tree, &tree.sources());
        found.iter().map(|it| it.strip_prefix(path).unwrap_or(it).to_owned()).collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let number = |it: &String| it.split(':').nth(1).and_then(|number| number.parse().ok());
        findings(path, text).iter().filter_map(number).collect()
    }

    /// Joins words, so that this file has none of them.
    fn sample(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn every_row_has_three_columns_and_finds_its_word() {
        for text in [include_str!("words.tsv"), include_str!("exempt.tsv")] {
            let n_rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
            assert_eq!(table(text).count(), n_rows);
        }
        for [phrase, places, instead] in
            table(include_str!("words.tsv")).filter(|[_, places, _]| *places != "ok-name")
        {
            let place = |place| places.split(' ').any(|it| it == place);
            let prose = findings("a.md", &format!("So: {phrase} it.\n"));
            assert_eq!(prose.len(), usize::from(place("prose")), "{phrase}: {prose:?}");
            assert!(prose.iter().all(|it| it.ends_with(instead)), "{prose:?}");
            let name = phrase.replace(' ', "_");
            if place("name") {
                assert_eq!(lines("a.rs", &format!("fn is_{name}_x() {{}}")), [1], "{name}");
            }
            for keyword in ["fn", "mod"].into_iter().filter(|keyword| place(keyword)) {
                assert_eq!(lines("a.rs", &format!("\n{keyword} {name} {{ }}")), [2], "{name}");
            }
        }
    }

    #[test]
    fn comments_of_code_and_tests_are_read_across_lines_without_code() {
        let text = sample(&[
            "/// So\n/// ma",
            "ny `to",
            "ld` words\nfn a() {}\n#[cfg(test)]\nmod tests { // Te",
            "lls\n}\n",
        ]);
        assert_eq!(lines("crates/a/src/b.rs", &text), [1, 5]);
    }

    #[test]
    fn pages_are_read_without_fences_and_exempt_ones_not_at_all() {
        let text =
            sample(&["Te", "lls\n```text\nte", "lls\n```\nas it sta", "nds, so. many, sta", "nds for\n"]);
        assert_eq!(lines("docs/a.md", &text), [1, 5]);
        assert!(lines("crates/a/src/templates/b.md", &text).is_empty());
    }

    #[test]
    fn strings_are_read_in_the_command_and_in_errors_outside_of_tests() {
        let text = sample(&[
            "#[error(\"is to",
            "ld\")]\nstruct A;\nfn a() { b(\"\\nis to",
            "ld\") }\n#[test]\nfn c() {}\n",
        ]);
        assert_eq!(lines("crates/wb-cli/src/b.rs", &text), [1, 3]);
        assert_eq!(lines("crates/wb-record/src/b.rs", &text), [1]);
        let in_tests = format!("#[cfg(test)]\nmod tests {{ {text} }}");
        assert!(lines("crates/wb-cli/src/b.rs", &in_tests).is_empty());
    }

    #[test]
    fn a_name_is_found_where_it_is_defined_and_not_where_it_is_used() {
        let name = sample(&["to", "ld"]);
        assert_eq!(lines("a.rs", &format!("fn a({name}: B) {{}}\nfn b() {{ c.{name}() }}\n")), [1]);
        assert_eq!(lines("a.rs", "struct Kept;\nenum A { Kept }\nfn find_kept() {}\n"), [1]);
        assert!(lines("a.rs", "fn stand_in() {}\nfn is_standalone() {}\n").is_empty());
    }

    #[test]
    fn crates_do_not_name_origins_but_for_the_one_of_recorded_behaviours() {
        for line in
            ["/// The default (seed 2).", "struct Lineage;", "/// The Published slicer.", "// The seed's."]
        {
            assert_eq!(lines("crates/wb-message/src/a/b.rs", line), [1], "{line}");
            for path in ["crates/wb-compat/src/lib.rs", "crates/wb-budget/tests/it/a.rs", "xtask/src/a.rs"] {
                assert!(lines(path, line).is_empty(), "{path}: {line}");
            }
        }
        let numbers = "/// Starts at a seed, such as seed 17.\nfn f(seed: u32) {}\n";
        assert!(lines("crates/wb-message/src/a.rs", numbers).is_empty());
    }
}
