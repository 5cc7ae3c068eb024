//! `wb install` and `wb uninstall`, in homes of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::Answer;

const HOSTS: [&str; 4] = ["claude-code", "codex", "opencode", "pi"];
const THEIRS: &str = "{\n\t\"model\" : \"x\", \"hooks\": {\n\t\t\"PreCompact\": [ {\"hooks\":[{\"type\":\"command\",\
                      \"command\":\"theirs\"}]} ]\n\t}\n}\n";

/// A home, a project in it, and a program to run.
struct Home {
    folder: tempfile::TempDir,
    wb: PathBuf,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder, wb: env!("CARGO_BIN_EXE_wb").into() }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn lay(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    fn run(&self, line: &str) -> Answer {
        self.run_at("100", line)
    }

    fn run_at(&self, columns: &str, line: &str) -> Answer {
        let mut command = Command::new(&self.wb);
        let output = command
            .args(line.split_whitespace())
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.folder.path())
            .env("COLUMNS", columns)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn done(&self, line: &str) -> String {
        let answer = self.run(line);
        assert_eq!(answer.code, 0, "wb {line}: {}{}", answer.stdout, answer.stderr);
        answer.stdout
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(&format!("{line} --json"))).unwrap()
    }

    /// Runs what fails and changes nothing.
    fn refused(&self, line: &str) -> String {
        let before = self.files();
        let answer = self.run(line);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "wb {line}: {}", answer.stderr);
        assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
        assert_eq!(self.files(), before);
        answer.stderr
    }

    /// Returns what every file below the home holds.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    files.insert(path, text);
                }
            }
        }
        files
    }
}

