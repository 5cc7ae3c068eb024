//! A connection to the server that is made again after it was lost.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::fault::{Fault, is_passing};
use super::runtime::ConnectionRuntime;
use super::tls::connector;
use super::url::PostgresUrl;

/// The time before the first attempt to connect again; each next one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(50);
/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The attempts at a lock: a process that was killed has it until the server notices, a moment
/// later.
const N_LOCK_ATTEMPTS: u32 = 7;
/// The time after the first attempt at a lock; each next one waits twice as long.
const FIRST_LOCK_DELAY: Duration = Duration::from_millis(10);

/// The settings of each connection of a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Setup {
    /// The advisory lock to hold: its class and its number.
    pub(super) lock: Option<(i32, i32)>,
    /// Commits do not wait for the disk.
    pub(super) is_relaxed: bool,
    /// The session whose appends are reported.
    pub(super) listens_to: Option<i32>,
}

/// One connection while it lasts.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) client: Client,
    pub(super) runtime: Arc<ConnectionRuntime>,
    /// The prepared appends of one line and of several.
    pub(super) inserts: [OnceLock<Statement>; 2],
    /// Indicates that appends were not reported yet.
    pub(super) is_report_due: AtomicBool,
    process: (i32, String),
}

/// A connection that is made again as often as needed.
#[derive(Debug)]
pub(super) struct Connection {
    runtime: Arc<ConnectionRuntime>,
    url: PostgresUrl,
    state: Mutex<State>,
    signal: Arc<Signal>,
}

#[derive(Debug, Default)]
struct State {
    setup: Setup,
    backend: Option<Arc<Backend>>,
    /// The server's process for the connection before, which may not have noticed its end.
    old: Option<(i32, String)>,
}

/// Counts notifications and ends of connections.
#[derive(Debug, Default)]
struct Signal(watch::Sender<u64>);

impl Signal {
    fn raise(&self) {
        self.0.send_modify(|n| *n += 1);
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Connects, with as many attempts as for a lost connection.
    pub(super) fn open(url: &PostgresUrl, setup: Setup) -> Result<Self, Fault> {
        let state = Mutex::new(State { setup, ..State::default() });
        let runtime = Arc::new(ConnectionRuntime::new()?);
        let connection = Self { runtime, url: url.clone(), state, signal: Arc::default() };
        connection.repeat(|_| async { Ok(()) })?;
        Ok(connection)
    }

    pub(super) fn url(&self) -> &PostgresUrl {
        &self.url
    }

    /// Takes a lock, and holds it from now on; a connection that is made again takes it again.
    pub(super) fn hold(&self, class: i32, number: i32) -> Result<(), Fault> {
        let lock = (class, number);
        let taken = self.repeat(move |backend| async move { take_lock(&backend.client, lock).await });
        if taken.is_ok() {
            unpoisoned(&self.state).setup.lock = Some(lock);
        }
        taken
    }

    /// Runs a statement once; if the connection is lost, its outcome is not known.
    pub(super) fn once<T, F>(&self, work: impl FnOnce(Arc<Backend>) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let backend = self.backend()?;
        let result = self.runtime.run(self.url.answer_within, work(Arc::clone(&backend)));
        if matches!(result, Err(Fault::Lost(_))) {
            let mut state = unpoisoned(&self.state);
            state.old = Some(backend.process.clone());
            state.backend = None;
        }
        result
    }

    /// Runs a statement that may be repeated until it is answered.
    pub(super) fn repeat<T, F>(&self, work: impl Fn(Arc<Backend>) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let mut attempt = 0;
        loop {
            match self.once(&work) {
                Err(Fault::Lost(_)) if attempt < self.url.n_attempts => sleep(delay(attempt)),
                outcome => return outcome,
            }
            attempt += 1;
        }
    }

    /// Returns the connection, made again if it was lost.
    fn backend(&self) -> Result<Arc<Backend>, Fault> {
        let mut state = unpoisoned(&self.state);
        if let Some(backend) = state.backend.as_ref().filter(|it| !it.client.is_closed()) {
            return Ok(Arc::clone(backend));
        }
        if let Some(closed) = state.backend.take() {
            state.old = Some(closed.process.clone());
        }
        let (url, signal) = (self.url.clone(), Arc::clone(&self.signal));
        let (setup, old) = (state.setup, state.old.clone());
        // Each of its few statements may be the one that is not answered.
        let connected = self.runtime.run(self.url.answer_within, connect(url, setup, old, signal));
        let (client, process) = connected?;
        let (runtime, inserts) = (Arc::clone(&self.runtime), [OnceLock::new(), OnceLock::new()]);
        let is_report_due = AtomicBool::new(false);
        let backend = Arc::new(Backend { client, runtime, inserts, is_report_due, process });
        state.backend = Some(Arc::clone(&backend));
        Ok(backend)
    }

    /// Has each append to a session reported from now on.
    pub(super) fn listen_to(&self, session: i32) -> Result<(), Fault> {
        if unpoisoned(&self.state).setup.listens_to.replace(session) == Some(session) {
            return Ok(());
        }
        self.repeat(move |backend| async move { Ok(backend.client.batch_execute(&listen(session)).await?) })
    }

    /// Returns the count of what was reported so far.
    pub(super) fn n_signals(&self) -> u64 {
        *self.signal.0.borrow()
    }

    /// Waits until the count is another, or for a time.
    pub(super) fn wait_for_signal(&self, seen: u64, timeout: Duration) {
        let mut reports = self.signal.0.subscribe();
        // Either end is fine: the caller looks in any case.
        let _ = self.runtime.run(timeout, async move { Ok(reports.wait_for(|n| *n != seen).await.is_ok()) });
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let state = unpoisoned(&self.state);
        let backend = state.backend.as_ref().filter(|it| !it.client.is_closed());
        if let Some((backend, (_, session))) = backend.zip(state.setup.lock) {
            let is_report_due = backend.is_report_due.swap(false, Ordering::SeqCst);
            // The server would notice the end of the connection a moment later.
            let unlock = async {
                if is_report_due {
                    notify(&backend.client, session).await?;
                }
                Ok(backend.client.batch_execute("SELECT pg_advisory_unlock_all()").await?)
            };
            let _ = self.runtime.run(MAX_DELAY, unlock);
        }
    }
}

/// Returns the time to wait before another attempt.
pub(super) fn delay(attempt: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << attempt.min(16)).min(MAX_DELAY)
}

