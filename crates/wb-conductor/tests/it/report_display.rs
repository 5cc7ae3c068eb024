//! The report as one line.

use tokio_util::sync::CancellationToken;
use wb_budget::AUTO_CONDENSE_POLICY;
use wb_conductor::{Compactor, CondenseOpts};
use wb_invoke::scripted::Script;
use wb_message::Message;
use wb_testkit::script;

use crate::support::{AUTO, FORCE, condensed, good_reply, keep, model, window};

/// Returns the line of a report, with `N` for figures that depend on a digest's exact words.
fn report_line(messages: &[Message], settings: &Compactor, opts: &CondenseOpts) -> String {
    let line = condensed(messages, settings, opts).1.to_string();
    let words: Vec<&str> = line.split(' ').collect();
    let of_digest = |at: usize| {
        at > 0
            && ["→", "into"].contains(&words[at - 1])
            && words.get(at + 1).is_some_and(|w| w.starts_with("tokens"))
    };
    let shown = words.iter().enumerate().map(|(at, word)| if of_digest(at) { "N" } else { word });
    shown.collect::<Vec<_>>().join(" ")
}

fn session() -> Vec<Message> {
    script("u*2000 a:read(src/a.rs) t*100 u\"next\" [a:bash t*200]x8")
}

#[test]
fn a_changed_transcript_is_reported_with_every_change() {
    let line = report_line(&session(), &Compactor::new(), &FORCE);
    assert_eq!(
        line,
        "4019 → N tokens, 20 → 19 messages; folded 3 into N tokens; cleared 2; restored 1; \
         local digest: no model was given"
    );
    let invoked = Compactor::new().summarizer(model(Script::says(good_reply("x"))));
    assert_eq!(
        report_line(&session(), &invoked, &FORCE),
        "4019 → N tokens, 20 → 19 messages; folded 3 into N tokens; cleared 2; restored 1; \
         digest by the model"
    );
    assert_eq!(
        report_line(&script("u\"read\" [a:read t*500]x20"), &window(16_000), &AUTO),
        "10668 → N tokens, 41 → 41 messages; cleared 14"
    );
}

#[test]
fn an_unchanged_transcript_is_reported_with_the_reason() {
    assert_eq!(
        report_line(&script("u a"), &window(8_000), &AUTO),
        "unchanged (within budget): 18 tokens in 2 messages"
    );
    assert_eq!(
        report_line(&script("u a"), &Compactor::new(), &FORCE),
        "unchanged (nothing left to fold): 18 tokens in 2 messages"
    );
    let bad = wb_budget::BudgetPolicy { trigger_ratio: 75.0, ..AUTO_CONDENSE_POLICY };
    assert_eq!(
        report_line(&session(), &window(8_000).policy(bad), &AUTO),
        "unchanged (trigger ratio 75 is not in (0, 1]; 0.75 compacts once three quarters of the \
         window are used): 4019 tokens in 20 messages"
    );
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(
        report_line(&session(), &Compactor::new(), &CondenseOpts { cancel: Some(cancel), ..FORCE }),
        "unchanged (cancelled): 4019 tokens in 20 messages"
    );
}

#[test]
fn an_irreducible_transcript_is_reported_in_figures() {
    assert_eq!(
        report_line(&script("u*2000"), &window(3_000), &AUTO),
        "unchanged (nothing left to fold): 2006 tokens in 1 message; irreducible: 2006 tokens \
         remain where 624 are allowed"
    );
    assert_eq!(
        report_line(&script("[u*300 a*300]x4 u*2000 a:bash t*9000"), &window(4_000), &AUTO),
        "13488 → N tokens, 11 → 3 messages; folded 9 into N tokens; shortened 1; local \
         digest: no model was given"
    );
    let opts = CondenseOpts { context_tokens: 9_000, ..AUTO };
    assert_eq!(
        report_line(&session(), &window(8_000).policy(keep(1_000)), &opts),
        "unchanged (within budget): 4019 tokens in 20 messages; usage of 9000 tokens refused: the \
         window holds 8000"
    );
}

#[test]
fn a_local_digest_after_a_failure_is_reported_with_the_reason() {
    let failing = |reply| Compactor::new().summarizer(model(reply));
    let messages = script("u*400 a*400 u\"now\"");
    let why = "503: upstream\nconnect error or disconnect/reset before headers. reset reason: connection "
        .repeat(5);
    assert_eq!(
        report_line(&messages, &failing(Script::fails(why)), &FORCE),
        "819 → N tokens, 3 → 2 messages; folded 2 into N tokens; local digest: the model \
         failed: 503: upstream connect error or disconnect/reset before headers. reset reason: \
         connection 503: upstream connect error or disconnect/reset before headers. reset …"
    );
    assert_eq!(
        report_line(&messages, &failing(Script::says("Sure! Let me look.")), &FORCE),
        "819 → N tokens, 3 → 2 messages; folded 2 into N tokens; local digest: the reply had \
         no headings"
    );
    assert_eq!(
        report_line(&script("u a*1400 u\"now\""), &failing(Script::Hang).digest_tokens(60), &FORCE),
        "1421 → N tokens, 3 → 2 messages; folded 2 into N tokens; local digest: too small for a \
         model"
    );
}
