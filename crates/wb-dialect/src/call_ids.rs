//! Call ids in the shape that a dialect accepts.

use std::borrow::Cow;

use crate::dialect::Dialect;

/// Returns the maximum length of a call id in characters.
pub(crate) fn max_id_chars(dialect: Dialect) -> usize {
    match dialect {
        Dialect::OpenaiChat => 40,
        Dialect::OpenaiResponses => 64,
        Dialect::Anthropic | Dialect::Gemini => usize::MAX,
    }
}

/// Returns whether the provider accepts the id.
pub(crate) fn is_good_id(id: &str, dialect: Dialect) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_shaped = dialect != Dialect::Anthropic || id.bytes().all(is_plain);
    !id.is_empty() && is_shaped && id.chars().count() <= max_id_chars(dialect)
}

/// Returns the id if it is accepted, else a deterministic id derived from it.
///
/// Some hosts join the ids of the call and of its item with a bar; only the former is used.
pub(crate) fn call_id(id: &str, dialect: Dialect) -> Cow<'_, str> {
    let is_item = |rest: &str| !rest.is_empty() && !rest.contains('|');
    let call = id.split_once('|').filter(|(_, rest)| is_item(rest)).map_or(id, |(call, _)| call);
    if is_good_id(call, dialect) {
        return Cow::Borrowed(call);
    }
    let plain = id.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' });
    let head: String = plain.take(24).collect();
    Cow::Owned(format!("{head}_{:08x}", hash(id)))
}

/// Returns whether an id identifies its call: not empty, not derived from an empty id, and not the
/// tool's name, which some hosts write for a missing id.
pub(crate) fn is_distinctive(id: &str, name: &str) -> bool {
    !id.is_empty() && id != name && id != call_id("", Dialect::OpenaiChat)
}

/// Computes FNV-1a, which is short and the same on every platform.
pub(crate) fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_ids_are_kept_and_others_reshaped_deterministically() {
        assert_eq!(call_id("toolu_01-a", Dialect::Anthropic), "toolu_01-a");
        assert_eq!(call_id("call_1|fc_2", Dialect::OpenaiResponses), "call_1");
        assert_eq!(call_id("Read:0", Dialect::Gemini), "Read:0");
        assert_eq!(
            ["call_1|", "call_1||"].map(|id| call_id(id, Dialect::OpenaiChat)),
            ["call_1|", "call_1||"]
        );
        let long = "a".repeat(80);
        for (id, dialect) in [
            ("Read:0", Dialect::Anthropic),
            ("é", Dialect::Anthropic),
            ("", Dialect::OpenaiChat),
            (long.as_str(), Dialect::OpenaiChat),
            (long.as_str(), Dialect::OpenaiResponses),
        ] {
            let made = call_id(id, dialect);
            assert!(is_good_id(&made, dialect), "{made}");
            assert_eq!(made, call_id(id, dialect));
        }
        assert_ne!(call_id("a.b", Dialect::Anthropic), call_id("a:b", Dialect::Anthropic));
    }
}
