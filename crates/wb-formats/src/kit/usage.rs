//! The usage of a request from the counts of a provider.

use wb_budget::Usage;

/// Returns the usage of a request whose prompt includes the cached tokens, read and written; `None`
/// if no prompt was counted.
pub(crate) fn usage_with_cache(
    prompt: Option<u64>,
    answer: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
) -> Option<Usage> {
    let prompt = prompt.filter(|tokens| *tokens > 0)?;
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Some(Usage {
        input_tokens: prompt.saturating_sub(cached),
        output_tokens: answer.unwrap_or(0),
        cache_read_tokens: read,
        cache_write_tokens: written,
    })
}
