//! `wb-arrow` for Python: batches in and out without a copy, without the interpreter's lock.

use mimalloc::MiMalloc;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader, PySchema};
use wb_arrow::{AnalyzedReader, Options};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Returns a row for each row of a batch.
#[pyfunction]
#[pyo3(signature = (batch, options = ""))]
fn analyze(py: Python<'_>, batch: PyRecordBatch, options: &str) -> PyResult<PyRecordBatch> {
    let (batch, options) = (batch.into_inner(), parsed(options)?);
    let answer = py.detach(|| wb_arrow::analyze(&batch, &options));
    answer.map(PyRecordBatch::new).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns a reader of the answers to a reader or a table, with one slice in memory.
#[pyfunction]
#[pyo3(signature = (batches, options = ""))]
fn analyze_stream(batches: PyRecordBatchReader, options: &str) -> PyResult<PyRecordBatchReader> {
    let reader = AnalyzedReader::new(batches.into_reader()?, parsed(options)?);
    Ok(PyRecordBatchReader::new(Box::new(reader)))
}

/// Returns the schema of answers.
#[pyfunction]
fn schema() -> PySchema {
    PySchema::new(wb_arrow::schema())
}

fn parsed(options: &str) -> PyResult<Options> {
    Options::parse(options).map_err(|error| PyValueError::new_err(format!("options: {error}")))
}

/// The native part of `window_budget_arrow`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{analyze, analyze_stream, schema};
}
