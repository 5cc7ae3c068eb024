//! `wb install` and `wb uninstall`, each in a new home.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::home::{HOSTS, Home, scopes};
use crate::support::{Answer, is_wrapped};

const THEIRS: &str = "{\n\t\"model\" : \"x\", \"hooks\": {\n\t\t\"PreCompact\": [ {\"hooks\":[{\"type\":\"command\",\
                      \"command\":\"theirs\"}]} ]\n\t}\n}\n";

#[test]
fn what_a_dry_run_shows_is_what_is_written() {
    for host in HOSTS {
        for scope in scopes(host) {
            let home = Home::new();
            let shown = home.json(&format!("install {host}{scope} --dry-run"));
            assert_eq!(home.files(), BTreeMap::new());
            let reported = |report: &Value| report["changes"].clone();
            assert_eq!(reported(&home.json(&format!("install {host}{scope}"))), reported(&shown));
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
        for scope in scopes(host) {
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
            assert!(nothing.contains("wb isn't installed"), "{nothing}");
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
    let reported = home.done("uninstall claude-code");
    assert!(reported.contains("its old copy is kept"), "{reported}");
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
    home.lay(".codex/config.toml", "model =\n");
    let error = home.refused("install codex");
    assert!(error.contains("config.toml"), "{error}");
    let home = Home::new();
    home.lay(".codex/hooks.json", "{\"command\": \"/x/wb hook\", }");
    home.refused("uninstall codex");
}

#[test]
fn instructions_of_the_user_for_the_summary_of_codex_stay_with_the_server_of_ours_alone() {
    for key in ["compact_prompt", "experimental_compact_prompt_file"] {
        for scope in scopes("codex") {
            let home = Home::new();
            let mine = format!("{key} = \"mine\"\n");
            home.lay(".codex/config.toml", &mine);
            let reported = home.done(&format!("install codex{scope}"));
            let words = reported.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&format!("has your {key}, which is kept")), "{reported}");
            let file = if scope.is_empty() { ".codex/config.toml" } else { "project/.codex/config.toml" };
            let written = home.text(file);
            assert!(written.contains("\nmcp_servers.wb = ") && !written.contains(" = '''"), "{written}");
            assert!(home.text(".codex/config.toml").ends_with(&mine));
            home.done(&format!("uninstall codex{scope}"));
            assert_eq!(home.text(".codex/config.toml"), mine);
            home.done(&format!("install codex --no-recall{scope}"));
            assert_eq!(home.text(".codex/config.toml"), mine);
            assert!(!home.path("project/.codex/config.toml").exists());
        }
    }
}

#[test]
fn instructions_that_the_user_writes_later_take_the_place_of_ours() {
    let home = Home::new();
    home.done("install codex");
    let with = home.text(".codex/config.toml");
    home.lay(".codex/config.toml", &format!("{with}compact_prompt = \"mine\"\n"));
    let checked = home.run("install --check codex").stdout;
    assert!(checked.contains("you added a compact_prompt next to the one of wb"), "{checked}");
    home.done("install codex");
    let written = home.text(".codex/config.toml");
    assert!(written.ends_with("\ncompact_prompt = \"mine\"\n") && !written.contains(" = '''"), "{written}");
}

#[test]
fn what_codex_wrote_into_its_settings_since_stays() {
    for before in ["", "model = \"x\"\n"] {
        let home = Home::new();
        if !before.is_empty() {
            home.lay(".codex/config.toml", before);
        }
        home.done("install codex");
        let noted = "\n[hooks.state.x]\ntrusted_hash = \"y\"\n";
        home.lay(".codex/config.toml", &(home.text(".codex/config.toml") + noted));
        home.done("uninstall codex");
        assert_eq!(home.text(".codex/config.toml"), format!("{before}{noted}"));
    }
}

#[test]
fn a_file_of_somebody_else_at_our_place_is_refused_and_never_removed() {
    let places = [
        ("pi", ".pi/agent/extensions/wb-compact.ts"),
        ("opencode", ".config/opencode/plugins/wb-compact.ts"),
        ("gemini-cli", ".gemini/extensions/wb-compact/wb-compact.mjs"),
        ("gemini-cli", ".gemini/extensions/wb-compact/hooks/hooks.json"),
        ("claude-code", ".claude/skills/wb-compact/hooks/register.ts"),
        ("claude-code", ".claude/skills/wb-compact/.claude-plugin/plugin.json"),
    ];
    for (host, path) in places {
        let home = Home::new();
        home.lay(path, "// mine\n");
        let error = home.refused(&format!("install {host}"));
        assert!(error.contains("not created by wb"), "{error}");
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
    // Copied by another program: a file that this process wrote cannot be executed while a parallel
    // test spawns a program.
    assert!(Command::new("cp").arg(&home.wb).arg(&wb).status().unwrap().success());
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
fn uninstall_keeps_a_command_of_the_user_in_the_same_entry() {
    let home = Home::new();
    home.done("install codex");
    let hooks = home.text(".codex/hooks.json");
    let mine = r#""hooks": [{"type": "command", "command": "echo mine"},"#;
    assert!(hooks.contains("\"hooks\": ["), "{hooks}");
    home.lay(".codex/hooks.json", &hooks.replacen("\"hooks\": [", mine, 1));
    home.done("uninstall codex");
    let left = home.text(".codex/hooks.json");
    assert!(left.contains("echo mine") && !left.contains("wb hook"), "{left}");
    let stop = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/opt/other/wb hook"}]}]}}"#;
    home.lay(".codex/hooks.json", stop);
    home.run("uninstall codex");
    assert_eq!(home.text(".codex/hooks.json"), stop);
}

#[test]
fn a_second_installation_is_reported() {
    let home = Home::new();
    home.done("install pi");
    let reported = home.done("install pi --project");
    assert!(reported.contains("would run twice here"), "{reported}");
}

#[test]
fn uninstall_reports_the_other_installation() {
    let home = Home::new();
    home.done("install pi --project");
    let reported = home.done("uninstall pi");
    assert!(reported.contains("wb uninstall pi --project"), "{reported}");
    let reported = home.done("uninstall pi --project");
    assert!(!reported.contains("note"), "{reported}");
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
    assert!(shown.contains("settings.json.before-wb, a copy") && !shown.contains("of mine"), "{shown}");
}

#[test]
fn in_a_folder_of_a_repository_it_goes_where_the_agent_looks_for_it() {
    for (host, folder) in [
        ("claude-code", "sub/.claude/"),
        ("codex", ".codex/"),
        ("opencode", ".opencode/"),
        ("pi", "sub/.pi/"),
    ] {
        let mut home = Home::new();
        home.lay("project/.git/HEAD", "");
        home.project = "project/sub".into();
        fs::create_dir(home.path("project/sub")).unwrap();
        let root = home.path("project").canonicalize().unwrap().join(folder);
        let shown = home.json(&format!("install {host} --project --dry-run"));
        let files = shown["changes"].as_array().unwrap();
        assert!(files.iter().all(|it| Path::new(it["file"].as_str().unwrap()).starts_with(&root)), "{shown}");
        let reported = shown["notes"].to_string();
        assert_eq!(
            reported.contains("in the folder where it starts"),
            folder.starts_with("sub"),
            "{reported}"
        );
        home.done(&format!("install {host} --project"));
        let check = home.run(&format!("install --check {host}")).stdout;
        assert!(check.contains("this project: "), "{check}");
        home.done(&format!("uninstall {host} --project"));
        assert_eq!(home.files().len(), 1, "{:?}", home.files());
    }
}

#[test]
fn gemini_cli_reads_no_plug_ins_of_a_project() {
    for line in ["install gemini-cli --project", "uninstall gemini-cli --project"] {
        let error = Home::new().refused(line);
        assert!(
            error.contains("from your home directory") && error.contains("leave --project out"),
            "{error}"
        );
    }
}

#[test]
fn agents_without_hooks_take_none() {
    let error = Home::new().refused("install pi --hooks");
    assert!(error.contains("leave --hooks out"), "{error}");
}

/// Returns the screen after some runs.
fn screen(home: &Home, columns: &str, lines: &[&str]) -> String {
    let shown = lines.iter().map(|line| {
        let Answer { code, stdout, stderr } = home.run_at(columns, line);
        let code = if code == 0 { String::new() } else { format!("-- exit code --\n{code}\n") };
        format!("$ wb {line}\n{stdout}{stderr}{code}")
    });
    let shown = shown.collect::<Vec<_>>().join("\n");
    let wb = home.wb.canonicalize().unwrap();
    let reported = |path: &Path| path.to_str().unwrap().to_owned();
    shown.replace(&reported(&wb), "/opt/wb").replace(&reported(home.folder.path()), "/home/a")
}

#[test]
fn what_a_new_user_sees_looks_as_recorded() {
    let mut known = String::new();
    for columns in ["100", "60"] {
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
        if is_wrapped(&shown, &known) {
            continue;
        }
        known.clone_from(&shown);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("install_at_{columns}"), shown);
        });
    }
}

