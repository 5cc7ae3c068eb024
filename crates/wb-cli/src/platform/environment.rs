//! The parts of the user's environment that the command reads.

use std::env;
use std::path::{Path, PathBuf};

/// The width of the lines if the terminal reports none.
pub(crate) const PIPE_COLUMNS: usize = 100;

/// The values from the environment; apart from these, only keys and passwords are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `HOME`, else the home that the system knows of the user: the agents look there too.
    pub(crate) home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, where Claude Code keeps its files instead.
    pub(crate) claude_config: Option<PathBuf>,
    /// `CODEX_HOME`, where Codex keeps its files instead.
    pub(crate) codex_home: Option<PathBuf>,
    /// `CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS`: the Claude Code sessions that run this program.
    pub(crate) claude_sessions: Option<String>,
    /// `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`: the part of the window at which Claude Code compacts.
    pub(crate) claude_percent: Option<u64>,
    /// `GEMINI_CLI_HOME`, where Gemini CLI keeps its `.gemini` instead.
    pub(crate) gemini_home: Option<PathBuf>,
    /// `PI_CODING_AGENT_DIR`, where pi keeps its files instead.
    pub(crate) pi_agent: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, where opencode keeps its settings instead.
    pub(crate) config_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`, where opencode keeps its sessions instead.
    pub(crate) data_home: Option<PathBuf>,
    /// `PATH`, the folders of programs.
    pub(crate) search: Vec<PathBuf>,
    /// The working directory.
    pub(crate) working: Option<PathBuf>,
    /// This program, no link.
    pub(crate) program: Option<PathBuf>,
    /// The folder of our own settings.
    pub(crate) config: Option<PathBuf>,
    /// The folder of our own log.
    pub(crate) state: Option<PathBuf>,
    /// The folder of what can be read again.
    pub(crate) cache: Option<PathBuf>,
    /// `WB_PAGER`, else `PAGER`: the program that shows long text on a terminal.
    pub(crate) pager: Option<String>,
    /// `VISUAL`, else `EDITOR`.
    pub(crate) editor: Option<String>,
    /// `PGPASSFILE`, else `~/.pgpass`: the file of passwords of databases.
    #[cfg(feature = "postgres")]
    pub(crate) pg_password_file: Option<PathBuf>,
    /// `COLUMNS`, else the width of the terminal, else that of a pipe.
    pub(crate) columns: usize,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let columns_set =
            env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok()).filter(|n| *n > 0);
        let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let home = env::home_dir().filter(|home| home.is_absolute());
        let ours = |name, below| {
            let base = folder(name).or_else(|| home.as_deref().map(|home| home.join(below)));
            base.map(|base| base.join("wb"))
        };
        Self {
            config: ours("XDG_CONFIG_HOME", ".config"),
            state: ours("XDG_STATE_HOME", ".local/state"),
            pager: env::var("WB_PAGER").or_else(|_| env::var("PAGER")).ok(),
            editor: env::var("VISUAL")
                .or_else(|_| env::var("EDITOR"))
                .ok()
                .filter(|it| !it.trim().is_empty()),
            cache: ours("XDG_CACHE_HOME", ".cache"),
            #[cfg(feature = "postgres")]
            pg_password_file: env::var_os("PGPASSFILE")
                .map(PathBuf::from)
                .or_else(|| home.as_deref().map(|home| home.join(".pgpass"))),
            home,
            claude_config: folder("CLAUDE_CONFIG_DIR"),
            gemini_home: folder("GEMINI_CLI_HOME"),
            pi_agent: folder("PI_CODING_AGENT_DIR"),
            config_home: folder("XDG_CONFIG_HOME"),
            data_home: folder("XDG_DATA_HOME"),
            search: env::var_os("PATH").iter().flat_map(env::split_paths).collect(),
            working: env::current_dir().ok(),
            program: env::current_exe().and_then(|path| path.canonicalize()).ok(),
            claude_percent: env::var("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")
                .ok()
                .and_then(|text| percent(text.trim())),
            claude_sessions: env::var("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS").ok(),
            codex_home: folder("CODEX_HOME"),
            columns: columns_set.or_else(terminal).unwrap_or(PIPE_COLUMNS),
        }
    }

    /// Returns a path for display, with `~` for the user's home.
    pub(crate) fn tilde(&self, path: &Path) -> String {
        let below = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
    }
}

/// Reads a part of a whole: a fraction such as 0.8, or a percentage.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to 100")]
fn percent(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    let percent = if number < 1.0 { number * 100.0 } else { number };
    (1.0..=100.0).contains(&percent).then(|| percent.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_part_is_a_fraction_or_a_percentage() {
        assert_eq!((percent("0.8"), percent("85"), percent("1")), (Some(80), Some(85), Some(1)));
        for wrong in ["", "x", "0", "-1", "101", "NaN"] {
            assert_eq!(percent(wrong), None, "{wrong}");
        }
    }
}
