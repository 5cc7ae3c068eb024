//! Sessions of agents in Arrow: one function from a batch of sessions to a batch with a row for
//! each, which weighs it, validates it, lists its facts, audits its summary and compacts it.
//!
//! [`analyze`] is pure and keeps no state, so an engine may call it on any worker, with batches of
//! any size, in any order and again after a failure. A row that cannot be read is a row with an
//! error. [`slices`] and [`AnalyzedReader`] answer a large batch in several
//! small ones. The columns are described in
//! `docs/reference/arrow.md`.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, RecordBatch, StringArray, cast::AsArray, types::Int64Type};
//! use wb_arrow::{Options, analyze};
//!
//! let messages = StringArray::from(vec![r#"[{"role": "user", "content": "Hello."}]"#, "no JSON"]);
//! let batch = RecordBatch::try_from_iter([("messages", Arc::new(messages) as ArrayRef)])?;
//! let answer = analyze(&batch, &Options::default())?;
//! assert_eq!(answer["n_messages"].as_primitive::<Int64Type>().value(0), 1);
//! assert!(answer["error"].is_null(0) && answer["error"].is_valid(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod options;
mod schema;
mod columns;
mod row;
mod analyze;
mod reader;

pub use analyze::{AnalyzeError, Slices, analyze, slices};
pub use arrow_array::RecordBatch;
pub use columns::ColumnError;
pub use options::{ColumnNames, Options, Part};
pub use reader::AnalyzedReader;
pub use schema::{SCHEMA_VERSION, VERSION_KEY, schema};