#[test]
fn uninstall_reports_what_else_stays_and_where() {
    let home = Home::new();
    home.done("install pi");
    let reported = home.done("uninstall pi --dry-run");
    assert!(!reported.contains("note"), "{reported}");
    home.lay(".local/state/wb/compactions.jsonl", "");
    home.lay(".config/wb/config.toml", "");
    home.lay(".pi/agent/sessions/--a--/1.jsonl", "");
    home.lay(".pi/agent/sessions/--a--/1.jsonl.wb-log", "");
    let reported = home.json("uninstall pi")["notes"].to_string();
    for stays in
        ["~/.local/state/wb/compactions.jsonl", "~/.config/wb/config.toml", "1 file for wb undo (*.wb-log)"]
    {
        assert!(reported.contains(stays), "{reported}");
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
        assert!(answer.stderr.contains("hint: set HOME, or"), "{}", answer.stderr);
        assert_eq!(with_variables(&[("HOME", odd)], "config").code, 0);
    }
}

#[test]
fn digests_next_to_sessions_of_gemini_cli_are_reported() {
    let home = Home::new();
    home.done("install gemini-cli");
    home.lay(".gemini/tmp/a/chats/session-1.json.wb-digests", "[]");
    let reported = home.json("uninstall gemini-cli")["notes"].to_string();
    assert!(
        reported.contains("left next to sessions in ~/.gemini/tmp: 1 file with digests (*.wb-digests)"),
        "{reported}"
    );
}

#[test]
fn install_reports_a_switch_that_is_off_at_once() {
    let home = Home::new();
    home.lay(".config/wb/config.toml", "[hosts]\npi = false\n");
    home.lay(".claude/settings.json", "{\"disableAllHooks\": true}");
    for (host, why) in [("pi", "pi = false under [hosts]"), ("claude-code", "disableAllHooks = true")] {
        let reported = home.json(&format!("install {host} --dry-run"))["notes"].to_string();
        assert!(reported.contains("it is switched off: ") && reported.contains(why), "{reported}");
    }
    assert_eq!(home.json("install opencode")["notes"], json!([]));
}
