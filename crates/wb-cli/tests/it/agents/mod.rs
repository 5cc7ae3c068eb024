//! Agents that run `wb`: plug-ins and their requests.

mod config;
mod hook;
mod hook_chain;
mod hook_schema;
mod opencode;
mod statusline;
mod install;
mod install_check;
