//! Each rule by example, from `examples.json`: a request that passes, one that fails, its repair.

use serde::Deserialize;
use serde_json::Value;
use wb_dialect::{Dialect, RULES, Violation, repair, validate};

/// An example of one rule in one dialect.
#[derive(Debug, Deserialize)]
struct Example {
    rule: String,
    dialect: Dialect,
    passing: Value,
    failing: Value,
    repaired: Value,
}

fn examples() -> Vec<Example> {
    serde_json::from_str(include_str!("examples.json")).expect("examples")
}

/// The rules whose examples are too large for the file.
const GENERATED: [&str; 3] = ["picture-size", "picture-count", "request-size"];

#[test]
fn passing_examples_have_no_violations() {
    for Example { rule, dialect, passing, repaired, .. } in examples() {
        assert_eq!(validate(&passing, dialect), [], "{rule} in {dialect}");
        assert_eq!(validate(&repaired, dialect), [], "{rule} in {dialect}");
    }
}

#[test]
fn failing_examples_violate_their_rule_alone_at_a_place() {
    for Example { rule, dialect, failing, .. } in examples() {
        let found = validate(&failing, dialect);
        let rules: Vec<&str> = found.iter().map(|violation| violation.rule.as_ref()).collect();
        assert!(rules.iter().all(|it| *it == rule) && !rules.is_empty(), "{rule} in {dialect}: {found:#?}");
        assert!(failing.pointer(&found[0].at).is_some(), "{rule}: {}", found[0].at);
        // Offered tools are outside of messages, and an empty request has none.
        let is_outside = found[0].at.starts_with("/tools/")
            || ["request-empty", "compaction-alone"].contains(&rule.as_str());
        assert_eq!(found[0].message.is_some(), !is_outside, "{rule} in {dialect}");
    }
}

#[test]
fn failing_examples_are_repaired_once_and_for_all() {
    for Example { rule, dialect, mut failing, repaired, .. } in examples() {
        let before = failing.clone();
        let repaired_violations = repair(&mut failing, dialect);
        assert_eq!(failing, repaired, "{rule} in {dialect}, from {before}");
        assert_eq!(repaired_violations[0].rule, rule);
        assert_eq!(repair(&mut failing, dialect), []);
        assert_eq!(failing, repaired);
    }
}

#[test]
fn passing_examples_are_left_unchanged_by_a_repair() {
    for Example { rule, dialect, passing, .. } in examples() {
        let mut request = passing.clone();
        assert_eq!(repair(&mut request, dialect), []);
        assert_eq!(request, passing, "{rule} in {dialect}");
    }
}

#[test]
fn every_rule_has_an_example_in_each_of_its_dialects() {
    let examples = examples();
    for rule in RULES.iter().filter(|rule| !GENERATED.contains(&rule.id)) {
        for (dialect, _) in rule.sources {
            let is_its = |example: &Example| example.rule == rule.id && example.dialect == *dialect;
            assert!(examples.iter().any(is_its), "{} in {dialect}", rule.id);
        }
    }
}

#[test]
fn every_rule_has_a_requirement_a_fix_and_sources() {
    for (nth, rule) in RULES.iter().enumerate() {
        assert!(!rule.says.is_empty() && !rule.fix.is_empty() && !rule.sources.is_empty(), "{}", rule.id);
        assert!(RULES[..nth].iter().all(|other| other.id != rule.id), "{} is repeated", rule.id);
        for (_, source) in rule.sources {
            assert!(source.starts_with("https://") && !source.contains(' '), "{source}");
        }
    }
}

#[test]
fn a_violation_is_data_and_one_line() {
    for Example { dialect, failing, .. } in examples() {
        for violation in validate(&failing, dialect) {
            let line = violation.to_string();
            assert!(!line.contains('\n') && line.contains(violation.rule.as_ref()), "{line}");
            let json = serde_json::to_value(&violation).expect("data");
            assert_eq!(serde_json::from_value::<Violation>(json).expect("data"), violation);
        }
    }
}

#[test]
fn invalid_requests_do_not_panic() {
    for text in ["null", "7", "[]", "{}", r#"{"messages":7}"#, r#"{"messages":[7,null,[]],"contents":[{}]}"#]
    {
        let body: Value = serde_json::from_str(text).expect("JSON");
        for dialect in Dialect::ALL {
            validate(&body, dialect);
            repair(&mut body.clone(), dialect);
        }
    }
}
