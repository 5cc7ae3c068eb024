//! Errors, each with what to do next.

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// An input does not exist.
    #[error("{0}: {1}; name Parquet or JSON lines: a file, a folder or s3://BUCKET/PREFIX")]
    File(String, std::io::Error),
    /// An input has no file to read.
    #[error("{0}: no file ends in .parquet, .jsonl or .ndjson; name a folder that has some")]
    NoFiles(String),
    /// The inputs have both Parquet and JSON lines.
    #[error("{0}: Parquet and JSON lines are mixed; run once for each")]
    Mixed(String),
    /// An input is a URL that cannot be read.
    #[error("{0}: {1}; name s3://BUCKET/PREFIX")]
    Url(String, String),
    /// An input is a URL of an unknown kind.
    #[error("{0}: only s3:// is read; copy the files, or use an engine that reads them")]
    Scheme(String),
    /// The inputs have no messages.
    #[error("the input has no column {0:?}, only {1}; name one with --messages COLUMN")]
    NoMessages(String, String),
    /// The object storage failed.
    #[error("{0}; check the URL, and AWS_ENDPOINT_URL, AWS_REGION and the keys in the environment")]
    Storage(#[from] object_store::Error),
    /// DataFusion failed.
    #[error("{0}")]
    Engine(#[from] datafusion::error::DataFusionError),
    /// A file cannot be written.
    #[error("{0}: {1}; name another file")]
    Write(String, std::io::Error),
    /// The options are not understood.
    #[error("--options: {0}")]
    Options(#[from] serde_json::Error),
}
