//! `cargo xtask pages`: the pages of `wb view` and `wb replay` in a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{program, target};

/// The packages from npm: what drives the browser, and what checks that everybody can read a page.
const PACKAGES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.1"];
const SCRIPT: &str = include_str!("pages.mjs");
/// The names of the browser.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";

/// Writes the pages of a session before and after a compaction, and of a replay, and opens them;
/// says so if a program is missing.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let Some(browser) = BROWSERS.into_iter().find_map(installed) else {
        println!("pages: skipped, needs Chromium");
        return Ok(());
    };
    if installed("npm").is_none() {
        println!("pages: skipped, needs npm");
        return Ok(());
    }
    let folder = target()?.join("pages");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    install(&folder)?;
    let pages = write_pages(root, &folder)?;
    let mut node = Command::new("node");
    program::run(node.arg("pages.mjs").arg(browser).arg(&folder).args(pages).current_dir(&folder))?;
    println!("pages: nothing found; pictures are in {}", folder.display());
    Ok(())
}

/// Finds a program in the path.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn install(folder: &Path) -> Result<(), String> {
    for (name, text) in [("pages.mjs", SCRIPT), ("package.json", "{\"private\": true}\n")] {
        fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let mut npm = Command::new("npm");
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"];
    program::run(npm.args(words).args(PACKAGES).current_dir(folder).stdout(Stdio::null()))
}

fn write_pages(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    program::run(&mut program::cargo(root, ["build", "--quiet", "-p", "wb-cli"]))?;
    let wb = target()?.join("debug/wb");
    let session = folder.join("session.jsonl");
    // The list of operations of an earlier run is about another file.
    let _ = fs::remove_file(folder.join("session.jsonl.wb-log"));
    fs::copy(root.join(SESSION), &session).map_err(|error| format!("{SESSION}: {error}"))?;
    let page = |name: &str| folder.join(name);
    let run = |words: &[&str], page: Option<&Path>| {
        let mut command = Command::new(&wb);
        command.args(words).arg(&session).arg("--quiet").stdout(Stdio::null());
        if let Some(page) = page {
            command.arg("--overwrite").arg("--html").arg(page);
        }
        program::run(&mut command)
    };
    let [before, after, replay] = ["before.html", "after.html", "replay.html"].map(page);
    run(&["view"], Some(&before))?;
    run(&["replay", "--window", "32k"], Some(&replay))?;
    run(&["compact", "--force", "--in-place", "--allow-open"], None)?;
    run(&["view"], Some(&after))?;
    Ok(vec![before, after, replay])
}
