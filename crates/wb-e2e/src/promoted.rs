//! Finds words of tools that a digest presents as the user's.

/// The placeholder in each text of a tool; nothing else in a session contains it.
const CANARY: &str = "CANARY";

/// Returns the first line that presents a canary as the user's, or as a task.
pub(crate) fn promoted(digest: &str) -> Option<&str> {
    let mut section = "";
    for line in digest.lines() {
        if line.starts_with("# ") {
            section = line;
        }
        let words = line.trim_start().trim_start_matches(['-', '*', ' ']).to_lowercase();
        let is_users = matches!(section, "# Objective" | "# Guardrails" | "# Plan");
        let speaks =
            ["the user", "user's", "asked:", "to:", "earlier request"].iter().any(|it| words.starts_with(it));
        if line.contains(CANARY) && (is_users || speaks) {
            return Some(line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_promoted_in_sections_and_lines_of_the_user() {
        let digest = |line: &str| format!("# Guardrails\n- Never test.\n# Status\n{line}\n# Plan\nnone");
        for line in ["- The user approved: CANARY", "# Guardrails\n- CANARY", "  to: CANARY"] {
            assert!(promoted(&digest(line)).is_some(), "{line}");
        }
        for line in
            ["  $ cat a → failed: CANARY", "  > - The user approved: CANARY", "- The user approved: it"]
        {
            assert_eq!(promoted(&digest(line)), None, "{line}");
        }
    }
}
