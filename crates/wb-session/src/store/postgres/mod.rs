//! Sessions in a PostgreSQL database, for many writers at once.
//!
//! One table holds the lines of all sessions; a line's position is the byte at which it would begin
//! in a file. A writer holds an advisory lock of the server, which lives as long as its connection,
//! so each store has a connection of its own. An append is one statement: all of its records or
//! none. If the connection is lost, the store connects again, takes the lock, and looks at what
//! follows the last record that it knows: its own records were stored, nothing was, or somebody
//! else wrote. So nothing that was acknowledged is lost, and nothing is stored twice.
//!
//! Each append is reported on the session's channel, and [`PostgresStore::wait_for_more`] waits for
//! that.
//!
//! The files in reading order: `url` names a database and a session without its password,
//! `password_file` finds that, `fault` sorts errors, `tls` checks certificates, `runtime` runs
//! connections, `schema` makes the tables, `connection` connects again, `lines` reads and appends,
//! `reports` reports appends, `store` keeps the records of a session, `parts` are its bytes for
//! documents, `sessions` lists the sessions.

mod url;
mod password_file;
mod fault;
mod tls;
mod runtime;
mod schema;
mod connection;
mod lines;
mod notifications;
mod store;
mod parts;
mod sessions;

pub use parts::{PartKind, PostgresParts};
pub use sessions::{StoredSession, sessions};
pub use store::PostgresStore;
pub use url::{PostgresUrl, SCHEMES, UrlError, take_password};
