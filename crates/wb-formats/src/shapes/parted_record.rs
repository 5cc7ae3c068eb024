//! Records whose body is a list of parts of which each message takes some.

use wb_message::Message;
use wb_record::json::{elements, get, set};

use super::content_value::list;
use crate::kit::message_list::Fate;

/// Returns a record of which messages go or get another body, given the key of its list of parts,
/// how many of the next parts are those of a message, and what its parts become; the parts of
/// messages that stay are kept byte for byte.
///
/// Nothing if its body is no list.
pub(crate) fn rewrite(
    record: &[u8],
    key: &str,
    messages: &[Message],
    fates: &[Fate<'_>],
    n_parts: impl Fn(&Message, &[&[u8]]) -> usize,
    changed: impl Fn(&[&[u8]], &Message, &[wb_message::Block]) -> Result<Vec<Vec<u8>>, String>,
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
            Fate::Body(body) => match changed(&parts, message, body) {
                Ok(parts) => kept.extend(parts),
                Err(why) => return Some(Err(why)),
            },
        }
    }
    Some(Ok(set(record, key, &list(&kept))))
}
