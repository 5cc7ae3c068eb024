//! The law of fitting: a compaction comes down to its target, or it says that it cannot and that is true.

use wb_budget::{Irreducible, estimate_message_tokens};
use wb_message::markers::is_pinned;
use wb_message::{Message, Pairing};
use wb_passes::Preview;

use crate::pass_laws::plan;
use crate::show::report;

/// A digest that says little more than how much it stands for weighs no more than this, in tokens.
pub const SMALL_DIGEST_TOKENS: u64 = 90;

/// Where a compaction came down, in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    /// Where it should have come down, with what is sent besides the transcript.
    pub target_tokens: u64,
    /// What is sent besides the transcript.
    pub beside_tokens: u64,
    /// What the transcript can be brought down to for certain, such as [`least_tokens`].
    pub least_tokens: u64,
    /// What the compaction said of its failure.
    pub irreducible: Option<Irreducible>,
}

/// Checks that the result is within its target, or that the compaction says it is not and none could be.
///
/// # Panics
/// Panics if the result is too heavy and nothing says so, if the figures are false, or if `least_tokens` would fit.
pub fn fits_or_cannot(before: &[Message], after: &[Message], landing: Landing) {
    let Landing { target_tokens, beside_tokens, least_tokens, irreducible } = landing;
    let reached_tokens = beside_tokens + weight(after);
    let failure = |what: &str| report(&format!("{what}: {landing:?}"), before, after);
    let expected = Irreducible::from_weights(target_tokens, reached_tokens);
    assert!(irreducible == expected, "{}", failure(&format!("it weighs {reached_tokens} tokens")));
    let least_tokens = beside_tokens + least_tokens;
    let could_fit = irreducible.is_some() && least_tokens <= target_tokens;
    assert!(!could_fit, "{}", failure(&format!("{least_tokens} tokens could be reached")));
}

/// Returns what a transcript need not weigh more than: its pinned messages, everything from the last legal cut on with
/// tool bodies as short as previews get, and a small digest of the rest.
pub fn least_tokens(messages: &[Message]) -> u64 {
    let short = shortened(messages);
    let cut = Pairing::new(messages).legal_at_or_before(messages.len()).unwrap_or(0);
    let (pinned, head): (Vec<_>, Vec<_>) = short[..cut].iter().partition(|message| is_pinned(message));
    let of = |messages: Vec<&Message>| messages.into_iter().map(estimate_message_tokens).sum::<u64>();
    of(pinned) + of(head).min(SMALL_DIGEST_TOKENS) + weight(&short[cut..])
}

fn weight(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_message_tokens).sum()
}

/// Returns a transcript with all tool bodies as short as previews get.
fn shortened(messages: &[Message]) -> Vec<Message> {
    let mut short = messages.to_vec();
    if let Some(patch) = plan(&Preview::default(), messages, 0) {
        let _ = patch.apply(&mut short).unwrap_or_else(|why| panic!("the previews are refused: {why}"));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::script;
    use wb_budget::estimate_tokens;

    /// What says of any transcript that it cannot fit, which is left as it is.
    fn gives_up(messages: &[Message], target_tokens: u64) -> Landing {
        let irreducible = Some(Irreducible { target_tokens, reached_tokens: estimate_tokens(messages) });
        Landing { target_tokens, beside_tokens: 0, least_tokens: least_tokens(messages), irreducible }
    }

    fn broken(before: &[Message], after: &[Message], landing: Landing) -> String {
        let caught = std::panic::catch_unwind(|| fits_or_cannot(before, after, landing));
        caught.expect_err("the law holds").downcast_ref::<String>().expect("a formatted panic").clone()
    }

    #[test]
    fn what_always_says_that_it_cannot_fit_breaks_the_law() {
        let messages = script("s*50 u*400 [a:read t*2000]x9 u*50");
        let said = broken(&messages, &messages, gives_up(&messages, 1_000));
        assert!(said.contains(" tokens could be reached: "), "{said}");
        let fits = estimate_tokens(&messages);
        assert!(broken(&messages, &messages, gives_up(&messages, fits)).starts_with("it weighs "));
    }

    #[test]
    fn what_is_too_heavy_and_says_nothing_breaks_the_law() {
        let messages = script("u*400 a*400 u");
        let silent = Landing { irreducible: None, ..gives_up(&messages, 100) };
        assert!(broken(&messages, &messages, silent).starts_with("it weighs "));
    }

    #[test]
    fn what_nobody_can_drop_may_be_too_heavy() {
        for text in ["s*900 u a*400 u", "u a*400 u*900", "u*400 a:write*900,read t", "u*400 [a:read]x2"] {
            let messages = script(text);
            let least = least_tokens(&messages);
            fits_or_cannot(&messages, &messages, gives_up(&messages, least - 1));
            let said = broken(&messages, &messages, gives_up(&messages, least));
            assert!(said.contains(" tokens could be reached: "), "{text}: {said}");
        }
    }

    #[test]
    fn a_giant_result_at_the_end_can_be_shortened_and_its_call_cannot() {
        let least = |text| least_tokens(&script(text));
        assert!(least("u*400 a:read t*9000") < 250, "{}", least("u*400 a:read t*9000"));
        assert!(least("u*400 a:write*9000 t*9000") > 9_000);
        assert_eq!(least(""), 0);
    }
}
