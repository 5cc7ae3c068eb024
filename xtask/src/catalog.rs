//! `cargo xtask catalog`: the table of models is sorted, dated, and its figures are plausible.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{program, report};

const FILE: &str = "crates/wb-budget/data/models.json";
const DIALECTS: [&str; 4] = ["anthropic", "openai", "openai-responses", "gemini"];
/// Most tokens of a window that anybody sells.
const MOST_TOKENS: u64 = 20_000_000;
/// The dearest million tokens, in US dollars.
const MOST_DOLLARS: f64 = 1_000.0;
/// The most that a write to a cache costs, as a multiple of the price of input.
const MOST_WRITE: f64 = 2.0;

/// Checks the table below the root.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let table: Value = serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    report("catalog", &findings(&table))
}

/// The time after which figures are read again, in words of `date`.
const AGE: &str = "60 days ago";

/// Prints the models whose figures are older than that, oldest first.
pub(crate) fn print_old(root: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let table: Value = serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    let day = program::output(Command::new("date").args(["-u", "+%F", "-d", AGE]))?;
    let old = old_models(&table, day.trim());
    for (as_of, id) in &old {
        println!("{as_of}  {id}");
    }
    println!("{} older than {}", old.len(), AGE.trim_end_matches(" ago"));
    Ok(())
}

/// Returns the models with figures from before a day, and the days of their figures.
fn old_models<'t>(table: &'t Value, day: &str) -> Vec<(&'t str, &'t str)> {
    let models = table["models"].as_array().map_or(&[][..], Vec::as_slice);
    let mut old: Vec<_> =
        models.iter().filter_map(|model| Some((model["asOf"].as_str()?, id(model)))).collect();
    old.retain(|(as_of, _)| *as_of < day);
    old.sort_unstable();
    old
}

fn findings(table: &Value) -> Vec<String> {
    let models = table["models"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found: Vec<String> = models.iter().flat_map(faults).collect();
    if models.is_empty() {
        found.push("there are no models".to_owned());
    }
    let ids: Vec<&str> = models.iter().map(id).collect();
    let pairs = ids.windows(2).filter(|pair| pair[0] >= pair[1]);
    found.extend(pairs.map(|pair| format!("{}: follows {}, not sorted", pair[1], pair[0])));
    found.extend(doubles(models));
    found
}

fn id(model: &Value) -> &str {
    model["id"].as_str().unwrap_or_default()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str)
}

/// Finds names that two models have.
fn doubles(models: &[Value]) -> Vec<String> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for model in models {
        for name in std::iter::once(id(model)).chain(texts(&model["aliases"])) {
            owners.entry(name).or_default().push(id(model));
        }
    }
    let twice = owners.into_iter().filter(|(_, owners)| owners.len() > 1);
    twice.map(|(name, owners)| format!("{name}: is a name of {}", owners.join(" and "))).collect()
}

/// Finds what is wrong with one model.
fn faults(model: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut wants = |is_so: bool, what: &str| {
        if !is_so {
            found.push(format!("{}: {what}", id(model)));
        }
    };
    wants(
        id(model).bytes().all(|byte| b"abcdefghijklmnopqrstuvwxyz0123456789.-".contains(&byte)),
        "an id is in small letters",
    );
    let tokens = |key: &str| model[key].as_u64().unwrap_or(0);
    wants((1..=MOST_TOKENS).contains(&tokens("contextWindow")), "contextWindow is not plausible");
    wants(
        (1..=tokens("contextWindow")).contains(&tokens("maxOutputTokens")),
        "maxOutputTokens is not within the window",
    );
    wants(texts(&model["sources"]).any(|url| url.starts_with("https://")), "has no source");
    wants(is_date(&model["asOf"]), "asOf is no date");
    wants(model["ends"].is_null() || is_date(&model["ends"]), "ends is no date");
    wants(!model["provider"].as_str().unwrap_or_default().is_empty(), "has no provider");
    wants(
        model["dialect"].as_str().is_some_and(|name| DIALECTS.contains(&name)),
        "the dialect is none that is known",
    );
    let long = &model["longPrompts"];
    for prices in [&model["prices"], &long["prices"]].into_iter().filter(|prices| !prices.is_null()) {
        wants(are_plausible(prices), "prices are not plausible: 0 < cached <= input <= write, output");
        wants(is_date(&prices["asOf"]), "prices have no date");
    }
    wants(
        long.is_null() || long["aboveTokens"].as_u64() < Some(tokens("contextWindow")),
        "longPrompts begin above the window",
    );
    found
}