fn listen(session: i32) -> String {
    format!("LISTEN {};", channel(session))
}

/// Returns the channel on which appends to a session are reported.
fn channel(session: i32) -> String {
    format!("wb_session_{session}")
}

/// Reports that a session changed.
pub(super) async fn notify(client: &Client, session: i32) -> Result<(), Fault> {
    client.query_typed("SELECT pg_notify($1, '')", &[(&channel(session), Type::TEXT)]).await?;
    Ok(())
}

async fn connect(
    url: PostgresUrl,
    setup: Setup,
    old: Option<(i32, String)>,
    signal: Arc<Signal>,
) -> Result<(Client, (i32, String)), Fault> {
    let is_encrypted = url.config.get_ssl_mode() != SslMode::Disable;
    let tls = connector(is_encrypted, url.root_certificates.as_deref()).map_err(Fault::Setup)?;
    let connected = url.config.connect(tls).await;
    let (client, mut connection) = connected.map_err(|error| {
        let is_passing = is_passing(&error);
        if is_passing { Fault::lost(&error) } else { Fault::Refused(Box::new(error)) }
    })?;
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                signal.raise();
            }
        }
        signal.raise();
    });
    client.batch_execute(&settings(setup)).await?;
    if let Some((pid, started)) = old.filter(|_| setup.lock.is_some()) {
        // It has the lock as long as it waits for a network that was cut.
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2";
        client.execute(end, &[&pid, &started]).await?;
    }
    let own = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    let row = client.query_one(own, &[]).await?;
    if let Some(lock) = setup.lock {
        take_lock(&client, lock).await?;
    }
    Ok((client, (row.get(0), row.get(1))))
}

/// Returns the settings of a connection. The server gives up a host that vanished after a minute.
fn settings(setup: Setup) -> String {
    let commit = if setup.is_relaxed {
        "SET synchronous_commit = off;"
    } else {
        "SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') = 'off';"
    };
    let listen = setup.listens_to.map(listen).unwrap_or_default();
    format!(
        "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
         {commit} {listen}"
    )
}

/// Takes an advisory lock for as long as the connection lasts.
async fn take_lock(client: &Client, lock: (i32, i32)) -> Result<(), Fault> {
    take(client, "SELECT pg_try_advisory_lock($1, $2)", lock).await
}

/// Takes an advisory lock for as long as the transaction lasts.
pub(super) async fn take_lock_of_transaction(client: &Client, lock: (i32, i32)) -> Result<(), Fault> {
    take(client, "SELECT pg_try_advisory_xact_lock($1, $2)", lock).await
}

async fn take(client: &Client, sql: &str, (class, number): (i32, i32)) -> Result<(), Fault> {
    for attempt in 0..N_LOCK_ATTEMPTS {
        if client.query_one(sql, &[&class, &number]).await?.get(0) {
            return Ok(());
        }
        tokio::time::sleep(FIRST_LOCK_DELAY * (1 << attempt)).await;
    }
    Err(Fault::Busy)
}
