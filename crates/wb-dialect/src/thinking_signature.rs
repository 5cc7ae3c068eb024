//! Whose reasoning a signature stands for, told by its shape.

use serde_json::{Value, json};
use wb_message::block::redacted_data;

/// How signatures of Anthropic and of Gemini begin as bytes: one member that is another one, each with its length.
const OUTER: u8 = 0x12;
const INNER: u8 = 0x0a;
/// What the inner one begins with: a member of Anthropic's that is a number, or the version of Gemini's.
const OF_ANTHROPIC: u8 = 0x08;
const OF_GEMINI: u8 = 0x01;
/// How many bytes of a signature are looked at: two marks with their lengths, and what follows.
const MAX_HEAD_BYTES: usize = 12;

/// Returns whether a signature is one of `OpenAI`: reasoning that is encrypted, or a whole item.
pub(crate) fn is_of_openai(signature: &str) -> bool {
    signature.starts_with("gAAAA") || (signature.starts_with('{') && redacted_data(signature).is_none())
}

/// Returns reasoning as a block of Anthropic; nothing if another provider signed it, or nobody.
pub(crate) fn anthropic_block(text: &str, signature: &str) -> Option<Value> {
    if let Some(data) = redacted_data(signature) {
        return Some(json!({ "type": "redacted_thinking", "data": data }));
    }
    let is_foreign =
        signature.is_empty() || is_of_openai(signature) || inner_start(signature) == Some(OF_GEMINI);
    (!is_foreign).then(|| json!({ "type": "thinking", "thinking": text, "signature": signature }))
}

/// Returns whether a signature can be one of Gemini, which are bytes in base64.
pub(crate) fn is_of_gemini(signature: &str) -> bool {
    is_base64(signature) && !is_of_openai(signature) && inner_start(signature) != Some(OF_ANTHROPIC)
}

fn is_base64(signature: &str) -> bool {
    let digits = signature.trim_end_matches('=');
    let n_padding = signature.len() - digits.len();
    let is_whole = n_padding <= 2 && signature.len().is_multiple_of(4);
    !digits.is_empty() && is_whole && digits.bytes().all(|byte| digit(byte).is_some())
}

/// Returns the value of a digit of base64, of both alphabets.
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

/// Returns the byte behind the marks and the lengths of both members.
fn inner_start(signature: &str) -> Option<u8> {
    let head = head(signature);
    let inner = behind_length(head.strip_prefix(&[OUTER])?)?;
    behind_length(inner.strip_prefix(&[INNER])?)?.first().copied()
}

/// Returns what stands behind a length; all bytes of it but the last have the highest bit.
fn behind_length(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    bytes.get(last + 1..)
}

/// Returns the first bytes of a signature in base64.
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

    /// 12 aa 01 | 0a 48 | 08 …, and 12 e6 01 | 0a e3 01 | 01 …, as both providers sign.
    const CLAUDE: &str = "EqoBCkgIARABGAIi";
    const GEMINI: &str = "EuYBCuMBAb4+9vth";

    #[test]
    fn a_signature_goes_to_no_other_provider() {
        let is_taken = |signature: &str| {
            (anthropic_block("Hm.", signature).is_some(), is_of_gemini(signature), is_of_openai(signature))
        };
        assert_eq!(is_taken(CLAUDE), (true, false, false));
        assert_eq!(is_taken(GEMINI), (false, true, false));
        assert_eq!(is_taken("gAAAABo="), (false, false, true));
        assert_eq!(is_taken(r#"{"type":"reasoning"}"#), (false, false, true));
        assert_eq!(is_taken(r#"{"type":"redacted_thinking","data":"a"}"#), (true, false, false));
        assert_eq!(is_taken("Eu8="), (true, true, false), "nothing tells whose it is");
        for broken in ["", "E", "Eg", "EgoK", "EoCA", "Eg==", "####"] {
            assert_eq!(inner_start(broken), None, "{broken}");
        }
    }
}
