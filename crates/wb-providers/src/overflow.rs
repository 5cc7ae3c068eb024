//! Detection of replies and errors that mean the context was too large for the model's window.
//!
//! Each provider has its own error text. Some return no error but truncate the prompt or leave no
//! room for an answer, which only the token counts show. The rules are those of pi.

use wb_invoke::{Reply, StopReason};

/// The error texts for a prompt that is too large: lower-case pieces in this order on one line.
const OVERFLOW_TEXTS: [&[&str]; 38] = [
    // Anthropic, also through Bedrock and Vertex; Fireworks.
    &["prompt is too long"],
    // Anthropic: the prompt and the room for the answer together.
    &["input length and `max_tokens` exceed context limit"],
    // Anthropic: the body of the request in bytes.
    &["request_too_large"],
    // Anthropic's reason for a stop, and Z.ai's.
    &["context_window_exceeded"],
    // OpenAI and Azure: the code, and the same in words.
    &["context_length_exceeded"],
    &["context length exceeded"],
    // OpenAI, the interface of responses.
    &["exceeds the context window"],
    // OpenAI, Azure, OpenRouter, DeepSeek, vLLM, Llama on Bedrock.
    &["maximum context length is", "tokens"],
    // OpenAI, Groq, Cerebras.
    &["reduce the length of the messages"],
    // Gemini.
    &["input token count", "exceeds the maximum number of tokens"],
    // Gemini on Vertex.
    &["input token count is", "model only supports up to"],
    // Bedrock.
    &["input is too long for requested model"],
    // Nova on Bedrock.
    &["number of input tokens exceeds maximum length"],
    // GitHub Copilot.
    &["prompt token count of", "exceeds the limit of"],
    // GitHub Models.
    &["request body too large for", "max size", "tokens"],
    // xAI.
    &["maximum prompt length is"],
    // Mistral.
    &["too large for model with", "maximum context length"],
    // Moonshot.
    &["exceeded model token limit"],
    // Z.ai, in both of its languages.
    &["prompt exceeds max length"],
    &["prompt 超长"],
    // MiniMax; LiteLLM in words.
    &["context window exceed"],
    // LiteLLM.
    &["contextwindowexceedederror"],
    // Qwen through DashScope.
    &["range of input length should be"],
    // vLLM.
    &["prompt (length", "is longer than the maximum model length"],
    // SGLang, Together.
    &["is longer than the model", "context length"],
    &["input length", "exceeds the maximum allowed"],
    &["requested token count exceeds the model", "maximum context length"],
    // Text Generation Inference, Together.
    &["`inputs` tokens + `max_new_tokens` must be <="],
    &["`inputs` must have less than", "tokens"],
    // llama.cpp.
    &["exceeds the available context size"],
    &["context size has been exceeded"],
    // Ollama.
    &["prompt too long", "context length"],
    &["input length exceeds", "context length"],
    // LM Studio.
    &["greater than the context length"],
    &["model is loaded with context length of only"],
    // nginx and its derivatives, in front of anyone.
    &["413 request entity too large"],
    // Several, without more words; Cohere, with them.
    &["too many tokens"],
    &["token limit exceeded"],
];

/// Words of an error that goes away by waiting or paying, whatever else it says.
///
/// Bedrock calls a throttled request one of "too many tokens", and asks to wait.
const OTHER_TEXTS: [&str; 10] = [
    "throttl",
    "please wait",
    "service unavailable",
    "too many requests",
    "rate limit",
    "rate_limit",
    "ratelimiterror",
    "tokens per min",
    "tokens per day",
    "quota",
];

/// The provider whose status 400 without a body means an overflow.
const BODYLESS_400_PROVIDER: &str = "cerebras";

/// The percentage of the window from which a prompt leaves no room for an answer (pi).
const FULL_PERCENT: u128 = 99;

/// Returns whether a provider's error says that the prompt did not fit its window.
///
/// Comparison ignores ASCII case. An error about throttling, rate limits or quotas does not count.
/// A status 413 without a body counts for every provider, a status 400 without a body for Cerebras.
pub fn is_overflow_error(error: &str, provider: Option<&str>) -> bool {
    let error = error.to_ascii_lowercase();
    if OTHER_TEXTS.iter().any(|text| error.contains(text)) {
        return false;
    }
    let means_400 = provider.is_some_and(|name| name.eq_ignore_ascii_case(BODYLESS_400_PROVIDER));
    is_bodyless(&error, "413")
        || (means_400 && is_bodyless(&error, "400"))
        || error.lines().any(|line| OVERFLOW_TEXTS.iter().any(|pieces| has_in_order(line, pieces)))
}

