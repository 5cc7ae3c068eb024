//! Records whose body is a list of parts of which each message takes some.

use wb_message::{Block, Message};
use wb_record::json::{elements, get, set};

use super::content_value::{Write, changed, list};
use crate::kit::message_list::Fate;

/// Returns a record of which messages go or get another body, given the key of its list of parts,
/// how many of the next parts are those of a message, and what its parts become; the parts of
/// messages that stay are kept byte for byte.
///
/// `None` if its body is no list.
pub(crate) fn rewrite(
    record: &[u8],
    key: &str,
    messages: &[Message],
    fates: &[Fate<'_>],
    n_parts: impl Fn(&Message, &[&[u8]]) -> usize,
    rewritten: impl Fn(&[&[u8]], &Message, &[Block]) -> Result<Vec<Vec<u8>>, String>,
) -> Option<Result<Vec<u8>, String>> {
    let old = get(record, key).filter(|old| old.starts_with(b"["))?;
    let mut rest: Vec<&[u8]> = elements(old)?.into_iter().map(|place| &old[place]).collect();
    let mut kept = Vec::new();
    for (message, fate) in messages.iter().zip(fates) {
        let after = rest.split_off(n_parts(message, &rest).min(rest.len()));
        let parts = std::mem::replace(&mut rest, after);
        match fate {
            Fate::Goes => {}
            Fate::Stays => kept.extend(parts.iter().map(|part| part.to_vec())),
            Fate::Body(body) => match rewritten(&parts, message, body) {
                Ok(parts) => kept.extend(parts),
                Err(why) => return Some(Err(why)),
            },
        }
    }
    Some(Ok(set(record, key, &list(&kept))))
}

/// Returns a record of which messages go or get another body, whose `content` is a list of parts or
/// a text.
pub(crate) fn rewrite_content(
    record: &[u8],
    messages: &[Message],
    fates: &[Fate<'_>],
    n_parts: impl Fn(&Message, &[&[u8]]) -> usize,
    rewritten: impl Fn(&[&[u8]], &Message, &[Block]) -> Result<Vec<Vec<u8>>, String>,
    part: Write,
) -> Result<Vec<u8>, String> {
    rewrite(record, "content", messages, fates, n_parts, rewritten).unwrap_or_else(|| {
        match (messages, fates) {
            ([before], [Fate::Body(after)]) => {
                let body = changed(get(record, "content"), before.blocks(), after, part)?;
                Ok(set(record, "content", &body))
            }
            _ => Err("a part of a text".to_owned()),
        }
    })
}
