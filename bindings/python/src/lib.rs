//! The calls of `wb-bind` for Python: JSON text in and out, without the interpreter's lock.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Carries out one call.
#[pyfunction]
fn call(py: Python<'_>, text: &str) -> String {
    py.detach(|| wb_bind::call(text))
}

/// Reports whether an answer is an error.
#[pyfunction]
fn is_error(answer: &str) -> bool {
    wb_bind::is_error(answer)
}

/// The messages of a loop.
#[pyclass]
struct Context {
    context: wb_bind::Context,
}

#[pymethods]
impl Context {
    #[new]
    fn new(settings: &str) -> PyResult<Self> {
        wb_bind::Context::new(settings).map(|context| Self { context }).map_err(refused)
    }

    fn push(&mut self, py: Python<'_>, messages: &str) -> PyResult<()> {
        py.detach(|| self.context.push(messages)).map_err(refused)
    }

    fn messages(&self) -> PyResult<String> {
        self.context.messages().map_err(refused)
    }

    fn gate(&self, py: Python<'_>) -> String {
        py.detach(|| self.context.gate())
    }

    fn compact(&mut self, py: Python<'_>) -> String {
        py.detach(|| self.context.compact())
    }

    fn undo(&mut self) -> bool {
        self.context.undo()
    }
}

fn refused(error: wb_bind::CallError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The native part of `window_budget`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Context, call, is_error};
}
