//! Generated rows in batches, and the sum of the answers to them.

use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, StructArray, cast::AsArray};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::row::{RowConverter, SortField};

use crate::sessions::{FORMATS, session};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The bytes of a batch.
const BATCH_BYTES: usize = 1 << 20;
/// The most rows of a batch.
const BATCH_ROWS: usize = 256;

/// Rows of some size; each is made from its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) n: usize,
    /// The bytes of each, about.
    pub(crate) n_bytes: usize,
}

impl Rows {
    /// Returns the rows of each batch of one of several partitions.
    pub(crate) fn batches(self, nth: usize, partitions: usize) -> impl Iterator<Item = Range<usize>> {
        let size = (BATCH_BYTES / self.n_bytes.max(1)).clamp(1, BATCH_ROWS);
        let starts = (0..self.n).step_by(size).skip(nth).step_by(partitions.max(1));
        starts.map(move |start| start..(start + size).min(self.n))
    }

    /// Makes a batch with all formats in turn.
    pub(crate) fn batch(self, rows: Range<usize>) -> Outcome<RecordBatch> {
        let format = |nth: usize| FORMATS[nth % FORMATS.len()];
        let ids: StringArray = rows.clone().map(|nth| Some(format!("s{nth:08}"))).collect();
        let formats: StringArray = rows.clone().map(|nth| Some(format(nth))).collect();
        let messages: StringArray =
            rows.map(|nth| Some(session(format(nth), nth as u64, self.n_bytes))).collect();
        let columns = [("id", ids), ("format", formats), ("messages", messages)];
        Ok(RecordBatch::try_from_iter(columns.map(|(name, column)| (name, Arc::new(column) as ArrayRef)))?)
    }

    /// Writes all rows as a stream of Arrow.
    pub(crate) fn write(self, out: impl Write) -> Outcome<()> {
        let mut writer = StreamWriter::try_new(out, &self.batch(0..0)?.schema())?;
        self.batches(0, 1)
            .try_for_each(|rows| Ok::<(), Box<dyn Error>>(writer.write(&self.batch(rows)?)?))?;
        Ok(writer.finish()?)
    }
}

/// Returns the bytes of the messages of a batch.
pub(crate) fn text_bytes(batch: &RecordBatch) -> u64 {
    batch["messages"].as_string::<i32>().iter().flatten().map(|text| text.len() as u64).sum()
}

/// The sum of the hashes of answers, which is the same in each order.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) n_rows: usize,
    pub(crate) n_errors: usize,
    pub(crate) hash: u64,
    converter: Option<RowConverter>,
}

impl Sum {
    /// Adds answers as the function gives them.
    pub(crate) fn add(&mut self, answers: &RecordBatch) -> Outcome<()> {
        let errors = &answers["error"];
        self.n_rows += answers.num_rows();
        self.n_errors += answers.num_rows() - errors.null_count();
        let types = answers.schema();
        let converter = if let Some(converter) = self.converter.take() {
            converter
        } else {
            let fields = types.fields().iter().map(|field| SortField::new(field.data_type().clone()));
            RowConverter::new(fields.collect())?
        };
        let rows = converter.convert_columns(answers.columns())?;
        for row in &rows {
            let mut hasher = DefaultHasher::new();
            hasher.write(row.as_ref());
            self.hash = self.hash.wrapping_add(hasher.finish());
        }
        self.converter = Some(converter);
        Ok(())
    }

    /// Adds ids with answers as a query gives them.
    pub(crate) fn add_struct(&mut self, ids: &ArrayRef, answers: &StructArray) -> Outcome<()> {
        let ids = datafusion::arrow::compute::cast(ids, &arrow_schema::DataType::Utf8)?;
        let columns: Vec<ArrayRef> = std::iter::once(ids).chain(answers.columns().iter().cloned()).collect();
        self.add(&RecordBatch::try_new(wb_arrow::schema(), columns)?)
    }

    /// Adds a stream of Arrow; shows the rows so far.
    pub(crate) fn add_stream(
        &mut self,
        stream: impl Read,
        mut show: impl FnMut(usize) -> Outcome<()>,
    ) -> Outcome<()> {
        for batch in StreamReader::try_new(stream, None)? {
            self.add(&batch?)?;
            show(self.n_rows)?;
        }
        Ok(())
    }
}
