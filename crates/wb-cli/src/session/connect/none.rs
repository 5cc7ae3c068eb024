//! A build without a connection to models.

use std::sync::Arc;

use wb_budget::ModelCard;
use wb_invoke::ModelInvoker;

use crate::args::model::{ModelArgs, ModelName};
use crate::terminal::user_error::UserError;

/// The runtime of a build that reaches no model.
#[derive(Debug)]
pub(crate) enum NoRuntime {}

impl NoRuntime {
    /// Waits.
    pub(crate) fn block_on<T>(&self, _: impl Future<Output = T>) -> T {
        match *self {}
    }
}

/// Refuses to reach a model.
pub(crate) fn connect(
    _: &ModelArgs,
    name: &ModelName,
    _: ModelCard,
    _: u64,
) -> Result<(Arc<dyn ModelInvoker>, NoRuntime), UserError> {
    let what = format!("{name} can't be used: this `wb` was built without model support");
    Err(UserError::new(what, "build it with --features models; without --model it works offline"))
}
