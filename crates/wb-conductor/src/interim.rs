
//! interim
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wb_budget::ModelCard;
use wb_summarize::{Cost, DigestRequest, ModelInvoker, NoDigest};
use wb_summarize::timer::within;
#[derive(Clone)]
pub struct Summarizer { invoker: Arc<dyn ModelInvoker>, timeout: Duration, model: Option<String> }
impl std::fmt::Debug for Summarizer { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("Summarizer") } }
pub struct ModelDigest { pub text: String, pub cut_off: bool }
impl Summarizer {
    pub fn new(invoker: Arc<dyn ModelInvoker>) -> Self { Self { invoker, timeout: Duration::from_secs(120), model: None } }
    #[must_use] pub fn timeout(mut self, t: Duration) -> Self { self.timeout = t; self }
    #[must_use] pub fn model(mut self, m: Option<String>) -> Self { self.model = m; self }
    pub fn card(&self) -> Option<ModelCard> { self.invoker.card() }
}
pub async fn ask(mut request: DigestRequest, by: &Summarizer, cancel: Option<&CancellationToken>, cost: &mut Cost) -> Result<ModelDigest, NoDigest> {
    request.model.clone_from(&by.model);
    let limit = (by.timeout < Duration::MAX).then_some(by.timeout);
    within(limit, request.ask(by.invoker.as_ref(), cancel, cost)).await.unwrap_or(Err(NoDigest::TimedOut)).map(|text| ModelDigest { text, cut_off: false })
}
