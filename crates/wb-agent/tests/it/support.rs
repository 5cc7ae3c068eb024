//! An agent in a temporary folder, and models for it.

use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tempfile::TempDir;
use wb_agent::{Agent, Journal, Model, Offline, Sandbox, Script, ToolBox, ToolLimits};
use wb_invoke::{Emission, ModelInvoker, StreamOptions};
use wb_message::Conversation;
use wb_session::read_settings;

/// A folder with a folder to work in.
pub(crate) fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("work")).unwrap();
    dir
}

pub(crate) fn tools(dir: &TempDir, limits: ToolLimits) -> ToolBox {
    ToolBox::new(Sandbox::new(&dir.path().join("work")).unwrap(), limits)
}

pub(crate) fn offline() -> Model {
    Model::offline(Arc::new(Offline), false)
}

pub(crate) fn script(lines: &str) -> Model {
    Model::offline(Arc::new(Script::read(lines).unwrap()), false)
}

/// Begins a session.
pub(crate) fn begun(dir: &TempDir, model: Model) -> Agent {
    let tools = tools(dir, ToolLimits::default());
    let journal = Journal::create(&dir.path().join("logs"), tools.sandbox().root()).unwrap();
    Agent::new(model, tools, journal).unwrap()
}

/// Begins a session with the settings of a file.
pub(crate) fn begun_with(dir: &TempDir, model: Model, settings: &serde_json::Value) -> Agent {
    let file = dir.path().join("settings.json");
    std::fs::write(&file, settings.to_string()).unwrap();
    let tools = tools(dir, ToolLimits::default());
    let journal = Journal::create(&dir.path().join("logs"), tools.sandbox().root()).unwrap();
    Agent::with_settings(model, tools, journal, &read_settings(Some(&file), None).unwrap()).unwrap()
}

/// Resumes a session.
pub(crate) fn resumed(dir: &TempDir, log: &Path, model: Model) -> Agent {
    Agent::new(model, tools(dir, ToolLimits::default()), Journal::open(log).unwrap()).unwrap()
}

/// Sends one text and then stalls forever.
#[derive(Debug)]
pub(crate) struct Hangs;

impl ModelInvoker for Hangs {
    fn invoke(&self, _: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        let first = Emission::Text { delta: "I begin".to_owned() };
        stream::iter([first]).chain(stream::pending()).boxed()
    }
}

/// Runs a test that waits.
pub(crate) fn waiting<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
