//! The laws of a single pass; test a new one with [`all`] over [`crate::strategies::transcript()`].
//!
//! ```
//! use wb_passes::Microcompact;
//! use wb_testkit::{pass_laws, script};
//!
//! let pass = Microcompact { keep_recent_results: 1, ..Microcompact::default() };
//! pass_laws::all(&pass, &script("u [a:bash t*100]x3 a"), 0);
//! ```

use std::sync::Arc;

use wb_budget::{
    TokenCounter, TokenHeuristic, WeighedTranscript, estimate_message_tokens, estimate_tokens, prefix_tokens,
};
use wb_message::markers::CLIP_MARK;
use wb_message::{Edit, Message, Pairing, Patch, ToolVocabulary};
use wb_passes::{Goal, Pass};

use crate::laws::patch_laws;
use crate::show::report;

/// Plans a pass over a transcript with the default counter.
pub fn plan(pass: &dyn Pass, messages: &[Message], target_tokens: u64) -> Option<Patch> {
    plan_for(pass, messages, Goal::target(target_tokens))
}

fn plan_for(pass: &dyn Pass, messages: &[Message], goal: Goal<'_>) -> Option<Patch> {
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    pass.plan(&WeighedTranscript::new(messages, &counter), goal)
}

/// Checks all laws of a pass on one transcript, and returns the result.
///
/// The pass plans the same twice; its patch is not empty, is accepted and keeps the laws of patches
/// (pairs, order, pinned messages, undo, JSON); the result is strictly lighter, no longer, and
/// leaves nothing for a second run; clipped bodies are a head and a tail of the old ones.
///
/// # Panics
/// Panics with both outlines if a law is broken.
pub fn all(pass: &dyn Pass, messages: &[Message], target_tokens: u64) -> Vec<Message> {
    all_with_vocabulary(pass, messages, target_tokens, &ToolVocabulary::UNIVERSAL)
}

/// Checks the same as [`all`], for another vocabulary.
///
/// # Panics
/// Panics with both outlines if a law is broken.
pub fn all_with_vocabulary(
    pass: &dyn Pass,
    messages: &[Message],
    target_tokens: u64,
    vocabulary: &ToolVocabulary,
) -> Vec<Message> {
    let goal = Goal { target_tokens, is_size: false, keep: &[], vocabulary };
    let plan = |messages: &[Message]| plan_for(pass, messages, goal);
    let planned = plan(messages);
    let name = pass.name();
    assert!(!name.is_empty(), "the pass has no name");
    assert!(plan(messages) == planned, "{name} plans differently a second time");
    let Some(patch) = planned else { return messages.to_vec() };
    let after = patch_laws(messages, &patch);
    let failure = |what: &str| report(&format!("{name}: {what}"), messages, &after);
    assert!(!patch.is_empty(), "{}", failure("an empty patch, which should be none"));
    assert!(after.len() <= messages.len(), "{}", failure("the result is longer"));
    let (before_tokens, after_tokens) = (estimate_tokens(messages), estimate_tokens(&after));
    let weights = format!("{before_tokens} → {after_tokens} tokens is not lighter");
    assert!(after_tokens < before_tokens, "{}", failure(&weights));
    check_weighed(name, messages, &patch, &after);
    for edit in &patch.edits {
        check_clip(name, messages, edit);
    }
    let again = plan(&after);
    assert!(again.is_none(), "{}\n{again:?}", failure("something is left for a second application"));
    after
}

/// Checks that applying with weights gives the same result as without.
fn check_weighed(name: &str, messages: &[Message], patch: &Patch, after: &[Message]) {
    let (prefix, pairing) = (prefix_tokens(messages), Pairing::new(messages));
    let mut changed = messages.to_vec();
    if let Err(why) = patch.clone().apply_weighed(&mut changed, &pairing, &prefix, &estimate_message_tokens) {
        panic!("{}", report(&format!("{name}: refused when weighed: {why}"), messages, after));
    }
    assert!(changed == after, "{}", report(&format!("{name}: preview ≠ apply"), after, &changed));
}

/// Checks that a clipped body is a head and a tail of the old one, cut between characters.
fn check_clip(name: &str, messages: &[Message], edit: &Edit) {
    let Edit::Body { at, content } = edit else { return };
    let texts = |blocks: &[wb_message::Block]| {
        blocks.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n")
    };
    let new = texts(content);
    let old = match &messages[*at] {
        Message::BashExecution { output, .. } => output.clone(),
        other => texts(other.blocks()),
    };
    let has_images = messages[*at].blocks().iter().any(|block| block.as_text().is_none());
    let at_both_ends = new
        .match_indices(CLIP_MARK)
        .any(|(mark, _)| old.starts_with(&new[..mark]) && old.ends_with(&new[mark + CLIP_MARK.len()..]));
    let is_clip = new.contains(CLIP_MARK) && !has_images;
    assert!(
        at_both_ends || !is_clip,
        "{name}: message {at} is not clipped at both ends:\n{new:?}\nof\n{old:?}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::script;
    use wb_message::Block;

    struct FnPass(fn(&WeighedTranscript<'_>) -> Option<Patch>);

    impl Pass for FnPass {
        fn name(&self) -> &'static str {
            "test"
        }

        fn plan(&self, view: &WeighedTranscript<'_>, _: Goal<'_>) -> Option<Patch> {
            (self.0)(view)
        }
    }

    fn broken(plan: fn(&WeighedTranscript<'_>) -> Option<Patch>) -> String {
        let messages = script("u*40 a*40 u*40 a:bash t*400 a");
        let caught =
            std::panic::catch_unwind(|| all(&FnPass(plan), &messages, 0)).expect_err("the law holds");
        caught.downcast_ref::<String>().expect("a formatted panic").clone()
    }

    fn body(at: usize, text: String) -> Patch {
        Patch::new(vec![Edit::Body { at, content: vec![Block::text(text)] }])
    }

    fn fold(range: std::ops::Range<usize>, with: Vec<Message>) -> Patch {
        Patch::new(vec![Edit::Fold { range, with }])
    }

    #[test]
    fn a_broken_law_is_reported_by_name() {
        assert!(broken(|_| Some(Patch::default())).contains("an empty patch, which should be none"));
        assert!(broken(|_| Some(body(4, "x".repeat(9_000)))).contains("is not lighter"));
        assert!(
            broken(|_| Some(fold(3..4, vec![]))).starts_with("the patch was refused: the patch separates")
        );
        assert!(broken(|_| Some(fold(0..1, vec![Message::user(""); 2]))).contains("the result is longer"));
        assert!(
            broken(|_| Some(body(4, format!("other{CLIP_MARK}words")))).contains("not clipped at both ends")
        );
        let halving = |view: &WeighedTranscript<'_>| {
            let Message::User { content, .. } = view.messages[0] else { return None };
            let text = content.texts().next()?;
            Some(body(0, text[..text.len() / 2].to_owned())).filter(|_| !text.is_empty())
        };
        assert!(broken(halving).contains("something is left for a second application"));
    }

    #[test]
    fn a_pass_that_declines_keeps_every_law() {
        let messages = script("u a");
        assert_eq!(all(&FnPass(|_| None), &messages, 0), messages);
    }
}