#[test]
fn what_a_dry_run_shows_is_what_is_written() {
    for host in HOSTS {
        for scope in ["", " --project"] {
            let home = Home::new();
            let shown = home.json(&format!("install {host}{scope} --dry-run"));
            assert_eq!(home.files(), BTreeMap::new());
            let told = |report: &Value| report["changes"].clone();
            assert_eq!(told(&home.json(&format!("install {host}{scope}"))), told(&shown));
            let written: BTreeMap<PathBuf, String> = shown["changes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| (it["file"].as_str().unwrap().into(), it["content"].as_str().unwrap().to_owned()))
                .collect();
            assert_eq!(home.files(), written, "{host}");
            assert_eq!(shown["project"], json!(!scope.is_empty()));
        }
    }
}

#[test]
fn a_second_time_changes_nothing_and_uninstall_leaves_what_was() {
    for host in HOSTS {
        for scope in ["", " --project"] {
            let home = Home::new();
            home.lay(".claude/settings.json", THEIRS);
            home.lay(".codex/hooks.json", THEIRS);
            home.lay("project/.codex/hooks.json", "{}");
            home.lay(".pi/agent/extensions/theirs.ts", "// theirs\n");
            let before = home.files();
            home.done(&format!("install {host}{scope}"));
            let after = home.files();
            assert_ne!(after, before);
            let again = home.done(&format!("install {host}{scope}"));
            assert!(again.contains("already"), "{again}");
            assert_eq!(home.files(), after);
            home.done(&format!("uninstall {host}{scope}"));
            assert_eq!(home.files(), before, "{host}{scope}");
            let nothing = home.done(&format!("uninstall {host}{scope}"));
            assert!(nothing.contains("nothing of wb is installed"), "{nothing}");
        }
    }
}

#[test]
fn hooks_of_others_stay_and_a_file_that_they_changed_since_loses_ours_alone() {
    let home = Home::new();
    home.lay(".claude/settings.json", THEIRS);
    home.done("install claude-code --hooks");
    let with = home.text(".claude/settings.json");
    assert!(with.contains("\"command\":\"theirs\"") && with.matches(" hook\"").count() == 3, "{with}");
    assert_eq!(home.text(".claude/settings.json.before-wb"), THEIRS);
    home.lay(".claude/settings.json", &with.replace("\"model\" : \"x\"", "\"model\" : \"y\""));
    let told = home.done("uninstall claude-code");
    assert!(told.contains("its old copy stays"), "{told}");
    assert_eq!(home.text(".claude/settings.json"), THEIRS.replace("\"x\"", "\"y\""));
}

#[test]
fn settings_that_cannot_be_read_are_refused_and_stay_as_they_are() {
    for broken in ["{\"hooks\": {},}", "", "[]", "{\"hooks\": 3}", "{\"hooks\": {\"SessionStart\": {}}}"] {
        let home = Home::new();
        home.lay(".codex/hooks.json", broken);
        let error = home.refused("install codex");
        assert!(error.contains("hooks.json"), "{error}");
    }
    let home = Home::new();
    home.lay(".codex/hooks.json", "{\"command\": \"/x/wb hook\", }");
    home.refused("uninstall codex");
}

#[test]
fn a_file_of_somebody_else_at_our_place_is_refused_and_never_removed() {
    let places = [
        ("pi", ".pi/agent/extensions/wb-compact.ts"),
        ("opencode", ".config/opencode/plugins/wb-compact.ts"),
        ("claude-code", ".claude/skills/wb-compact/hooks/register.ts"),
        ("claude-code", ".claude/skills/wb-compact/.claude-plugin/plugin.json"),
    ];
    for (host, path) in places {
        let home = Home::new();
        home.lay(path, "// mine\n");
        let error = home.refused(&format!("install {host}"));
        assert!(error.contains("not from wb"), "{error}");
        home.done(&format!("uninstall {host}"));
        assert_eq!(home.text(path), "// mine\n");
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_below_the_folder_of_the_agent() {
    use std::os::unix::fs::symlink;
    for (host, link) in [
        ("pi", ".pi/agent/extensions"),
        ("pi", ".pi/agent/extensions/wb-compact.ts"),
        ("codex", ".codex/hooks.json"),
    ] {
        let home = Home::new();
        home.lay("elsewhere/hooks.json", "{}");
        fs::create_dir_all(home.path(link).parent().unwrap()).unwrap();
        let target = if host == "codex" { "elsewhere/hooks.json" } else { "elsewhere" };
        symlink(home.path(target), home.path(link)).unwrap();
        let error = home.refused(&format!("install {host}"));
        assert!(error.contains("is a link"), "{error}");
        let error = home.refused(&format!("uninstall {host}"));
        assert!(error.contains("is a link"), "{error}");
    }
    let home = Home::new();
    home.lay("dotfiles/pi/settings.json", "{}");
    fs::create_dir(home.path(".pi")).unwrap();
    symlink(home.path("dotfiles/pi"), home.path(".pi/agent")).unwrap();
    home.done("install pi");
    assert!(home.path("dotfiles/pi/extensions/wb-compact.ts").is_file());
}

#[cfg(unix)]
#[test]
fn what_is_new_is_for_its_owner_alone_and_what_is_changed_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let mode = |below: &str| home.path(below).metadata().unwrap().permissions().mode() & 0o777;
    home.lay(".codex/hooks.json", THEIRS);
    fs::set_permissions(home.path(".codex/hooks.json"), fs::Permissions::from_mode(0o644)).unwrap();
    home.done("install codex");
    assert_eq!((mode(".codex/hooks.json"), mode(".codex/hooks.json.before-wb")), (0o644, 0o600));
    home.done("uninstall codex");
    assert_eq!(mode(".codex/hooks.json"), 0o644);
    home.done("install pi");
    assert_eq!(mode(".pi/agent/extensions/wb-compact.ts"), 0o600);
}

#[cfg(unix)]
#[test]
fn a_program_in_a_folder_of_any_name_is_found_again() {
    let mut home = Home::new();
    let wb = home.path("it's a \"Grüße\" \\ $x/wb");
    fs::create_dir(wb.parent().unwrap()).unwrap();
    fs::copy(&home.wb, &wb).unwrap();
    home.wb = wb.clone();
    for host in HOSTS {
        home.done(&format!("install {host}"));
    }
    let checked = home.run("install --check --json");
    let all: Value = serde_json::from_str(&checked.stdout).unwrap();
    for host in all["hosts"].as_array().unwrap() {
        assert_eq!(host["found"][0]["wb"], json!(wb.to_str().unwrap()), "{host}");
    }
    for host in HOSTS {
        home.done(&format!("uninstall {host}"));
    }
    assert_eq!(home.files().len(), 0);
}

#[test]
fn a_check_tells_what_is_live_and_why_the_rest_is_not() {
    let home = Home::new();
    let problems = |line: &str| {
        let answer = home.run(line);
        let all: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!((answer.code == 0, answer.code == 3), (all["live"] == true, all["live"] == false));
        all["hosts"][0]["found"][0]["problems"].to_string()
    };
    assert_eq!(problems("install --check --json"), "null");
    assert_eq!(home.run("install --check pi").code, 3, "who asks for one wants it there");
    home.done("install pi");
    assert_eq!(problems("install --check pi --json"), "[]");
    let path = ".pi/agent/extensions/wb-compact.ts";
    let live = home.text(path);
    let wb = json!(home.wb.canonicalize().unwrap()).to_string();
    for (text, why) in [
        (live.replace(&wb, "\"/nowhere/wb\""), "is gone: /nowhere/wb"),
        (live.replace(&wb, "\"/bin/sh\""), "says no version"),
        (live.replace("= 8000", "= 9000"), "was changed since"),
        (live.replace("install` of wb ", "install` of wb 9."), "written by wb 9."),
        ("// mine\n".to_owned(), "not from wb"),
    ] {
        home.lay(path, &text);
        let told = problems("install --check pi --json");
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn codex_is_live_once_it_has_noted_that_the_user_trusts_the_hooks_and_until_it_is_told_to_leave_them() {
    let home = Home::new();
    home.done("install codex");
    let answer = home.run("install --check codex");
    assert!(answer.code == 3 && answer.stdout.contains("/hooks"), "{}", answer.stdout);
    let file = home.path(".codex/hooks.json");
    let noted = |event: &str| {
        format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:0\"\n", file.display())
    };
    home.lay(".codex/config.toml", &[noted("pre_compact"), noted("session_start")].concat());
    home.done("install --check codex");
    let off = noted("session_start").replace("trusted_hash", "enabled = false\ntrusted_hash");
    home.lay(".codex/config.toml", &off);
    assert!(wrong(&home, "codex").contains("enabled = false below hooks.state"));
}

#[test]
fn a_project_of_claude_code_is_live_once_it_is_trusted() {
    let home = Home::new();
    home.done("install claude-code --project");
    let answer = home.run("install --check claude-code");
    assert!(answer.code == 3 && answer.stdout.contains("trust"), "{}", answer.stdout);
    let project = home.path("project").canonicalize().unwrap();
    let trusted = json!({"projects": {project.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
    home.lay(".claude.json", &trusted.to_string());
    home.done("install --check claude-code");
}

#[test]
fn one_that_is_installed_twice_is_told_of() {
    let home = Home::new();
    home.done("install pi");
    let told = home.done("install pi --project");
    assert!(told.contains("would run twice here"), "{told}");
}

#[test]
fn who_uninstalls_the_other_one_is_told_what_stays() {
    let home = Home::new();
    home.done("install pi --project");
    let told = home.done("uninstall pi");
    assert!(told.contains("wb uninstall pi --project"), "{told}");
    let told = home.done("uninstall pi --project");
    assert!(!told.contains("note"), "{told}");
}

#[test]
fn what_is_left_of_a_plug_in_is_taken_out_too() {
    let home = Home::new();
    home.done("install claude-code");
    fs::remove_file(home.path(".claude/skills/wb-compact/hooks/register.ts")).unwrap();
    home.done("uninstall claude-code");
    assert_eq!(home.files(), BTreeMap::new());
}

#[test]
fn keys_in_settings_are_not_shown_with_the_copy() {
    let home = Home::new();
    home.lay(".claude/settings.json", "{\n  \"env\": {\"TOKEN\": \"of mine\"},\n  \"model\": \"x\"\n}\n");
    let shown = home.done("install claude-code --hooks --dry-run");
    assert!(shown.contains("settings.json.before-wb, the copy") && !shown.contains("of mine"), "{shown}");
}

#[test]
fn agents_without_hooks_take_none() {
    let error = Home::new().refused("install pi --hooks");
    assert!(error.contains("leave --hooks out"), "{error}");
}

/// Returns what a user sees of some runs.
fn screen(home: &Home, columns: &str, lines: &[&str]) -> String {
    let shown = lines.iter().map(|line| {
        let Answer { code, stdout, stderr } = home.run_at(columns, line);
        let code = if code == 0 { String::new() } else { format!("-- exit code --\n{code}\n") };
        format!("$ wb {line}\n{stdout}{stderr}{code}")
    });
    let shown = shown.collect::<Vec<_>>().join("\n");
    let wb = home.wb.canonicalize().unwrap();
    let told = |path: &Path| path.to_str().unwrap().to_owned();
    shown.replace(&told(&wb), "/opt/wb").replace(&told(home.folder.path()), "/home/a")
}

#[test]
fn what_a_new_user_sees_looks_as_recorded() {
    for columns in ["60", "100"] {
        let home = Home::new();
        home.lay(".codex/hooks.json", THEIRS);
        let lines = [
            "install",
            "install --project",
            "install pi",
            "install opencode --project",
            "install claude-code",
            "install claude-code --hooks",
            "install codex --dry-run",
            "install codex",
            "install codex",
            "install --check",
            "uninstall codex --dry-run",
            "uninstall codex",
            "uninstall claude-code",
            "uninstall pi",
            "uninstall pi",
        ];
        let shown = screen(&home, columns, &lines);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("install_at_{columns}"), shown);
        });
    }
}

/// Returns what a check of an agent finds wrong with what is in place; nothing if it is live.
fn wrong(home: &Home, host: &str) -> String {
    let answer = home.run(&format!("install --check {host} --json"));
    let all: Value = serde_json::from_str(&answer.stdout).unwrap();
    let found = all["hosts"][0]["found"].as_array().unwrap();
    assert!(!found.is_empty(), "{all}");
    assert_eq!(answer.code, if all["live"] == true { 0 } else { 3 });
    let problems = found.iter().flat_map(|it| it["problems"].as_array().unwrap());
    problems.map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_check_finds_the_switch_by_which_an_agent_leaves_it_off() {
    let plug_in = "{\"enabledPlugins\": {\"wb-compact@skills-dir\": false, \"x@y\": true}}";
    for (host, path, text, why) in [
        ("claude-code", ".claude/settings.json", "{\"disableAllHooks\": true}", "disableAllHooks = true"),
        (
            "claude-code",
            "project/.claude/settings.local.json",
            "{\"disableAllHooks\": true}",
            "settings.local",
        ),
        ("claude-code", ".claude/settings.json", plug_in, "enabledPlugins.wb-compact@skills-dir = false"),
        ("claude-code --hooks", ".claude/settings.local.json", "", "disableAllHooks = true"),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks = false"),
        ("codex", "project/.codex/config.toml", "features.codex_hooks = false\n", "codex_hooks = false"),
        (
            "pi",
            ".pi/agent/settings.json",
            "{\"extensions\": [\"-extensions/wb-compact.ts\"]}",
            "has -extensions/",
        ),
        ("pi", ".pi/agent/settings.json", "{\"extensions\": [\"!**/wb-*\"]}", "has !**/wb-*"),
        (
            "opencode",
            ".config/wb/config.toml",
            "[hosts]\nopencode = false\n",
            "opencode = false under [hosts]",
        ),
        ("claude-code", "project/.wb.toml", "[hosts]\nclaude-code = false\n", ".wb.toml"),
    ] {
        let home = Home::new();
        home.done(&format!("install {host}"));
        let host = host.split(' ').next().unwrap();
        assert!(!wrong(&home, host).contains("switched off"), "{host}");
        if text.is_empty() {
            let with = home.text(".claude/settings.json").replacen('{', "{\n  \"disableAllHooks\": true,", 1);
            home.lay(".claude/settings.json", &with);
        } else {
            home.lay(path, text);
        }
        let told = wrong(&home, host);
        assert!(told.contains("it is switched off: ") && told.contains(why), "{path}: {told}");
    }
}

#[test]
fn a_switch_that_is_on_again_in_settings_that_count_more_is_no_problem() {
    for (host, files) in [
        (
            "claude-code",
            [
                (".claude/settings.json", "{\"disableAllHooks\": true, \"enabledPlugins\": {}}"),
                ("project/.claude/settings.json", "{\"disableAllHooks\": false}"),
            ],
        ),
        (
            "pi",
            [
                (".pi/agent/settings.json", "{\"extensions\": [\"!*\", \"+extensions/wb-compact.ts\"]}"),
                ("project/.pi/settings.json", "{\"extensions\": [\"-extensions/wb-compact.ts\"]}"),
            ],
        ),
        (
            "opencode",
            [
                (".config/opencode/opencode.jsonc", "{\n  // no plug-in is listed\n  \"plugin\": [],\n}\n"),
                ("project/.wb.toml", "[hosts]\npi = false\n"),
            ],
        ),
    ] {
        let home = Home::new();
        home.done(&format!("install {host}"));
        for (path, text) in files {
            home.lay(path, text);
        }
        assert_eq!(wrong(&home, host), "", "{host}");
    }
}

#[test]
fn a_check_names_settings_that_can_no_more_be_read() {
    for (host, path, text) in [
        ("claude-code", ".claude/settings.json", "{\"model\": \"x\",}"),
        ("codex", ".codex/config.toml", "[features\n"),
        ("codex", ".codex/hooks.json", "{\"hooks\": {\"SessionStart\": [{\"command\": \"/a/wb hook\"}]},}"),
        ("opencode", ".config/opencode/opencode.json", "{\"plugin\": [}"),
        ("opencode", "project/opencode.jsonc", "{ /* \"plugin\": [] }"),
        ("pi", ".pi/agent/settings.json", "// mine\n{}"),
        ("pi", ".config/wb/config.toml", "pin = \n"),
        ("pi", "project/.wb.toml", "[hosts\n"),
    ] {
        let home = Home::new();
        home.done(&format!("install {host}"));
        home.lay(path, text);
        let told = wrong(&home, host);
        let file = path.rsplit('/').next().unwrap();
        assert!(told.contains("JSON") || told.contains(file), "{path}: {told}");
        assert!(["repair", "so that it passes"].iter().any(|it| told.contains(it)), "{path}: {told}");
    }
}

#[test]
fn hooks_whose_wb_is_gone_are_not_live() {
    let home = Home::new();
    home.done("install claude-code --hooks");
    let wb = home.wb.canonicalize().unwrap();
    let moved = home.text(".claude/settings.json").replace(wb.to_str().unwrap(), "/nowhere/wb");
    home.lay(".claude/settings.json", &moved);
    assert!(wrong(&home, "claude-code").contains("is gone: /nowhere/wb"));
}

#[test]
fn who_uninstalls_is_told_what_else_stays_and_where() {
    let home = Home::new();
    home.done("install pi");
    let told = home.done("uninstall pi --dry-run");
    assert!(!told.contains("note"), "{told}");
    home.lay(".local/state/wb/compactions.jsonl", "");
    home.lay(".config/wb/config.toml", "");
    home.lay(".pi/agent/sessions/--a--/1.jsonl", "");
    home.lay(".pi/agent/sessions/--a--/1.jsonl.wb-log", "");
    let told = home.json("uninstall pi")["notes"].to_string();
    for stays in
        ["~/.local/state/wb/compactions.jsonl", "~/.config/wb/config.toml", "1 file that ends in .wb-log"]
    {
        assert!(told.contains(stays), "{told}");
    }
    assert!(home.files().len() == 4, "{:?}", home.files());
}

/// Runs `wb` with these variables and no others.
fn with_variables(variables: &[(&str, &str)], line: &str) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
    let output = command.args(line.split(' ')).env_clear().envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[cfg(unix)]
#[test]
fn without_a_home_in_the_environment_the_one_that_the_system_knows_counts() {
    let shell = Command::new("sh").args(["-c", "eval echo ~$(id -un)"]).output().unwrap();
    let known = String::from_utf8(shell.stdout).unwrap().trim().to_owned();
    if known.starts_with('/') {
        for variables in [&[][..], &[("HOME", "")]] {
            let answer = with_variables(variables, "install pi --dry-run --json");
            let shown: Value = serde_json::from_str(&answer.stdout).unwrap();
            let wanted = Path::new(&known).join(".pi/agent/extensions/wb-compact.ts");
            assert_eq!(shown["changes"][0]["file"], json!(wanted.to_str().unwrap()));
        }
    }
    for odd in ["here", "./home"] {
        let answer = with_variables(&[("HOME", odd)], "install pi --dry-run");
        assert_eq!(answer.code, 1, "{odd}: {}", answer.stdout);
        assert!(answer.stderr.contains("hint: set HOME to your home"), "{}", answer.stderr);
        assert_eq!(with_variables(&[("HOME", odd)], "config").code, 0);
    }
}
