//! Checks the promises of the README, the guide and the help of `wb install`, `wb config` and `wb
//! log`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::home::{HOSTS, Home, scopes};
use crate::support::{wb_in, wb_of};

const README: &str = include_str!("../../../../../README.md");
const GUIDE: &str = include_str!("../../../../../docs/guide/install-in-an-agent.md");

/// Returns the text in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the help of a command on one line.
fn help(home: &Home, command: &str) -> String {
    home.done(&format!("{command} --help")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the files that would be written, relative to the home.
fn written(home: &Home, line: &str) -> Vec<String> {
    let shown = home.json(&format!("{line} --dry-run"));
    let files = shown["changes"].as_array().unwrap().iter();
    let below = |it: &Value| {
        let path = it["file"].as_str().unwrap();
        path.strip_prefix(home.folder.path().canonicalize().unwrap().to_str().unwrap())
            .or(path.strip_prefix(home.folder.path().to_str().unwrap()))
            .unwrap()
            .trim_start_matches('/')
            .to_owned()
    };
    files.map(below).collect()
}

#[test]
fn the_guide_has_a_row_for_each_agent_and_names_the_files_that_are_written() {
    let home = Home::new();
    for host in HOSTS {
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| `{host}` |"))).unwrap();
        let places: Vec<&str> =
            quoted(row).into_iter().filter_map(|place| place.strip_prefix("~/")).collect();
        let files = written(&home, &format!("install {host}"));
        assert!(!places.is_empty(), "{row}");
        for file in &files {
            assert!(places.iter().any(|place| file.starts_with(place)), "{file}: {row}");
        }
        // Files of several are named by their folder.
        let n_files = ["one file", "two files", "three files", "four files"];
        let is_counted = n_files.get(files.len() - 1).is_some_and(|n| row.contains(n));
        assert!(files.len() == places.len() || is_counted, "{row}");
    }
}

#[test]
fn the_guide_names_the_folders_of_projects_and_the_readme_all_agents() {
    let home = Home::new();
    for host in HOSTS.into_iter().filter(|host| scopes(host).len() > 1) {
        let file = written(&home, &format!("install {host} --project")).remove(0);
        let folder = file.strip_prefix("project/").unwrap().split('/').next().unwrap();
        assert!(GUIDE.contains(&format!("`{folder}`")), "{folder}");
    }
    let line = README.lines().find(|line| line.starts_with("wb install pi ")).unwrap();
    assert!(HOSTS.iter().all(|host| line.contains(host)), "{line}");
    let text = help(&home, "install");
    assert!(HOSTS.iter().all(|host| text.contains(host)), "{text}");
}

#[test]
fn the_variables_that_the_help_names_move_what_is_written() {
    let home = Home::new();
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().to_str().unwrap();
    let all = home.done("--help");
    for (variable, host) in [
        ("CLAUDE_CONFIG_DIR", "claude-code"),
        ("CODEX_HOME", "codex"),
        ("GEMINI_CLI_HOME", "gemini-cli"),
        ("XDG_CONFIG_HOME", "opencode"),
        ("PI_CODING_AGENT_DIR", "pi"),
    ] {
        assert!(all.contains(&format!("  {variable}")) && GUIDE.contains(variable), "{variable}");
        let line = ["install", host, "--dry-run", "--json"];
        let answer = wb_in(home.folder.path(), &[(variable, folder)], &line, b"");
        let shown: Value = serde_json::from_str(&answer.stdout).unwrap();
        let file = shown["changes"][0]["file"].as_str().unwrap();
        assert!(file.starts_with(folder), "{variable}: {file}");
    }
}

#[test]
fn settings_and_log_are_where_the_help_says() {
    let home = Home::new();
    let text = help(&home, "config");
    assert!(text.contains("~/.config/wb/config.toml") && text.contains(".wb.toml"), "{text}");
    let keys: BTreeSet<String> = home.json("config")["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["key"].as_str().unwrap().trim_start_matches("hosts.").to_owned())
        .collect();
    assert_eq!(keys.len(), 6 + HOSTS.len());
    for key in &keys {
        assert!(text.contains(key.as_str()), "{key}: {text}");
    }
    home.lay("moved/wb/config.toml", "keep_recent_tokens = 77\n");
    let moved = home.path("moved");
    let moved = moved.to_str().unwrap();
    let shown = wb_in(home.folder.path(), &[("XDG_CONFIG_HOME", moved)], &["config"], b"").stdout;
    assert!(shown.contains("keep_recent_tokens = 77  ~/moved/wb/config.toml"), "{shown}");
    assert!(GUIDE.contains("`~/.local/state/wb`") && GUIDE.contains("XDG_STATE_HOME"));
    let asked = json!({"version": 1, "host": "pi", "session": {"messages": []}}).to_string();
    wb_in(home.folder.path(), &[("XDG_STATE_HOME", moved)], &["hook"], asked.as_bytes());
    assert!(home.path("moved/wb/compactions.jsonl").is_file());
    wb_of(home.folder.path(), &["hook"], asked.as_bytes());
    assert!(home.path(".local/state/wb/compactions.jsonl").is_file());
}

#[test]
fn the_log_shows_agent_tokens_and_time_as_the_guide_says() {
    assert!(GUIDE.contains("the agent, the tokens before and after, and the time it took"));
    let home = Home::new();
    let entry = json!({"at_ms": 0, "host": "pi", "trigger": "auto", "action": "replace", "tokens_before": 9000,
        "tokens_after": 800, "ms": 12});
    home.lay(".local/state/wb/compactions.jsonl", &format!("{entry}\nno line of ours\n"));
    assert_eq!(home.done("log"), "1970-01-01T00:00:00.000Z  pi  auto: 9,000 -> 800 tokens (12 ms)\n");
}

#[test]
fn an_agent_waits_eight_seconds_as_the_guide_says() {
    assert!(GUIDE.contains("times out (eight seconds)"));
    let home = Home::new();
    assert!(help(&home, "hook").contains("[default: 8000]"));
    for host in HOSTS.into_iter().filter(|host| *host != "codex") {
        let shown = home.json(&format!("install {host} --dry-run"));
        let changes = shown["changes"].as_array().unwrap();
        let runs =
            changes.iter().any(|it| it["content"].as_str().unwrap().contains("const BUDGET_MS = 8000;"));
        assert!(runs, "{host}");
    }
}

#[test]
fn hooks_of_a_project_go_into_the_settings_that_are_not_shared() {
    let home = Home::new();
    assert!(
        GUIDE.contains("writes three hooks into `settings.json`, or\n  `settings.local.json` of a project")
    );
    home.done("install claude-code --hooks --project");
    assert_eq!(home.text("project/.claude/settings.local.json").matches(" hook\"").count(), 3);
}

/// Returns the commands of a page: lines of shell blocks and code in running text that begin with
/// `wb`.
fn commands(page: &str) -> Vec<&str> {
    let of_text = page.split("```").step_by(2).flat_map(quoted);
    let of_blocks =
        page.split("```sh").skip(1).filter_map(|block| block.split("```").next()).flat_map(str::lines);
    of_text.chain(of_blocks).filter_map(|line| line.strip_prefix("wb ")).collect()
}

#[test]
fn the_pages_name_only_commands_and_options_that_exist() {
    let home = Home::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["docs/guide", "docs/recipes"].map(|folder| root.join(folder).read_dir().unwrap());
    let pages = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut seen = BTreeSet::new();
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in commands(&text) {
            let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
            let n_names = if words.first() == Some(&"session") { 2 } else { 1 };
            let is_name = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            let name = words.iter().take(n_names).take_while(is_name).copied().collect::<Vec<_>>().join(" ");
            // The options of `wb fleet` are those of another program.
            if name.is_empty() || name == "fleet" {
                continue;
            }
            let shown = help(&home, &name);
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap();
                assert!(shown.contains(option), "{}: wb {command}: {option}", page.display());
            }
            seen.insert(name);
        }
    }
    assert!(seen.len() >= 20, "{seen:?}");
}
