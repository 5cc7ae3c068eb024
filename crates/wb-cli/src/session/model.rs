//! Runs the model that writes a digest, shows its progress, and adds up its cost.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use indicatif::ProgressBar;
use serde::Serialize;
use wb_budget::{Catalog, CatalogEntry, ModelCard, Usage};
use wb_conductor::{Plan, Ready, Summarizer};
use wb_invoke::{Emission, ModelInvoker, StreamOptions};
use wb_message::Conversation;
use wb_summarize::Cost;

use crate::args::model::{ModelArgs, ModelName};
use crate::platform::clock;
use crate::session::config::catalog;
use crate::session::connect::{Runtime, connect};
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// The timeout for a model's digest: a user waits for it, and the model may think.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(5);

/// The model that writes a digest.
#[derive(Debug)]
pub(crate) struct Model {
    name: String,
    watched: Arc<Watched>,
    runtime: Runtime,
    /// The catalog entry, with the user's prices applied.
    known: CatalogEntry,
    pub(crate) instructions: Option<String>,
}

impl Model {
    /// Finds the way to the model that a user names, if one is named.
    pub(crate) fn new(shell: &Shell, args: &ModelArgs) -> Result<Option<Self>, UserError> {
        let Some(name) = &args.model else { return Ok(None) };
        let catalog = catalog(shell)?;
        let known = known(&catalog, args, name);
        let (invoker, runtime) = connect(args, name, known.card.clone(), clock::new_seed())?;
        let watched = Arc::new(Watched { invoker, spent: Arc::default(), bar: Mutex::default() });
        Ok(Some(Self {
            name: name.to_string(),
            watched,
            runtime,
            known,
            instructions: args.instructions.clone(),
        }))
    }

    /// Writes the digest of a compaction.
    pub(crate) fn digest(&self, plan: Plan<'_>) -> Ready {
        let summarizer = Summarizer::new(self.watched.clone()).timeout(TIMEOUT);
        let summarizer = summarizer.instructions(self.instructions.as_deref());
        self.runtime.block_on(plan.ask(Some(&summarizer), None))
    }

    pub(crate) fn invoker(&self) -> &dyn ModelInvoker {
        self.watched.as_ref()
    }

    /// Runs a future to completion.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Runs work while the terminal shows how much the model has written.
    pub(crate) fn with_progress<T>(&self, shell: &Shell, work: impl FnOnce() -> T) -> T {
        let progress = shell.progress_of_model(&self.name);
        *locked(&self.watched.bar) = progress.bar();
        let done = work();
        *locked(&self.watched.bar) = None;
        done
    }

    /// Returns the usage and cost so far.
    pub(crate) fn spent(&self) -> Spent {
        let Cost { usage, n_requests } = *locked(&self.watched.spent);
        let prompt_tokens = usage.prompt_tokens() / (n_requests as u64).max(1);
        let prices = self.known.prices_at(prompt_tokens);
        let cost_usd = prices.map(|prices| prices.cost(&usage));
        let as_of = self.known.as_of.clone();
        Spent { name: self.name.clone(), requests: n_requests, usage, cost_usd, prices_as_of: as_of }
    }
}

/// Returns the catalog entry of a model: the user's values have precedence. Another server of the
/// same model has other prices.
fn known(catalog: &Catalog, args: &ModelArgs, name: &ModelName) -> CatalogEntry {
    let mut known = catalog.find(&name.model).cloned().unwrap_or_default();
    let is_of_provider = name.provider != "openai-compatible" && args.base_url.is_none();
    if args.price.is_some() || !is_of_provider {
        known = CatalogEntry {
            card: ModelCard { prices: args.price.clone(), ..known.card },
            ..CatalogEntry::default()
        };
    }
    known.card.context_window = args.model_window.unwrap_or(known.card.context_window);
    known.card.id.clone_from(&name.model);
    known
}

