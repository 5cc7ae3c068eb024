//! The workload has the documented composition.

use wb_message::Message;
use wb_testkit::laws;
use wb_testkit::workload::{Script, payload_bytes, strings, transcript};

fn share(messages: &[Message], is_kind: impl Fn(&Message) -> bool) -> usize {
    messages.iter().filter(|message| is_kind(message)).count() * 100 / messages.len()
}

#[test]
fn a_workload_has_the_documented_shares_and_sizes() {
    for script in [Script::Latin, Script::Cjk] {
        let messages = transcript(10_000, script);
        assert_eq!(messages.len(), 10_000);
        let results = share(&messages, |message| matches!(message, Message::ToolResult { .. }));
        let assistant = share(&messages, |message| matches!(message, Message::Assistant { .. }));
        assert!((57..=63).contains(&results) && (22..=28).contains(&assistant), "{results} {assistant}");
        let mean = payload_bytes(&messages) / messages.len();
        assert!((1_800..=2_200).contains(&mean), "{mean} bytes per message");
        let longest = strings(&messages).into_iter().map(str::len).max();
        assert!(longest.is_some_and(|len| (15_000..=20_000).contains(&len)), "{longest:?}");
    }
}

#[test]
fn a_workload_of_any_length_is_valid_and_deterministic() {
    for n in (0..40).chain([100, 1_000]) {
        let messages = transcript(n, Script::Latin);
        assert_eq!(messages.len(), n);
        laws::no_loose_ends(&messages);
        assert_eq!(messages, transcript(n, Script::Latin));
        assert!(messages.last().is_none_or(|last| matches!(last, Message::Assistant { .. })));
        assert!(n < 2 || matches!(messages[0], Message::User { .. }));
    }
}

#[test]
fn the_cjk_workload_is_not_ascii() {
    let (latin, cjk) = (transcript(1_000, Script::Latin), transcript(1_000, Script::Cjk));
    let chars = |messages: &[Message]| -> usize {
        strings(messages).into_iter().map(|text| text.chars().count()).sum()
    };
    assert_eq!(chars(&latin), payload_bytes(&latin));
    assert!(chars(&cjk) < payload_bytes(&cjk) * 95 / 100);
}
