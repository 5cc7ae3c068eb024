//! The function over a stream of batches.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::analyze::slices;
use crate::options::Options;
use crate::schema::schema;

/// A reader of batches as a reader of their answers, in the same order, with one slice in memory.
#[derive(Debug)]
pub struct AnalyzedReader<R> {
    batches: R,
    /// The batch that is answered, with its rows that are not.
    rest: Option<RecordBatch>,
    options: Options,
}

impl<R> AnalyzedReader<R> {
    /// Analyzes what a reader reads.
    pub fn new(batches: R, options: Options) -> Self {
        Self { batches, rest: None, options }
    }

    /// Answers the next rows of a batch and keeps the others.
    fn answer(&mut self, batch: &RecordBatch) -> Option<Result<RecordBatch, ArrowError>> {
        let failed = |error| ArrowError::ExternalError(Box::new(error));
        let answer = match slices(batch, &self.options) {
            Ok(mut slices) => slices.next()?.map_err(failed),
            Err(error) => Err(failed(error)),
        };
        let n_rows = answer.as_ref().map_or(batch.num_rows(), RecordBatch::num_rows);
        self.rest = (n_rows < batch.num_rows()).then(|| batch.slice(n_rows, batch.num_rows() - n_rows));
        Some(answer)
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for AnalyzedReader<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.rest.take().map(Ok).or_else(|| self.batches.next())? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            if let Some(answer) = self.answer(&batch) {
                return Some(answer);
            }
        }
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> RecordBatchReader for AnalyzedReader<R> {
    fn schema(&self) -> SchemaRef {
        schema()
    }
}
