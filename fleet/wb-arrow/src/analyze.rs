//! The function, and its answers in slices.

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::ArrowError;

use crate::columns::{ColumnError, Columns};
use crate::options::Options;
use crate::row::Row;
use crate::schema::schema;

/// The most rows of a slice.
const SLICE_ROWS: usize = 1024;
/// The bytes of text after which a slice ends.
const SLICE_BYTES: usize = 8 << 20;
/// The most bytes of text in an answer: offsets have 32 bits.
const MAX_BYTES: usize = i32::MAX as usize;

/// The reason why a batch has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// Its columns are not those of sessions.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// The answer cannot be built.
    #[error("the answer cannot be built: {0}")]
    Arrow(#[from] ArrowError),
}

/// Returns a row for each row of a batch, in its order.
pub fn analyze(batch: &RecordBatch, options: &Options) -> Result<RecordBatch, AnalyzeError> {
    let columns = Columns::new(batch, &options.columns)?;
    let mut answer = Answer::new(batch.num_rows())?;
    let mut rows = Rows { columns, next: 0, end: batch.num_rows(), options };
    while let Some(row) = rows.next() {
        answer.push(row)?;
    }
    answer.finish()
}

/// Returns the same rows in batches of at most 1,024 rows and about 8 MiB of text, each computed
/// when it is asked for.
pub fn slices<'a>(batch: &'a RecordBatch, options: &'a Options) -> Result<Slices<'a>, AnalyzeError> {
    let columns = Columns::new(batch, &options.columns)?;
    Ok(Slices { rows: Rows { columns, next: 0, end: batch.num_rows(), options } })
}

/// The answers to the rows of a batch, in slices.
pub struct Slices<'a> {
    rows: Rows<'a>,
}

impl std::fmt::Debug for Slices<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slices").field("next", &self.rows.next).finish_non_exhaustive()
    }
}

impl Iterator for Slices<'_> {
    type Item = Result<RecordBatch, AnalyzeError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.rows.next < self.rows.end).then(|| {
            let mut answer = Answer::new(SLICE_ROWS)?;
            while answer.n_rows < SLICE_ROWS && answer.n_bytes < SLICE_BYTES {
                let Some(row) = self.rows.next() else { break };
                answer.push(row)?;
            }
            answer.finish()
        })
    }
}

/// The rows of a batch, analyzed one after the other.
struct Rows<'a> {
    columns: Columns<'a>,
    next: usize,
    end: usize,
    options: &'a Options,
}

impl Rows<'_> {
    fn next(&mut self) -> Option<Row> {
        let at = self.next;
        (at < self.end).then(|| {
            self.next += 1;
            Row::new(&mut self.columns, at, self.options)
        })
    }
}

/// An answer that is being built.
struct Answer {
    decoder: Decoder,
    n_rows: usize,
    n_bytes: usize,
}

impl Answer {
    fn new(capacity: usize) -> Result<Self, ArrowError> {
        let decoder = ReaderBuilder::new(schema()).with_batch_size(capacity.max(1)).build_decoder()?;
        Ok(Self { decoder, n_rows: 0, n_bytes: 0 })
    }

    /// Adds a row, which is dropped before the next is read.
    fn push(&mut self, row: Row) -> Result<(), ArrowError> {
        let row = if self.n_bytes + row.n_bytes() > MAX_BYTES { row.too_large() } else { row };
        self.n_rows += 1;
        self.n_bytes += row.n_bytes();
        self.decoder.serialize(&[row])
    }

    fn finish(mut self) -> Result<RecordBatch, AnalyzeError> {
        let batch = self.decoder.flush()?;
        Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(schema())))
    }
}
