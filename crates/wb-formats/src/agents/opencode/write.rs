//! Records as opencode writes them: the pair of a compaction, and parts that change, in rows or in
//! an export.

use serde_json::{Map, Value, json};
use wb_record::splice::{Joint, Piece as Record, splices};
use wb_record::{BorrowedPart, Bytes, Change, ChangeSet, NotExpressible, Numbers, PartId, Parts, Stamp};

use super::log::SessionLog;
use super::refused;
use super::source::{Export, MESSAGE, PART, Piece, Role, Source, data};
use crate::kit::fields::Fields;
use crate::kit::json_text::value;

/// A message that no record holds yet.
#[derive(Debug)]
pub(crate) struct New {
    id: String,
    created: i64,
    info: Map<String, Value>,
    parts: Vec<(String, Map<String, Value>)>,
}

/// The changes to the records of a session.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The messages that go, by their number.
    pub(crate) gone: Vec<usize>,
    /// The messages added after all others.
    pub(crate) new: Vec<New>,
    /// The parts that change, with their JSON after.
    pub(crate) edited: Vec<(Piece, Vec<u8>)>,
}

/// Builds the pair of a compaction: the message that asks for it and its summary, of one or more
/// texts.
pub(crate) fn pair(
    source: &Source<'_>,
    log: &SessionLog,
    texts: &[String],
    tail: Option<&str>,
    stamp: &Stamp,
) -> Result<Vec<New>, NotExpressible> {
    let last = log.heads.iter().map(|head| head.created).max().unwrap_or(0);
    let now = stamp.now_ms.max(last.saturating_add(1));
    let mut ids = Ids { numbers: Numbers::new(stamp.seed), n: 0 };
    let speaker = Speaker::read(source, log)?;
    let asks = speaker.asks(&mut ids, now, !stamp.by_hand, tail);
    let sums = speaker.sums(&mut ids, now.saturating_add(1), &asks.id, texts);
    Ok(vec![asks, sums])
}

/// The author of a compaction's request: the agent and the model of the last prompt, in the folder
/// of the last answer.
struct Speaker {
    agent: Value,
    model: Value,
    path: Value,
}

impl Speaker {
    fn read(source: &Source<'_>, log: &SessionLog) -> Result<Self, NotExpressible> {
        let info = |role: Role| {
            let head = log.heads.iter().rev().find(|head| head.role == role && head.error.is_none());
            head.map_or(Ok(Vec::new()), |head| source.info(head)).map_err(NotExpressible::unreadable)
        };
        let (user, answer) = (info(Role::User)?, info(Role::Assistant)?);
        let (user, answer) = (Fields::parse(&user), Fields::parse(&answer));
        let of = |fields: &Option<Fields<'_>>, key: &str| value(fields.as_ref()?.get(key)?);
        let model = of(&user, "model").filter(Value::is_object).or_else(|| {
            Some(json!({ "providerID": of(&answer, "providerID")?, "modelID": of(&answer, "modelID")? }))
        });
        Ok(Self {
            agent: of(&user, "agent").unwrap_or_else(|| "build".into()),
            model: model.ok_or_else(|| refused("no message names a model for the summary"))?,
            path: of(&answer, "path").unwrap_or_else(|| json!({ "cwd": log.folder, "root": log.folder })),
        })
    }

    /// Builds the message that asks for a compaction.
    fn asks(&self, ids: &mut Ids, created: i64, auto: bool, tail: Option<&str>) -> New {
        let mut compaction = object(json!({ "type": "compaction", "auto": auto }));
        compaction.extend(tail.map(|id| ("tail_start_id".to_owned(), id.into())));
        let info = json!({
            "role": "user", "time": { "created": created }, "agent": self.agent, "model": self.model,
        });
        let id = ids.next("msg", created);
        New { id, created, info: object(info), parts: vec![(ids.next("prt", created), compaction)] }
    }

