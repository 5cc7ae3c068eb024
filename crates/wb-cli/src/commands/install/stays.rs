//! Finds what `wb` leaves behind after it is uninstalled from an agent.

use std::path::PathBuf;

use wb_record::history_path;

use crate::commands::compaction_log;
use crate::hosts::Host;
use crate::hosts::place::InstallPlace;
use crate::platform::environment::Environment;
use crate::session::find::agent_folders::agent_folders;
use crate::terminal::number::count;

/// The suffix of the file next to a Gemini CLI session that holds its digests.
const DIGESTS: &str = ".wb-digests";

/// Reports what stays: the log, the settings, and the files that `wb undo` needs.
pub(crate) fn what_stays(host: &Host, environment: &Environment) -> Vec<String> {
    let is_there = |path: &PathBuf| path.is_file();
    let log = compaction_log::path(environment).filter(is_there);
    let log = log.map(|path| format!("kept the log of compactions: {}", environment.tilde(&path)));
    let settings = environment.config.as_ref().map(|folder| folder.join("config.toml")).filter(is_there);
    let settings = settings.map(|path| format!("kept your wb settings: {}", environment.tilde(&path)));
    log.into_iter()
        .chain(settings)
        .chain(lists(host, environment))
        .chain(digests(host, environment))
        .collect()
}

/// Reports the files next to sessions, one line per folder of the agent.
fn lists(host: &Host, environment: &Environment) -> Vec<String> {
    let folders = agent_folders(environment).into_iter().filter(|it| it.agent == host.name);
    let lines = folders.filter_map(|folder| {
        let n = folder.sessions().iter().filter(|it| history_path(&it.path).is_file()).count();
        let files = count(n, "file", "files");
        let place = environment.tilde(&folder.folder);
        (n > 0).then(|| format!("left next to sessions in {place}: {files} for wb undo (*.wb-log)"))
    });
    lines.collect()
}

/// Reports the digests next to Gemini CLI sessions, which are in one folder per project.
fn digests(host: &Host, environment: &Environment) -> Option<String> {
    let folder = InstallPlace::new(host, environment, false).ok()?.file(host.digests?);
    let inside = |folder: PathBuf| folder.read_dir().into_iter().flatten().flatten().map(|it| it.path());
    let files = inside(folder.clone()).flat_map(|project| inside(project.join("chats")));
    let n = files.filter(|path| path.to_string_lossy().ends_with(DIGESTS)).count();
    let (files, place) = (count(n, "file", "files"), environment.tilde(&folder));
    (n > 0).then(|| format!("left next to sessions in {place}: {files} with digests (*{DIGESTS})"))
}
