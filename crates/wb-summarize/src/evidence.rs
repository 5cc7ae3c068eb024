//! The lines that a reader will need again: the last one of each name, ranked by who used the name
//! and how recently.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use wb_message::Untrusted;
use wb_message::pairing::{KeyHasher, id_key};

use wb_digest::labels::{BETWEEN_NAMES, CALLED, EXCERPTS, NAMES, RECALL_SUBJECTS, RECALL_TOOL, SEEN};
use wb_digest::{Section, quote_behind_label, quote_line};
use wb_facts::mentions::{self, Mentions, Named};
use wb_facts::names::names;
use wb_message::excerpt::GAP;

/// The share of the evidence for a list of bare names, as a divisor.
const NAMES_PART: usize = 10;
/// The most lines of one source that are an entry of a list: a folder, a test that passed.
const MOST_LISTED: usize = 8;
/// Characters of a whole hash, of the shortest in use (MD5).
const HASH_CHARS: usize = 32;

/// Returns the line that names the tool for looking up what is folded, after a line end.
pub(crate) fn recall_line(tool: &str) -> String {
    ["\n", RECALL_TOOL, tool, RECALL_SUBJECTS].concat()
}

/// Adds lines below a digest, as the end of its carryover.
pub(crate) fn with_evidence(mut digest: String, evidence: &str) -> String {
    if evidence.is_empty() {
        return digest;
    }
    let last = digest.lines().rev().find_map(Section::from_heading);
    if last != Some(Section::Carryover) {
        digest.push_str("\n# Carryover");
    }
    digest.push_str(evidence);
    digest
}

/// Returns a digest without such lines, which are added below the next one and need not pass
/// through a model.
pub(crate) fn without_evidence(digest: &str) -> String {
    let mut is_evidence = false;
    let stays = |line: &&str| {
        let continues = is_evidence && (line.starts_with("  ") || line.is_empty());
        is_evidence = continues
            || [EXCERPTS, SEEN, CALLED, NAMES, RECALL_TOOL].iter().any(|label| line.starts_with(label));
        !is_evidence
    };
    digest.split('\n').filter(stays).collect::<Vec<_>>().join("\n")
}

/// Renders as many lines as fit, oldest first, below their labels, each after a line end. Lines in
/// the digest and lines that a reader sees are left out.
pub(crate) fn evidence(
    mentions: &Mentions,
    digest: &str,
    max_bytes: usize,
    is_shown: impl Fn(u32, &str) -> bool,
) -> String {
    let for_names = (digest.len() + max_bytes) / NAMES_PART;
    let mut choice = Choice {
        digest,
        names_listed: names(digest).into_iter().map(id_key).collect(),
        left: max_bytes.saturating_sub(for_names + EXCERPTS.len() + 1),
        left_for_names: for_names.min(max_bytes).saturating_sub(NAMES.len() + 1),
        sources: Vec::new(),
        known: Keys::default(),
        bare: Vec::new(),
    };
    for named in mentions.ranked() {
        if !is_shown(named.message, named.line.map_or(named.name, Untrusted::into_inner)) {
            choice.take(mentions, named);
        }
        if choice.left == 0 && choice.left_for_names == 0 {
            break;
        }
    }
    choice.written()
}

/// Texts that are known, by their keys.
type Keys = HashSet<u64, BuildHasherDefault<KeyHasher>>;

/// Lines of one source: of a file or a command, or what somebody said at a place.
struct Source<'a> {
    label: &'a str,
    /// The place of the last one.
    last: (u32, u16),
    lines: Vec<Named<'a>>,
}

impl<'a> Source<'a> {
    /// Returns whether a line comes from it.
    fn holds(&self, label: &str, named: &Named<'_>) -> bool {
        let is_said = label.starts_with("the ");
        self.label == label
            && !label.is_empty()
            && !named.is_call()
            && (!is_said || self.last == named.place())
    }

