//! The tools of the model: read, grep, ls, edit and bash, in one folder.

mod read;
mod ls;
mod grep;
mod edit;
mod bash;

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wb_message::{ToolDescriptor, text};

use crate::sandbox::Sandbox;

/// The result of a call that the user stopped.
pub const STOPPED: &str = "[Stopped by the user]";

/// The limits of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolLimits {
    /// The most bytes of one result; a longer one keeps its start and its end.
    pub max_result_bytes: usize,
    /// The time limit of a command.
    pub command_timeout: Duration,
    /// True if commands may be run at all.
    pub has_bash: bool,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self { max_result_bytes: 48_000, command_timeout: Duration::from_mins(1), has_bash: true }
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model, never blank.
    pub text: String,
    /// True if it is an error.
    pub is_error: bool,
}

/// The tools of one agent.
#[derive(Clone, Debug)]
pub struct ToolBox {
    sandbox: Sandbox,
    limits: ToolLimits,
}

impl ToolBox {
    /// Creates the tools for a folder.
    pub fn new(sandbox: Sandbox, limits: ToolLimits) -> Self {
        Self { sandbox, limits }
    }

    /// Returns the folder.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Describes the tools for the model.
    pub fn descriptors(&self) -> Vec<ToolDescriptor> {
        let mut all = vec![read::descriptor(), grep::descriptor(), ls::descriptor(), edit::descriptor()];
        if self.limits.has_bash {
            all.push(bash::descriptor(self.limits.command_timeout));
        }
        all
    }

    /// Runs one call. It never fails: errors are part of the output.
    pub async fn run(&self, name: &str, input: &Value, cancel: &CancellationToken) -> ToolOutput {
        let done = match name {
            "read" => read::run(&self.sandbox, input),
            "grep" => grep::run(&self.sandbox, input, self.limits.max_result_bytes),
            "ls" => ls::run(&self.sandbox, input),
            "edit" => edit::run(&self.sandbox, input),
            "bash" if self.limits.has_bash => bash::run(&self.sandbox, input, self.limits, cancel).await,
            _ => Err(format!("there is no tool `{name}`")),
        };
        let (said, is_error) = match done {
            Ok(said) => (said, false),
            Err(said) => (said, true),
        };
        let said = if said.trim().is_empty() { "(nothing)".to_owned() } else { said };
        ToolOutput { text: text::clip(&said, self.limits.max_result_bytes).into_owned(), is_error }
    }
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolDescriptor {
    let mut parameters = json!({ "type": "object", "properties": {}, "required": required });
    parameters["properties"] = properties;
    ToolDescriptor { name: name.to_owned(), description: description.to_owned(), parameters }
}

fn wanted<'a>(input: &'a Value, key: &str) -> Result<&'a str, String> {
    input.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` is missing, or is no text"))
}

fn optional<'a>(input: &'a Value, key: &str, default: &'a str) -> &'a str {
    input.get(key).and_then(Value::as_str).unwrap_or(default)
}

fn number(input: &Value, key: &str) -> Option<usize> {
    input.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
}
