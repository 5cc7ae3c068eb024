//! Finds records of a JSON document after another program has rewritten it with other blanks and
//! other escapes.

use std::io;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::json::scan::{JsonScan, Token};
use crate::parts::change::{Bytes, Change, ChangeSet};
use crate::parts::part::{PartReader, Parts};

/// Returns changes that do what others say, each at the only place where the text that it replaces
/// appears in its current formatting.
///
/// There are none if the part without a name is not a JSON document, or if something other than
/// whole objects that appear in it once is changed.
pub(crate) fn reformatted(parts: &dyn Parts, set: &ChangeSet) -> io::Result<Option<ChangeSet>> {
    if set.is_empty()
        || !set.changes.iter().all(|(part, change)| part.is_empty() && replaced(change).is_some())
    {
        return Ok(None);
    }
    let Some(text) = document_text(parts)? else { return Ok(None) };
    let all = Tokens::parse(&text);
    let place = |change: &Change| {
        let (old, new) = replaced(change)?;
        Some((all.place_of(&Tokens::parse(old))?, new.clone()))
    };
    let places: Option<Vec<_>> = set.changes.iter().map(|(_, change)| place(change)).collect();
    let Some(mut places) = places else { return Ok(None) };
    places.sort_by_key(|(place, _)| place.start);
    if places.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return Ok(None);
    }
    // Changes run from the end, so that nothing has moved before its turn.
    let change = |(place, new): (Range<usize>, Bytes)| {
        let old = Bytes(text.as_bytes()[place.clone()].to_vec());
        (String::new(), Change::Splice { at: place.start as u64, old, new })
    };
    Ok(Some(ChangeSet { changes: places.into_iter().rev().map(change).collect() }))
}

/// Returns the text of the part without a name, if that is one JSON value. A long log is not read
/// for it.
pub(crate) fn document_text(parts: &dyn Parts) -> io::Result<Option<String>> {
    let mut values = Deserializer::from_reader(PartReader::new(parts, "", 0)?).into_iter::<IgnoredAny>();
    let is_document = matches!(values.next(), Some(Ok(_))) && values.next().is_none();
    Ok(if is_document { String::from_utf8(parts.whole("")?).ok() } else { None })
}

/// Returns what a change puts in the place of what, if that is whole objects with the commas next
/// to them.
fn replaced(change: &Change) -> Option<(&str, &Bytes)> {
    let Change::Splice { old, new, .. } = change else { return None };
    let text = std::str::from_utf8(&old.0).ok()?;
    are_objects(text).then_some((text, new))
}

/// Returns whether a text is whole objects with the commas next to them.
pub(crate) fn are_objects(text: &str) -> bool {
    let objects = text.trim_matches(|c: char| c == ',' || c.is_ascii_whitespace());
    objects.starts_with('{') && objects.ends_with('}')
}

/// The tokens of a text, or of a piece of one.
pub(crate) struct Tokens<'a>(Vec<Token<'a>>);

impl<'a> Tokens<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut scan = JsonScan::new(text);
        Self(std::iter::from_fn(|| scan.token()).collect())
    }

    /// Returns the place of some tokens among these, if there is exactly one.
    pub(crate) fn place_of(&self, some: &Self) -> Option<Range<usize>> {
        // The longest of them is at the fewest places.
        let longest = (0..some.0.len()).max_by_key(|at| some.0[*at].place.len())?;
        let is_same = |run: &&[Token<'_>]| {
            run[longest].is_like(&some.0[longest]) && run.iter().zip(&some.0).all(|(a, b)| a.is_like(b))
        };
        let mut found = self.0.windows(some.0.len()).filter(is_same);
        let (run, other) = (found.next()?, found.next());
        let end = run.last()?.place.end;
        other.is_none().then(|| run[0].place.start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::MemoryParts;

    const WRITTEN: &str = r#"{"messages":[{"text":"old — \"1\""},{"text":"new"}]}"#;

    fn undone(text: &str, old: &str, new: &str) -> Option<String> {
        let (old, new) = (Bytes(old.into()), Bytes(new.into()));
        let set = ChangeSet { changes: vec![(String::new(), Change::Splice { at: 0, old, new })] };
        let mut parts = MemoryParts::from_bytes(text);
        parts.commit(&reformatted(&parts, &set).unwrap()?).unwrap();
        Some(String::from_utf8(parts.whole("").unwrap()).unwrap())
    }

    #[test]
    fn an_object_is_found_with_other_blanks_and_escapes() {
        let object = r#"{"text":"old — \"1\""}"#;
        assert_eq!(undone(WRITTEN, object, "{},{}").unwrap(), r#"{"messages":[{},{},{"text":"new"}]}"#);
        let anew = "{\n \"messages\": [\n  {\n \"text\": \"old \\u2014 \\\"1\\\"\"\n  },\n  {\"text\": \"new\"}\n ]\n}";
        assert_eq!(
            undone(anew, object, "{}").unwrap(),
            "{\n \"messages\": [\n  {},\n  {\"text\": \"new\"}\n ]\n}"
        );
        assert_eq!(
            undone(anew, &format!("{object},"), "").unwrap(),
            "{\n \"messages\": [\n  \n  {\"text\": \"new\"}\n ]\n}"
        );
    }

    #[test]
    fn only_an_object_that_appears_once_is_found() {
        assert_eq!(undone(WRITTEN, "\"new\"", "1"), None);
        assert_eq!(undone(WRITTEN, r#"{"text":"newer"}"#, "1"), None);
        assert_eq!(undone(r#"[{"a":1},{"a":1}]"#, r#"{"a":1}"#, "1"), None);
        assert_eq!(undone("{\"a\":1}\n{\"a\":2}", r#"{"a":1}"#, "1"), None);
        assert_eq!(undone(r#"[{"a":","}]"#, r#"{"a":,}"#, "1"), None);
    }
}
