//! The lines that a reader will need again: the last one of each name, ranked by who used the name and how lately.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasherDefault;

use wb_message::pairing::{KeyHasher, id_key};

use crate::digest::Section;
use crate::facts::mentions::{Mentions, Named};
use crate::facts::names::names;
use crate::labels::{BETWEEN_NAMES, CALLED, EXCERPTS, GAP, NAMES, SEEN};
use crate::scope::heading_at;

/// What a list of bare names may take of the digest that it stands in, as one part of so many.
const NAMES_PART: usize = 10;

/// Puts lines below a digest, as the end of its carryover.
pub(crate) fn with_evidence(mut digest: String, evidence: &str) -> String {
    if evidence.is_empty() {
        return digest;
    }
    let last = digest.lines().rev().find_map(heading_at);
    if last != Some(Section::Carryover as usize) {
        digest.push_str("\n# Carryover");
    }
    digest.push_str(evidence);
    digest
}

/// Returns a digest without such lines, which are put below the next one anew and need not pass through a model.
pub(crate) fn without_evidence(digest: &str) -> String {
    let mut is_evidence = false;
    let stays = |line: &&str| {
        let continues = is_evidence && (line.starts_with("  ") || line.is_empty());
        is_evidence =
            continues || [EXCERPTS, SEEN, CALLED, NAMES].iter().any(|label| line.starts_with(label));
        !is_evidence
    };
    digest.split('\n').filter(stays).collect::<Vec<_>>().join("\n")
}

/// Renders as many lines as fit, oldest first, below what they come from, each begun with a line end. What is in `told` is
/// not told again, nor what a reader is shown.
pub(crate) fn evidence(
    mentions: &Mentions,
    told: &str,
    max_bytes: usize,
    is_shown: impl Fn(u32, &str) -> bool,
) -> String {
    let for_names = (told.len() + max_bytes) / NAMES_PART;
    let mut choice = Choice {
        told,
        names_told: names(told).into_iter().map(id_key).collect(),
        left: max_bytes.saturating_sub(for_names + EXCERPTS.len() + 1),
        left_for_names: for_names.min(max_bytes).saturating_sub(NAMES.len() + 1),
        sources: BTreeMap::new(),
        known: Keys::default(),
        lines: Vec::new(),
        bare: Vec::new(),
    };
    for named in mentions.ranked() {
        if !is_shown(named.message, named.line.unwrap_or(named.name)) {
            choice.take(mentions, named);
        }
        if choice.left == 0 && choice.left_for_names == 0 {
            break;
        }
    }
    choice.written(mentions)
}

/// Texts that are known, by their keys.
type Keys = HashSet<u64, BuildHasherDefault<KeyHasher>>;

/// Which message, and which source in it, a line stands in.
type Place = (u32, u16);
/// What lines come from: a file or a command, by its label, or what somebody said at a place.
type Source<'a> = (&'a str, Option<Place>);

fn source<'a>(mentions: &'a Mentions, named: &Named<'_>) -> Source<'a> {
    let label = mentions.label_of(named);
    (label, label.starts_with("the ").then(|| named.place()))
}

/// The lines that are chosen, and the names without a line.
struct Choice<'a> {
    told: &'a str,
    names_told: Keys,
    left: usize,
    left_for_names: usize,
    /// What lines come from, with the place of the last line from there.
    sources: BTreeMap<Source<'a>, Place>,
    known: Keys,
    lines: Vec<Named<'a>>,
    bare: Vec<&'a str>,
}

impl<'a> Choice<'a> {
    /// Takes the line of a name, or the name alone where its line is too long or has no room.
    fn take(&mut self, mentions: &'a Mentions, named: Named<'a>) {
        let name_key = id_key(named.name);
        let is_told = self.names_told.contains(&name_key);
        if let Some(line) = named.line.filter(|_| self.left > 0) {
            if self.known.contains(&id_key(line)) || (is_told && self.told.contains(line)) {
                return;
            }
            if self.take_line(mentions, named, line) {
                return;
            }
            // From here on lines would be chosen by their length and not by their rank.
            self.left = 0;
        }
        // A line may have taken the name along since it was looked up.
        if self.names_told.contains(&name_key) {
            return;
        }
        if is_no_name(named.name) {
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
        let of = source(mentions, &named);
        let source = match named.is_call() {
            true => CALLED.len(),
            false if self.sources.contains_key(&of) => GAP.len(),
            false => SEEN.len() + of.0.len() + 2,
        };
        let n_bytes = line.len() + "\n   ".len() + source;
        if n_bytes > self.left {
            return false;
        }
        self.left -= n_bytes;
        if !named.is_call() {
            let last = self.sources.entry(of).or_default();
            *last = named.place().max(*last);
        }
        self.known.insert(id_key(line));
        self.names_told.extend(names(line).into_iter().map(id_key));
        self.lines.push(named);
        true
    }

    fn written(self, mentions: &'a Mentions) -> String {
        let last = |named: &Named<'a>| {
            let last = self.sources.get(&source(mentions, named)).filter(|_| !named.is_call());
            last.copied().unwrap_or(named.place())
        };
        let mut lines: Vec<_> = self.lines.iter().map(|named| (last(named), named)).collect();
        lines.sort_by_key(|(last, named)| (*last, named.place(), Reverse(named.from_end)));
        let (mut out, mut before) = (String::new(), None::<(Place, &Named<'_>)>);
        if !lines.is_empty() {
            out.extend(["\n", EXCERPTS]);
        }
        for (last, named) in lines {
            let line = named.line.unwrap_or_default();
            if named.is_call() {
                out.extend(["\n", CALLED, line]);
                continue;
            }
            let above = before.filter(|(of, _)| *of == last).map(|(_, above)| above);
            if above.is_none() {
                out.extend(["\n", SEEN, mentions.label_of(named), ":"]);
            }
            let follows = |above: &Named<'_>| above.place() == named.place() && above.is_above(named);
            let gap = if above.is_none_or(follows) { "" } else { GAP };
            // In lists of changed files one blank tells something.
            let blank = if named.indent == 1 { " " } else { "" };
            out.extend(["\n  ", gap, blank, line]);
            before = Some((last, named));
        }
        if !self.bare.is_empty() {
            out.extend(["\n", NAMES, &self.bare.join(BETWEEN_NAMES)]);
        }
        out
    }
}

/// Tells of what merely looks like a name: `errors/warnings`, words beside each other, and `src/a.rs-12`, the start of a
/// line as searches show it.
fn is_no_name(name: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let are_words = || name.split_once('/').is_some_and(|(one, other)| is_word(one) && is_word(other));
    let is_place = |(path, rest): (&str, &str)| {
        path.contains(['/', '.']) && rest.split('-').next().is_some_and(|it| it.parse::<u32>().is_ok())
    };
    are_words() || name.split_once('-').is_some_and(is_place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beside_each_other_and_places_of_a_search_are_no_names() {
        for (name, expected) in [
            ("errors/warnings", true),
            ("deleted/non-existent", true),
            ("src/cart.rs-13-let", true),
            ("src/cart.rs", false),
            ("src/Cart", false),
            ("tests/it/main.rs", false),
            ("cart-2.rs", false),
            ("parse_cart", false),
        ] {
            assert_eq!(is_no_name(name), expected, "{name}");
        }
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
