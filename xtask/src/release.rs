//! `cargo xtask release`: what a release publishes, built and tried on this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::{bindings, program, target};

const USAGE: &str = "usage: cargo xtask release [--try] [x86_64 | aarch64]";
/// The targets of the program, their target for wheels, and their packages on npm.
const PLATFORMS: [(&str, &str, [&str; 2]); 2] = [
    ("x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu", ["linux-x64", "linux-x64-musl"]),
    ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu", ["linux-arm64", "linux-arm64-musl"]),
];
/// The documents of an archive.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Systems for which the program is checked and not built.
const CHECKED: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"];
const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];
/// The tools that build for older systems and other processors; all are Python packages.
const TOOLS: [&str; 4] = ["maturin>=1.8,<2", "ziglang", "cargo-zigbuild", "wheel"];

/// A release that is being built.
struct Release<'a> {
    root: &'a Path,
    version: String,
    repository: String,
    /// The files that are published.
    out: PathBuf,
    /// The folder in which they are assembled.
    work: PathBuf,
    /// The folder of the tools.
    tools: PathBuf,
}

/// Builds all files, or those for one processor, and with `--try` installs each.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (is_tried, only) = match words {
        ["--try", only @ ..] => (true, only),
        only => (false, only),
    };
    let processor = match only {
        [] => "",
        [processor @ ("x86_64" | "aarch64")] => processor,
        _ => return Err(USAGE.to_owned()),
    };
    let release = Release::new(root)?;
    release.agrees()?;
    for (program, wheel, packages) in PLATFORMS.into_iter().filter(|it| it.0.starts_with(processor)) {
        let built = release.program(program)?;
        release.archive(program, &built)?;
        release.wheel(wheel, &built)?;
        packages.into_iter().try_for_each(|package| release.platform(package, &built))?;
    }
    CHECKED.iter().try_for_each(|target| release.check(target))?;
    release.javascript()?;
    release.materials()?;
    release.installer()?;
    release.checksums()?;
    if is_tried { release.try_all() } else { Ok(()) }
}

