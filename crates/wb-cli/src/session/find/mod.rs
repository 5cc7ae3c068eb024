//! Finds the sessions on this machine: where agents keep them, what each is about, and the one that
//! a word names.

pub(crate) mod database;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod session_head;
pub(crate) mod agent_folders;
pub(crate) mod session_cache;
pub(crate) mod known_sessions;
pub(crate) mod find_session;
pub(crate) mod session_words;
