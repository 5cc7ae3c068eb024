//! What providers are sent: encoded in the dialect of each.
//!
//! ```
//! use serde_json::json;
//! use wb_dialect::{Dialect, encode};
//! use wb_message::{Conversation, Turn};
//!
//! let conversation = Conversation { turns: vec![Turn::user("Hello")], ..Conversation::default() };
//! assert_eq!(
//!     encode(&conversation, Dialect::Gemini),
//!     json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] })
//! );
//! ```

pub mod dialect;
mod call_ids;
mod piece;
pub mod encode;

pub use dialect::{Dialect, UnknownDialectError};
pub use encode::{Encoded, encode};
