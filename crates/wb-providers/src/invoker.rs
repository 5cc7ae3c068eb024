//! A model over HTTP, and its options.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use serde_json::{Map, Value};
use wb_budget::ModelCard;
use wb_dialect::{Dialect, encode};
use wb_invoke::{Emission, ModelInvoker, StreamOptions};
use wb_message::Conversation;

use crate::error::ProviderError;
use crate::exchange::{Exchange, Request};
use crate::http::{self, TimeLimits};
use crate::key::{Key, KeyError};
use crate::protocol::{Protocol, RequestParams};
use crate::retry::RetryPolicy;

/// The address of Ollama on this machine, by its documentation.
#[cfg(feature = "openai")]
const OLLAMA_URL: &str = "http://localhost:11434/v1";

/// Options of a model over HTTP. Start with the protocol's constructor and end with
/// [`build`](Self::build).
///
/// [`fmt::Debug`] shows neither the key nor the value of any header.
#[derive(Clone)]
pub struct ProviderOpts {
    protocol: &'static dyn Protocol,
    model: String,
    key: Option<Key>,
    base_url: String,
    headers: Vec<(String, String)>,
    extra: Map<String, Value>,
    limits: TimeLimits,
    retry: RetryPolicy,
    card: Option<ModelCard>,
    reasons: Option<bool>,
    is_insecure: bool,
}

impl fmt::Debug for ProviderOpts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("ProviderOpts");
        shown.field("protocol", &self.protocol).field("model", &self.model).field("key", &self.key);
        shown.field("base_url", &self.base_url).field("headers", &names).field("limits", &self.limits);
        shown.field("retry", &self.retry).field("card", &self.card).finish_non_exhaustive()
    }
}

impl ProviderOpts {
    fn new(protocol: &'static dyn Protocol, model: impl Into<String>) -> Self {
        Self {
            protocol,
            model: model.into(),
            key: None,
            base_url: protocol.base_url().to_owned(),
            headers: Vec::new(),
            extra: Map::new(),
            limits: TimeLimits::default(),
            retry: RetryPolicy::default(),
            card: None,
            reasons: None,
            is_insecure: false,
        }
    }

    /// Creates options for a provider by its name in [`PROVIDERS`](crate::PROVIDERS), or for
    /// `ollama` on this machine.
    pub fn from_name(
        provider: &str,
        model: impl Into<String>,
        base_url: Option<&str>,
    ) -> Result<Self, ProviderError> {
        let model: String = model.into();
        let opts: Option<Self> = match (provider, model) {
            #[cfg(feature = "anthropic")]
            ("anthropic", model) => Some(Self::anthropic(model)),
            #[cfg(feature = "openai")]
            ("openai", model) => Some(Self::openai(model)),
            #[cfg(feature = "openai-responses")]
            ("openai-responses", model) => Some(Self::openai_responses(model)),
            #[cfg(feature = "gemini")]
            ("gemini", model) => Some(Self::gemini(model)),
            #[cfg(feature = "openai")]
            ("openai-compatible", model) => {
                Some(Self::openai_compatible(model, base_url.ok_or(ProviderError::NoBaseUrl)?))
            }
            #[cfg(feature = "openai")]
            ("ollama", model) => Some(Self::openai_compatible(model, base_url.unwrap_or(OLLAMA_URL))),
            _ => None,
        };
        let opts = opts.ok_or_else(|| ProviderError::Unknown { name: provider.to_owned() })?;
        Ok(match base_url {
            Some(url) => opts.base_url(url),
            None => opts,
        })
    }

    /// Creates options for a model of `OpenAI` over chat completions.
    #[cfg(feature = "openai")]
    pub fn openai(model: impl Into<String>) -> Self {
        Self::new(&crate::openai::OPENAI, model)
    }

    /// Creates options for a server with `OpenAI`'s chat completions: Ollama, llama.cpp, vLLM,
    /// `OpenRouter`.
    ///
    /// The base URL ends before `/chat/completions`, as in `http://localhost:11434/v1`. The key is
    /// optional.
    #[cfg(feature = "openai")]
    pub fn openai_compatible(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self::new(&crate::openai::COMPATIBLE, model).base_url(base_url)
    }

    /// Creates options for a model of `OpenAI` over Responses.
    #[cfg(feature = "openai-responses")]
    pub fn openai_responses(model: impl Into<String>) -> Self {
        Self::new(&crate::openai_responses::Responses, model)
    }

    /// Creates options for a model of Anthropic over Messages.
    #[cfg(feature = "anthropic")]
    pub fn anthropic(model: impl Into<String>) -> Self {
        Self::new(&crate::anthropic::Anthropic, model)
    }

    /// Creates options for a model of Google over `streamGenerateContent`.
    #[cfg(feature = "gemini")]
    pub fn gemini(model: impl Into<String>) -> Self {
        Self::new(&crate::gemini::Gemini, model)
    }

