//! The tools of the server.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use wb_message::{ToolDescriptor, Value, json};
use wb_recall::{TOOL_NAME, descriptor};

use super::running_session::RunningSession;
use crate::terminal::user_error::UserError;

const CONTEXT: &str = "context";
const INSTRUCTIONS: &str = "\
Earlier messages of this session may have been folded into a digest. `recall` returns their exact \
text; `context` says how full the context is and what was folded.";

/// A server that reads one session and writes nothing.
pub(crate) struct McpServer {
    session: Mutex<RunningSession>,
}

impl McpServer {
    pub(crate) fn new(session: RunningSession) -> Self {
        Self { session: Mutex::new(session) }
    }

    fn answer(&self, name: &str, arguments: &Value) -> Option<Result<String, UserError>> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        match name {
            TOOL_NAME => Some(session.recall(arguments)),
            CONTEXT => Some(session.context()),
            _ => None,
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("wb", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![tool(descriptor()), tool(context())]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.answer(&request.name, &arguments) {
            Some(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Some(Err(error)) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
            None => {
                let what = format!("unknown tool: {}", request.name);
                return Err(ErrorData::invalid_params(what, None));
            }
        };
        Ok(result.into())
    }
}

fn context() -> ToolDescriptor {
    let description =
        "Says how full the context window is, what was folded into a digest, and what is pinned.";
    ToolDescriptor {
        name: CONTEXT.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
    }
}

fn tool(descriptor: ToolDescriptor) -> Tool {
    let schema = match descriptor.parameters {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    let reads = ToolAnnotations::new().read_only(true).open_world(false);
    Tool::new(descriptor.name, descriptor.description, Arc::new(schema)).with_annotations(reads)
}
