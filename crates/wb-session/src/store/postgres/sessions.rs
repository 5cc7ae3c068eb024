//! The sessions of a database.

use super::schema::{self, ENTRIES_LOCK};
use super::store::connect;
use super::url::PostgresUrl;
use crate::error::StoreError;
use crate::store::Durability;

/// A session of a database.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// Its name, with that of the database.
    pub url: PostgresUrl,
    /// The bytes that it would have as a file.
    pub n_bytes: u64,
    /// The time of the last entry, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
    /// True if a writer has it open.
    pub is_open: bool,
}

const SQL: &str = "
    SELECT name, coalesce(last.at + octet_length(last.record) + 1, 0),
        (extract(epoch FROM coalesce(last.written_at, created_at)) * 1000)::int8,
        EXISTS (
            SELECT FROM pg_locks JOIN pg_database ON oid = database
            WHERE locktype = 'advisory' AND datname = current_database() AND objsubid = 2
                AND classid = $1::int8 AND objid = wb_session.id
        )
    FROM wb_session LEFT JOIN LATERAL (
        SELECT at, record, written_at FROM wb_line WHERE session = wb_session.id AND list = 0
        ORDER BY at DESC LIMIT 1
    ) AS last ON true
    ORDER BY 3 DESC, name";

/// Returns the sessions of a database, the one that was written last first.
pub fn sessions(url: &PostgresUrl) -> Result<Vec<StoredSession>, StoreError> {
    let connection = connect(url, Durability::Always)?;
    let rows = connection.repeat(|it| async move {
        if schema::version(&it.client).await? == 0 {
            return Ok(Vec::new());
        }
        Ok(it.client.query(SQL, &[&i64::from(ENTRIES_LOCK)]).await?)
    });
    let rows = rows.map_err(|fault| fault.into_error(url))?;
    let of_row = |row: &tokio_postgres::Row| StoredSession {
        url: url.clone().with_session(row.get(0)),
        n_bytes: row.get::<_, i64>(1).unsigned_abs(),
        modified_ms: row.get(2),
        is_open: row.get(3),
    };
    Ok(rows.iter().map(of_row).collect())
}
