//! Records of a JSON document found again where another program has written all of it anew: with other blanks, and
//! other escapes.

use std::io;
use std::ops::Range;

use serde::de::IgnoredAny;

use crate::change::{Bytes, Change, ChangeSet};
use crate::json_scan::{JsonScan, Token};
use crate::part::Parts;

/// Returns changes that do what others say, each in the one place where what it replaces stands as it is written now.
///
/// There are none where the part without a name is no JSON document, or where something else is changed than whole
/// objects that stand in it once.
pub(crate) fn reformatted(parts: &dyn Parts, set: &ChangeSet) -> io::Result<Option<ChangeSet>> {
    if !set.changes.iter().all(|(part, change)| part.is_empty() && replaced(change).is_some()) {
        return Ok(None);
    }
    let text = parts.whole("")?;
    let is_document = serde_json::from_slice::<IgnoredAny>(&text).is_ok();
    let Some(text) = std::str::from_utf8(&text).ok().filter(|_| is_document) else { return Ok(None) };
    let all = tokens(text);
    let place = |change: &Change| {
        let (old, new) = replaced(change)?;
        Some((place_of(&tokens(old), &all)?, new.clone()))
    };
    let places: Option<Vec<_>> = set.changes.iter().map(|(_, change)| place(change)).collect();
    let Some(mut places) = places.filter(|places| !places.is_empty()) else { return Ok(None) };
    places.sort_by_key(|(place, _)| place.start);
    if places.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return Ok(None);
    }
    // What is behind is changed first, so that nothing has moved before its turn.
    let change = |(place, new): (Range<usize>, Bytes)| {
        let old = Bytes(text.as_bytes()[place.clone()].to_vec());
        (String::new(), Change::Splice { at: place.start as u64, old, new })
    };
    Ok(Some(ChangeSet { changes: places.into_iter().rev().map(change).collect() }))
}

/// Returns what a change puts in the place of what, if that is whole objects with the commas next to them.
fn replaced(change: &Change) -> Option<(&str, &Bytes)> {
    let Change::Splice { old, new, .. } = change else { return None };
    let text = std::str::from_utf8(&old.0).ok()?;
    let objects = text.trim_matches(|c: char| c == ',' || c.is_ascii_whitespace());
    (objects.starts_with('{') && objects.ends_with('}')).then_some((text, new))
}

/// Returns where some tokens stand among others, if that is one place.
fn place_of(some: &[Token<'_>], all: &[Token<'_>]) -> Option<Range<usize>> {
    let is_same = |run: &&[Token<'_>]| run.iter().zip(some).all(|(a, b)| a.is_like(b));
    let mut found = all.windows(some.len().max(1)).filter(is_same);
    let (run, other) = (found.next()?, found.next());
    let end = run.last()?.place.end;
    other.is_none().then(|| run[0].place.start..end)
}

/// Returns the tokens of a text, or of a piece of one.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scan = JsonScan::new(text);
    std::iter::from_fn(|| scan.token()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::MemoryParts;

    const WRITTEN: &str = r#"{"messages":[{"text":"old — \"1\""},{"text":"new"}]}"#;

    fn undone(text: &str, old: &str, new: &str) -> Option<String> {
        let (old, new) = (Bytes(old.into()), Bytes(new.into()));
        let set = ChangeSet { changes: vec![(String::new(), Change::Splice { at: 0, old, new })] };
        let mut parts = MemoryParts::of(text);
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
    fn what_is_no_object_or_stands_there_twice_or_not_at_all_is_not_found() {
        assert_eq!(undone(WRITTEN, "\"new\"", "1"), None);
        assert_eq!(undone(WRITTEN, r#"{"text":"newer"}"#, "1"), None);
        assert_eq!(undone(r#"[{"a":1},{"a":1}]"#, r#"{"a":1}"#, "1"), None);
        assert_eq!(undone("{\"a\":1}\n{\"a\":2}", r#"{"a":1}"#, "1"), None);
        assert_eq!(undone(r#"[{"a":","}]"#, r#"{"a":,}"#, "1"), None);
    }
}