/// Returns whether a reply shows that the context did not fit a window.
///
/// `window_tokens` is 0 if unknown.
///
/// A complete reply counts if the prompt has more tokens than the window; a reply that was cut
/// off before its first token, if the prompt takes 99 % of the window or more. The prompt
/// includes tokens read from the cache. For failed requests see [`is_overflow_error`].
pub fn is_overflow_reply(reply: &Reply, window_tokens: u64) -> bool {
    let prompt_tokens = reply.usage.prompt_tokens();
    match reply.stop {
        StopReason::Complete => window_tokens > 0 && prompt_tokens > window_tokens,
        StopReason::MaxOutput => reply.usage.output_tokens == 0 && is_full(prompt_tokens, window_tokens),
        _ => false,
    }
}

/// Returns whether a prompt leaves no room in a window; never if the window is not known.
fn is_full(tokens: u64, window_tokens: u64) -> bool {
    window_tokens > 0 && u128::from(tokens) * 100 >= u128::from(window_tokens) * FULL_PERCENT
}

/// Returns whether a text contains pieces one after the other.
fn has_in_order(text: &str, pieces: &[&str]) -> bool {
    let mut rest = text;
    pieces.iter().all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Returns whether an error is only this status, as clients write it: `413 status code (no body)`.
fn is_bodyless(error: &str, status: &str) -> bool {
    let Some(after) = error.trim_start().strip_prefix(status) else { return false };
    let after = after.trim_start();
    after.strip_prefix("status code").unwrap_or(after).trim_start().starts_with("(no body)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One error for each row of [`OVERFLOW_TEXTS`], in order, with invented figures.
    const ERRORS: [&str; OVERFLOW_TEXTS.len()] = [
        r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
        r#"413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        "Provider finish_reason: model_context_window_exceeded",
        r#"{"error":{"message":"Too long.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        "Error: Context length exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "400 This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output).",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the input token count and try again.",
        "ValidationException: Input is too long for requested model.",
        "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
        r#"{"error":{"code":"1261","message":"Prompt 超长"}}"#,
        "invalid params, context window exceeds limit (2013)",
        "litellm.ContextWindowExceededError: litellm.BadRequestError",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "The decoder prompt (length 140000) is longer than the maximum model length of 131072.",
        "The input (140000 tokens) is longer than the model's context length (131072 tokens).",
        "Input length (140000 tokens) exceeds the maximum allowed length (131072 tokens).",
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
        "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
        r#"{"error":{"code":400,"message":"request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it"}}"#,
        "Context size has been exceeded.",
        "prompt too long; exceeded max context length by 10 tokens",
        "the input length exceeds the context length",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        "Trying to keep the first 9000 tokens. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        "413 <html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n</html>",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        "Token limit exceeded",
    ];

    #[test]
    fn each_row_finds_what_its_provider_says_and_no_other_row_does() {
        for (at, said) in ERRORS.iter().enumerate() {
            let lower = said.to_ascii_lowercase();
            let finds = |row: &usize| lower.lines().any(|line| has_in_order(line, OVERFLOW_TEXTS[*row]));
            assert_eq!((0..OVERFLOW_TEXTS.len()).filter(finds).collect::<Vec<_>>(), [at], "{said}");
            assert!(is_overflow_error(said, None) && is_overflow_error(&said.to_ascii_uppercase(), None));
        }
    }

    #[test]
    fn pieces_and_exclusions_are_in_lower_case_and_none_is_empty() {
        let pieces = OVERFLOW_TEXTS.iter().copied().flatten().chain(&OTHER_TEXTS);
        for piece in pieces {
            assert!(!piece.is_empty() && *piece == piece.to_ascii_lowercase(), "{piece}");
        }
        assert!(OVERFLOW_TEXTS.iter().all(|pieces| !pieces.is_empty()));
    }

    #[test]
    fn pieces_appear_in_their_order_and_do_not_overlap() {
        assert!(has_in_order("a b c", &["a", "c"]));
        assert!(!has_in_order("c b a", &["a", "c"]));
        assert!(!has_in_order("aba", &["ab", "ba"]));
        assert!(has_in_order("abba", &["ab", "ba"]));
    }
}
