//! Models over HTTP.

use std::sync::Arc;

use wb_budget::ModelCard;
use wb_providers::{Key, KeyError, ProviderError, ProviderOpts, RetryPolicy};
use wb_summarize::ModelInvoker;

use crate::model_args::{ModelArgs, ModelName, Provider};
use crate::user_error::UserError;

/// Holds the key of a server that is not `OpenAI`'s: its key must not go elsewhere.
const COMPATIBLE_KEY: &str = "OPENAI_COMPATIBLE_API_KEY";
/// What works in any case.
const OFFLINE: &str = "without --model no model is asked, and it works offline";

/// What waits for a model.
#[derive(Debug)]
pub(crate) struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    fn new() -> Result<Self, UserError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        runtime.map(Self).map_err(|error| UserError::new(format!("nothing can be asked: {error}"), OFFLINE))
    }

    /// Waits.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

/// Finds the way to a model; nothing is sent yet.
pub(crate) fn connect(
    args: &ModelArgs,
    name: &ModelName,
    seed: u64,
) -> Result<(Arc<dyn ModelInvoker>, Runtime), UserError> {
    let retry = RetryPolicy { seed, ..RetryPolicy::default() };
    let mut opts = with_key(opts(args, name)?, args, name)?.retry(retry);
    if let Some(window) = args.model_window {
        opts = opts.card(ModelCard { id: name.model.clone(), ..ModelCard::with_window(window) });
    }
    let invoker = opts.build().map_err(|error| match error {
        ProviderError::BaseUrl(_) => {
            UserError::new(error.to_string(), "name one such as http://localhost:11434/v1")
        }
        other => UserError::new(format!("{name} cannot be asked: {other}"), OFFLINE),
    })?;
    Ok((Arc::new(invoker), Runtime::new()?))
}

fn opts(args: &ModelArgs, name: &ModelName) -> Result<ProviderOpts, UserError> {
    let opts: fn(String) -> ProviderOpts = match (name.provider, &args.base_url) {
        (Provider::Anthropic, _) => ProviderOpts::anthropic,
        (Provider::Openai, _) => ProviderOpts::openai,
        (Provider::OpenaiResponses, _) => ProviderOpts::openai_responses,
        (Provider::Gemini, _) => ProviderOpts::gemini,
        (Provider::OpenaiCompatible, Some(url)) => {
            return Ok(ProviderOpts::openai_compatible(&name.model, url));
        }
        (Provider::OpenaiCompatible, None) => {
            let hint = "name it, such as --base-url http://localhost:11434/v1";
            return Err(UserError::new(
                "a server that is compatible with OpenAI has no address of its own",
                hint,
            ));
        }
    };
    let opts = opts(name.model.clone());
    Ok(match &args.base_url {
        Some(url) => opts.base_url(url),
        None => opts,
    })
}

/// Adds the key: that of the file, else that of the environment. A server of one's own may need none.
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
    let is_own = name.provider == Provider::OpenaiCompatible;
    let names: &[&str] = if is_own { &[COMPATIBLE_KEY] } else { opts.key_names() };
    match Key::from_env(names) {
        Ok(key) => Ok(opts.key(key)),
        Err(KeyError::NotSet { .. }) if is_own => Ok(opts),
        Err(error) => {
            let first = names.first().copied().unwrap_or_default();
            let hint = format!("set {first}, or name a file that holds the key with --key-file; {OFFLINE}");
            Err(UserError::new(format!("{name} cannot be asked: {error}"), hint))
        }
    }
}