impl<'a> Release<'a> {
    fn new(root: &'a Path) -> Result<Self, String> {
        let (out, work) = (target()?.join("release-files"), target()?.join("release-work"));
        for folder in [&out, &work] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let environment = target()?.join("bindings/tools");
        program::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let tools = environment.join("bin");
        let mut pip = Command::new(tools.join("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(TOOLS);
        program::run(&mut pip)?;
        let manifest = text(&root.join("Cargo.toml"))?;
        let version = quoted(&manifest, "version").ok_or("Cargo.toml has no version")?;
        let repository = quoted(&manifest, "repository").unwrap_or_default();
        Ok(Self { root, version, repository, out, work, tools })
    }

    /// Checks that the changelog and the packages have the version.
    fn agrees(&self) -> Result<(), String> {
        let changelog = text(&self.root.join("CHANGELOG.md"))?;
        let heading = format!("## {}", self.version);
        if !changelog.lines().any(|line| line.starts_with(&heading)) {
            return Err(format!("CHANGELOG.md has no section {heading}"));
        }
        for package in ["bindings/wasm/package.json", "bindings/npm/wb/package.json"] {
            let manifest: Value =
                serde_json::from_str(&text(&self.root.join(package))?).map_err(|error| error.to_string())?;
            if manifest["version"] != self.version.as_str() {
                return Err(format!(
                    "{package} has another version: run node bindings/npm/scripts/versions.mjs"
                ));
            }
        }
        Ok(())
    }

    /// Builds the program for a target, without any library of the system.
    fn program(&self, name: &str) -> Result<PathBuf, String> {
        program::run(Command::new("rustup").args(["target", "add", name]))?;
        let words = ["zigbuild", "--quiet", "--profile", "dist", "-p", "wb-cli", "--target", name];
        self.with_tools(&mut program::cargo(self.root, words))?;
        Ok(target()?.join(name).join("dist/wb"))
    }

    /// Checks that the program compiles for a system that is not built for here.
    fn check(&self, name: &str) -> Result<(), String> {
        program::run(Command::new("rustup").args(["target", "add", name]))?;
        let words = ["check", "--quiet", "-p", "wb-cli", "--target", name];
        let mut check = Command::new(self.tools.join("cargo-zigbuild"));
        // zig takes the dates in the sources of mimalloc for errors.
        check.env(["CFLAGS_", &name.replace('-', "_")].concat(), "-Wno-error=date-time");
        self.with_tools(check.args(words).current_dir(self.root))?;
        println!("release: the program compiles for {name}; it was neither linked nor run there");
        Ok(())
    }

    /// Packs the program with documents, completions and the manual.
    fn archive(&self, name: &str, built: &Path) -> Result<(), String> {
        let name = format!("wb-{}-{name}", self.version);
        let folder = self.work.join(&name);
        let completions = folder.join("completions");
        fs::create_dir_all(&completions).map_err(|error| error.to_string())?;
        copy(built, &folder.join("wb"))?;
        DOCUMENTS.iter().try_for_each(|file| copy(&self.root.join(file), &folder.join(file)))?;
        let wb = |words: &[&str]| {
            let run = ["run", "--quiet", "-p", "wb-cli", "--"];
            program::output(&mut program::cargo(self.root, run.iter().chain(words)))
        };
        for shell in SHELLS {
            write(&completions.join(format!("wb.{shell}")), wb(&["completions", shell])?)?;
        }
        write(&folder.join("wb.1"), wb(&["man"])?)?;
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-czf"]);
        program::run(tar.arg(self.out.join(format!("{name}.tar.gz"))).arg("-C").arg(&self.work).arg(&name))
    }

    /// Builds the wheel for a target, with the program as its script.
    fn wheel(&self, name: &str, built: &Path) -> Result<(), String> {
        program::run(Command::new("rustup").args(["target", "add", name]))?;
        let wheels = self.work.join("wheels").join(name);
        let mut maturin = Command::new(self.tools.join("maturin"));
        maturin.args(["build", "--quiet", "--zig", "--compatibility", "manylinux2014", "--target", name]);
        maturin.arg("--out").arg(&wheels).current_dir(self.root.join("bindings/python"));
        self.with_tools(&mut maturin)?;
        let wheel = only_file(&wheels)?;
        let unpacked = self.work.join("wheels-unpacked").join(name);
        let tool = |words: &[&OsStr]| {
            program::run(Command::new(self.tools.join("python")).args(["-m", "wheel"]).args(words))
        };
        tool(&["unpack".as_ref(), wheel.as_ref(), "--dest".as_ref(), unpacked.as_ref()])?;
        let folder = unpacked.join(format!("window_budget-{}", self.version));
        let scripts = folder.join(format!("window_budget-{}.data/scripts", self.version));
        fs::create_dir_all(&scripts).map_err(|error| error.to_string())?;
        copy(built, &scripts.join("wb"))?;
        tool(&["pack".as_ref(), folder.as_ref(), "--dest-dir".as_ref(), self.out.as_ref()])
    }

    /// Packs the package of a platform on npm.
    fn platform(&self, name: &str, built: &Path) -> Result<(), String> {
        let script = self.root.join("bindings/npm/scripts/platform.mjs");
        let folder = self.work.join("npm").join(name);
        program::run(Command::new("node").arg(script).arg(name).arg(built).arg(&folder))?;
        self.pack(&folder)
    }

    /// Packs the package for JavaScript, and the one that finds the program.
    fn javascript(&self) -> Result<(), String> {
        let folder = bindings::copy(self.root, "bindings/wasm")?;
        bindings::wasm_package(self.root, &folder.join("pkg"))?;
        self.pack(&folder)?;
        self.pack(&self.root.join("bindings/npm/wb"))
    }

    fn pack(&self, folder: &Path) -> Result<(), String> {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--loglevel", "error", "--pack-destination"]).arg(&self.out).current_dir(folder);
        program::run(&mut npm)
    }

    /// Writes the crates that the program is built from, as `CycloneDX`.
    fn materials(&self) -> Result<(), String> {
        let words = ["metadata", "--format-version", "1", "--locked"];
        let metadata = program::output(&mut program::cargo(self.root, words))?;
        let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
        let name = format!("window-budget-{}.cdx.json", self.version);
        write(&self.out.join(name), format!("{:#}\n", bill_of_materials(&metadata, &self.version)))
    }

    fn installer(&self) -> Result<(), String> {
        let script = text(&self.root.join("release/install.sh"))?;
        let release = match self.repository.as_str() {
            "" => String::new(),
            repository => format!("{repository}/releases/download/v{}", self.version),
        };
        let script = script.replace("@VERSION@", &self.version).replace("@RELEASE@", &release);
        write(&self.out.join("install.sh"), script)
    }

    fn checksums(&self) -> Result<(), String> {
        let mut files: Vec<String> = names(&self.out)?;
        files.sort();
        let sums = program::output(Command::new("sha256sum").args(&files).current_dir(&self.out))?;
        write(&self.out.join("SHA256SUMS"), sums)?;
        println!("release: {} files in {}", files.len() + 1, self.out.display());
        Ok(())
    }

    /// Installs the files for this machine into clean places and runs what they bring.
    fn try_all(&self) -> Result<(), String> {
        let place = self.work.join("try");
        fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        self.try_wheel(&place.join("venv"))?;
        self.try_npm(&place.join("npm"))?;
        self.try_installer(&place.join("prefix"))?;
        println!("release: the wheel, the npm packages and the program were installed and ran");
        Ok(())
    }

    fn try_wheel(&self, place: &Path) -> Result<(), String> {
        const EXAMPLE: &str = "import window_budget as w; print(w.weigh([{'role': 'user', 'content': 'Hi.'}], \
                               format='openai-chat')['tokens'])";
        let wheel = self.file(|name| name.ends_with("x86_64.whl"))?;
        program::run(Command::new("python3").args(["-m", "venv"]).arg(place))?;
        let python = place.join("bin/python");
        program::run(
            Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps"]).arg(wheel),
        )?;
        program::run(Command::new(&python).args(["-c", EXAMPLE]))?;
        self.has_version(&mut Command::new(place.join("bin/wb")))
    }

    fn try_npm(&self, place: &Path) -> Result<(), String> {
        const EXAMPLE: &str = "import { weigh } from 'window-budget'; \
                               console.log(weigh([{ role: 'user', content: 'Hi.' }], { format: 'openai-chat' }).tokens)";
        fs::create_dir_all(place).map_err(|error| error.to_string())?;
        write(&place.join("package.json"), "{\"private\": true, \"type\": \"module\"}\n")?;
        let version = &self.version;
        let tarballs = ["window-budget-", "window-budget-cli-", "window-budget-cli-linux-x64-"];
        let tarballs = tarballs.map(|name| self.out.join(format!("{name}{version}.tgz")));
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--omit=peer", "--loglevel", "error"]);
        program::run(npm.args(tarballs).current_dir(place))?;
        program::run(Command::new("node").args(["--input-type=module", "-e", EXAMPLE]).current_dir(place))?;
        self.has_version(&mut Command::new(place.join("node_modules/.bin/wb")))
    }

    fn try_installer(&self, place: &Path) -> Result<(), String> {
        let mut sh = Command::new("sh");
        sh.arg(self.out.join("install.sh")).env("WB_PREFIX", place);
        program::run(sh.env("WB_RELEASE", format!("file://{}", self.out.display())))?;
        self.has_version(Command::new(place.join("bin/wb")).env_clear())?;
        self.try_alone(place)
    }

    /// Runs the program where nothing else is: no library, no shell, no environment.
    fn try_alone(&self, place: &Path) -> Result<(), String> {
        let example = self.root.join("fixtures/sessions/hello.jsonl");
        copy(&example, &place.join("session.jsonl"))?;
        let mut alone = Command::new("unshare");
        alone.args(["--map-root-user", "--", "chroot"]).arg(place).args([
            "/bin/wb",
            "weigh",
            "/session.jsonl",
        ]);
        program::output(alone.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")).map(drop)
    }

    fn has_version(&self, wb: &mut Command) -> Result<(), String> {
        let said = program::output(wb.arg("--version"))?;
        if said.contains(&self.version) { Ok(()) } else { Err(format!("wb --version says {said}")) }
    }

    fn file(&self, is_it: impl Fn(&str) -> bool) -> Result<PathBuf, String> {
        let found = names(&self.out)?.into_iter().find(|name| is_it(name));
        found.map(|name| self.out.join(name)).ok_or_else(|| "a file of the release is missing".to_owned())
    }

    /// Runs a program that finds the tools first.
    fn with_tools(&self, command: &mut Command) -> Result<(), String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.tools.clone()).chain(std::env::split_paths(&path));
        let paths = std::env::join_paths(paths).map_err(|error| error.to_string())?;
        program::run(command.env("PATH", paths))
    }
}

/// Returns the bill of materials of a workspace.
fn bill_of_materials(metadata: &Value, version: &str) -> Value {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_outside = |package: &&Value| !package["source"].is_null();
    let component = |package: &Value| {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap_or_default());
        let licence = package["license"].as_str().unwrap_or("unknown");
        json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{ "expression": licence }],
        })
    };
    let components: Vec<Value> = packages.iter().filter(is_outside).map(component).collect();
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": { "type": "application", "name": "window-budget", "version": version } },
        "components": components,
    })
}

/// Returns the first value of a key in a manifest.
fn quoted(manifest: &str, key: &str) -> Option<String> {
    let start = format!("{key} = \"");
    let line = manifest.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(line.split('"').next()?.to_owned())
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn only_file(folder: &Path) -> Result<PathBuf, String> {
    let names = names(folder)?;
    let [name] = names.as_slice() else { return Err(format!("{}: not one file", folder.display())) };
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_has_the_crates_of_others_alone() {
        let own = json!({ "name": "wb-cli", "version": "0.1.0", "source": null });
        let other = json!({ "name": "serde", "version": "1.0.0", "source": "registry", "license": "MIT" });
        let bill = bill_of_materials(&json!({ "packages": [own, other] }), "0.1.0");
        assert_eq!(bill["components"].as_array().map(Vec::len), Some(1));
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/serde@1.0.0");
        assert_eq!(bill["metadata"]["component"]["version"], "0.1.0");
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(quoted("[a]\nversion = \"0.1.0\"\n", "version").as_deref(), Some("0.1.0"));
        assert_eq!(quoted("rust-version = \"1\"", "version"), None);
    }
}
