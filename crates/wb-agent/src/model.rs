//! Which model is asked, and in which dialect.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use wb_dialect::Dialect;
use wb_providers::{Key, KeyError, ProviderOpts};
use wb_summarize::ModelInvoker;

use crate::error::AgentError;
use crate::script::{Offline, Script};

/// The window that is assumed of a model, in tokens, where nobody says.
pub const ASSUMED_WINDOW: u64 = 200_000;
/// The window of the offline model, in tokens: small, so that it fills.
pub const OFFLINE_WINDOW: u64 = 32_000;
/// Holds the key of a server that is not `OpenAI`'s: its key must not go elsewhere.
const COMPATIBLE_KEY: &str = "OPENAI_COMPATIBLE_API_KEY";

/// A model, and what the agent must know of it.
#[derive(Clone)]
pub struct Model {
    /// The way to it.
    pub invoker: Arc<dyn ModelInvoker>,
    /// The dialects that each request must be valid for.
    pub dialects: Vec<Dialect>,
    /// The window that is assumed, in tokens.
    pub window: u64,
    /// Whether it can write digests.
    pub writes_digests: bool,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Model");
        shown.field("dialects", &self.dialects).field("window", &self.window).finish_non_exhaustive()
    }
}

impl Model {
    /// Takes a model that needs no network. Its requests must be valid for everybody.
    pub fn offline(invoker: Arc<dyn ModelInvoker>, writes_digests: bool) -> Self {
        Self { invoker, dialects: Dialect::ALL.to_vec(), window: OFFLINE_WINDOW, writes_digests }
    }

    /// Finds a model by its name: `offline`, `script:FILE`, or `PROVIDER:MODEL`. Nothing is sent yet.
    pub fn find(name: &str, base_url: Option<&str>) -> Result<Self, AgentError> {
        match name.split_once(':') {
            None if name == "offline" => Ok(Self::offline(Arc::new(Offline), false)),
            Some(("script", file)) => script(Path::new(file)),
            Some((provider, model)) => over_http(provider, model, base_url),
            None => {
                Err(AgentError::Usage(format!("{name} is no model; name one as PROVIDER:MODEL, or offline")))
            }
        }
    }
}

fn script(file: &Path) -> Result<Model, AgentError> {
    let shown = file.display();
    let lines = fs::read_to_string(file).map_err(AgentError::of_file(shown.to_string()))?;
    let script = Script::read(&lines).map_err(|error| AgentError::Usage(format!("{shown}: {error}")))?;
    Ok(Model::offline(Arc::new(script), false))
}

fn over_http(provider: &str, model: &str, base_url: Option<&str>) -> Result<Model, AgentError> {
    let (opts, dialect) = match provider {
        "anthropic" => (ProviderOpts::anthropic(model), Dialect::Anthropic),
        "openai" => (ProviderOpts::openai(model), Dialect::OpenaiChat),
        "openai-responses" => (ProviderOpts::openai_responses(model), Dialect::OpenaiResponses),
        "gemini" => (ProviderOpts::gemini(model), Dialect::Gemini),
        "openai-compatible" => {
            let hint = "openai-compatible needs an address, such as --base-url http://localhost:11434/v1";
            let url = base_url.ok_or_else(|| AgentError::Usage(hint.to_owned()))?;
            (ProviderOpts::openai_compatible(model, url), Dialect::OpenaiChat)
        }
        _ => {
            let known = "anthropic, openai, openai-responses, gemini, openai-compatible, script, offline";
            return Err(AgentError::Usage(format!("there is no provider {provider}; there are {known}")));
        }
    };
    let opts = base_url.into_iter().fold(opts, ProviderOpts::base_url);
    let is_own = provider == "openai-compatible";
    let names: &[&str] = if is_own { &[COMPATIBLE_KEY] } else { opts.key_names() };
    let opts = match Key::from_env(names) {
        Ok(key) => opts.key(key),
        Err(KeyError::NotSet { .. }) if is_own => opts,
        Err(error) => return Err(AgentError::Usage(format!("{provider}:{model} cannot be asked: {error}"))),
    };
    let failed = |error| AgentError::Usage(format!("{provider}:{model} cannot be asked: {error}"));
    let invoker = Arc::new(opts.build().map_err(failed)?);
    Ok(Model { invoker, dialects: vec![dialect], window: ASSUMED_WINDOW, writes_digests: true })
}
