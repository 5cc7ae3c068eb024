//! Models over HTTP.

use std::sync::Arc;

use wb_budget::ModelCard;
use wb_invoke::ModelInvoker;
use wb_providers::{Key, KeyError, ProviderError, ProviderOpts, RetryPolicy};

use crate::args::model::{ModelArgs, ModelName};
use crate::terminal::user_error::UserError;

/// The hint that works in any case.
const OFFLINE: &str = "without --model, wb works offline";

/// The runtime that waits for a model.
#[derive(Debug)]
pub(crate) struct HttpRuntime(tokio::runtime::Runtime);

impl HttpRuntime {
    fn new() -> Result<Self, UserError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        runtime
            .map(Self)
            .map_err(|error| UserError::new(format!("can't start the runtime: {error}"), OFFLINE))
    }

    /// Waits.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

/// Prepares the connection to a model; nothing is sent yet.
pub(crate) fn connect(
    args: &ModelArgs,
    name: &ModelName,
    card: ModelCard,
    seed: u64,
) -> Result<(Arc<dyn ModelInvoker>, HttpRuntime), UserError> {
    let retry = RetryPolicy { seed, ..RetryPolicy::default() };
    let refused = |error: ProviderError| {
        let hint = match error {
            ProviderError::BaseUrl(_) | ProviderError::NoBaseUrl => {
                "name one with --base-url, such as http://localhost:11434/v1"
            }
            ProviderError::Unencrypted { .. } => {
                "use https; over a network that you trust, --insecure sends it all the same"
            }
            _ => OFFLINE,
        };
        UserError::new(format!("{name} can't be used: {error}"), hint)
    };
    let opts =
        ProviderOpts::from_name(&name.provider, &name.model, args.base_url.as_deref()).map_err(refused)?;
    let mut opts = with_key(opts, args, name)?.retry(retry);
    if args.insecure {
        opts = opts.insecure();
    }
    if card.context_window > 0 {
        opts = opts.card(card);
    }
    let invoker = opts.build().map_err(refused)?;
    Ok((Arc::new(invoker), HttpRuntime::new()?))
}

/// Adds the key: that of the file, else that of the environment.
fn with_key(opts: ProviderOpts, args: &ModelArgs, name: &ModelName) -> Result<ProviderOpts, UserError> {
    if let Some(file) = &args.key_file {
        let failed = |error: KeyError| {
            UserError::of_file(
                file.display().to_string(),
                error.to_string(),
                "name a file with the key and nothing else",
            )
        };
        return Ok(opts.key(Key::from_file(file).map_err(failed)?));
    }
    let first = opts.key_names().first().copied().unwrap_or_default();
    opts.key_from_env().map_err(|error| {
        let hint = format!("set {first}, or name a file that holds the key with --key-file; {OFFLINE}");
        UserError::new(format!("{name} can't be used: {error}"), hint)
    })
}
