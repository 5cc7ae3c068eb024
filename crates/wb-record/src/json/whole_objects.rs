//! Changes of a JSON document in whole objects, so that their text is found after another program
//! has rewritten the document.

use std::io;
use std::ops::Range;

use crate::json::reformatted::{Tokens, are_objects, document_text};
use crate::json::{elements, members};
use crate::parts::change::{Bytes, Change, ChangeSet};
use crate::parts::part::{Parts, changed_parts, read_old};
use crate::parts::piece_table::Region;

/// Returns changes that do the same, each of which writes whole objects that appear once in the
/// resulting document. If one writes less, the objects next to it are written again.
///
/// The changes are returned unchanged if the part without a name is not a JSON document, or has no
/// such objects.
pub(crate) fn in_whole_objects(parts: &dyn Parts, set: &ChangeSet) -> io::Result<ChangeSet> {
    let is_splice =
        |(part, change): &(String, Change)| part.is_empty() && matches!(change, Change::Splice { .. });
    if set.is_empty() || !set.changes.iter().all(is_splice) {
        return Ok(set.clone());
    }
    let Some(old) = document_text(parts)? else { return Ok(set.clone()) };
    let Some(pieces) = changed_parts(parts, set).ok().and_then(|mut all| all.remove("")) else {
        return Ok(set.clone());
    };
    let new = pieces.whole(&read_old(parts, ""))?.and_then(|new| String::from_utf8(new).ok());
    let Some(new) = new else { return Ok(set.clone()) };
    let change = Changed { old: &old, new: &new, tokens: Tokens::parse(&new), regions: pieces.regions() };
    let is_unique = |(_, it): &(String, Change)| match it {
        Change::Splice { new, .. } => std::str::from_utf8(&new.0).is_ok_and(|new| change.is_unique(new)),
        _ => false,
    };
    Ok(if set.changes.iter().all(is_unique) { set.clone() } else { change.in_windows() })
}

/// A document before and after changes.
struct Changed<'a> {
    old: &'a str,
    new: &'a str,
    tokens: Tokens<'a>,
    regions: Vec<Region>,
}

impl Changed<'_> {
    /// Returns whether a text is whole objects that appear in the new document once.
    fn is_unique(&self, text: &str) -> bool {
        are_objects(text) && self.tokens.place_of(&Tokens::parse(text)).is_some()
    }

    /// Returns the changes, each of a stretch of whole objects.
    fn in_windows(&self) -> ChangeSet {
        let mut windows: Vec<Range<usize>> = Vec::new();
        for region in &self.regions {
            let window = self.window(&region.old).unwrap_or_else(|| region.old.clone());
            match windows.last_mut() {
                Some(last) if last.end >= window.start => {
                    *last = last.start.min(window.start)..last.end.max(window.end);
                }
                _ => windows.push(window),
            }
        }
        // Changes run from the end, so that nothing has moved before its turn.
        let change = |window: Range<usize>| {
            let new = &self.new[self.new_place(&window)?];
            let (old, new) = (Bytes(self.old[window.clone()].into()), Bytes(new.into()));
            Some((String::new(), Change::Splice { at: window.start as u64, old, new }))
        };
        ChangeSet { changes: windows.into_iter().rev().filter_map(change).collect() }
    }

    /// Returns the fewest elements of an array around a region that are unique after the changes;
    /// those of the innermost array that has them.
    fn window(&self, region: &Range<usize>) -> Option<Range<usize>> {
        let mut arrays = arrays_around(self.old, region);
        std::iter::from_fn(|| arrays.pop()).find_map(|array| {
            let mut first = array.partition_point(|it| it.end < region.start);
            let mut end = array.partition_point(|it| it.start <= region.end);
            let mut step = 1;
            loop {
                if first < end {
                    let window = array[first].start..array[end - 1].end;
                    let is_around = window.start <= region.start && region.end <= window.end;
                    let new = self.new_place(&window).filter(|_| is_around);
                    if new.is_some_and(|new| self.is_unique(&self.new[new])) {
                        return Some(window);
                    }
                }
                if first == 0 && end == array.len() {
                    return None;
                }
                (first, end) = (first.saturating_sub(step), array.len().min(end + step));
                step *= 2;
            }
        })
    }

    /// Returns the place of a stretch after the changes; nothing if one of them is partly in it.
    fn new_place(&self, window: &Range<usize>) -> Option<Range<usize>> {
        let (mut start, mut end) = (window.start, window.end);
        for Region { old, n_new } in &self.regions {
            if window.start <= old.start && old.end <= window.end {
                end = end + n_new - old.len();
            } else if old.end <= window.start {
                (start, end) = (start + n_new - old.len(), end + n_new - old.len());
            } else if old.start < window.end {
                return None;
            }
        }
        Some(start..end)
    }
}

