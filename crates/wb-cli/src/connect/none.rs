//! No way to models.

use std::sync::Arc;

use wb_summarize::ModelInvoker;

use crate::model_args::{ModelArgs, ModelName};
use crate::user_error::UserError;

/// What waits for a model.
#[derive(Debug)]
pub(crate) struct Runtime;

impl Runtime {
    /// Waits.
    #[expect(clippy::unused_self, reason = "the other one has a runtime")]
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        futures::executor::block_on(future)
    }
}

/// Refuses to reach a model.
pub(crate) fn connect(
    _: &ModelArgs,
    name: &ModelName,
    _: u64,
) -> Result<(Arc<dyn ModelInvoker>, Runtime), UserError> {
    let what = format!("{name} cannot be asked: this `wb` was built without a way to models");
    Err(UserError::new(what, "build it with --features models; without --model it works offline"))
}
