//! Each rule by example: what passes, what fails, and what it is mended to. The examples are data, in `examples.json`.

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

/// The rules whose examples are built, for they are large.
const BUILT: [&str; 3] = ["picture-size", "picture-count", "request-size"];

#[test]
fn what_passes_has_no_findings_in_any_rule() {
    for Example { rule, dialect, passing, repaired, .. } in examples() {
        assert_eq!(validate(&passing, dialect), [], "{rule} in {dialect}");
        assert_eq!(validate(&repaired, dialect), [], "{rule} in {dialect}");
    }
}

#[test]
fn what_fails_is_found_by_its_rule_alone_with_its_place() {
    for Example { rule, dialect, failing, .. } in examples() {
        let found = validate(&failing, dialect);
        let rules: Vec<&str> = found.iter().map(|violation| violation.rule.as_ref()).collect();
        assert!(rules.iter().all(|it| *it == rule) && !rules.is_empty(), "{rule} in {dialect}: {found:#?}");
        assert!(failing.pointer(&found[0].at).is_some(), "{rule}: {}", found[0].at);
        // Tools on offer stand in no message.
        assert_eq!(found[0].message.is_some(), !found[0].at.starts_with("/tools/"), "{rule} in {dialect}");
    }
}

#[test]
fn what_fails_is_mended_and_a_second_run_changes_nothing() {
    for Example { rule, dialect, mut failing, repaired, .. } in examples() {
        let before = failing.clone();
        let mended = repair(&mut failing, dialect);
        assert_eq!(failing, repaired, "{rule} in {dialect}, from {before}");
        assert_eq!(mended[0].rule, rule);
        assert_eq!(repair(&mut failing, dialect), []);
        assert_eq!(failing, repaired);
    }
}

#[test]
fn what_passes_is_not_touched_by_a_repair() {
    for Example { rule, dialect, passing, .. } in examples() {
        let mut request = passing.clone();
        assert_eq!(repair(&mut request, dialect), []);
        assert_eq!(request, passing, "{rule} in {dialect}");
    }
}

#[test]
fn every_rule_has_an_example_in_each_of_its_dialects() {
    let examples = examples();
    for rule in RULES.iter().filter(|rule| !BUILT.contains(&rule.id)) {
        for (dialect, _) in rule.sources {
            let is_its = |example: &Example| example.rule == rule.id && example.dialect == *dialect;
            assert!(examples.iter().any(is_its), "{} in {dialect}", rule.id);
        }
    }
}

#[test]
fn every_rule_says_what_it_wants_what_to_do_and_where_that_can_be_read() {
    for (nth, rule) in RULES.iter().enumerate() {
        assert!(!rule.says.is_empty() && !rule.fix.is_empty() && !rule.sources.is_empty(), "{}", rule.id);
        assert!(RULES[..nth].iter().all(|other| other.id != rule.id), "{} stands twice", rule.id);
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
fn nothing_that_is_no_request_makes_trouble() {
    for text in ["null", "7", "[]", "{}", r#"{"messages":7}"#, r#"{"messages":[7,null,[]],"contents":[{}]}"#]
    {
        let body: Value = serde_json::from_str(text).expect("JSON");
        for dialect in Dialect::ALL {
            validate(&body, dialect);
            repair(&mut body.clone(), dialect);
        }
    }
}
