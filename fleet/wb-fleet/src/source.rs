//! Inputs: Parquet and JSON lines, as files, folders or prefixes of a bucket.

use std::path::Path as FilePath;
use std::sync::Arc;

use datafusion::catalog::streaming::StreamingTable;
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;
use wb_arrow::ColumnNames;

use crate::error::FleetError;
use crate::json_lines::{JsonLines, schema};

const PARQUET: [&str; 1] = ["parquet"];
const JSON_LINES: [&str; 2] = ["jsonl", "ndjson"];

/// A file of an input.
struct InputFile {
    store: Arc<dyn ObjectStore>,
    root: Url,
    path: Path,
}

/// Opens inputs as one table.
pub(crate) async fn open(
    context: &SessionContext,
    inputs: &[String],
    columns: &ColumnNames,
) -> Result<DataFrame, FleetError> {
    let mut files = Vec::new();
    for input in inputs {
        files.extend(find(context, input).await?);
    }
    let is = |file: &InputFile, kinds: &[&str]| kinds.iter().any(|kind| file.path.extension() == Some(*kind));
    let (parquet, lines): (Vec<InputFile>, Vec<InputFile>) =
        files.into_iter().partition(|file| is(file, &PARQUET));
    match (parquet.is_empty(), lines.is_empty()) {
        (true, true) => Err(FleetError::NoFiles(inputs.join(", "))),
        (false, false) => Err(FleetError::Mixed(inputs.join(", "))),
        (false, true) => {
            let urls: Vec<String> =
                parquet.iter().map(|file| format!("{}{}", file.root, file.path)).collect();
            Ok(context.read_parquet(urls, ParquetReadOptions::default()).await?)
        }
        (true, false) => {
            let one = |file: InputFile| {
                Arc::new(JsonLines::new(file.store, file.path, columns.clone())) as Arc<dyn PartitionStream>
            };
            let table = StreamingTable::try_new(schema(columns), lines.into_iter().map(one).collect())?;
            Ok(context.read_table(Arc::new(table))?)
        }
    }
}

/// Lists the files of an input, in the order of their names.
async fn find(context: &SessionContext, input: &str) -> Result<Vec<InputFile>, FleetError> {
    let (store, root, path): (Arc<dyn ObjectStore>, Url, Path) = if input.contains("://") {
        let url = Url::parse(input).map_err(|error| FleetError::Url(input.to_owned(), error.to_string()))?;
        let root = Url::parse(&format!("{}://{}/", url.scheme(), url.host_str().unwrap_or_default()));
        let root = root.map_err(|error| FleetError::Url(input.to_owned(), error.to_string()))?;
        let store: Arc<dyn ObjectStore> = Arc::new(bucket(&url)?);
        context.register_object_store(&root, store.clone());
        (store, root, Path::from_url_path(url.path()).map_err(object_store::Error::from)?)
    } else {
        let place = FilePath::new(input);
        let whole = place.canonicalize().map_err(|error| FleetError::File(input.to_owned(), error))?;
        let root =
            Url::parse("file:///").map_err(|error| FleetError::Url(input.to_owned(), error.to_string()))?;
        let path = Path::from_absolute_path(&whole).map_err(object_store::Error::from)?;
        (Arc::new(LocalFileSystem::new()), root, path)
    };
    let known = |path: &Path| {
        let kinds = || PARQUET.iter().chain(&JSON_LINES);
        path.extension().is_some_and(|kind| kinds().any(|known| *known == kind))
    };
    let mut paths: Vec<Path> = if known(&path) {
        vec![path]
    } else {
        store.list(Some(&path)).map_ok(|file| file.location).try_collect().await?
    };
    paths.retain(known);
    paths.sort();
    Ok(paths.into_iter().map(|path| InputFile { store: store.clone(), root: root.clone(), path }).collect())
}

/// Opens the bucket of a URL, with the settings of the environment as the tools of AWS have them.
fn bucket(url: &Url) -> Result<impl ObjectStore, FleetError> {
    if url.scheme() != "s3" {
        return Err(FleetError::Scheme(url.to_string()));
    }
    let endpoint = std::env::var("AWS_ENDPOINT_URL").unwrap_or_default();
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(url.host_str().unwrap_or_default())
        .with_allow_http(endpoint.starts_with("http://"));
    Ok(builder.build()?)
}
