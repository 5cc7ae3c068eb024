//! `cargo xtask package`: packages each crate that users may depend on and builds it from its
//! package, as if the lower ones were published. No registry is written to.

use std::path::{Path, PathBuf};

use crate::program;

/// The crates for tests and developers.
const EXCLUDED: [&str; 5] = ["xtask", "wb-testkit", "wb-e2e", "window-budget-python", "window-budget-wasm"];

/// Packages a copy of the files in git, with publishing switched on.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let (copy, target) = (root.join("target/packaging"), root.join("target/packages"));
    // Cargo takes packages of one name and version for the same, and what it built of them too.
    for folder in [&copy, &target] {
        let _ = std::fs::remove_dir_all(folder);
    }
    forget_unpacked();
    for file in program::files(root)? {
        let (from, to) = (root.join(&file), copy.join(&file));
        let place = |error: std::io::Error| format!("{file}: {error}");
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(place)?;
        std::fs::copy(from, to).map_err(place)?;
    }
    let manifest = copy.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
    let text = switched_on(&text).ok_or("Cargo.toml: publish = false not found")?;
    std::fs::write(manifest, text).map_err(|error| error.to_string())?;
    // Cargo packages the files that git knows, hidden ones too.
    program::git(&copy, "init --quiet")?;
    program::git(&copy, "add --all")?;
    let excluded = EXCLUDED.into_iter().flat_map(|name| ["--exclude", name]);
    let words =
        ["package", "--workspace", "--quiet", "--allow-dirty", "--offline"].into_iter().chain(excluded);
    program::run(program::cargo(&copy, words).env("CARGO_TARGET_DIR", &target))?;
    let packages = packages(&target.join("package"))?;
    println!("package: {packages} crates built from their packages");
    Ok(())
}

/// Removes what cargo unpacked of the packages of an earlier run.
fn forget_unpacked() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let entries = |folder: &Path| folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(sources) = home.map(|home| home.join("registry/src")) else { return };
    for package in entries(&sources).flat_map(|registry| entries(&registry).collect::<Vec<_>>()) {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ["wb-", "window-budget-"].iter().any(|start| name.starts_with(start)) {
            let _ = std::fs::remove_dir_all(package);
        }
    }
}

fn switched_on(manifest: &str) -> Option<String> {
    manifest
        .contains("\npublish = false\n")
        .then(|| manifest.replacen("\npublish = false\n", "\npublish = true\n", 1))
}

/// Counts the packages in a folder.
fn packages(folder: &Path) -> Result<usize, String> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path: &PathBuf| path.extension().is_some_and(|end| end == "crate")).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_is_switched_on_once_and_never_missed() {
        let on = switched_on("[workspace.package]\npublish = false\nname = 1\n");
        assert_eq!(on.as_deref(), Some("[workspace.package]\npublish = true\nname = 1\n"));
        assert_eq!(switched_on("publish = true"), None);
    }
}