    /// Returns the call that it is, if it is one.
    fn call(&self) -> Option<&'a str> {
        let call = self.lines.first().filter(|named| named.is_call())?;
        call.line.map(Untrusted::into_inner)
    }

    /// Returns whether it is what a call returned, by its label: the tool and the main argument.
    fn is_of_call(&self, call: &str) -> bool {
        let is_of = |(tool, value): (&str, &str)| {
            call.strip_prefix(tool).is_some_and(|rest| rest.starts_with(' ') && rest.contains(value))
        };
        self.label.split_once(' ').is_some_and(is_of)
    }

    fn n_listed(&self) -> usize {
        self.lines.iter().filter(|named| named.line.is_some_and(|line| is_listed(line.into_inner()))).count()
    }
}

/// Returns whether a line is a folder or names of files and nothing else, as `ls -R` lists them,
/// or a test that passed.
fn is_listed(line: &str) -> bool {
    const PASSED_STARTS: [&str; 4] = ["✓ ", "✔ ", "--- PASS: ", "PASS "];
    let is_folder = line.contains('/') && line.ends_with([':', '/']) && !line.contains(char::is_whitespace);
    let is_test = || line.contains("::") || line.starts_with("test ");
    is_folder
        || is_row_of_files(line)
        || PASSED_STARTS.iter().any(|start| line.starts_with(start))
        || is_test() && (line.contains(" PASSED") || line.ends_with(" ok"))
}

/// Returns whether a line is a row of file names, in columns if there are several.
fn is_row_of_files(line: &str) -> bool {
    let is_name =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/'".contains(&byte));
    let mut columns =
        line.split("  ").flat_map(|part| part.split('\t')).map(str::trim).filter(|word| !word.is_empty());
    line.contains('.') && columns.all(is_name)
}

/// Returns whether a line frames others and says nothing itself: a tag alone, or a sentence of a
/// host around the content of a file.
fn is_frame(line: &str) -> bool {
    let tag = line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    tag.is_some_and(|tag| !tag.contains(['<', '>', '"', ' ', '@']))
        || line.contains(" has been updated. Here's the result of running `cat -n`")
}

/// Returns whether a line is one that a diff takes out of a file.
fn is_removed(label: &str, line: &str, indent: u8) -> bool {
    const DIFFS: [&str; 4] = ["apply_patch", "git diff", "git show", "git stash show"];
    line.starts_with('-') && indent == 0 && DIFFS.iter().any(|diff| label.contains(diff))
}

/// The lines that are chosen, and the names without a line.
struct Choice<'a> {
    digest: &'a str,
    names_listed: Keys,
    left: usize,
    left_for_names: usize,
    /// The lines by source; a call is alone.
    sources: Vec<Source<'a>>,
    known: Keys,
    bare: Vec<&'a str>,
}

impl<'a> Choice<'a> {
    /// Takes the line of a name, or the name alone where its line is too long or has no room.
    fn take(&mut self, mentions: &'a Mentions, named: Named<'a>) {
        let name_key = id_key(named.name);
        let is_listed = self.names_listed.contains(&name_key);
        let is_useful =
            |line: &&str| !is_frame(line) && !is_removed(mentions.label_of(&named), line, named.indent);
        let line = named.line.map(Untrusted::into_inner).filter(|_| self.left > 0);
        if let Some(line) = line.filter(is_useful) {
            if self.known.contains(&id_key(line)) || (is_listed && self.digest.contains(line)) {
                return;
            }
            if self.take_line(mentions, named, line) {
                return;
            }
            // From here on lines would be chosen by their length and not by their rank.
            self.left = 0;
        }
        // A line may have taken the name along since it was looked up.
        if self.names_listed.contains(&name_key) {
            return;
        }
        if is_no_name(named.name) || (named.count == 1 && is_of_little_use(&named)) {
            return;
        }
        let n_bytes = named.name.len() + BETWEEN_NAMES.len();
        if n_bytes <= self.left_for_names {
            self.left_for_names -= n_bytes;
            self.bare.push(named.name);
        } else {
            self.left_for_names = 0;
        }
    }

