//! JSON lines as batches of texts: messages of any shape, which no column type of an engine holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::value::RawValue;
use wb_arrow::ColumnNames;

/// The bytes of lines after which a batch ends.
const BATCH_BYTES: usize = 2 << 20;

/// One file of JSON lines.
pub(crate) struct JsonLines {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) columns: ColumnNames,
    schema: SchemaRef,
}

impl std::fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JsonLines({})", self.path)
    }
}

impl JsonLines {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path, columns: ColumnNames) -> Self {
        let schema = schema(&columns);
        Self { store, path, columns, schema }
    }
}

/// Returns the columns that a line has.
pub(crate) fn schema(columns: &ColumnNames) -> SchemaRef {
    let names = [&columns.id, &columns.format, &columns.messages, &columns.summary];
    let fields: Vec<Field> = names.map(|name| Field::new(name, DataType::Utf8, true)).into();
    Arc::new(Schema::new(fields))
}

impl PartitionStream for JsonLines {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (store, path) = (self.store.clone(), self.path.clone());
        let open = async move {
            Ok::<_, DataFusionError>(store.get(&path).await?.into_stream().map_err(DataFusionError::from))
        };
        let chunks = stream::once(open).try_flatten().boxed();
        let lines = Lines {
            chunks,
            rest: Vec::new(),
            columns: self.columns.clone(),
            schema: self.schema.clone(),
            file: self.path.to_string(),
            n_read: 0,
            is_done: false,
        };
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), lines.batches()))
    }
}

/// The lines of a file that arrives in chunks.
struct Lines<S> {
    chunks: S,
    rest: Vec<u8>,
    columns: ColumnNames,
    schema: SchemaRef,
    file: String,
    n_read: usize,
    is_done: bool,
}

impl<S, B> Lines<S>
where
    S: Stream<Item = Result<B>> + Unpin + Send,
    B: AsRef<[u8]>,
{
    fn batches(self) -> impl Stream<Item = Result<RecordBatch>> + Send {
        stream::try_unfold(
            self,
            |mut lines| async move { Ok(lines.next().await?.map(|batch| (batch, lines))) },
        )
    }

    /// Reads until there is enough for a batch.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while !self.is_done && (self.rest.len() < BATCH_BYTES || !self.rest.contains(&b'\n')) {
            match self.chunks.try_next().await? {
                Some(chunk) => self.rest.extend_from_slice(chunk.as_ref()),
                None => self.is_done = true,
            }
        }
        let end = if self.is_done { Some(self.rest.len()) } else { last_line_end(&self.rest) };
        let Some(end) = end.filter(|end| *end > 0) else { return Ok(None) };
        let later = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, later);
        self.batch(&whole).map(Some)
    }

    fn batch(&mut self, bytes: &[u8]) -> Result<RecordBatch> {
        let text = String::from_utf8_lossy(bytes);
        let mut rows = Vec::new();
        for line in text.lines() {
            self.n_read += 1;
            if !line.trim().is_empty() {
                rows.push(self.row(line));
            }
        }
        let columns = (0..4).map(|at| {
            let texts: StringArray = rows.iter().map(|row| row[at].as_deref()).collect();
            Arc::new(texts) as ArrayRef
        });
        Ok(RecordBatch::try_new(self.schema.clone(), columns.collect())?)
    }

    /// Returns id, format, messages and summary of a line; what is no object cannot be read.
    fn row<'a>(&self, line: &'a str) -> [Option<Cow<'a, str>>; 4] {
        let place = || Some(Cow::Owned(format!("{}:{}", self.file, self.n_read)));
        let Ok(fields) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(line) else {
            return [place(), None, Some(line.into()), None];
        };
        let text = |name: &str| fields.get(name).and_then(|value| text(value.get()));
        let ColumnNames { id, format, messages, summary } = &self.columns;
        [text(id).or_else(place), text(format), text(messages), text(summary)]
    }
}

/// Returns a value as a text; what is no text is its JSON.
fn text(json: &str) -> Option<Cow<'_, str>> {
    match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
        _ if json == "null" => None,
        _ => Some(Cow::Borrowed(json)),
    }
}

fn last_line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1)
}
