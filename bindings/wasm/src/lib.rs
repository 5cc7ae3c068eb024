//! The calls of `wb-bind` for JavaScript: JSON text in and out.

use wasm_bindgen::prelude::*;
use wb_bind::OnProgress;

#[wasm_bindgen]
extern "C" {
    /// A function for the stages of a compaction, as the method of an object.
    #[derive(Debug)]
    pub type Watcher;

    #[wasm_bindgen(method, structural, catch)]
    fn report(this: &Watcher, stage: &str) -> Result<(), JsValue>;
}

/// Carries out one call.
#[wasm_bindgen]
pub fn call(text: &str, watcher: Option<Watcher>) -> Result<String, JsValue> {
    watched(watcher.as_ref(), |progress| wb_bind::call_with_progress(text, progress))
}

/// The messages of a loop.
#[wasm_bindgen]
#[derive(Debug)]
pub struct NativeContext {
    context: wb_bind::Context,
}

#[wasm_bindgen]
impl NativeContext {
    /// Creates a context from settings in JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Result<Self, JsError> {
        Ok(Self { context: wb_bind::Context::new(settings)? })
    }

    /// Adds messages, a list in JSON.
    pub fn push(&self, messages: &str) -> Result<(), JsError> {
        Ok(self.context.push(messages)?)
    }

    /// Returns the messages in JSON.
    pub fn messages(&self) -> Result<String, JsError> {
        Ok(self.context.messages()?)
    }

    /// Weighs the messages.
    pub fn gate(&self) -> String {
        self.context.gate()
    }

    /// Begins a compaction in steps.
    pub fn begin(&self) -> Result<NativeCompaction, JsError> {
        Ok(NativeCompaction { run: self.context.begin()? })
    }

    /// Undoes the last compaction.
    pub fn undo(&self) -> bool {
        self.context.undo()
    }
}

/// A compaction of a context, in steps.
#[wasm_bindgen]
#[derive(Debug)]
pub struct NativeCompaction {
    run: wb_bind::Compaction,
}

#[wasm_bindgen]
impl NativeCompaction {
    /// Compacts the messages if they are over budget.
    pub fn step(&self, summarizer: Option<String>, watcher: Option<Watcher>) -> Result<String, JsValue> {
        watched(watcher.as_ref(), |progress| self.run.step(summarizer.as_deref(), progress))
    }
}

/// Works while a watcher sees the stages. After a stage that throws, no other is reported, and the
/// work is completed first.
fn watched(
    watcher: Option<&Watcher>,
    work: impl FnOnce(OnProgress<'_>) -> String,
) -> Result<String, JsValue> {
    let mut thrown = None;
    let answer = work(&mut |stage| {
        if let (Some(watcher), None) = (watcher, &thrown) {
            thrown = watcher.report(&stage.to_string()).err();
        }
    });
    thrown.map_or(Ok(answer), Err)
}
