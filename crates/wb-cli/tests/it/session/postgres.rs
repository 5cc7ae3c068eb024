//! Sessions in a PostgreSQL database; where no server is installed, the tests skip.

use serde_json::Value;
use wb_message::Message;
use wb_session::store::postgres::{PostgresStore, PostgresUrl};
use wb_session::{Durability, IdSource, NewSession, Session};
use wb_testkit::postgres::{ESCAPED_PASSWORD, PASSWORD, Server};

use crate::support::{Answer, wb, wb_in};

/// Begins a session with some turns in a database.
fn begin(database: &str, name: &str, n_turns: usize) -> String {
    let url = PostgresUrl::parse(database).unwrap().with_session(name);
    let store = PostgresStore::create(&url, Durability::Always).unwrap();
    let begin = NewSession { id: name.into(), timestamp: 0, cwd: "/demo".into(), parent_session: None };
    let mut session = Session::create(Box::new(store), &begin, IdSource::new(7)).unwrap();
    for turn in 0..n_turns {
        session.append(&Message::user(format!("Look at file {turn}.")).into(), 1).unwrap();
        session.append(&Message::assistant("word ".repeat(400)).into(), 2).unwrap();
    }
    format!("{database}#{name}")
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"))
}

#[test]
fn a_session_in_a_database_is_compacted_undone_and_looked_into_as_a_file() {
    let Some(server) = Server::start() else { return };
    let session = begin(&server.socket_url(), "one", 60);
    let tokens = |session: &str| json(&wb(&["weigh", session, "--json"]))["tokens"].as_u64().unwrap();
    let before = tokens(&session);
    assert_eq!(wb(&["plan", &session, "--window", "20k"]).code, 0);
    let compact = ["compact", &session, "--window", "20k", "--in-place", "--force"];
    let compacted = wb(&compact);
    assert_eq!(compacted.code, 0, "{compacted:?}");
    assert!(tokens(&session) < before);
    assert!(wb(&["log", &session]).stdout.contains("compact"));
    assert!(wb(&["show", &session]).stdout.contains("file 0"), "the digest is shown");
    assert!(wb(&["recall", &session, "file 3"]).stdout.contains("Look at file 3."));
    let (tree, context) = (wb(&["session", "tree", &session]), wb(&["session", "context", &session]));
    assert!(tree.code == 0 && tree.stdout.contains("compaction"), "{tree:?}");
    assert_eq!(context.code, 0, "{context:?}");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.jsonl").display().to_string();
    let written = wb(&["compact", &session, "--window", "20k", "--force", "-o", &copy]);
    assert_eq!((written.code, wb(&["weigh", &copy]).code), (0, 0), "{written:?}");
    let undone = wb(&["undo", &session]);
    assert!(undone.stdout.contains("restored byte for byte"), "{undone:?}");
    assert_eq!(tokens(&session), before);
    assert_eq!(wb(&["redo", &session]).code, 0);
    assert!(tokens(&session) < before);
    let entry = json(&wb(&["session", "tree", &session, "--json"]));
    let id = entry["entries"][3]["id"].as_str().unwrap_or_else(|| panic!("{entry}")).to_owned();
    let branched = wb(&["session", "branch", &session, &id]);
    assert_eq!(branched.code, 0, "{branched:?}");
    assert!(wb(&["weigh", &session]).stdout.contains(&session));
}

#[test]
fn a_database_lists_its_sessions_and_a_command_needs_one() {
    let Some(server) = Server::start() else { return };
    let database = server.socket_url();
    let empty = wb(&[&database]);
    assert!(empty.code == 1 && empty.stderr.contains("the database has no sessions"), "{empty:?}");
    begin(&database, "first", 2);
    assert_eq!(wb(&["plan", &database]).code, 0, "the only session");
    begin(&database, "second", 2);
    let listed = wb(&[&database]);
    assert!(["#first", "#second", "2 sessions"].iter().all(|it| listed.stdout.contains(it)), "{listed:?}");
    assert_eq!(wb(&["--json", &database]).stdout.lines().count(), 2);
    let refused = wb(&["plan", &database]);
    assert!(
        refused.stderr.contains("the database has 2 sessions") && refused.stderr.contains("#second'"),
        "{refused:?}"
    );
    let missing = wb(&["weigh", &format!("{database}#third")]);
    assert!(
        missing.stderr.contains("no such session") && missing.stderr.contains("lists its sessions"),
        "{missing:?}"
    );
}

