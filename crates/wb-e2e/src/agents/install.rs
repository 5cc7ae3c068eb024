//! Installing an agent from npm, once for each version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hosts::Host;
use crate::target;

/// Returns the folder for agents: next to cargo's build output, ignored by git.
pub(crate) fn cache() -> Result<PathBuf, String> {
    Ok(target()?.join("e2e"))
}

/// Returns the folder of an agent, whether or not it exists.
pub(crate) fn folder(cache: &Path, host: &Host) -> PathBuf {
    cache.join(format!("{}-{}", host.name, host.version))
}

/// Returns whether npm can be run.
pub(crate) fn npm_is_there() -> bool {
    let mut asked = Command::new("npm");
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Installs an agent if it is missing, and returns whether it was present.
pub(crate) fn install(cache: &Path, host: &Host) -> Result<bool, String> {
    install_packages(&folder(cache, host), &packages(host))
}

/// Installs packages into a folder if it is missing, and returns whether it was present.
pub(crate) fn install_packages(folder: &Path, packages: &[String]) -> Result<bool, String> {
    if folder.is_dir() {
        return Ok(true);
    }
    // An install that was broken off is begun again.
    let begun = folder.with_extension("begun");
    let failure = |error: std::io::Error| format!("{}: {error}", begun.display());
    if begun.is_dir() {
        std::fs::remove_dir_all(&begun).map_err(failure)?;
    }
    std::fs::create_dir_all(&begun).map_err(failure)?;
    std::fs::write(begun.join("package.json"), "{\"private\": true}\n").map_err(failure)?;
    npm(&begun, packages)?;
    std::fs::rename(&begun, folder).map_err(failure)?;
    Ok(false)
}

fn npm(folder: &Path, packages: &[String]) -> Result<(), String> {
    let status = Command::new("npm")
        .args([
            "install",
            "--save-exact",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--loglevel=error",
        ])
        .args(packages)
        .current_dir(folder)
        .stdin(Stdio::null())
        .status();
    let what = format!("npm install {}", packages.join(" "));
    let status =
        status.map_err(|error| format!("{what}: {error}\nhint: install Node 20 or newer with npm"))?;
    let hint = "hint: agents come from the registry of npm; is it reached from here?";
    if status.success() { Ok(()) } else { Err(format!("{what}: {status}\n{hint}")) }
}

fn packages(host: &Host) -> Vec<String> {
    let names = [host.package].into_iter().chain(host.companion);
    let node = host.node.map(str::to_owned);
    names.map(|name| format!("{name}@{}", host.version)).chain(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::hosts::named;

    #[test]
    fn packages_are_pinned() {
        let packages: Vec<String> = named("opencode").unwrap().iter().flat_map(packages).collect();
        assert_eq!(packages.len(), 2);
        assert!(packages.iter().all(|package| package.ends_with("@1.18.33")), "{packages:?}");
    }

    #[test]
    fn an_agent_that_is_there_is_not_installed_again() {
        let cache = std::env::temp_dir().join(format!("wb-install-{}", std::process::id()));
        let host = named("pi").unwrap()[0];
        std::fs::create_dir_all(folder(&cache, &host)).unwrap();
        assert_eq!(install(&cache, &host), Ok(true));
        std::fs::remove_dir_all(cache).unwrap();
    }
}
