//! A request during the repairs of one rule.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::dialect::Dialect;
use crate::request::{Kind, RequestView};
use crate::tool_names::named_object;

/// A request whose lists keep their places until the edit is finished, so that the pointers of all
/// findings stay valid and each list is rewritten once.
#[derive(Debug)]
pub(crate) struct RequestEdit<'b> {
    pub(crate) dialect: Dialect,
    body: &'b mut Value,
    uses: Option<Uses>,
    /// Pointers to the lists with removed elements.
    shortened: BTreeSet<String>,
    /// The new messages before the message at an index.
    inserted: BTreeMap<usize, Vec<Value>>,
}

/// The places that share an id or a tool's name, as they were when they were first asked for.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// The number of calls with an id.
    pub(crate) n_calls: HashMap<String, usize>,
    /// The calls and results with an id.
    pub(crate) by_id: HashMap<String, Vec<String>>,
    /// The objects in calls and results that name a tool.
    pub(crate) by_name: HashMap<String, Vec<String>>,
    /// The suffix of the next id in place of a repeated one.
    pub(crate) suffixes: HashMap<String, usize>,
    /// The number of the next new id.
    pub(crate) next_id: usize,
}

/// Takes the place of a removed element; no request has it.
const REMOVED: &str = "\0removed";

/// Returns whether an element was removed.
pub(crate) fn is_removed(element: &Value) -> bool {
    element == REMOVED
}

impl<'b> RequestEdit<'b> {
    pub(crate) fn new(body: &'b mut Value, dialect: Dialect) -> Self {
        let (shortened, inserted) = (BTreeSet::new(), BTreeMap::new());
        Self { dialect, body, uses: None, shortened, inserted }
    }

    pub(crate) fn body(&self) -> &Value {
        self.body
    }

    pub(crate) fn value(&self, at: &str) -> Option<&Value> {
        self.body.pointer(at)
    }

    pub(crate) fn value_mut(&mut self, at: &str) -> Option<&mut Value> {
        self.body.pointer_mut(at)
    }

