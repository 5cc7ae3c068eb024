//! Encodes requests to model providers, validates them and repairs them.
//!
//! A provider refuses a whole request for one call without its result. [`encode`] writes a
//! conversation in a [`Dialect`], [`validate`] lists what the provider would refuse, and [`repair`]
//! fixes it. The rules are data: [`RULES`] has a row for each, with its statement, its dialects and
//! a source for each of them. The crate knows neither HTTP nor files nor sessions.
//!
//! ```
//! use serde_json::json;
//! use wb_dialect::{Dialect, EncodedRequest, repair, validate};
//! use wb_message::{Block, Message};
//!
//! let messages = [
//!     Message::user("What is in it?"),
//!     Message::assistant_blocks(vec![Block::call("c1", "read", json!({ "path": "a.rs" }))]),
//!     Message::user("Never mind."),
//! ];
//! let mut request = EncodedRequest::from_messages(&messages, Dialect::Anthropic);
//! let found = request.validate();
//! assert_eq!(
//!     found[0].to_string(),
//!     "message 1: call-unanswered: call `c1` of `read` has no result; \
//!      answer the call with a result that says it was interrupted [anthropic]"
//! );
//! repair(&mut request.body, Dialect::Anthropic);
//! assert_eq!(request.body["messages"][2]["content"][0]["type"], "tool_result");
//! assert_eq!(validate(&request.body, Dialect::Anthropic), []);
//! ```

mod dialect;
mod arguments;
mod call_ids;
mod tool_names;
mod thinking_signature;
mod piece;
mod encode;
mod pointer;
mod picture_header;
mod request;
mod request_edit;
mod rules;
mod violation;
mod validate;
mod repair;
mod refused_pictures;

pub use dialect::{Dialect, UnknownDialectError};
pub use encode::{EncodedRequest, VerbatimParts, encode};
pub use refused_pictures::RefusedPicture;
pub use repair::repair;
pub use rules::{RULES, Rule};
pub use tool_names::call_name;
pub use validate::validate;
pub use violation::Violation;
pub use wb_message::{Block, Conversation, Message, ToolDescriptor, Turn, json};