    /// Returns the environment variables for the provider's key; the first one that is set is used.
    pub fn key_names(&self) -> &'static [&'static str] {
        self.protocol.key_names()
    }

    /// Returns the dialect in which conversations are sent.
    pub fn dialect(&self) -> Dialect {
        self.protocol.dialect()
    }

    /// Reads the key from the provider's environment variables; a compatible server needs none.
    pub fn key_from_env(self) -> Result<Self, KeyError> {
        match Key::from_env(self.key_names()) {
            Ok(key) => Ok(self.key(key)),
            Err(KeyError::NotSet { .. }) if !self.protocol.needs_key() => Ok(self),
            Err(error) => Err(error),
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the base URL, such as that of a proxy, a gateway or a local server. As in the
    /// providers' libraries, it ends with `/v1` for `OpenAI`; for the others, the version is
    /// optional.
    #[must_use]
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets a field in the body of every request.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Sets the time limits.
    #[must_use]
    pub fn limits(mut self, limits: TimeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the model card, so that input can be fitted to the window.
    #[must_use]
    pub fn card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Sets whether the model reasons before it answers; the default is from its card or its name.
    ///
    /// A reasoning model gets a level of thinking, and room for it in addition to the visible
    /// answer.
    #[must_use]
    pub fn reasons(mut self, reasons: bool) -> Self {
        self.reasons = Some(reasons);
        self
    }

    /// Sends the key and custom headers over plain `http` to another machine too, which
    /// [`build`](Self::build) refuses otherwise: everyone on the way can read them.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.is_insecure = true;
        self
    }

    /// Builds the invoker, without sending anything.
    pub fn build(self) -> Result<HttpInvoker, ProviderError> {
        if self.model.trim().is_empty() {
            return Err(ProviderError::NoModel);
        }
        let base = http::base_url(&self.base_url)?;
        let custom = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut headers = http::headers(self.protocol.headers().iter().copied().chain(custom))?;
        let has_secrets = self.key.is_some() || !self.headers.is_empty();
        if has_secrets && !self.is_insecure && http::is_in_the_clear(&base) {
            return Err(ProviderError::Unencrypted { host: base.host_str().unwrap_or_default().to_owned() });
        }
        if let Some(key) = &self.key {
            let (name, value) = self.protocol.key_header(key).ok_or(KeyError::Characters)?;
            headers.insert(name, value);
        }
        let client = http::client(&base, &self.limits)?;
        Ok(HttpInvoker {
            inner: Arc::new(Inner { opts: self, base, headers, client, n_requests: AtomicU64::new(0) }),
        })
    }
}

/// A model over HTTP. It needs a tokio runtime with I/O and time; clones share connections.
///
/// A request is sent when its stream is first polled. Cancelling the request or dropping the stream
/// closes the connection. A stream ends with [`Emission::Done`], after a cancel with the partial
/// answer and [`StopReason::Aborted`], or with [`Emission::Error`].
///
/// [`StopReason::Aborted`]: wb_invoke::StopReason::Aborted
#[derive(Clone)]
pub struct HttpInvoker {
    inner: Arc<Inner>,
}

struct Inner {
    opts: ProviderOpts,
    base: Url,
    headers: HeaderMap,
    client: Client,
    n_requests: AtomicU64,
}

impl fmt::Debug for HttpInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpInvoker").field("opts", &self.inner.opts).finish_non_exhaustive()
    }
}

impl HttpInvoker {
    /// Returns the request body for a conversation.
    pub fn body(&self, conversation: &Conversation, options: &StreamOptions) -> Value {
        let ProviderOpts { protocol, model, card, reasons, extra, .. } = &self.inner.opts;
        let model = options.model.as_deref().unwrap_or(model);
        let is_known = || card.as_ref().is_some_and(|card| card.reasoning) || protocol.reasons(model);
        let params = RequestParams {
            model,
            visible_tokens: options.max_output_tokens,
            thinking: options.thinking,
            reasons: reasons.unwrap_or_else(is_known),
            prompt_cache: options.prompt_cache,
            max_output_tokens: card.as_ref().map_or(0, |card| card.max_output_tokens),
        };
        let mut body = Map::new();
        protocol.fill(&mut body, &params);
        if let Value::Object(encoded) = encode(conversation, protocol.dialect()) {
            body.extend(encoded);
        }
        body.extend(extra.clone());
        Value::Object(body)
    }

    fn exchange(&self, conversation: &Conversation, options: StreamOptions) -> Exchange {
        let Inner { opts, base, headers, client, n_requests } = self.inner.as_ref();
        let (path, query) = opts.protocol.path(options.model.as_deref().unwrap_or(&opts.model));
        let request = Request {
            client: client.clone(),
            url: http::join_url(base, &path, query),
            headers: headers.clone(),
            body: self.body(conversation, &options).to_string().into_bytes(),
            number: n_requests.fetch_add(1, Ordering::Relaxed),
        };
        let cancel = options.cancel.unwrap_or_default();
        Exchange::new(request, opts.protocol, opts.key.clone(), (opts.limits, opts.retry), cancel)
    }
}

impl ModelInvoker for HttpInvoker {
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission> {
        let exchange = self.exchange(&conversation, options);
        stream::unfold(exchange, |mut exchange| async {
            let emission = exchange.next().await?;
            Some((emission, exchange))
        })
        .boxed()
    }

    fn card(&self) -> Option<ModelCard> {
        self.inner.opts.card.clone()
    }
}
