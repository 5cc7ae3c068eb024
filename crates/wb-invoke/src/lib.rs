//! The seam to a model.
//!
//! A host implements [`ModelInvoker`], or builds one from a closure with [`from_fn`]. It takes a
//! conversation and [`StreamOptions`] and returns a stream of [`Emission`]s; a failure is an
//! emission, and a retry is another call. [`collect_text`] reads a stream to its end, and
//! [`timer::within`] limits the time of a reply, without a runtime.
//!
//! ```
//! use futures::executor::block_on;
//! use wb_invoke::{ModelInvoker, StreamOptions, collect_text, from_fn};
//! use wb_message::Conversation;
//!
//! let model = from_fn(async |_conversation| Ok::<_, String>("four".to_owned()));
//! let reply = model.invoke(Conversation::default(), StreamOptions::default());
//! assert_eq!(block_on(collect_text(reply)).as_deref(), Some("four"));
//! ```

pub mod invoker;
mod from_fn;
pub mod timer;
#[cfg(feature = "scripted")]
pub mod scripted;

pub use from_fn::{FnInvoker, from_fn};
pub use futures_util::stream::BoxStream;
pub use invoker::{
    Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions, ThinkingLevel, collect_text,
    reply_text,
};
pub use wb_budget::{ModelCard, Usage};
pub use wb_message::{Block, Conversation, Turn, json};
