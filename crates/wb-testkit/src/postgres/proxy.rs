//! A proxy on the loopback address whose connections can be cut in several ways.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The time after which a direction that is held looks again.
const LOOK: Duration = Duration::from_millis(5);

/// A proxy in front of a server.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    wire: Arc<Wire>,
}

#[derive(Debug)]
struct Wire {
    /// Nothing gets through to the server, and nothing back.
    is_stalled: AtomicBool,
    /// The answers that do get back.
    n_answers: AtomicI64,
    is_over: AtomicBool,
    /// The client's and the server's side of each connection.
    connections: Mutex<Vec<(TcpStream, TcpStream)>>,
}

/// More answers than any test waits for.
const ALL: i64 = i64::MAX / 2;

impl Proxy {
    /// Starts a proxy in front of a port of the loopback address.
    ///
    /// # Panics
    /// Panics if there is no free port.
    pub fn start(server: u16) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("its address").port();
        let (is_stalled, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let (n_answers, connections) = (AtomicI64::new(ALL), Mutex::default());
        let wire = Arc::new(Wire { is_stalled, n_answers, is_over, connections });
        let shared = Arc::clone(&wire);
        thread::spawn(move || {
            for client in socket.incoming().map_while(Result::ok) {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    connect(&shared, &client, &server);
                }
            }
        });
        Self { port, wire }
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes all connections.
    pub fn drop_all(&self) {
        for (client, server) in self.take() {
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        }
    }

    /// Closes the direction to the client of all connections; the server notices nothing.
    pub fn half_close(&self) {
        for (client, _) in self.connections().iter() {
            let _ = client.shutdown(Shutdown::Write);
        }
    }

    /// Stops the present and future connections without closing them, or lets them go on.
    pub fn stall(&self, is_stalled: bool) {
        self.wire.is_stalled.store(is_stalled, Ordering::SeqCst);
    }

    /// Keeps answers from getting back after some more, while requests get through.
    pub fn mute_after(&self, n_answers: i64) {
        self.wire.n_answers.store(n_answers, Ordering::SeqCst);
    }

    /// Lets all answers get back.
    pub fn unmute(&self) {
        self.mute_after(ALL);
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, Vec<(TcpStream, TcpStream)>> {
        self.wire.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<(TcpStream, TcpStream)> {
        std::mem::take(&mut *self.connections())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.wire.is_over.store(true, Ordering::SeqCst);
        self.drop_all();
        // The thread that accepts connections wakes up and ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn connect(wire: &Arc<Wire>, client: &TcpStream, server: &TcpStream) {
    let copy = |stream: &TcpStream| stream.try_clone().expect("another handle");
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    wire.connections.lock().unwrap_or_else(PoisonError::into_inner).push((copy(client), copy(server)));
    for (from, to, is_back) in [(copy(client), copy(server), false), (copy(server), copy(client), true)] {
        let wire = Arc::clone(wire);
        thread::spawn(move || pass(&wire, from, to, is_back));
    }
}

fn pass(wire: &Wire, mut from: TcpStream, mut to: TcpStream, is_back: bool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(n) = from.read(&mut bytes) {
        let is_mute = is_back && wire.n_answers.fetch_sub(1, Ordering::SeqCst) <= 0;
        let is_held = || {
            let is_mute = is_mute && wire.n_answers.load(Ordering::SeqCst) <= 0;
            is_mute || wire.is_stalled.load(Ordering::SeqCst)
        };
        while is_held() && !wire.is_over.load(Ordering::SeqCst) {
            thread::sleep(LOOK);
        }
        if n == 0 || to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
