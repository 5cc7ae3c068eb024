//! What of `wb` stays when it is taken out of an agent, and where.

use super::hosts::Host;
use crate::agent_folders::agent_folders;
use crate::compaction_log;
use crate::environment::Environment;
use crate::number::count;

/// What ends the name of the file next to a session that tells what was done to it.
const LIST: &str = ".wb-log";

/// Tells what is there and stays: the log, the settings, and what `wb undo` needs of the agent's sessions.
pub(super) fn what_stays(host: &Host, environment: &Environment) -> Vec<String> {
    let is_there = |path: &std::path::PathBuf| path.is_file();
    let log = compaction_log::path(environment).filter(is_there);
    let log = log.map(|path| format!("the log of compactions stays: {}", environment.tilde(&path)));
    let settings = environment.config.as_ref().map(|folder| folder.join("config.toml")).filter(is_there);
    let settings = settings.map(|path| format!("your settings of wb stay: {}", environment.tilde(&path)));
    log.into_iter().chain(settings).chain(lists(host, environment)).collect()
}

/// Tells of the files next to sessions, a line for each folder of the agent.
fn lists(host: &Host, environment: &Environment) -> Vec<String> {
    let folders = agent_folders(environment).into_iter().filter(|it| it.agent == host.name.word());
    let told = folders.filter_map(|folder| {
        let has_list = |session: &std::path::Path| {
            let mut name = session.as_os_str().to_owned();
            name.push(LIST);
            std::path::Path::new(&name).is_file()
        };
        let n = folder.sessions().iter().filter(|it| has_list(&it.path)).count();
        let files = count(n, "file that ends", "files that end");
        let place = environment.tilde(&folder.folder);
        (n > 0).then(|| format!("{files} in {LIST} and lie next to sessions in {place}: wb undo needs them"))
    });
    told.collect()
}
