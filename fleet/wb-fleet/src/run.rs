//! The function over all rows of some inputs.

use std::path::Path;

use datafusion::dataframe::{DataFrame, DataFrameWriteOptions};
use datafusion::prelude::{SessionConfig, SessionContext};
use wb_arrow::Options;

use crate::error::FleetError;
use crate::function::{FUNCTION, function};
use crate::source;

/// The rows that are analyzed and held at once in each partition.
const BATCH_ROWS: usize = 256;

/// The inputs and the options of an analysis.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Files, folders and `s3://BUCKET/PREFIX`.
    pub inputs: Vec<String>,
    /// The options of `docs/reference/arrow.md` in JSON.
    pub options: String,
    /// The number of partitions that are analyzed at once; one for each core if 0.
    pub partitions: usize,
}

impl Job {
    /// Returns a session of DataFusion with the function.
    pub fn context(&self) -> SessionContext {
        let mut config = SessionConfig::new().with_batch_size(BATCH_ROWS);
        if self.partitions > 0 {
            config = config.with_target_partitions(self.partitions);
        }
        let context = SessionContext::new_with_config(config);
        context.register_udf(function());
        context
    }
}

/// Returns the id of each row and the struct `answer` that the function gives for it.
pub async fn answers(context: &SessionContext, job: &Job) -> Result<DataFrame, FleetError> {
    let names = Options::parse(&job.options)?.columns;
    let input = source::open(context, &job.inputs, &names).await?;
    let known: Vec<String> = input.schema().fields().iter().map(|field| field.name().clone()).collect();
    if !known.contains(&names.messages) {
        return Err(FleetError::NoMessages(names.messages, known.join(", ")));
    }
    let column = |name: &str| {
        let is_known = known.iter().any(|it| it == name);
        if is_known { format!("\"{}\"", name.replace('"', "\"\"")) } else { "NULL".to_owned() }
    };
    let _ = context.deregister_table("input")?;
    context.register_table("input", input.into_view())?;
    let sql = format!(
        "SELECT CAST({id} AS VARCHAR) AS id, {FUNCTION}({messages}, {format}, {summary}, '{options}') AS answer FROM input",
        id = column(&names.id),
        messages = column(&names.messages),
        format = column(&names.format),
        summary = column(&names.summary),
        options = job.options.replace('\'', "''"),
    );
    Ok(context.sql(&sql).await?)
}

/// Writes the answers for all rows as Parquet into a new folder that only its owner can read.
pub async fn write_answers(job: &Job, folder: &Path) -> Result<(), FleetError> {
    let failed = |error| FleetError::Write(folder.display().to_string(), error);
    let context = job.context();
    let answers = answers(&context, job).await?;
    context.register_table("analyzed", answers.into_view())?;
    let fields = wb_arrow::schema();
    let columns = fields.fields().iter().skip(1);
    let columns: Vec<String> =
        columns.map(|field| format!("get_field(answer, '{0}') AS \"{0}\"", field.name())).collect();
    let rows = context.sql(&format!("SELECT id, {} FROM analyzed", columns.join(", "))).await?;
    create_private(folder).map_err(failed)?;
    let place = format!("{}/", folder.display());
    rows.write_parquet(&place, DataFrameWriteOptions::new(), None).await?;
    Ok(())
}

fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
