//! The calls of `wb-bind` for JavaScript: JSON text in and out.

use wasm_bindgen::prelude::*;

/// Carries out one call.
#[wasm_bindgen]
pub fn call(text: &str) -> String {
    wb_bind::call(text)
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
    pub fn push(&mut self, messages: &str) -> Result<(), JsError> {
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

    /// Compacts the messages if they are over budget.
    pub fn compact(&mut self) -> String {
        self.context.compact()
    }

    /// Undoes the last compaction.
    pub fn undo(&mut self) -> bool {
        self.context.undo()
    }
}
