//! Bodies with one fault each, from the rows of `spoiled.tsv`: the provider has to find it by its
//! word.

use serde_json::Value;

use super::requests::made;
use super::rules;

/// Makes a change of the table at a path.
fn spoil(body: &mut Value, change: &str, path: &str, json: &str) {
    let value = || serde_json::from_str::<Value>(json).unwrap();
    let (parent, key) = path.rsplit_once('/').unwrap();
    let parent = parent.split('/').skip(1).fold(body, item);
    match change {
        "remove" => drop(parent.as_object_mut().unwrap().shift_remove(key).unwrap()),
        "set" => *item(parent, key) = value(),
        "append" => item(parent, key).as_array_mut().unwrap().push(value()),
        _ => panic!("no change is named {change}"),
    }
}

fn item<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    match value {
        Value::Array(list) => {
            let nth = position(list, key);
            &mut list[nth]
        }
        _ => &mut value[key],
    }
}

fn position(list: &[Value], key: &str) -> usize {
    let Some(wanted) = key.strip_prefix('?') else { return key.parse().unwrap() };
    let (key, value) = wanted.split_once('=').map_or((wanted, None), |(key, value)| (key, Some(value)));
    let is_it = |item: &Value| item.get(key).is_some_and(|it| value.is_none_or(|value| it == value));
    list.iter().position(is_it).unwrap()
}

#[test]
fn each_fault_is_found_by_its_word() {
    let made = made();
    let rows: Vec<&str> = include_str!("spoiled.tsv").lines().skip(1).collect();
    assert_eq!(rows.len(), 67);
    for row in rows {
        let mut cells = row.split('\t');
        let [dialect, name, word, change, path, json] = [(); 6].map(|()| cells.next().unwrap_or_default());
        let is_it = |line: &&Value| line["dialect"] == dialect && line["name"] == "made";
        let mut body = made.iter().find(is_it).unwrap()["body"].clone();
        if dialect != "gemini" {
            body["model"] = "m".into();
        }
        if dialect == "anthropic" {
            body["max_tokens"] = 9.into();
        }
        assert_eq!(rules::findings(dialect, "m", &body), [], "{dialect}");
        spoil(&mut body, change, path, json);
        let found = rules::findings(dialect, "m", &body);
        assert!(found.iter().any(|it| it.word == word), "{dialect}: {name}: {found:?}");
    }
}
