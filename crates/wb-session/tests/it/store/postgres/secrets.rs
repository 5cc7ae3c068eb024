//! Passwords and encryption.

use wb_session::store::postgres::{PostgresStore, PostgresUrl, sessions};
use wb_session::{Durability, StoreError};
use wb_testkit::postgres::{ESCAPED_PASSWORD, PASSWORD, Server};

use super::{open, server, session_in};
use crate::support::{append_bytes, fresh};

#[test]
fn a_password_lets_in_and_is_in_no_error() {
    let Some(server) = server() else { return };
    let url = session_in(&server.url(), "secret");
    drop(open(&url));
    let bare = PostgresUrl::parse(url.name()).unwrap();
    for (url, hint) in [
        (bare.clone(), "set the password in PGPASSWORD"),
        (bare.clone().with_password(Some("wr0ng")), "set the user's password in PGPASSWORD"),
    ] {
        let error = PostgresStore::open(&url, Durability::Always).unwrap_err();
        let text = format!("{error} {error:?} {url:?}");
        assert!(error.hint() == hint && !text.contains("wr0ng"), "{text}");
    }
    let text = format!("{:?}", PostgresStore::open(&url, Durability::Always).unwrap());
    assert!(!text.contains(PASSWORD) && !text.contains(ESCAPED_PASSWORD), "{text}");
    PostgresStore::open(&bare.with_password(Some(PASSWORD)), Durability::Always).unwrap();
}

#[test]
fn an_encrypted_connection_needs_a_certificate_that_is_known() {
    let Some(mut server) = Server::start() else { return };
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let url = |options: &str| {
        let url = server
            .url()
            .replace("127.0.0.1", "localhost")
            .replace("/postgres", "/postgres?hostaddr=127.0.0.1");
        session_in(&format!("{url}&sslmode=require{options}"), "encrypted")
    };
    let plain = PostgresStore::create(&url(""), Durability::Never).unwrap_err();
    assert!(plain.to_string().contains("does not support TLS"), "{plain}");
    let (known, unknown) = (fresh("root.crt"), url(""));
    let url = url(&format!("&sslrootcert={}", known.display()));
    let missing = PostgresStore::create(&url, Durability::Never).unwrap_err();
    assert!(missing.to_string().contains("root.crt cannot be read"), "{missing}");
    append_bytes(&known, signed.cert.pem().as_bytes());
    server.encrypt(&signed.cert.pem(), &signed.signing_key.serialize_pem());
    let refused = PostgresStore::create(&unknown, Durability::Never).unwrap_err();
    assert!(refused.hint().contains("sslrootcert"), "{refused}");
    let store = PostgresStore::create(&url, Durability::Never).unwrap();
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE ssl AND application_name = 'window-budget'";
    assert_eq!(server.sql(encrypted).trim(), "1");
    drop(store);
}

#[test]
fn a_database_that_is_not_there_is_refused_with_a_hint() {
    let Some(server) = server() else { return };
    let url = PostgresUrl::parse(&server.socket_url().replace("/postgres", "/nowhere")).unwrap();
    let error = sessions(&url).unwrap_err();
    assert!(matches!(error, StoreError::Database { hint: "name a database that is there", .. }), "{error}");
}
