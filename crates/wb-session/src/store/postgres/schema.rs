//! The tables, and how older ones become the present ones.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::fault::Fault;

/// The class of the advisory locks: `wb` and a number for each purpose.
const LOCK_CLASS: i32 = 0x7762_0000;
/// The class of the lock that the writer of a session's entries holds.
pub(super) const ENTRIES_LOCK: i32 = LOCK_CLASS + 1;
/// The class of the lock that the writer of a session's operations holds.
pub(super) const OPERATIONS_LOCK: i32 = LOCK_CLASS + 2;

/// The steps from an empty database to the present tables; each is run once, and none is changed.
const MIGRATIONS: [&str; 1] = [r"
    CREATE TABLE wb_session (
        id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now(),
        synced_at timestamptz
    );
    -- The lines of each session: its entries are list 0, the operations on it list 1. A line begins
    -- at the byte `at`, and its line feed is not stored.
    CREATE TABLE wb_line (
        session int NOT NULL,
        list smallint NOT NULL,
        at bigint NOT NULL,
        id text,
        record bytea NOT NULL,
        written_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (session, list, at)
    );
    -- No entry is stored twice.
    CREATE UNIQUE INDEX wb_line_id ON wb_line (session, id) WHERE id IS NOT NULL;
"];

/// The version of the present tables.
pub(super) const VERSION: i64 = 1;

/// Returns the version of the tables; 0 where there are none.
pub(super) async fn version(client: &Client) -> Result<i64, Fault> {
    let found = client.query_one("SELECT max(version)::int8 FROM wb_migration", &[]).await;
    match found.map_err(Fault::from) {
        Ok(row) => Ok(row.get::<_, Option<i64>>(0).unwrap_or(0)),
        Err(fault) if fault.has_state(&SqlState::UNDEFINED_TABLE) => Ok(0),
        Err(fault) => Err(fault),
    }
}

/// Makes the tables or brings them to the present version, while others wait; newer ones stay.
pub(super) async fn migrate(client: &Client) -> Result<i64, Fault> {
    if version(client).await? >= VERSION {
        return version(client).await;
    }
    client
        .batch_execute(&format!(
            "BEGIN; SELECT pg_advisory_xact_lock({LOCK_CLASS}, 0);
             CREATE TABLE IF NOT EXISTS wb_migration (
                 version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
             );"
        ))
        .await?;
    let known = usize::try_from(version(client).await?).unwrap_or_default();
    for (at, migration) in MIGRATIONS.iter().enumerate().skip(known) {
        let note = format!("INSERT INTO wb_migration (version) VALUES ({});", at + 1);
        client.batch_execute(&[*migration, &note].concat()).await?;
    }
    client.batch_execute("COMMIT").await?;
    version(client).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_counts_the_migrations() {
        assert_eq!(i64::try_from(MIGRATIONS.len()), Ok(VERSION));
    }
}
