//! The size at which an agent compacts a session by itself: the rules of the agents, and their
//! settings.

use std::hash::{Hash as _, Hasher as _};

use serde::Serialize;
use serde_json::Value;
use wb_formats::View;

use crate::hosts::host;
use crate::hosts::switches::settings_of;
use crate::platform::environment::Environment;
use crate::terminal::number::grouped;

/// The answer that Claude Code keeps free, and the tokens below it at which it compacts: its
/// `/context` shows their sum, 33,000, as a buffer (anthropics/claude-code issues 12004, 23409).
const CLAUDE_ANSWER: u64 = 20_000;
const CLAUDE_BUFFER: u64 = 13_000;
/// The parts of a window, in percent, that Codex reports as the window and at which it compacts
/// (openai/codex issue 40095).
const CODEX_REPORTS: u64 = 95;
const CODEX_COMPACTS: u64 = 90;
/// The longest answer that opencode asks for.
const OPENCODE_ANSWER: u64 = 32_000;
/// The part of an input limit that opencode keeps free.
const OPENCODE_BUFFER: u64 = 20_000;
/// The part of a window, in percent, at which Gemini CLI compresses: the default of its
/// `model.compressionThreshold`.
const GEMINI_PERCENT: u64 = 50;
/// The tokens that pi keeps free: the default of its `compaction.reserveTokens`.
const PI_RESERVE: u64 = 16_384;

/// The settings of the agents that decide about compactions, as far as they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentSettings {
    /// Claude Code compacts only on request.
    is_claude_off: bool,
    /// `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`.
    claude_percent: Option<u64>,
    codex: Vec<Value>,
    gemini: Vec<Value>,
    opencode: Vec<Value>,
    pi: Vec<Value>,
}

/// The size at which an agent compacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AgentTrigger {
    /// The tokens of the context; the whole window if the agent is set not to compact.
    pub(crate) tokens: u64,
    /// The rule, in words.
    pub(crate) rule: String,
}

impl AgentSettings {
    pub(crate) fn read(environment: &Environment) -> Self {
        let of = |name| host(name).map(|host| settings_of(host, environment)).unwrap_or_default();
        let folder = environment.claude_config.as_deref().or(environment.home.as_deref());
        let text = folder.and_then(|folder| std::fs::read(folder.join(".claude.json")).ok());
        let global = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok()).unwrap_or_default();
        Self {
            is_claude_off: global.get("autoCompactEnabled") == Some(&Value::Bool(false)),
            claude_percent: environment.claude_percent,
            codex: of("codex"),
            gemini: of("gemini-cli"),
            opencode: of("opencode"),
            pi: of("pi"),
        }
    }

    /// Returns a number that differs if the settings do.
    pub(crate) fn fingerprint(&self, more: &str) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        (format!("{self:?}"), more).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the window that an agent's settings give the model of a session.
    pub(crate) fn window(&self, view: &View) -> Option<u64> {
        let id = view.model.as_deref().filter(|_| view.format == "opencode")?;
        opencode_limit(&self.opencode, id, "context")
    }

    /// Returns when the agent of a session compacts it; none if its rule is not known.
    pub(crate) fn trigger(&self, view: &View, window: u64, answer: u64) -> Option<AgentTrigger> {
        match view.format {
            "claude-code" => Some(self.claude_code(window)),
            "codex" => Some(self.of_codex(view.context_window.is_some(), window)),
            "gemini-cli" => Some(self.of_gemini(window)),
            "opencode" => Some(self.of_opencode(view.model.as_deref(), window, answer)),
            "pi" => Some(self.of_pi(window)),
            _ => None,
        }
    }

    /// Returns when Claude Code compacts.
    pub(crate) fn claude_code(&self, window: u64) -> AgentTrigger {
        let usable = window.saturating_sub(CLAUDE_ANSWER);
        let most = usable.saturating_sub(CLAUDE_BUFFER);
        if self.is_claude_off {
            return never(window, "Claude Code", "autoCompactEnabled = false");
        }
        if let Some(percent) = self.claude_percent {
            let rule = format!("Claude Code compacts at CLAUDE_AUTOCOMPACT_PCT_OVERRIDE = {percent} %");
            return AgentTrigger { tokens: most.min(usable / 100 * percent), rule };
        }
        let kept = grouped(CLAUDE_ANSWER + CLAUDE_BUFFER);
        AgentTrigger { tokens: most, rule: format!("Claude Code compacts {kept} tokens below its window") }
    }

    fn of_codex(&self, is_reported: bool, window: u64) -> AgentTrigger {
        let whole = if is_reported { window * 100 / CODEX_REPORTS } else { window };
        let most = whole * CODEX_COMPACTS / 100;
        match last_number(&self.codex, "/model_auto_compact_token_limit") {
            Some(tokens) if tokens < most => {
                AgentTrigger { tokens, rule: "Codex compacts at model_auto_compact_token_limit".to_owned() }
            }
            _ => AgentTrigger {
                tokens: most,
                rule: format!("Codex compacts at {CODEX_COMPACTS} % of the model's window"),
            },
        }
    }

    fn of_gemini(&self, window: u64) -> AgentTrigger {
        let set = last(&self.gemini, "/model/compressionThreshold").and_then(Value::as_f64);
        let set = set.filter(|share| *share > 0.0 && *share <= 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100")]
        let percent = set.map_or(GEMINI_PERCENT, |share| (share * 100.0).round() as u64);
        let rule = format!("Gemini CLI compresses at {percent} % of the window");
        AgentTrigger { tokens: window * percent / 100, rule }
    }

    fn of_opencode(&self, model: Option<&str>, window: u64, answer: u64) -> AgentTrigger {
        let limit = |key| model.and_then(|id| opencode_limit(&self.opencode, id, key));
        if last(&self.opencode, "/compaction/auto") == Some(&Value::Bool(false)) {
            return never(window, "opencode", "compaction.auto = false");
        }
        let answer = limit("output").unwrap_or(answer).clamp(1, OPENCODE_ANSWER);
        let reserved = last_number(&self.opencode, "/compaction/reserved");
        if let Some(input) = limit("input") {
            let tokens = input.saturating_sub(reserved.unwrap_or(OPENCODE_BUFFER.min(answer)));
            return AgentTrigger { tokens, rule: "opencode compacts at its limit for the input".to_owned() };
        }
        let rule = format!("opencode keeps {} tokens free for the answer", grouped(answer));
        AgentTrigger { tokens: window.saturating_sub(answer), rule }
    }

    fn of_pi(&self, window: u64) -> AgentTrigger {
        if last(&self.pi, "/compaction/enabled") == Some(&Value::Bool(false)) {
            return never(window, "pi", "compaction.enabled = false");
        }
        let reserve = last_number(&self.pi, "/compaction/reserveTokens").unwrap_or(PI_RESERVE);
        let rule = format!("pi compacts {} tokens below its window", grouped(reserve));
        AgentTrigger { tokens: window.saturating_sub(reserve), rule }
    }
}