/// The usage and cost of a model request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Spent {
    name: String,
    requests: usize,
    usage: Usage,
    /// None if the prices are unknown.
    cost_usd: Option<f64>,
    /// The date of the catalog's prices; empty if the user sets them.
    #[serde(skip_serializing_if = "String::is_empty")]
    prices_as_of: String,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests == 0 {
            return write!(f, "{} was not asked", self.name);
        }
        let prompt = grouped(self.usage.prompt_tokens());
        let cached = match self.usage.cache_read_tokens {
            Some(cached) if cached > 0 => format!(", {} of them cached", grouped(cached)),
            _ => String::new(),
        };
        let cost = match self.cost_usd {
            None => "price unknown".to_owned(),
            Some(cost) if cost > 0.0 && cost < 0.0001 => "less than $0.0001".to_owned(),
            Some(cost) => format!("${cost:.4}"),
        };
        let (requests, output) =
            (count(self.requests, "request", "requests"), grouped(self.usage.output_tokens));
        write!(f, "{} in {requests}: {prompt} tokens read{cached}, {output} written, {cost}", self.name)?;
        match (self.cost_usd, self.prices_as_of.as_str()) {
            (None, _) | (_, "") => Ok(()),
            (_, day) => write!(f, " at prices of {day}"),
        }
    }
}

/// Forwards what a model emits, shows progress, and counts.
struct Watched {
    invoker: Arc<dyn ModelInvoker>,
    spent: Arc<Mutex<Cost>>,
    bar: Mutex<Option<ProgressBar>>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("spent", &self.spent).finish_non_exhaustive()
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelInvoker for Watched {
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission> {
        let (spent, bar) = (self.spent.clone(), locked(&self.bar).clone());
        let before = {
            let mut spent = locked(&spent);
            spent.n_requests += 1;
            spent.usage
        };
        let mut n_chars = 0;
        let watched = self.invoker.invoke(conversation, options).inspect(move |emission| {
            match emission {
                Emission::Usage { usage } => locked(&spent).usage = before.plus(*usage),
                Emission::Text { delta } => n_chars += delta.chars().count(),
                _ => {}
            }
            if let Some(bar) = &bar {
                bar.set_message(progress_text(emission, n_chars));
            }
        });
        watched.boxed()
    }

    fn card(&self) -> Option<ModelCard> {
        self.invoker.card()
    }
}

/// Describes what a model is doing.
fn progress_text(emission: &Emission, n_chars: usize) -> String {
    match emission {
        Emission::Thinking { .. } if n_chars == 0 => "thinks".to_owned(),
        _ => format!("has written {} characters", grouped(n_chars as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(requests: usize, cost_usd: Option<f64>, cached: Option<u64>) -> String {
        let usage = Usage {
            input_tokens: 30_000,
            output_tokens: 900,
            cache_read_tokens: cached,
            cache_write_tokens: None,
        };
        let spent =
            Spent { name: "gemini:g".to_owned(), requests, usage, cost_usd, prices_as_of: String::new() };
        let dated = Spent { prices_as_of: "2026-01-31".to_owned(), ..spent.clone() }.to_string();
        assert_eq!(dated.ends_with(" at prices of 2026-01-31"), requests > 0 && cost_usd.is_some());
        spent.to_string()
    }

    #[test]
    fn what_was_spent_is_one_line() {
        assert_eq!(
            spent(1, None, None),
            "gemini:g in 1 request: 30,000 tokens read, 900 written, price unknown"
        );
        assert_eq!(
            spent(2, Some(0.0345), Some(70_000)),
            "gemini:g in 2 requests: 100,000 tokens read, 70,000 of them cached, 900 written, $0.0345"
        );
        assert!(
            spent(1, Some(0.000_01), Some(0)).ends_with("30,000 tokens read, 900 written, less than $0.0001")
        );
        assert!(spent(1, Some(0.0), None).ends_with("$0.0000"));
        assert_eq!(spent(0, None, None), "gemini:g was not asked");
    }
}
