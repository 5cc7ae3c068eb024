//! Names of `OpenAI`'s models.

use crate::protocol::version_after;

/// Returns whether a model reasons: o1 and later, GPT-5 and later except chat models, and gpt-oss.
pub(crate) fn reasons(model: &str) -> bool {
    let is_gpt = version_after(model, "gpt-").is_some_and(|version| version >= 5) && !model.contains("-chat");
    is_gpt || version_after(model, "o").is_some() || model.starts_with("gpt-oss")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_models_are_recognized() {
        for model in
            ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1-codex", "gpt-6-mini", "gpt-oss:20b"]
        {
            assert!(reasons(model), "{model}");
        }
        for model in
            ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-3.5-turbo", "olmo", "qwen3:8b", "omni"]
        {
            assert!(!reasons(model), "{model}");
        }
    }
}