    fn take_line(&mut self, mentions: &'a Mentions, named: Named<'a>, line: &'a str) -> bool {
        // The label of what a call returned has its main argument.
        if named.is_call() && self.sources.iter().any(|source| source.is_of_call(line)) {
            self.names_listed.extend(names(line).into_iter().map(id_key));
            return true;
        }
        let label = mentions.label_of(&named);
        let source = self.sources.iter_mut().find(|source| source.holds(label, &named));
        // Some entries of a list are enough.
        if is_listed(line) && source.as_ref().is_some_and(|source| source.n_listed() >= MOST_LISTED) {
            return true;
        }
        let for_source = match &source {
            _ if named.is_call() => CALLED.len(),
            Some(_) => GAP.len(),
            None => SEEN.len() + label.len() + 2,
        };
        let n_bytes = line.len() + "\n   ".len() + for_source;
        if n_bytes > self.left {
            return false;
        }
        self.left -= n_bytes;
        self.known.insert(id_key(line));
        self.names_listed.extend(names(line).into_iter().map(id_key));
        let last = named.place();
        if let Some(source) = source {
            source.last = source.last.max(last);
            source.lines.push(named);
        } else {
            let label = if named.is_call() { "" } else { label };
            let source = Source { label, last, lines: vec![named] };
            self.sources.retain(|known| {
                let is_said = known.call().is_some_and(|call| source.is_of_call(call));
                self.left += if is_said { known.call().map_or(0, str::len) + CALLED.len() } else { 0 };
                !is_said
            });
            self.sources.push(source);
        }
        true
    }

    fn written(mut self) -> String {
        let mut out = String::new();
        if !self.sources.is_empty() {
            out.extend(["\n", EXCERPTS]);
        }
        self.sources.sort_unstable_by_key(|source| (source.last, !source.label.is_empty()));
        for mut source in self.sources {
            source.lines.sort_unstable_by_key(|named| (named.place(), Reverse(named.from_end)));
            push_lines(&mut out, &source);
        }
        if !self.bare.is_empty() {
            out.extend(["\n", NAMES, &self.bare.join(BETWEEN_NAMES)]);
        }
        out
    }
}

/// Writes the lines of a source below its label.
fn push_lines(out: &mut String, source: &Source<'_>) {
    if !source.label.is_empty() {
        out.extend(["\n", SEEN, source.label, ":"]);
    }
    let mut before = None::<&Named<'_>>;
    for named in &source.lines {
        let line = named.line.unwrap_or_default();
        if named.is_call() {
            out.extend(["\n", CALLED]);
            quote_behind_label(out, &line);
            continue;
        }
        let follows = |above: &Named<'_>| above.place() == named.place() && above.is_above(named);
        // A line of an earlier digest may have its mark.
        let gap = if before.is_none_or(follows) || line.inspect().starts_with(GAP) { "" } else { GAP };
        // A single blank has a meaning in lists of changed files.
        let blank = if named.indent == 1 { " " } else { "" };
        out.extend(["\n  ", gap]);
        quote_line(out, blank, &line);
        before = Some(named);
    }
}

/// Returns whether a text merely looks like a name: `errors/warnings`, adjacent words,
/// `src/a.rs-12`, the start of a line in search results, `u003c/a`, a character that JSON escapes,
/// and the address of a picture.
fn is_no_name(name: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let are_words = || name.split_once('/').is_some_and(|(one, other)| is_word(one) && is_word(other));
    let is_ending = |end: &str| end.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_file = name.rsplit_once('.').is_some_and(|(_, end)| is_ending(end));
    let is_place = |(at, _): (usize, &str)| {
        let (path, rest) = (&name[..at], &name[at + 1..]);
        path.contains(['/', '.']) && rest.split('-').next().is_some_and(|it| it.parse::<u32>().is_ok())
    };
    are_words() || !is_file && name.match_indices('-').any(is_place) || has_escape(name) || is_picture(name)
}

fn has_escape(name: &str) -> bool {
    let is_code = |rest: &str| rest.get(..2).is_some_and(|code| u8::from_str_radix(code, 16).is_ok());
    name.match_indices("u00").any(|(at, start)| is_code(&name[at + start.len()..]))
}

fn is_picture(name: &str) -> bool {
    const ENDINGS: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico"];
    let address = name.split(['?', '#']).next().unwrap_or(name);
    name.contains("//") && ENDINGS.iter().any(|ending| address.ends_with(ending))
}

