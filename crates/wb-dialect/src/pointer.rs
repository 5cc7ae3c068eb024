//! Edits of a JSON request at JSON pointers.

use serde_json::Value;

/// Returns the indices of the message and of the part that a pointer leads into.
pub(crate) fn message_and_part(at: &str) -> (Option<usize>, Option<usize>) {
    let mut steps = at.split('/').skip(1);
    let is_message = matches!(steps.next(), Some("messages" | "input" | "contents"));
    let message = steps.next().and_then(|step| step.parse().ok()).filter(|_| is_message);
    let part = message.and_then(|_| steps.nth(1)?.parse().ok());
    (message, part)
}

/// Removes an element from its list.
pub(crate) fn remove(body: &mut Value, at: &str) -> Option<Value> {
    let (list, nth) = at.rsplit_once('/')?;
    let (list, nth) = (body.pointer_mut(list)?.as_array_mut()?, nth.parse().ok()?);
    (nth < list.len()).then(|| list.remove(nth))
}

/// Inserts a value into a list, at the end if `nth` is beyond it; returns whether the list exists.
pub(crate) fn insert(body: &mut Value, list: &str, nth: usize, value: Value) -> bool {
    let Some(list) = body.pointer_mut(list).and_then(Value::as_array_mut) else { return false };
    list.insert(nth.min(list.len()), value);
    true
}

/// Sets a key of an object; returns whether the object exists.
pub(crate) fn set(body: &mut Value, at: &str, key: &str, value: Value) -> bool {
    let object = body.pointer_mut(at).and_then(Value::as_object_mut);
    object.map(|object| object.insert(key.to_owned(), value)).is_some()
}

/// Removes a key of an object; returns whether it was present.
pub(crate) fn remove_key(body: &mut Value, at: &str, key: &str) -> bool {
    let object = body.pointer_mut(at).and_then(Value::as_object_mut);
    object.and_then(|object| object.shift_remove(key)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pointer_yields_its_message_and_part() {
        for (at, expected) in [
            ("/messages/3", (Some(3), None)),
            ("/messages/3/content/1/content/0", (Some(3), Some(1))),
            ("/contents/0/parts/2", (Some(0), Some(2))),
            ("/system/0", (None, None)),
            ("", (None, None)),
        ] {
            assert_eq!(message_and_part(at), expected, "{at}");
        }
    }

    #[test]
    fn missing_values_are_neither_removed_nor_changed() {
        let mut body = json!({ "a": [1, { "b": 2 }] });
        assert_eq!(remove(&mut body, "/a/0"), Some(json!(1)));
        assert_eq!(remove(&mut body, "/a/7"), None);
        assert_eq!(remove(&mut body, ""), None);
        assert!(insert(&mut body, "/a", 9, json!(3)) && !insert(&mut body, "/x", 0, json!(3)));
        assert!(set(&mut body, "/a/0", "c", json!(4)) && !set(&mut body, "/a/1", "c", json!(4)));
        assert!(remove_key(&mut body, "/a/0", "b") && !remove_key(&mut body, "/a/0", "b"));
        assert_eq!(body, json!({ "a": [{ "c": 4 }, 3] }));
    }
}