fn never(window: u64, agent: &str, setting: &str) -> AgentTrigger {
    AgentTrigger { tokens: window, rule: format!("{agent} compacts only on request: {setting}") }
}

/// Returns the value of the file with precedence, which is the last.
fn last<'a>(files: &'a [Value], pointer: &str) -> Option<&'a Value> {
    files.iter().rev().find_map(|file| file.pointer(pointer))
}

fn last_number(files: &[Value], pointer: &str) -> Option<u64> {
    last(files, pointer)?.as_u64().filter(|number| *number > 0)
}

/// Returns a limit of a model in the settings of opencode, of whichever provider.
fn opencode_limit(files: &[Value], model: &str, key: &str) -> Option<u64> {
    let in_file = |file: &Value| {
        let providers = file.get("provider")?.as_object()?;
        let limits = providers.values().filter_map(|it| it.get("models")?.get(model)?.get("limit"));
        limits.filter_map(|limit| limit.get(key)?.as_u64()).find(|limit| *limit > 0)
    };
    files.iter().rev().find_map(in_file)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::ToolVocabulary;

    use super::*;

    fn tokens(settings: &AgentSettings, format: &'static str, window: u64) -> u64 {
        let mut view = View::new(format, ToolVocabulary::BASIC);
        view.model = Some("m".to_owned());
        settings.trigger(&view, window, 8_000).unwrap().tokens
    }

    #[test]
    fn each_agent_has_its_rule() {
        let plain = AgentSettings::default();
        let agents = ["claude-code", "codex", "gemini-cli", "opencode", "pi"];
        let all = agents.map(|format| tokens(&plain, format, 200_000));
        assert_eq!(all, [167_000, 180_000, 100_000, 192_000, 183_616]);
        assert_eq!(plain.trigger(&View::new("goose", ToolVocabulary::BASIC), 1, 1), None);
    }

    #[test]
    fn the_settings_of_the_agents_count() {
        let model =
            json!({"provider": {"p": {"models": {"m": {"limit": {"context": 64_000, "output": 4_000}}}}}});
        let set = AgentSettings {
            claude_percent: Some(50),
            codex: vec![json!({"model_auto_compact_token_limit": 90_000})],
            gemini: vec![json!({"model": {"compressionThreshold": 0.3}})],
            opencode: vec![model],
            pi: vec![
                json!({"compaction": {"reserveTokens": 1}}),
                json!({"compaction": {"reserveTokens": 9}}),
            ],
            ..AgentSettings::default()
        };
        let mut view = View::new("opencode", ToolVocabulary::BASIC);
        view.model = Some("m".to_owned());
        assert_eq!(set.window(&view), Some(64_000));
        let agents = ["claude-code", "codex", "gemini-cli", "opencode", "pi"];
        let all = agents.map(|format| tokens(&set, format, 200_000));
        assert_eq!(all, [90_000, 90_000, 60_000, 196_000, 199_991]);
        let off = AgentSettings { opencode: vec![json!({"compaction": {"auto": false}})], ..set };
        assert_eq!(tokens(&off, "opencode", 200_000), 200_000);
        assert_ne!(off.fingerprint(""), AgentSettings::default().fingerprint(""));
    }

    #[test]
    fn codex_reports_less_than_the_window() {
        let mut view = View::new("codex", ToolVocabulary::BASIC);
        view.context_window = Some(258_400);
        assert_eq!(AgentSettings::default().trigger(&view, 258_400, 1).unwrap().tokens, 244_800);
    }
}
