//! Request bodies of any blocks and logs with any damage: what one command finds, all find, and a
//! repair leaves nothing that it does not report.

use wb_dialect::{Dialect, repair, validate};
use wb_testkit::compose::{Choices, bodies, damages};
use wb_testkit::depth::rounds;
use wb_testkit::random::Random;

use crate::damage::corrupted::written;
use crate::support::{detect, fixtures, open};

fn choices(random: &mut Random) -> Vec<u8> {
    (0..40).map(|_| u8::try_from(random.below(256)).unwrap_or_default()).collect()
}

#[test]
fn any_single_block_of_a_provider_identifies_its_requests() {
    let found = |body: &bodies::Body| detect(body.value.to_string().as_bytes()).map(wb_record::Format::name);
    let all = bodies::of_each_block();
    let missed: Vec<_> = all.iter().filter(|body| found(body) != Some(body.format)).collect();
    assert!(missed.is_empty() && all.len() > 80, "{missed:#?}");
}

#[test]
fn a_body_of_any_blocks_is_repaired_once_and_for_all() {
    let mut random = Random(0x5EED);
    for _ in 0..rounds(20_000) {
        let choices = choices(&mut random);
        let body = bodies::compose(&mut Choices(&choices));
        let text = body.value.to_string();
        let is_detected = detect(text.as_bytes()).is_some_and(|format| format.name() == body.format);
        assert!(is_detected || !body.is_own, "{text}");
        for dialect in Dialect::ALL {
            let mut repaired = body.value.clone();
            repair(&mut repaired, dialect);
            assert_eq!(repair(&mut repaired.clone(), dialect), [], "{dialect}: {text}, then {repaired}");
            let left = validate(&repaired, dialect);
            let is_its = wb_formats::format_of(dialect).name() == body.format;
            assert!(left.is_empty() || !is_its, "{dialect}: {text}: {left:#?}");
        }
        tried(text.as_bytes());
    }
}

/// Repairs a session; what its format cannot hold may stay.
fn tried(bytes: &[u8]) {
    if open(bytes).is_err() {
        return;
    }
    let is_law = |why: &String| ["was read for", "a second mend", "agree"].iter().any(|it| why.contains(it));
    if let Some(why) = written(bytes).err().filter(is_law) {
        panic!("{why}\n{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_log_with_any_damage_is_repaired_once_and_for_all() {
    let mut random = Random(0xDA3A);
    for _ in 0..rounds(10_000) {
        let (_, log) = fixtures()[random.below(fixtures().len())];
        let choices = choices(&mut random);
        tried(&damages::damage(log, &mut Choices(&choices)));
    }
}
