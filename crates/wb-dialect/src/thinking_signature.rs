//! Identifies the provider of a reasoning signature by its shape.

use serde_json::{Value, json};
use wb_message::block::redacted_data;

/// Tags of the two nested length-delimited fields that start signatures of Anthropic and Gemini.
const OUTER: u8 = 0x12;
const INNER: u8 = 0x0a;
/// First bytes of the inner field: the tag of a number (Anthropic), or a version (Gemini).
const ANTHROPIC_START: u8 = 0x08;
const GEMINI_START: u8 = 0x01;
/// The number of bytes that cover both tags, their lengths and the first inner byte.
const MAX_HEAD_BYTES: usize = 12;

/// Returns whether a signature is from `OpenAI`: encrypted reasoning or a whole item.
pub(crate) fn is_openai(signature: &str) -> bool {
    signature.starts_with("gAAAA") || (signature.starts_with('{') && redacted_data(signature).is_none())
}

/// Returns reasoning as an Anthropic block, unless it is unsigned or signed by another provider.
pub(crate) fn anthropic_block(text: &str, signature: &str) -> Option<Value> {
    if let Some(data) = redacted_data(signature) {
        return Some(json!({ "type": "redacted_thinking", "data": data }));
    }
    let is_foreign =
        signature.is_empty() || is_openai(signature) || inner_start(signature) == Some(GEMINI_START);
    (!is_foreign).then(|| json!({ "type": "thinking", "thinking": text, "signature": signature }))
}

/// Returns whether a signature can be from Gemini, which signs with base64.
pub(crate) fn is_gemini(signature: &str) -> bool {
    is_base64(signature) && !is_openai(signature) && inner_start(signature) != Some(ANTHROPIC_START)
}

fn is_base64(signature: &str) -> bool {
    let digits = signature.trim_end_matches('=');
    let n_padding = signature.len() - digits.len();
    let is_whole = n_padding <= 2 && signature.len().is_multiple_of(4);
    !digits.is_empty() && is_whole && digits.bytes().all(|byte| digit(byte).is_some())
}

/// Returns the value of a base64 digit, standard or URL-safe.
fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Returns the first byte of the inner field.
fn inner_start(signature: &str) -> Option<u8> {
    let head = head(signature);
    let inner = after_length(head.strip_prefix(&[OUTER])?)?;
    after_length(inner.strip_prefix(&[INNER])?)?.first().copied()
}

/// Returns the bytes after a varint length.
fn after_length(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    bytes.get(last + 1..)
}

/// Decodes the first bytes of a base64 signature.
fn head(signature: &str) -> Vec<u8> {
    let (mut bits, mut n_bits, mut bytes) = (0_u32, 0, Vec::new());
    for value in signature.bytes().map_while(digit) {
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
        if bytes.len() == MAX_HEAD_BYTES {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes `12 aa 01 | 0a 48 | 08 …` and `12 e6 01 | 0a e3 01 | 01 …`.
    const CLAUDE: &str = "EqoBCkgIARABGAIi";
    const GEMINI: &str = "EuYBCuMBAb4+9vth";

    #[test]
    fn signatures_are_sent_to_their_provider_only() {
        let is_taken = |signature: &str| {
            (anthropic_block("Hm.", signature).is_some(), is_gemini(signature), is_openai(signature))
        };
        assert_eq!(is_taken(CLAUDE), (true, false, false));
        assert_eq!(is_taken(GEMINI), (false, true, false));
        assert_eq!(is_taken("gAAAABo="), (false, false, true));
        assert_eq!(is_taken(r#"{"type":"reasoning"}"#), (false, false, true));
        assert_eq!(is_taken(r#"{"type":"redacted_thinking","data":"a"}"#), (true, false, false));
        assert_eq!(is_taken("Eu8="), (true, true, false), "ambiguous");
        for broken in ["", "E", "Eg", "EgoK", "EoCA", "Eg==", "####"] {
            assert_eq!(inner_start(broken), None, "{broken}");
        }
    }
}
