//! A PostgreSQL server in a folder of its own, and a proxy that loses connections to it.
//!
//! The server is the installed one, found in the path or where Debian puts it. It listens on a
//! socket in its folder, where everyone is trusted, and on the loopback address, where a password
//! is needed. Dropping it, or the end of the process, stops it and removes the folder.

#![expect(clippy::disallowed_methods, reason = "a server has files")]

mod proxy;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::shared::skip;

pub use proxy::Proxy;

/// The password of the user `wb`, with characters that a URL escapes.
pub const PASSWORD: &str = "top/s3cret#1";
/// The same as a URL has it.
pub const ESCAPED_PASSWORD: &str = "top%2Fs3cret%231";
/// The folder with the programs of a version, on Debian.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Looks at a server that starts.
const N_LOOKS: u32 = 600;

/// A running server.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    /// The user and group that it runs as: `PostgreSQL` refuses root.
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    process: Option<Child>,
    /// A shell that stops the server once nobody holds the other end of its input.
    guard: Option<Child>,
}

/// The script of the guard: its words are `pg_ctl`, the folder of the data and the whole folder.
const GUARD: &str = r#"cat >/dev/null; "$0" stop -D "$1" -m immediate >/dev/null 2>&1; rm -rf "$2""#;

impl Server {
    /// Starts a server that does not wait for the disk; prints a skip and returns `None` if none is
    /// installed.
    pub fn start() -> Option<Self> {
        Self::start_with(&["fsync=off", "max_connections=200"])
    }

    /// Starts a server with settings.
    ///
    /// # Panics
    /// Panics if it is installed and does not start.
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            skip("PostgreSQL is not installed (Debian: apt-get install postgresql)");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("wb-pg").tempdir().expect("a folder");
        let settings = settings.iter().map(|it| (*it).to_owned()).collect();
        let (process, guard) = (None, None);
        let mut server = Self { folder, programs, port: free_port(), user: user(), settings, process, guard };
        server.give(server.folder.path());
        let password = server.place("password");
        fs::write(&password, PASSWORD).expect("the password");
        server.give(&password);
        let words = [
            "--username=wb",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ];
        let mut init = server.command("initdb");
        init.arg("--pgdata").arg(server.data()).arg("--pwfile").arg(password).args(words);
        run(&mut init);
        server.launch();
        let mut guard = server.command_of(Path::new("sh"));
        guard.args(["-c", GUARD]).arg(server.programs.join("pg_ctl"));
        guard.arg(server.data()).arg(server.folder.path()).stdin(Stdio::piped());
        // An interrupt from a terminal must not end it before the server.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut guard, 0);
        server.guard = Some(guard.spawn().expect("a shell"));
        Some(server)
    }

    /// Adds a certificate and its key, and encrypts connections that ask for it.
    ///
    /// # Panics
    /// Panics if it does not start again.
    pub fn encrypt(&mut self, certificate: &str, key: &str) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            fs::write(&path, text).expect("a certificate");
            self.give(&path);
        }
        self.settings.push("ssl=on".to_owned());
        self.restart("fast");
    }

    /// Adds a rule to the beginning of the file that says who may connect.
    ///
    /// # Panics
    /// Panics if it does not start again.
    pub fn add_rule(&mut self, rule: &str) {
        let path = self.data().join("pg_hba.conf");
        let rules = fs::read_to_string(&path).expect("the rules");
        let mut file = fs::File::create(&path).expect("the rules");
        writeln!(file, "{rule}\n{rules}").expect("a rule");
        self.restart("fast");
    }

    /// Stops the server in a mode of `pg_ctl`.
    ///
    /// # Panics
    /// Panics if it does not stop.
    pub fn stop(&mut self, mode: &str) {
        let Some(mut process) = self.process.take() else { return };
        let mut stop = self.command("pg_ctl");
        run(stop.arg("stop").arg("--pgdata").arg(self.data()).args(["--mode", mode]));
        process.wait().expect("its end");
    }

    /// Stops the server and starts it again on the same port.
    pub fn restart(&mut self, mode: &str) {
        self.stop(mode);
        self.launch();
    }

    /// Starts the server after a stop.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn launch(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log()).expect("its log");
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        command.args(["-p", &self.port.to_string(), "-h", "127.0.0.1"]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting.as_str()]));
        command.stdout(Stdio::null()).stderr(log);
        self.process = Some(command.spawn().expect("the server"));
        for _ in 0..N_LOOKS {
            let mut look = self.command("pg_isready");
            look.arg("-q").arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
            if look.status().is_ok_and(|status| status.success()) {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("the server does not start: {}", fs::read_to_string(self.log()).unwrap_or_default());
    }

    /// Returns the port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the name of its database over the socket.
    pub fn socket_url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://wb@{folder}:{}/postgres", self.port)
    }

    /// Returns the name of its database over the loopback address, with the password.
    pub fn url(&self) -> String {
        format!("postgres://wb:{ESCAPED_PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements and returns what they print, one line for each row.
    ///
    /// # Panics
    /// Panics if one fails.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_in("postgres", statements)
    }

    /// Runs statements in a database.
    ///
    /// # Panics
    /// Panics if one fails.
    pub fn sql_in(&self, database: &str, statements: &str) -> String {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "wb", "-d", database]);
        psql.arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string(), "-c", statements]);
        run(&mut psql)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.place("data")
    }

    fn log(&self) -> PathBuf {
        self.place("log")
    }

    /// Gives a file to the user that the server runs as, for that user alone.
    fn give(&self, path: &Path) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt as _, chown};
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
            if let Some((user, group)) = self.user {
                chown(path, Some(user), Some(group)).expect("its owner");
            }
        }
    }

    fn command(&self, program: &str) -> Command {
        self.command_of(&self.programs.join(program))
    }

    fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        #[cfg(unix)]
        if let Some((user, group)) = self.user {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }
}

/// Runs a program and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Finds the folder of the server's programs.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).filter_map(|folder| folder.join("initdb").canonicalize().ok());
    let in_path = in_path.filter_map(|program| program.parent().map(Path::to_owned));
    let mut of_debian: Vec<PathBuf> =
        fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|it| it.path().join("bin")).collect();
    of_debian.sort();
    let is_whole = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "pg_isready", "postgres", "psql"].iter().all(|it| folder.join(it).exists())
    };
    in_path.chain(of_debian.into_iter().rev()).find(is_whole)
}

fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("its address").port()
}

/// Returns another user, for a process that runs as root.
#[cfg(unix)]
fn user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    if fs::metadata("/proc/self").map(|own| own.uid()).ok()? != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let of_user = |name: &str| {
        let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut ids = line.split(':').skip(1).map(str::parse);
        Some((ids.next()?.ok()?, ids.next()?.ok()?))
    };
    of_user("postgres").or_else(|| of_user("nobody"))
}

#[cfg(not(unix))]
fn user() -> Option<(u32, u32)> {
    None
}