    /// Returns the messages as they were, the removed ones marked.
    pub(crate) fn messages(&self) -> &[Value] {
        self.body.get(self.dialect.messages_key()).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn uses(&mut self) -> &mut Uses {
        self.uses.get_or_insert_with(|| Uses::new(&RequestView::new(self.body, self.dialect)))
    }

    /// Removes an element from its list.
    pub(crate) fn remove(&mut self, at: &str) -> Option<Value> {
        let (list, nth) = at.rsplit_once('/')?;
        let element = self.body.pointer_mut(list)?.as_array_mut()?.get_mut(nth.parse::<usize>().ok()?)?;
        if is_removed(element) {
            return None;
        }
        self.shortened.insert(list.to_owned());
        Some(std::mem::replace(element, REMOVED.into()))
    }

    /// Inserts a message before another one, at the end if `nth` is beyond it, behind those that
    /// were inserted there before.
    pub(crate) fn insert_message(&mut self, nth: usize, message: Value) -> bool {
        let nth = nth.min(self.messages().len());
        self.inserted.entry(nth).or_default().push(message);
        self.body.get(self.dialect.messages_key()).is_some_and(Value::is_array)
    }

    /// Returns the message that was inserted last before the message at an index.
    pub(crate) fn inserted_mut(&mut self, nth: usize) -> Option<&mut Value> {
        self.inserted.get_mut(&nth)?.last_mut()
    }

    /// Sets a key of an object; returns whether the object exists. A new role is the first key, as
    /// agents write it.
    pub(crate) fn set(&mut self, at: &str, key: &str, value: Value) -> bool {
        let Some(object) = self.body.pointer_mut(at).and_then(Value::as_object_mut) else { return false };
        if key == "role" {
            object.shift_insert(0, key.to_owned(), value);
        } else {
            object.insert(key.to_owned(), value);
        }
        true
    }

    /// Removes a key of an object; returns whether it was present.
    pub(crate) fn remove_key(&mut self, at: &str, key: &str) -> bool {
        let object = self.body.pointer_mut(at).and_then(Value::as_object_mut);
        object.and_then(|object| object.shift_remove(key)).is_some()
    }

    /// Rewrites the lists.
    pub(crate) fn finish(self) {
        let messages = format!("/{}", self.dialect.messages_key());
        for at in self.shortened.iter().filter(|at| **at != messages) {
            if let Some(list) = self.body.pointer_mut(at).and_then(Value::as_array_mut) {
                list.retain(|element| !is_removed(element));
            }
        }
        if self.inserted.is_empty() && !self.shortened.contains(&messages) {
            return;
        }
        let Some(list) = self.body.pointer_mut(&messages).and_then(Value::as_array_mut) else { return };
        let mut inserted = self.inserted;
        let mut new = Vec::with_capacity(list.len() + inserted.len());
        for (nth, message) in std::mem::take(list).into_iter().enumerate() {
            new.extend(inserted.remove(&nth).into_iter().flatten());
            new.extend(Some(message).filter(|message| !is_removed(message)));
        }
        new.extend(inserted.into_values().flatten());
        *list = new;
    }
}

impl Uses {
    fn new(view: &RequestView<'_>) -> Self {
        let mut uses = Self { next_id: 1, ..Self::default() };
        for (_, part) in view.parts() {
            if let Kind::Call { id, .. } = part.kind {
                *uses.n_calls.entry(id.to_owned()).or_default() += 1;
            }
            if let Kind::Call { id, .. } | Kind::Result { id, .. } = part.kind {
                uses.by_id.entry(id.to_owned()).or_default().push(part.at.into());
            }
            if let Some((at, name)) = named_object(&part.at.to_string(), part.value, view.dialect) {
                uses.by_name.entry(name.to_owned()).or_default().push(at);
            }
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edited(body: &mut Value, edit: impl FnOnce(&mut RequestEdit<'_>)) {
        let mut request = RequestEdit::new(body, Dialect::Anthropic);
        edit(&mut request);
        request.finish();
    }

    #[test]
    fn places_stay_valid_until_the_edit_is_finished() {
        let mut body = json!({ "messages": [{ "content": [1, 2, 3] }, {}, { "role": "user" }] });
        edited(&mut body, |edit| {
            assert_eq!(edit.remove("/messages/0/content/0"), Some(json!(1)));
            assert_eq!(edit.remove("/messages/0/content/2"), Some(json!(3)));
            assert!(edit.remove("/messages/1").is_some());
            assert!(edit.insert_message(1, json!("a")) && edit.insert_message(1, json!("b")));
            assert!(edit.insert_message(usize::MAX, json!("end")));
            assert_eq!(edit.inserted_mut(1), Some(&mut json!("b")));
        });
        assert_eq!(body, json!({ "messages": [{ "content": [2] }, "a", "b", { "role": "user" }, "end"] }));
    }

    #[test]
    fn missing_values_are_neither_removed_nor_changed() {
        let mut body = json!({ "messages": [1, { "b": 2 }] });
        edited(&mut body, |edit| {
            assert_eq!(edit.remove("/messages/0"), Some(json!(1)));
            assert_eq!(
                (edit.remove("/messages/0"), edit.remove("/messages/7"), edit.remove("")),
                (None, None, None)
            );
            assert!(
                edit.set("/messages/1", "role", json!("user")) && !edit.set("/messages/0", "c", json!(4))
            );
            assert!(edit.remove_key("/messages/1", "b") && !edit.remove_key("/messages/1", "b"));
        });
        assert_eq!(body, json!({ "messages": [{ "role": "user" }] }));
        let mut other = json!({ "a": [] });
        edited(&mut other, |edit| assert!(!edit.insert_message(0, json!(1))));
        assert_eq!(other, json!({ "a": [] }));
    }
}