#[test]
fn a_session_with_a_writer_is_read_and_not_written() {
    let Some(server) = Server::start() else { return };
    let session = begin(&server.socket_url(), "busy", 60);
    let url = PostgresUrl::parse(&session).unwrap();
    let writer = PostgresStore::open(&url, Durability::Always).unwrap();
    assert_eq!(wb(&["weigh", &session]).code, 0);
    let compact = |more: &str| wb(&["compact", &session, "--window", "20k", "--in-place", "--force", more]);
    let refused = compact("--quiet");
    assert!(refused.stderr.contains("is open in another program"), "{refused:?}");
    let refused = compact("--allow-open");
    assert!(refused.code == 1 && refused.stderr.contains("another program"), "{refused:?}");
    drop(writer);
    assert_eq!(compact("--quiet").code, 0);
}

#[test]
fn a_password_is_printed_by_no_command() {
    let Some(server) = Server::start() else { return };
    let session = begin(&server.url(), "secret", 30);
    let name = session.replace(&format!(":{ESCAPED_PASSWORD}"), "");
    let home = tempfile::tempdir().unwrap();
    let run = |words: &[&str], variables: &[(&str, &str)]| {
        let answer = wb_in(home.path(), variables, words, b"");
        let all = format!("{}{}", answer.stdout, answer.stderr);
        assert!(
            !all.contains(PASSWORD) && !all.contains(ESCAPED_PASSWORD) && !all.contains("wr0ng"),
            "{all}"
        );
        answer
    };
    let compact = ["compact", &session, "--window", "10k", "--in-place", "--force", "-v"];
    for words in [
        &["weigh", &session][..],
        &compact,
        &["log", &session, "--json"],
        &["undo", &session],
        &["session", "tree", &session],
    ] {
        let answer = run(words, &[]);
        assert_eq!(answer.code, 0, "{answer:?}");
    }
    assert_eq!(run(&["weigh", &name], &[("PGPASSWORD", PASSWORD)]).code, 0);
    let denied = run(&["weigh", &name], &[]);
    assert!(denied.stderr.contains("set the password in PGPASSWORD"), "{denied:?}");
    let wrong = session.replace(ESCAPED_PASSWORD, "wr0ng");
    for words in [
        &["weigh", &wrong][..],
        &["nonsense", &wrong],
        &["plan", &wrong, "--nonsense"],
        &["pin", &wrong, "--text", "x"],
    ] {
        assert_ne!(run(words, &[]).code, 0);
    }
    assert_ne!(run(&["weigh", "postgres://wb:wr0ng#1@127.0.0.1/postgres"], &[]).code, 0);
    let passwords = home.path().join(".pgpass");
    std::fs::write(&passwords, format!("127.0.0.1:{}:postgres:wb:{PASSWORD}\n", server.port())).unwrap();
    assert_ne!(run(&["weigh", &name], &[]).code, 0, "others may read the file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(run(&["weigh", &name], &[]).code, 0);
    }
}

#[test]
fn a_password_goes_to_no_other_machine_unencrypted() {
    let answer = wb(&["weigh", "postgres://u:pw@192.0.2.1/d?sslmode=disable#s"]);
    assert!(answer.code == 1 && answer.stderr.contains("would not be encrypted"), "{answer:?}");
    assert!(answer.stderr.contains("leave out sslmode") && !answer.stderr.contains("pw"), "{answer:?}");
}