/// Returns the places of the elements of each array around a place in a document, the innermost
/// last.
fn arrays_around(text: &str, place: &Range<usize>) -> Vec<Vec<Range<usize>>> {
    let is_around = |it: &Range<usize>| it.start < place.start && place.end < it.end;
    let start = text.len() - text.trim_start().len();
    let (mut all, mut value) = (Vec::new(), Some(start..text.trim_end().len()));
    while let Some(here) = value.take() {
        let bytes = &text.as_bytes()[here.clone()];
        let moved = |it: Range<usize>| here.start + it.start..here.start + it.end;
        if bytes.starts_with(b"[") {
            let places: Vec<_> = elements(bytes).unwrap_or_default().into_iter().map(moved).collect();
            value = places.iter().find(|it| is_around(it)).cloned();
            all.push(places);
        } else if bytes.starts_with(b"{") {
            let places = members(bytes).unwrap_or_default().into_iter().map(|member| moved(member.value));
            value = places.into_iter().find(is_around);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::reformatted::reformatted;
    use crate::parts::part::MemoryParts;

    const TEXT: &str = r#"{"n":1,"a":[{"t":"x"},{"t":"y"}, {"t":"y"},{"t":"z","c":[{"k":"p"},"s"]}]}"#;

    fn splice(old: &str, new: &str) -> (String, Change) {
        let at = TEXT.find(old).unwrap() as u64;
        (String::new(), Change::Splice { at, old: Bytes(old.into()), new: Bytes(new.into()) })
    }

    /// Returns the pairs of old and new text.
    fn widened(changes: Vec<(String, Change)>) -> Vec<(String, String)> {
        let (mut parts, set) = (MemoryParts::from_bytes(TEXT), ChangeSet { changes });
        let wide = in_whole_objects(&parts, &set).unwrap();
        let mut expected = parts.clone();
        expected.commit(&set).unwrap();
        parts.commit(&wide).unwrap();
        assert_eq!(parts, expected);
        // The undo runs in the document as another program writes it, with one element more.
        let mut value: serde_json::Value = serde_json::from_slice(&parts.whole("").unwrap()).unwrap();
        let more = serde_json::json!({"t": "more"});
        value["a"].as_array_mut().unwrap().push(more.clone());
        let mut anew = MemoryParts::from_bytes(serde_json::to_string_pretty(&value).unwrap());
        let back = reformatted(&anew, &wide.inverse()).unwrap().unwrap();
        anew.commit(&back).unwrap();
        let mut before: serde_json::Value = serde_json::from_str(TEXT).unwrap();
        before["a"].as_array_mut().unwrap().push(more);
        let now: serde_json::Value = serde_json::from_slice(&anew.whole("").unwrap()).unwrap();
        assert_eq!(now, before);
        let text = |bytes: &Bytes| String::from_utf8(bytes.0.clone()).unwrap();
        let changes = wide.changes.iter().map(|(_, change)| match change {
            Change::Splice { old, new, .. } => (text(old), text(new)),
            other => panic!("{other:?}"),
        });
        changes.collect()
    }

    #[test]
    fn changes_of_unique_whole_objects_stay_unchanged() {
        for (old, new) in [(r#"{"t":"x"}"#, r#"{"t":"new"}"#), (r#"{"t":"x"},"#, r#"{"t":"x"},{"t":"new"},"#)]
        {
            assert_eq!(widened(vec![splice(old, new)]), [(old.to_owned(), new.to_owned())]);
        }
    }

    #[test]
    fn smaller_changes_are_identified_by_the_objects_around_them() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        // An object that goes, and one of which a part changes.
        let gone = widened(vec![splice(r#"{"t":"x"},"#, "")]);
        assert_eq!(gone[0].1, r#"{"t":"y"}, {"t":"y"}"#, "one of them alone would stand there twice");
        assert_eq!(widened(vec![splice(r#""x""#, r#""w""#)]), [pair(r#"{"t":"x"}"#, r#"{"t":"w"}"#)]);
        assert_eq!(widened(vec![splice(r#""p""#, r#""q""#)]), [pair(r#"{"k":"p"}"#, r#"{"k":"q"}"#)]);
        // A list that becomes empty is identified by the object around it.
        let emptied = widened(vec![splice(r#"{"k":"p"},"s""#, "")]);
        assert_eq!(emptied, [pair(r#"{"t":"z","c":[{"k":"p"},"s"]}"#, r#"{"t":"z","c":[]}"#)]);
        // Two changes that fall in one stretch are merged.
        let two = widened(vec![splice(r#""p""#, r#""q""#), splice(r#"{"t":"x"},"#, "")]);
        assert_eq!(two.len(), 2, "{two:?}");
        let one = widened(vec![splice(r#"{"t":"y"}, "#, ""), splice(r#"{"t":"x"},"#, "")]);
        assert_eq!(one.len(), 1, "{one:?}");
    }

    #[test]
    fn a_text_of_lines_is_left_as_it_is() {
        let parts = MemoryParts::from_bytes("{\"a\":[{\"b\":1}]}\n{\"a\":2}\n");
        let change = Change::Splice { at: 13, old: Bytes("1".into()), new: Bytes("2".into()) };
        let set = ChangeSet { changes: vec![(String::new(), change)] };
        assert!(in_whole_objects(&parts, &ChangeSet::default()).unwrap().is_empty());
        assert_eq!(in_whole_objects(&parts, &set).unwrap(), set);
    }
}
