//! `wb mcp`: a Model Context Protocol server on standard input and output.

mod running_session;
mod server;

use anyhow::Result;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use self::running_session::RunningSession;
use self::server::McpServer;
use crate::args::mcp::McpArgs;
use crate::terminal::shell::{Shell, Talk};
use crate::terminal::user_error::UserError;

/// Serves until standard input ends.
pub(crate) fn mcp(shell: &Shell, args: &McpArgs) -> Result<()> {
    let hint = "name an existing folder with --project";
    let folder = args.project.clone().or_else(|| shell.environment.working.clone());
    let folder = folder.filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| UserError::new("the project's folder was not found", hint))?;
    // Standard output belongs to the protocol.
    let quiet = Shell::new(shell.environment.clone(), Talk::Quiet, false);
    let session = RunningSession::new(quiet, folder, args.host.map(|host| host.name));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = McpServer::new(session).serve(stdio()).await?;
        service.waiting().await?;
        Ok(())
    })
}
