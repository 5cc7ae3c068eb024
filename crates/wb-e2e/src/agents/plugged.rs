//! The checks of requests from an agent that compacts by itself, with our plug-in.

use std::collections::BTreeMap;

use super::provider::{NATIVE_SUMMARY, Played};
use super::script::{DIGEST_WORDS, HEAD_OUTPUTS, TASK, WISH};
use super::validate::{COMPACTED, Check, RESTORED_WORDS, TAIL, in_order, no_digest, texts};
use super::wire::Item;
use wb_testkit::injections::promoted;

/// The checks of every request after a compaction by the host that uses our digest.
pub(crate) const OURS: [Check; 8] = {
    let [digest, head, host, _, calls, _] = COMPACTED;
    let files: Check = ("restored files after it", |sent| files_are_behind(&sent.request.items));
    let own: Check = ("not the host's summary", |sent| sent.reject_text(NATIVE_SUMMARY));
    // The first prompt is a request and a rule.
    let words: Check = ("the user's first words", |sent| sent.expect_text(TASK));
    let apart: Check = ("the words of tools apart from the user's", |sent| promoted_in(&sent.request.items));
    [digest, files, head, host, calls, own, words, apart]
};

/// The additional checks of the first one, if the messages since the second prompt are the tail.
pub(crate) const TAIL_STAYS: [Check; 1] =
    [("the tail in order", |sent| in_order(&sent.request.items, &TAIL[..3]))];

/// The checks of every request after a compaction that the host had to do by itself.
pub(crate) const ITS_OWN: [Check; 2] = [
    ("no digest", |sent| no_digest(sent.request)),
    ("the host's summary", |sent| sent.expect_text(NATIVE_SUMMARY)),
];

/// The checks if the host passed the user's wish on.
pub(crate) const WISHED: [Check; 1] = [("the user's wish", |sent| sent.expect_text(WISH))];

/// Finds outputs whose beginning differs from that in earlier requests, and adds new ones to
/// `known`.
///
/// A host that misses one puts other words in its place, and every call is answered.
pub(crate) fn outputs(items: &[Item], known: &mut BTreeMap<String, String>) -> Vec<String> {
    let mut findings = Vec::new();
    for item in items {
        let Item::Output(id, text) = item else { continue };
        let beginning = text.lines().next().unwrap_or_default();
        let before = known.entry(id.clone()).or_insert_with(|| beginning.to_owned());
        if before.as_str() != beginning {
            findings.push(format!("the output of {id} was `{before}` and is `{beginning}`"));
        }
    }
    findings
}

/// Finds that the last request has no exact words of a folded output, as those of a tool.
pub(crate) fn not_recalled(played: &Played) -> Option<String> {
    let items = played.requests.last().map_or(&[][..], |asked| &asked.items);
    let has_words =
        |text: &str| text.lines().any(|line| line.contains(HEAD_OUTPUTS[0]) && line.contains("| "));
    let is_there = items.iter().any(|item| matches!(item, Item::Output(_, text) if has_words(text)));
    (!is_there).then(|| "no output has what the first compaction folded".to_owned())
}

/// Finds digest text after a restored file: that file is old, from an earlier compaction.
fn files_are_behind(items: &[Item]) -> Vec<String> {
    let digests = texts(items).filter(|text| text.contains(DIGEST_WORDS));
    let behind =
        digests.filter_map(|text| text.split_once(RESTORED_WORDS)).flat_map(|(_, rest)| rest.lines());
    let of_digest = behind.filter(|line| line.starts_with("# ") || line.starts_with("- "));
    of_digest.map(|line| format!("within the digest, before `{line}`")).take(1).collect()
}

/// Finds lines of a digest that present the words of a tool as the user's.
fn promoted_in(items: &[Item]) -> Vec<String> {
    let digests = texts(items).filter(|text| text.contains(DIGEST_WORDS));
    digests.filter_map(promoted).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::script::TAIL_OUTPUTS;
    use super::super::validate::findings;
    use super::super::validate::tests::{compacted, output, request, sent, tail, user};
    use super::*;

    #[test]
    fn a_restored_file_within_the_digest_is_found() {
        let with = |rest: &str| {
            let mut items = compacted();
            items[0] =
                user(&format!("{TASK}\n12 messages {DIGEST_WORDS}\n{RESTORED_WORDS} a.txt\n1 reeds{rest}"));
            findings(&OURS, sent(&request(items)))
        };
        assert!(with("\n").is_empty());
        assert_eq!(
            with("\n- read: a.txt"),
            ["restored files after it: within the digest, before `- read: a.txt`"]
        );
    }

    #[test]
    fn an_output_that_gave_way_to_words_of_the_host_is_found() {
        let mut known = BTreeMap::new();
        assert!(outputs(&tail(), &mut known).is_empty());
        let lost = Item::Output("b".into(), "[the result is missing]".into());
        let found = outputs(&[lost, output("c", TAIL_OUTPUTS[2])], &mut known);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("the output of b was"), "{found:?}");
    }

    #[test]
    fn a_compaction_that_is_not_the_one_that_was_due_is_found() {
        let own = |items| findings(&ITS_OWN, sent(&request(items)));
        assert_eq!(own(compacted()).len(), 2);
        let native = || [user(NATIVE_SUMMARY)].into_iter().chain(tail()).collect();
        assert!(own(native()).is_empty());
        assert_eq!(findings(&OURS, sent(&request(native()))).len(), 3);
        assert!(findings(&OURS, sent(&request(compacted()))).is_empty());
        assert_eq!(findings(&WISHED, sent(&request(compacted()))).len(), 1);
    }
}
