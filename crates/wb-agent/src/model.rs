//! The model and the dialects of its requests.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wb_budget::catalog::DEFAULT_WINDOW;
use wb_budget::{Catalog, ModelCard};
use wb_dialect::Dialect;
use wb_invoke::ModelInvoker;
use wb_providers::{ProviderError, ProviderOpts};

use crate::error::AgentError;
use crate::script::{Offline, Script};

/// The window of the offline model, in tokens: small, so that it fills.
const OFFLINE_WINDOW: u64 = 32_000;

/// A model and its properties.
#[derive(Clone)]
pub struct Model {
    /// The connection to it.
    pub invoker: Arc<dyn ModelInvoker>,
    /// The dialects that each request must be valid for.
    pub dialects: Vec<Dialect>,
    /// The known properties of the model: its window, and its prices where the catalog has them.
    pub card: ModelCard,
    /// The time that its provider keeps a prompt in the cache after the last read, if it is known.
    pub cache_life: Option<Duration>,
    /// True if it can write digests.
    pub writes_digests: bool,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Model");
        shown.field("dialects", &self.dialects).field("card", &self.card).finish_non_exhaustive()
    }
}

impl Model {
    /// Creates a model that needs no network. Its requests must be valid in every dialect.
    pub fn offline(invoker: Arc<dyn ModelInvoker>, writes_digests: bool) -> Self {
        let (dialects, card) = (Dialect::ALL.to_vec(), ModelCard::with_window(OFFLINE_WINDOW));
        Self { invoker, dialects, card, cache_life: None, writes_digests }
    }

    /// Finds a model by its name: `offline`, `script:FILE`, or `PROVIDER:MODEL`. Nothing is sent
    /// yet.
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
    let failed =
        |error: ProviderError| AgentError::Usage(format!("{provider}:{model} can't be used: {error}"));
    let opts = ProviderOpts::from_name(provider, model, base_url).map_err(failed)?;
    let dialects = vec![opts.dialect()];
    let opts = opts.key_from_env().map_err(|error| failed(error.into()))?;
    let known = Catalog::built_in().find(model);
    let card = known.map_or_else(
        || ModelCard { id: model.to_owned(), ..ModelCard::with_window(DEFAULT_WINDOW) },
        |entry| entry.card.clone(),
    );
    let cache_life = known.and_then(|entry| entry.cache).map(|rules| Duration::from_secs(rules.life_seconds));
    let invoker = Arc::new(opts.build().map_err(failed)?);
    Ok(Model { invoker, dialects, card, cache_life, writes_digests: true })
}
