use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use serde_json::json;
use wb_arrow::{analyze, schema, slices};

use crate::common::{batch, options, session, texts};

fn sessions(n: usize) -> RecordBatch {
    let lists: Vec<String> = (0..n).map(|nth| session(nth % 7).to_string()).collect();
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let ids: Vec<String> = (0..n).map(|nth| nth.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    batch(vec![texts("id", &ids), texts("messages", &lists)])
}

#[test]
fn slices_together_are_the_whole_answer() {
    let (batch, options) = (sessions(2500), options(&json!({ "parts": ["facts"] })));
    let parts: Vec<RecordBatch> = slices(&batch, &options).unwrap().map(Result::unwrap).collect();
    let rows: Vec<usize> = parts.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [1024, 1024, 452]);
    assert_eq!(concat_batches(&schema(), &parts).unwrap(), analyze(&batch, &options).unwrap());
}

#[test]
fn an_answer_is_the_same_however_the_rows_are_cut() {
    let (batch, options) = (sessions(90), options(&json!({ "options": { "window": 4000 } })));
    let whole = analyze(&batch, &options).unwrap();
    for n in [1, 2, 7] {
        let size = batch.num_rows().div_ceil(n);
        let parts = (0..n).map(|part| batch.slice(part * size, size.min(batch.num_rows() - part * size)));
        let parts: Vec<RecordBatch> = parts.map(|part| analyze(&part, &options).unwrap()).collect();
        assert_eq!(concat_batches(&schema(), &parts).unwrap(), whole, "{n}");
    }
}

#[test]
fn a_large_answer_ends_its_slice() {
    let list = session(60).to_string().replace("All parts are read.", &"word ".repeat(700_000));
    let lists = vec![list.as_str(); 6];
    let batch = batch(vec![texts("messages", &lists)]);
    let options = options(&json!({ "options": { "force": true, "window": 8_000_000 } }));
    let parts: Vec<RecordBatch> = slices(&batch, &options).unwrap().map(Result::unwrap).collect();
    assert_eq!(parts.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
    assert!(parts.len() > 1, "{}", parts.len());
}