/// Returns whether a name seen once means little without its line: words of the agent alone, which
/// are mostly two sentences without a blank between them, and a full hash or id in the output of a
/// tool.
fn is_of_little_use(named: &Named<'_>) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_hash = || named.name.len() >= HASH_CHARS && named.name.bytes().all(is_hex);
    named.by == mentions::Source::Agent || (named.by == mentions::Source::Tool && is_hash())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_facts::Facts;
    use wb_message::{Message, ToolVocabulary};

    #[test]
    fn adjacent_words_places_of_a_search_escapes_and_pictures_are_no_names() {
        for (name, expected) in [
            ("errors/warnings", true),
            ("deleted/non-existent", true),
            ("src/cart.rs-13-let", true),
            ("web-app/src/cart.ts-13", true),
            ("docs/release-2024-notes.md", false),
            ("src/cart.rs", false),
            ("src/Cart", false),
            ("tests/it/main.rs", false),
            ("cart-2.rs", false),
            ("u003c/a", true),
            ("x/u0026y", true),
            ("menu007_of_cart", false),
            ("https://img.shields.io/badge/a.svg?style=flat", true),
            ("docs/cart.svg", false),
            ("parse_cart", false),
        ] {
            assert_eq!(is_no_name(name), expected, "{name}");
        }
    }

    #[test]
    fn a_bare_name_is_one_that_a_tool_or_the_user_knows_or_the_agent_said_twice() {
        let long = |names: &str| format!("{names} {}", "and so on ".repeat(30));
        let talk = [
            Message::user(long("Port sum_of_cart.")),
            Message::assistant(long("It is in taxOf_cart and rate_table.It")),
            Message::assistant(long("Now for taxOf_cart.")),
            Message::tool_result("c1", "Bash", long("8ca9db43a8278a4f8958f6d974d113f9 8ca9db4 end_of_cart")),
        ];
        let facts = Facts::default().with_messages(&talk, &ToolVocabulary::default());
        let digest = evidence(facts.names(), "", 4_000, |_, _| false);
        assert!(digest.contains("sum_of_cart") && digest.contains("taxOf_cart"), "{digest}");
        assert!(digest.contains("end_of_cart") && !digest.contains("rate_table.It"), "{digest}");
        assert!(!digest.contains("8ca9db43a8278"), "{digest}");
    }

    #[test]
    fn a_listing_of_files_and_of_tests_that_passed_gets_few_lines() {
        let entries = |entry: fn(usize) -> String| {
            let listing = (0..40).map(entry).collect::<Vec<_>>().join("\n");
            let listing = Message::tool_result("c1", "Bash", listing);
            let facts = Facts::default().with_messages(&[listing], &ToolVocabulary::default());
            let digest = evidence(facts.names(), "", 8_000, |_, _| false);
            digest.lines().filter(|line| line.contains("cart_") && !line.starts_with("- ")).count()
        };
        assert_eq!(entries(|n| format!("/srv/shop/cart_{n}/old_parts:")), MOST_LISTED);
        assert_eq!(entries(|n| format!("tests/test_cart.py::test_cart_{n} PASSED [ {n}%]")), MOST_LISTED);
        assert_eq!(entries(|n| format!("old_cart_{n}.py\t  __init__.py    new_cart_{n}.py")), MOST_LISTED);
        assert_eq!(entries(|n| format!("test cart::of_cart_{n}_parts ... ok")), MOST_LISTED);
        assert_eq!(entries(|n| format!("test cart::of_cart_{n}_parts ... FAILED")), 40);
        assert_eq!(entries(|n| format!("<cart_{n}_of_parts>")), 0);
    }

    #[test]
    fn a_digest_without_its_lines_is_the_rest_of_it() {
        let digest = "# Plan\n- go on\n# Carryover\n3 messages.";
        let below = "\n- Seen last in Read src/a.rs:\n  fn a()\n  # Plan\n- names: parse_cart · src/b.rs";
        let whole = with_evidence(digest.to_owned(), below);
        assert_eq!(without_evidence(&whole), digest);
        assert_eq!(
            without_evidence(&[&whole, "\n\n# Objective\n- port it"].concat()),
            [digest, "\n# Objective\n- port it"].concat()
        );
    }
}
