//! Writers that are killed: nothing that was acknowledged is lost, and a step is there whole or not
//! at all.

use std::env;
use std::ffi::OsStr;
use std::time::Duration;

use wb_session::store::postgres::PostgresUrl;
use wb_testkit::depth::cases;

use super::{open, server, session};
use crate::store::crash::{N_KILLS, append_for_ever, killed_after, n_records, step};

/// The variable with the session that a child of this test writes.
const SESSION: &str = "WB_SESSION_CRASH_URL";
/// Kills on one session, so that it stays small enough to be read each time.
const N_KILLS_PER_SESSION: u32 = 10;

#[test]
#[expect(clippy::disallowed_methods, reason = "a child learns from its environment that it is one")]
fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    if let Ok(url) = env::var(SESSION) {
        return append_for_ever(&mut open(&PostgresUrl::parse(&url).unwrap()));
    }
    let name = "store::postgres::kills::a_writer_that_is_killed_loses_nothing_that_it_acknowledged";
    let Some(server) = server() else { return };
    let (mut url, mut n_before) = (session(server, "killed"), 0);
    let (mut seed, mut n_working) = (0x5EED_u64, 0);
    let n_kills = cases(N_KILLS);
    for kill in 0..n_kills {
        if kill % N_KILLS_PER_SESSION == 0 {
            (url, n_before) = (session(server, "killed"), 0);
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let delay = Duration::from_micros(15_000 + (seed >> 33) % 60_000);
        let acknowledged = killed_after(name, (SESSION, OsStr::new(url.name())), delay);
        n_working += u32::from(acknowledged.is_some());
        let n_acknowledged = acknowledged.unwrap_or(n_before);
        let found = n_records(&open(&url));
        let either = [n_acknowledged, n_acknowledged + step(n_acknowledged).len()];
        assert!(either.contains(&found), "kill {kill}: {found} records, {n_acknowledged} acknowledged");
        n_before = found;
    }
    assert!(n_working > n_kills / 20, "{n_working} of the writers got to work");
}