fn are_plausible(prices: &Value) -> bool {
    let price = |key: &str| prices[key].as_f64().unwrap_or(-1.0);
    let (input, cached, write, output) = (price("input"), price("cached"), price("write"), price("output"));
    let is_ordered = 0.0 < cached && cached <= input && input <= write && input <= output;
    is_ordered && write <= input * MOST_WRITE && output <= MOST_DOLLARS
}

/// Returns whether a value is a day, such as `2026-01-31`.
fn is_date(value: &Value) -> bool {
    let Some(parts) = value.as_str().map(|text| text.split('-').collect::<Vec<_>>()) else { return false };
    let number = |part: &str, digits: usize| {
        (part.len() == digits).then(|| part.parse::<u32>().ok()).flatten().unwrap_or(0)
    };
    match parts[..] {
        [year, month, day] => {
            (2024..2100).contains(&number(year, 4))
                && (1..=12).contains(&number(month, 2))
                && (1..=31).contains(&number(day, 2))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(id: &str) -> Value {
        json!({
            "id": id, "provider": "anthropic", "contextWindow": 200_000, "maxOutputTokens": 64_000,
            "prices": {"input": 3.0, "cached": 0.3, "write": 3.75, "output": 15.0, "asOf": "2026-01-31"},
            "dialect": "anthropic", "sources": ["https://example.com/prices"], "asOf": "2026-01-31",
        })
    }

    fn check(change: impl Fn(&mut Value)) -> Vec<String> {
        let mut changed = model("a-1");
        change(&mut changed);
        findings(&json!({ "models": [changed] }))
    }

    #[test]
    fn figures_of_two_months_are_old() {
        let table = json!({ "models": [
            { "id": "a", "asOf": "2026-01-01" }, { "id": "b", "asOf": "2025-12-01" }, { "id": "c", "asOf": "2026-02-28" },
        ] });
        assert_eq!(old_models(&table, "2026-01-02"), [("2025-12-01", "b"), ("2026-01-01", "a")]);
    }

    #[test]
    fn a_plausible_model_is_fine_with_prices_and_without() {
        assert_eq!(check(|_| ()), [""; 0]);
        assert_eq!(check(|model| model["prices"] = Value::Null), [""; 0]);
        assert_eq!(check(|model| model["ends"] = json!("2026-11-30")), [""; 0]);
    }

    #[test]
    fn each_fault_is_found_by_its_name() {
        assert_eq!(check(|model| model["asOf"] = json!("soon")), ["a-1: asOf is no date"]);
        assert_eq!(check(|model| model["ends"] = json!("2026")), ["a-1: ends is no date"]);
        assert_eq!(check(|model| model["sources"] = json!([])), ["a-1: has no source"]);
        assert_eq!(check(|model| model["contextWindow"] = json!(0)).len(), 2);
        assert_eq!(
            check(|model| model["dialect"] = json!("smoke")),
            ["a-1: the dialect is none that is known"]
        );
        for (key, price) in
            [("cached", 3.1), ("cached", 0.0), ("write", 2.0), ("write", 7.0), ("output", 1.0)]
        {
            let found = check(|model| model["prices"][key] = json!(price));
            assert_eq!(
                found,
                ["a-1: prices are not plausible: 0 < cached <= input <= write, output"],
                "{key}"
            );
        }
        let found = check(|model| model["longPrompts"] = json!({"aboveTokens": 200_000}));
        assert_eq!(found, ["a-1: longPrompts begin above the window"]);
    }

    #[test]
    fn models_out_of_order_and_names_that_two_have_are_found() {
        let mut second = model("a-1");
        second["aliases"] = json!(["b"]);
        let found = findings(&json!({ "models": [model("b"), second] }));
        assert_eq!(found, ["a-1: follows b, not sorted", "b: is a name of b and a-1"]);
    }

    #[test]
    fn the_table_of_this_repository_is_fine() {
        assert_eq!(run(&crate::root()), Ok(()));
    }
}
