//! The calls of `wb-bind` for Python: JSON text in and out, without the interpreter's lock.

use mimalloc::MiMalloc;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wb_bind::{CallError, Progress};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Carries out one call; `on_progress` receives each stage as JSON.
#[pyfunction]
#[pyo3(signature = (text, on_progress=None))]
fn call(py: Python<'_>, text: &str, on_progress: Option<Py<PyAny>>) -> PyResult<String> {
    watched(py, on_progress, |progress| wb_bind::call_with_progress(text, progress))
}

/// Reports whether an answer is an error.
#[pyfunction]
fn is_error(answer: &str) -> bool {
    wb_bind::is_error(answer)
}

/// The messages of a loop.
#[pyclass(frozen)]
struct Context {
    context: wb_bind::Context,
}

#[pymethods]
impl Context {
    #[new]
    fn new(settings: &str) -> PyResult<Self> {
        wb_bind::Context::new(settings).map(|context| Self { context }).map_err(refused)
    }

    fn push(&self, py: Python<'_>, messages: &str) -> PyResult<()> {
        py.detach(|| self.context.push(messages)).map_err(refused)
    }

    fn messages(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.context.messages()).map_err(refused)
    }

    fn gate(&self, py: Python<'_>) -> String {
        py.detach(|| self.context.gate())
    }

    fn begin(&self, py: Python<'_>) -> PyResult<Compaction> {
        py.detach(|| self.context.begin()).map(|run| Compaction { run }).map_err(refused)
    }

    fn undo(&self, py: Python<'_>) -> bool {
        py.detach(|| self.context.undo())
    }
}

/// A compaction of a context, in steps.
#[pyclass(frozen)]
struct Compaction {
    run: wb_bind::Compaction,
}

#[pymethods]
impl Compaction {
    #[pyo3(signature = (summarizer=None, on_progress=None))]
    fn step(
        &self,
        py: Python<'_>,
        summarizer: Option<&str>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, on_progress, |progress| self.run.step(summarizer, progress))
    }
}

/// Works without the interpreter's lock, which is taken for each stage. After a stage that raises,
/// no other is reported, and the work is completed first.
fn watched(
    py: Python<'_>,
    on_progress: Option<Py<PyAny>>,
    work: impl Send + FnOnce(wb_bind::OnProgress<'_>) -> String,
) -> PyResult<String> {
    let mut raised = None;
    let mut report = |stage: &Progress| {
        if let (Some(on_progress), None) = (&on_progress, &raised) {
            let called = Python::attach(|py| on_progress.call1(py, (stage.to_string(),)));
            raised = called.err();
        }
    };
    let answer = py.detach(|| work(&mut report));
    raised.map_or(Ok(answer), Err)
}

fn refused(error: CallError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The native part of `window_budget`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Compaction, Context, call, is_error};
}
