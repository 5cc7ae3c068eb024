//! Places in a request, as JSON pointers, and how what stands there is changed.

use serde_json::Value;

/// Returns the message that a place lies in, and the part of it.
pub(crate) fn message_and_part(at: &str) -> (Option<usize>, Option<usize>) {
    let mut steps = at.split('/').skip(1);
    let is_message = matches!(steps.next(), Some("messages" | "input" | "contents"));
    let message = steps.next().and_then(|step| step.parse().ok()).filter(|_| is_message);
    let part = message.and_then(|_| steps.nth(1)?.parse().ok());
    (message, part)
}

/// Takes an element out of its list; nothing if it stands in none.
pub(crate) fn take(body: &mut Value, at: &str) -> Option<Value> {
    let (list, nth) = at.rsplit_once('/')?;
    let (list, nth) = (body.pointer_mut(list)?.as_array_mut()?, nth.parse().ok()?);
    (nth < list.len()).then(|| list.remove(nth))
}

/// Puts a value into a list in front of an element, or at its end; returns whether there is such a list.
pub(crate) fn insert(body: &mut Value, list: &str, nth: usize, value: Value) -> bool {
    let Some(list) = body.pointer_mut(list).and_then(Value::as_array_mut) else { return false };
    list.insert(nth.min(list.len()), value);
    true
}

/// Changes a key of an object; returns whether there is such an object.
pub(crate) fn set(body: &mut Value, at: &str, key: &str, value: Value) -> bool {
    let object = body.pointer_mut(at).and_then(Value::as_object_mut);
    object.map(|object| object.insert(key.to_owned(), value)).is_some()
}

/// Takes a key out of an object; returns whether it was there.
pub(crate) fn unset(body: &mut Value, at: &str, key: &str) -> bool {
    let object = body.pointer_mut(at).and_then(Value::as_object_mut);
    object.and_then(|object| object.shift_remove(key)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_names_its_message_and_its_part() {
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
    fn what_is_not_there_is_neither_taken_nor_changed() {
        let mut body = json!({ "a": [1, { "b": 2 }] });
        assert_eq!(take(&mut body, "/a/0"), Some(json!(1)));
        assert_eq!(take(&mut body, "/a/7"), None);
        assert_eq!(take(&mut body, ""), None);
        assert!(insert(&mut body, "/a", 9, json!(3)) && !insert(&mut body, "/x", 0, json!(3)));
        assert!(set(&mut body, "/a/0", "c", json!(4)) && !set(&mut body, "/a/1", "c", json!(4)));
        assert!(unset(&mut body, "/a/0", "b") && !unset(&mut body, "/a/0", "b"));
        assert_eq!(body, json!({ "a": [{ "c": 4 }, 3] }));
    }
}
