//! `cargo xtask integrations`: the plug-ins are held against the types of the agents that they are
//! for.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::agents::{HOSTS, cache, install_packages};

/// The compiler, and what is known of Node.
const TOOLS: [&str; 2] = ["typescript@5.9.3", "@types/node@26.6.6"];
/// The agents with types of their own, and the package that has them.
const TYPED: [(&str, &str); 2] =
    [("pi-0", "@mariozechner/pi-coding-agent"), ("opencode", "@opencode-ai/plugin")];
/// The plug-ins.
const FILES: [&str; 3] = ["pi/wb-compact.ts", "opencode/wb-compact.ts", "claude-code/hooks/register.ts"];
/// The part of an interface that the plug-in of Claude Code uses; no package has its types.
const CLAUDE_CODE: &str = "\
declare module 'claude-code' {
  type Step = ($: any, e: any, next: (e: any) => Promise<any>) => any;
  export type Register = (on: (event: string, step: Step) => { catch(step: Step): void }) => void;
}
";
const SETTINGS: &str = r#"{"compilerOptions": {"strict": true, "noEmit": true, "module": "nodenext", "target": "es2023",
  "skipLibCheck": true, "types": ["node"]}, "include": ["**/*.ts"]}"#;

/// Installs the types if they are missing, and checks every plug-in.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    if Command::new("npm").arg("--version").stdin(Stdio::null()).output().is_err() {
        println!("integrations: not checked, for npm is not there: install Node 20 or newer with npm");
        return Ok(());
    }
    let packages = packages();
    let folder = cache()?.join(format!("integrations-{}", packages.join("-").replace(['/', '@'], "_")));
    install_packages(&folder, &packages)?;
    lay(root, &folder.join("check"))?;
    let mut node = Command::new("node");
    let tsc = node.args(["node_modules/typescript/bin/tsc", "--noEmit", "-p", "check"]);
    let output = tsc.current_dir(&folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("node: {error}"))?;
    if !output.status.success() {
        return Err(format!("{}\nintegrations: failed", String::from_utf8_lossy(&output.stdout).trim()));
    }
    println!("integrations: {} fit the types of {}", FILES.len(), packages.join(", "));
    Ok(())
}

fn packages() -> Vec<String> {
    let versions = TYPED.iter().filter_map(|(name, package)| {
        let host = HOSTS.iter().find(|host| host.name == *name)?;
        Some(format!("{package}@{}", host.version))
    });
    versions.chain(TOOLS.map(str::to_owned)).collect()
}

/// Writes the plug-ins to where the types are found.
fn lay(root: &Path, check: &Path) -> Result<(), String> {
    let failure = |error: std::io::Error| format!("{}: {error}", check.display());
    for file in FILES {
        let path = check.join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(check)).map_err(failure)?;
        std::fs::copy(root.join("crates/wb-cli/integrations").join(file), path).map_err(failure)?;
    }
    std::fs::write(check.join("claude-code.d.ts"), CLAUDE_CODE).map_err(failure)?;
    std::fs::write(check.join("tsconfig.json"), SETTINGS).map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_of_the_versions_that_are_tested() {
        let packages = packages();
        assert_eq!(packages.len(), 4);
        assert!(packages.contains(&"@opencode-ai/plugin@1.18.33".to_owned()), "{packages:?}");
    }

    /// Returns the quoted words after a key.
    fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
        let key = format!(" {key}: \"");
        text.split(&key).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn what_wb_says_it_was_tried_with_is_what_was_tried() {
        let root = Path::new("../..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let (table, page) = (read("crates/wb-cli/src/hosts/mod.rs"), read("docs/evaluation/hosts.md"));
        let (words, versions) = (values(&table, "name"), values(&table, "tried"));
        assert_eq!(words.len(), versions.len());
        assert!(HOSTS.iter().all(|host| words.iter().any(|word| *word == host.name.trim_end_matches("-0"))));
        let others = read("docs/evaluation/other-hosts.md");
        for ((word, version), title) in words.iter().zip(versions).zip(values(&table, "title")) {
            if others.contains(&format!("## {title} {version}\n")) {
                continue;
            }
            assert!(page.contains(&format!("| {word} | {version} |")), "{word} {version}");
            assert!(HOSTS.iter().any(|host| host.name == *word && host.version == version), "{word}");
        }
    }
}
