use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_json::ArrayWriter;
use serde_json::Value;
use wb_arrow::{Options, analyze};
use wb_fleet::{Job, answers, write_answers};

use crate::common::{OPTIONS, ROWS, batch, write_lines, write_parquet};

/// Returns the answers of DataFusion by id.
async fn engine(folder: &Path, partitions: usize) -> Vec<Value> {
    let job = Job { inputs: vec![folder.display().to_string()], options: OPTIONS.to_owned(), partitions };
    let frame = answers(&job.context(), &job).await.unwrap();
    let mut rows = Vec::new();
    for batch in frame.collect().await.unwrap() {
        let answers = RecordBatch::from(batch["answer"].as_struct().clone());
        let ids = batch["id"].clone();
        let texts: Vec<String> = match ids.as_string_view_opt() {
            Some(ids) => ids.iter().map(|id| id.unwrap().to_owned()).collect(),
            None => ids.as_string::<i32>().iter().map(|id| id.unwrap().to_owned()).collect(),
        };
        rows.extend(values(&answers).into_iter().zip(texts).map(|(mut row, id)| {
            row["id"] = Value::from(id);
            row
        }));
    }
    rows.sort_by_key(|row| row["id"].to_string());
    rows
}

fn values(batch: &RecordBatch) -> Vec<Value> {
    let mut writer = ArrayWriter::new(Vec::new());
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    serde_json::from_slice(&writer.into_inner()).unwrap()
}

#[tokio::test]
async fn the_answers_are_those_of_the_function_whatever_the_partitions() {
    let expected = values(&analyze(&batch(0..ROWS), &Options::parse(OPTIONS).unwrap()).unwrap());
    assert!(expected.iter().any(|row| row["compacted"] == true) && expected[9]["error"]["kind"] == "input");
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path());
    for partitions in [1, 2, 7] {
        assert_eq!(engine(folder.path(), partitions).await, expected, "{partitions}");
    }
}

#[tokio::test]
async fn json_lines_have_the_answers_of_parquet() {
    let (parquet, lines) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_parquet(parquet.path());
    write_lines(lines.path());
    let expected = engine(parquet.path(), 2).await;
    for partitions in [1, 7] {
        assert_eq!(engine(lines.path(), partitions).await, expected, "{partitions}");
    }
}

#[tokio::test]
async fn lines_without_id_are_named_by_their_place_and_broken_ones_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"messages\": []}\n\n{\"messages\n[1]\n";
    std::fs::write(folder.path().join("a.jsonl"), lines).unwrap();
    let rows = engine(folder.path(), 1).await;
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert!(
        ids[0].ends_with("a.jsonl:1") && ids[1].ends_with("a.jsonl:3") && ids[2].ends_with("a.jsonl:4"),
        "{ids:?}"
    );
    assert!(rows[0]["error"].is_null() && rows[1]["error"].is_object() && rows[2]["error"].is_object());
}

#[tokio::test]
async fn answers_are_written_as_parquet_into_a_private_new_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::create_dir(&input).unwrap();
    write_parquet(&input);
    let job = Job { inputs: vec![input.display().to_string()], ..Job::default() };
    write_answers(&job, &output).await.unwrap();
    let context = job.context();
    let place = output.display().to_string();
    context
        .register_parquet("rows", &place, datafusion::prelude::ParquetReadOptions::default())
        .await
        .unwrap();
    let rows = context
        .sql("SELECT count(tokens) AS read, count(*) AS n FROM rows")
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    let rows = values(&rows[0]);
    assert_eq!((rows[0]["read"].as_u64(), rows[0]["n"].as_u64()), (Some(36), Some(40)));
    assert!(write_answers(&job, &output).await.is_err(), "a folder that exists is not written into");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(output.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn inputs_that_cannot_be_read_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = async |input: &Path, options: &str| {
        let job =
            Job { inputs: vec![input.display().to_string()], options: options.to_owned(), partitions: 1 };
        answers(&job.context(), &job).await.unwrap_err().to_string()
    };
    assert!(error(folder.path(), "").await.contains("no file ends in .parquet"));
    assert!(error(&folder.path().join("gone"), "").await.contains("name Parquet or JSON lines"));
    write_parquet(folder.path());
    let other = r#"{"columns": {"messages": "conversation"}}"#;
    assert!(
        error(folder.path(), other).await.contains("only id, messages, summary; name one with --messages")
    );
    write_lines(folder.path());
    assert!(error(folder.path(), "").await.contains("are mixed"));
}

#[tokio::test]
async fn the_struct_has_the_columns_of_the_schema() {
    let context = Job::default().context();
    let rows = context.sql("SELECT window_budget('[]') AS answer").await.unwrap().collect().await.unwrap();
    let answer: &StructArray = rows[0]["answer"].as_struct();
    let names: Vec<String> = answer.fields().iter().map(|field| field.name().clone()).collect();
    let schema = wb_arrow::schema();
    let expected: Vec<String> = schema.fields().iter().skip(1).map(|field| field.name().clone()).collect();
    assert_eq!((names, answer.len()), (expected, 1));
}