    /// Builds the summary; its tokens are none, since no request was made for it.
    fn sums(&self, ids: &mut Ids, created: i64, of: &str, texts: &[String]) -> New {
        let tokens = json!({
            "total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": { "write": 0, "read": 0 },
        });
        let info = json!({
            "parentID": of, "role": "assistant", "mode": "compaction", "agent": "compaction", "summary": true,
            "path": self.path, "cost": 0, "tokens": tokens,
            "modelID": self.model["modelID"], "providerID": self.model["providerID"],
            "time": { "created": created, "completed": created.saturating_add(1) }, "finish": "stop",
        });
        let id = ids.next("msg", created);
        let time = json!({ "start": created, "end": created });
        let text = |text: &String| object(json!({ "type": "text", "text": text, "time": time }));
        let parts = texts.iter().map(|it| (ids.next("prt", created), text(it))).collect();
        New { id, created, info: object(info), parts }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Ids that sort by time, as the agent builds them: 12 hexadecimal digits of the milliseconds and a
/// counter, then 14 random digits.
struct Ids {
    numbers: Numbers,
    n: u64,
}

impl Ids {
    fn next(&mut self, prefix: &str, ms: i64) -> String {
        const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        self.n += 1;
        let time = ms.cast_unsigned().wrapping_mul(4096).wrapping_add(self.n) & ((1 << 48) - 1);
        let [high, low] = [(); 2].map(|()| u128::from(self.numbers.next_number()));
        let mut random = high << 64 | low;
        let digits = (0..14).map(|_| {
            let digit = usize::try_from(random % 62).unwrap_or(0);
            random /= 62;
            char::from(DIGITS[digit])
        });
        format!("{prefix}_{time:012x}{}", digits.collect::<String>())
    }
}

impl Changes {
    /// Writes them to the session's location.
    pub(crate) fn written(self, source: &Source<'_>, log: &SessionLog) -> Result<ChangeSet, NotExpressible> {
        match source {
            Source::Export(export) => self.in_export(export, log),
            Source::Rows { parts, session } => self.in_rows(*parts, session, log),
        }
    }

    fn in_rows(
        &self,
        parts: &dyn Parts,
        session: &str,
        log: &SessionLog,
    ) -> Result<ChangeSet, NotExpressible> {
        let mut changes = Vec::new();
        for at in &self.gone {
            changes.extend(removed(parts, log, *at)?);
        }
        if !self.new.is_empty() {
            let columns = Columns::read(parts, session)?;
            for new in &self.new {
                changes.extend(columns.rows(new, session)?);
            }
        }
        for (piece, json) in &self.edited {
            let row = parts.whole(&piece.record.part).map_err(NotExpressible::unreadable)?;
            if data(&row).as_ref() != Some(&piece.json) {
                return Err(NotExpressible::Unreadable("another program changed it meanwhile".to_owned()));
            }
            let data = Value::from(String::from_utf8_lossy(json)).to_string();
            let change = differing(0, &row, &wb_record::json::set(&row, "data", data.as_bytes()));
            changes.extend(change.map(|change| (piece.record.part.clone(), change)));
        }
        Ok(ChangeSet { changes })
    }

    fn in_export(self, export: &Export, log: &SessionLog) -> Result<ChangeSet, NotExpressible> {
        let records: Vec<_> = export.elements.iter().map(|element| element.place.clone()).collect();
        let gone: Vec<u64> = self.gone.iter().map(|at| log.heads[*at].record.at).collect();
        let stays = (0..records.len()).filter(|at| !gone.contains(&(records[*at].start as u64)));
        let new = self.new.iter().map(|new| Record::New(new.element(&log.session)));
        let wanted: Vec<Record> = stays.map(Record::Stays).chain(new).collect();
        let mut changes = splices(&BorrowedPart(&export.text), &records, &wanted, Joint::Comma, |_| false)
            .map_err(NotExpressible::unreadable)?;
        changes.extend(
            self.edited
                .iter()
                .filter_map(|(piece, json)| differing(piece.place.start as u64, &piece.json, json)),
        );
        // Changes are applied from the end, so that none moves the position of another.
        changes.sort_by_key(|change| std::cmp::Reverse(start(change)));
        Ok(ChangeSet { changes: changes.into_iter().map(|change| (PartId::new(), change)).collect() })
    }
}

fn start(change: &Change) -> u64 {
    match change {
        Change::Append { at, .. } | Change::Splice { at, .. } | Change::Cut { at, .. } => *at,
        Change::Create { .. } | Change::Remove { .. } => 0,
    }
}

impl New {
    /// Returns the message as an element of an export.
    fn element(&self, session: &str) -> Vec<u8> {
        let mut info = self.info.clone();
        info.insert("id".to_owned(), self.id.as_str().into());
        info.insert("sessionID".to_owned(), session.into());
        let part = |(id, part): &(String, Map<String, Value>)| {
            let mut part = part.clone();
            part.insert("id".to_owned(), id.as_str().into());
            part.insert("sessionID".to_owned(), session.into());
            part.insert("messageID".to_owned(), self.id.as_str().into());
            Value::Object(part)
        };
        let parts: Vec<Value> = self.parts.iter().map(part).collect();
        json!({ "info": info, "parts": parts }).to_string().into_bytes()
    }
}

/// The columns of rows, in order.
struct Columns {
    message: Vec<String>,
    part: Vec<String>,
}

impl Columns {
    /// Reads the columns from existing rows.
    fn read(parts: &dyn Parts, session: &str) -> Result<Self, NotExpressible> {
        let columns = |prefix: String| {
            let names = parts.list(&prefix).map_err(NotExpressible::unreadable)?;
            let row = names.iter().find_map(|name| parts.whole(name).ok());
            let members = row.as_deref().and_then(wb_record::json::members).unwrap_or_default();
            let keys = members.into_iter().map(|member| member.key.into_owned()).collect::<Vec<_>>();
            Ok::<_, NotExpressible>((names, keys))
        };
        let (messages, message) = columns(format!("{MESSAGE}/{session}/"))?;
        for name in &messages {
            let id = name.rsplit('/').next().unwrap_or_default();
            let (names, part) = columns(format!("{PART}/{id}/"))?;
            if !names.is_empty() {
                return Ok(Self { message, part });
            }
        }
        Err(refused("the session has no part with the columns of its table"))
    }

    fn rows(&self, new: &New, session: &str) -> Result<Vec<(PartId, Change)>, NotExpressible> {
        let part = format!("{MESSAGE}/{session}/{}", new.id);
        let message =
            row(MESSAGE, &self.message, &[("id", &new.id), ("session_id", session)], new.created, &new.info)?;
        let mut changes = vec![(part, message)];
        for (id, json) in &new.parts {
            let names = [("id", id.as_str()), ("message_id", &new.id), ("session_id", session)];
            changes
                .push((format!("{PART}/{}/{id}", new.id), row(PART, &self.part, &names, new.created, json)?));
        }
        Ok(changes)
    }
}

fn row(
    table: &str,
    columns: &[String],
    names: &[(&str, &str)],
    created: i64,
    data: &Map<String, Value>,
) -> Result<Change, NotExpressible> {
    let cell = |column: &String| {
        let value = match column.as_str() {
            "time_created" | "time_updated" => created.into(),
            "data" => Value::Object(data.clone()).to_string().into(),
            name => match names.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => (*value).into(),
                None => {
                    return Err(refused(format!(
                        "the table {table:?} has a column {name:?} that is not known"
                    )));
                }
            },
        };
        Ok((column.clone(), value))
    };
    let row = columns.iter().map(cell).collect::<Result<Map<_, _>, _>>()?;
    Ok(Change::Create { new: Bytes(Value::Object(row).to_string().into_bytes()) })
}

/// Removes the rows of a message, its parts first.
fn removed(parts: &dyn Parts, log: &SessionLog, at: usize) -> Result<Vec<(PartId, Change)>, NotExpressible> {
    let head = &log.heads[at];
    let mut names = parts.list(&format!("{PART}/{}/", head.id)).map_err(NotExpressible::unreadable)?;
    names.push(head.record.part.clone());
    let remove = |name: String| {
        let old = parts.whole(&name).map_err(NotExpressible::unreadable)?;
        Ok((name, Change::Remove { old: Bytes(old) }))
    };
    names.into_iter().map(remove).collect()
}

/// Returns the change of the bytes that differ; `None` if there are none.
fn differing(at: u64, old: &[u8], new: &[u8]) -> Option<Change> {
    if old == new {
        return None;
    }
    let is_inside = |byte: &u8| (0x80..0xC0).contains(byte);
    let mut start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    while start > 0 && (old.get(start).is_some_and(is_inside) || new.get(start).is_some_and(is_inside)) {
        start -= 1;
    }
    let (old, new) = (&old[start..], &new[start..]);
    let mut same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    while same > 0 && old.get(old.len() - same).is_some_and(is_inside) {
        same -= 1;
    }
    let (old, new) = (old[..old.len() - same].to_vec(), new[..new.len() - same].to_vec());
    Some(Change::Splice { at: at + start as u64, old: Bytes(old), new: Bytes(new) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_that_differ_are_replaced() {
        for (old, new, at, gone, come) in [
            ("abcd", "abXd", 2, "c", "X"),
            ("abcd", "abcdef", 4, "", "ef"),
            ("aa", "aaa", 2, "", "a"),
            ("é", "è", 0, "é", "è"),
            ("aéb", "aèb", 1, "é", "è"),
            ("x\u{e9}", "x\u{129}", 1, "\u{e9}", "\u{129}"),
        ] {
            let expected = Change::Splice { at, old: Bytes(gone.into()), new: Bytes(come.into()) };
            assert_eq!(differing(0, old.as_bytes(), new.as_bytes()), Some(expected.clone()));
            assert_eq!(expected.apply("", Some(old.as_bytes())).unwrap().unwrap(), new.as_bytes());
        }
        assert_eq!(differing(0, b"a", b"a"), None);
    }

    #[test]
    fn ids_sort_by_time_and_are_the_same_for_the_same_seed() {
        let ids = |seed| {
            let mut ids = Ids { numbers: Numbers::new(seed), n: 0 };
            [ids.next("msg", 1_795_314_801_639), ids.next("msg", 1_795_314_801_640), ids.next("prt", 0)]
        };
        let [first, second, third] = ids(7);
        assert!(first.starts_with("msg_20119dbe7001") && first.len() == 30, "{first}");
        assert!(first < second && third.starts_with("prt_000000000003"));
        assert_eq!(ids(7)[0], first);
        assert_ne!(ids(8)[0], first);
    }
}
