//! The lines of a session: finding, reading and appending them.

use std::sync::OnceLock;

use serde_json::from_slice;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};
use wb_record::json::members;

use super::connection::Backend;
use super::fault::Fault;
use super::schema;

/// The bytes of lines that are read at once, where all of them are read.
pub(super) const CHUNK: i64 = 4 * 1024 * 1024;

/// One of the lists of lines of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) session: i32,
    /// 0 for entries, 1 for operations.
    pub(super) number: i16,
}

/// The end of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// The position of the last line.
    pub(super) last: Option<i64>,
    /// The position of the next one.
    pub(super) end: i64,
}

/// Lines to append, with their places.
#[derive(Clone, Debug, Default)]
pub(super) struct NewLines {
    pub(super) after: Tail,
    pub(super) ats: Vec<i64>,
    ids: Vec<Option<String>>,
    pub(super) records: Vec<Vec<u8>>,
    pub(super) end: i64,
}

impl NewLines {
    pub(super) fn new<'a>(after: Tail, number: i16, records: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut lines = Self { after, end: after.end, ..Self::default() };
        for record in records {
            let is_entry = number == 0 && lines.end > 0;
            lines.ids.push(if is_entry { id_of(record) } else { None });
            lines.ats.push(lines.end);
            lines.records.push(record.to_vec());
            lines.end += place(record.len() + 1);
        }
        lines
    }

    pub(super) fn tail(&self) -> Tail {
        Tail { last: self.ats.last().copied().or(self.after.last), end: self.end }
    }

    /// Returns whether these are the lines that follow the end.
    pub(super) fn are(&self, found: &[(i64, Vec<u8>)]) -> bool {
        let own = self.ats.iter().zip(&self.records);
        found.len() == self.ats.len()
            && own.zip(found).all(|((at, record), it)| (at, record) == (&it.0, &it.1))
    }
}

/// Returns a number of bytes as the database has it.
pub(super) fn place(n_bytes: usize) -> i64 {
    i64::try_from(n_bytes).unwrap_or(i64::MAX)
}

/// Returns the id of an entry, by which it is stored once.
fn id_of(record: &[u8]) -> Option<String> {
    let members = members(record)?;
    let text = |key: &str| -> Option<String> {
        let member = members.iter().rfind(|member| member.key == key)?;
        from_slice(&record[member.value.clone()]).ok()
    };
    let id = text("id")?;
    let is_header = text("type").is_some_and(|kind| kind == "session");
    (!is_header && !id.contains('\0')).then_some(id)
}

/// Returns the number of a session; none if there is none, or no table.
pub(super) async fn find(client: &Client, name: &str) -> Result<Option<i32>, Fault> {
    let row = client.query_typed("SELECT id FROM wb_session WHERE name = $1", &[(&name, Type::TEXT)]).await?;
    Ok(row.first().map(|row| row.get(0)))
}

/// Begins a session; none if there is one with the name.
pub(super) async fn create(client: &Client, name: &str) -> Result<Option<i32>, Fault> {
    schema::migrate(client).await?;
    let sql = "INSERT INTO wb_session (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id";
    Ok(client.query_opt(sql, &[&name]).await?.map(|row| row.get(0)))
}

/// Returns the end of a list.
pub(super) async fn tail(client: &Client, list: List) -> Result<Tail, Fault> {
    let sql = "SELECT at, octet_length(record) FROM wb_line WHERE session = $1 AND list = $2
               ORDER BY at DESC LIMIT 1";
    let row = client.query_typed(sql, &[(&list.session, Type::INT4), (&list.number, Type::INT2)]).await?;
    let of_row = |row: &tokio_postgres::Row| {
        let at: i64 = row.get(0);
        Tail { last: Some(at), end: at + i64::from(row.get::<_, i32>(1)) + 1 }
    };
    Ok(row.first().map(of_row).unwrap_or_default())
}

/// Reads the lines that begin in some bytes, and returns the place after these.
pub(super) async fn read(
    client: &Client,
    list: List,
    from: i64,
    end: i64,
    n_bytes: i64,
) -> Result<(Vec<(i64, Vec<u8>)>, i64), Fault> {
    let to = end.min(from.saturating_add(n_bytes));
    let sql = "SELECT at, record FROM wb_line WHERE session = $1 AND list = $2 AND at >= $3 AND at < $4
               ORDER BY at";
    let rows = client
        .query_typed(
            sql,
            &[
                (&list.session, Type::INT4),
                (&list.number, Type::INT2),
                (&from, Type::INT8),
                (&to, Type::INT8),
            ],
        )
        .await?;
    Ok((rows.into_iter().map(|row| (row.get(0), row.get(1))).collect(), to))
}

/// Appends several lines, if the list ends where expected.
const INSERT: &str = "
    INSERT INTO wb_line (session, list, at, id, record)
    SELECT $1, $2, line.at, line.id, line.record
    FROM unnest($3::int8[], $4::text[], $5::bytea[]) AS line (at, id, record)
    WHERE (SELECT at FROM wb_line WHERE session = $1 AND list = $2 ORDER BY at DESC LIMIT 1)
          IS NOT DISTINCT FROM $6::int8";

/// Appends one line in the same way, which takes the server a third less.
const INSERT_ONE: &str = "
    INSERT INTO wb_line (session, list, at, id, record)
    SELECT $1, $2, $3::int8, $4::text, $5::bytea
    WHERE (SELECT at FROM wb_line WHERE session = $1 AND list = $2 ORDER BY at DESC LIMIT 1)
          IS NOT DISTINCT FROM $6::int8";

/// Appends lines in one statement; returns whether the list ended where expected.
pub(super) async fn insert(backend: &Backend, list: List, new: &NewLines) -> Result<bool, Fault> {
    let List { session, number } = list;
    let after = &new.after.last;
    let [one, several] = &backend.inserts;
    let n_stored = if let ([at], [id], [record]) = (&new.ats[..], &new.ids[..], &new.records[..]) {
        let statement = prepared(backend, one, INSERT_ONE).await?;
        backend.client.execute(&statement, &[&session, &number, at, id, record, after]).await?
    } else {
        let statement = prepared(backend, several, INSERT).await?;
        let values: [&(dyn ToSql + Sync); 6] = [&session, &number, &new.ats, &new.ids, &new.records, after];
        backend.client.execute(&statement, &values).await?
    };
    Ok(n_stored == new.ats.len() as u64)
}

/// Returns a statement, prepared once for a connection.
async fn prepared(backend: &Backend, held: &OnceLock<Statement>, sql: &str) -> Result<Statement, Fault> {
    if let Some(statement) = held.get() {
        return Ok(statement.clone());
    }
    let prepared = backend.client.prepare(sql).await?;
    Ok(held.get_or_init(|| prepared).clone())
}

/// Removes the lines from a place on, and returns them.
pub(super) async fn cut(client: &Client, list: List, at: i64) -> Result<Vec<Vec<u8>>, Fault> {
    let sql = "WITH cut AS (
                   DELETE FROM wb_line WHERE session = $1 AND list = $2 AND at >= $3 RETURNING at, record
               )
               SELECT record FROM cut ORDER BY at";
    let rows = client.query(sql, &[&list.session, &list.number, &at]).await?;
    Ok(rows.into_iter().map(|row| row.get(0)).collect())
}

/// Returns whether a fault means that an entry with the same id is there.
pub(super) fn is_repeated(fault: &Fault) -> bool {
    fault.has_state(&SqlState::UNIQUE_VIOLATION) && fault.has_constraint("wb_line_id")
}
