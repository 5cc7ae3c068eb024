//! `wb install --check`: what is live, and why the rest is not.

use serde_json::{Value, json};

use crate::support::home::Home;

/// Returns the problems that a check of an agent finds; empty if it is live.
fn wrong(home: &Home, host: &str) -> String {
    let answer = home.run(&format!("install --check {host} --json"));
    let all: Value = serde_json::from_str(&answer.stdout).unwrap();
    let found = all["hosts"][0]["found"].as_array().unwrap();
    assert!(!found.is_empty(), "{all}");
    assert_eq!(answer.code, if all["live"] == true { 0 } else { 3 });
    let problems = found.iter().flat_map(|it| it["problems"].as_array().unwrap());
    problems.map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Trusts the project's settings, if it has any.
fn trust(home: &Home) {
    if home.path("project/.wb.toml").exists() {
        home.done("config trust");
    }
}

#[test]
fn a_check_reports_what_is_live_and_why_the_rest_is_not() {
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
        (live.replace(&wb, "\"/bin/sh\""), "reports no version"),
        (live.replace("= 8000", "= 9000"), "was changed since"),
        (live.replace("install` of wb ", "install` of wb 9."), "written by wb 9."),
        ("// mine\n".to_owned(), "not created by wb"),
    ] {
        home.lay(path, &text);
        let reported = problems("install --check pi --json");
        assert!(reported.contains(why), "{reported}");
    }
}

#[test]
fn codex_is_live_while_the_user_trusts_the_hooks() {
    let home = Home::new();
    home.done("install codex");
    let answer = home.run("install --check codex");
    assert!(answer.code == 3 && answer.stdout.contains("/hooks"), "{}", answer.stdout);
    let file = home.path(".codex/hooks.json");
    let noted = |event: &str| {
        format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:0\"\n", file.display())
    };
    home.lay(".codex/config.toml", &noted("session_start"));
    home.done("install --check codex");
    let off = noted("session_start").replace("trusted_hash", "enabled = false\ntrusted_hash");
    home.lay(".codex/config.toml", &off);
    assert!(wrong(&home, "codex").contains("enabled = false below hooks.state"));
}

#[test]
fn codex_is_not_live_without_the_hooks_that_belong_to_its_instructions() {
    let home = Home::new();
    home.done("install codex");
    std::fs::remove_file(home.path(".codex/hooks.json")).unwrap();
    assert!(wrong(&home, "codex").contains("its hooks are not in "), "{}", wrong(&home, "codex"));
    home.done("install codex");
    assert!(!wrong(&home, "codex").contains("its hooks are not in "));
}

#[test]
fn a_check_names_the_file_of_a_plug_in_that_is_gone_or_changed() {
    let home = Home::new();
    home.done("install claude-code");
    let hooks = ".claude/skills/wb-compact/hooks/hooks.json";
    home.lay(hooks, "{}");
    let reported = wrong(&home, "claude-code");
    assert!(
        reported.contains("hooks/hooks.json was changed since") && !reported.contains('\n'),
        "{reported}"
    );
    std::fs::remove_file(home.path(hooks)).unwrap();
    let reported = wrong(&home, "claude-code");
    assert!(reported.contains("hooks/hooks.json is gone") && !reported.contains('\n'), "{reported}");
    home.done("install claude-code");
    std::fs::remove_file(home.path(".claude/skills/wb-compact/hooks/register.ts")).unwrap();
    assert!(wrong(&home, "claude-code").contains("it is gone, and the rest"));
}

#[test]
fn a_check_says_where_it_runs_more_than_once_and_what_takes_one_out() {
    let notes = |home: &Home, host: &str| {
        home.json(&format!("install --check {host}"))["hosts"][0]["notes"].to_string()
    };
    let home = Home::new();
    home.done("install pi");
    assert_eq!(notes(&home, "pi"), "[]");
    home.done("install pi --project");
    let reported = notes(&home, "pi");
    assert!(
        reported.contains("2 times") && reported.contains("wb uninstall pi --project removes"),
        "{reported}"
    );
    home.done("install claude-code");
    home.done("install claude-code --hooks");
    let reported = notes(&home, "claude-code");
    assert!(
        reported.contains("wb uninstall claude-code removes") && reported.contains("then install"),
        "{reported}"
    );
    assert!(home.done("install --check claude-code").contains("note: wb runs 2 times"));
}

#[test]
fn a_project_of_claude_code_is_live_once_it_is_trusted() {
    for part in ["install claude-code --project", "install claude-code --project --hooks"] {
        let home = Home::new();
        home.done(part);
        let answer = home.run("install --check claude-code");
        assert!(answer.code == 3 && answer.stdout.contains("trust"), "{part}: {}", answer.stdout);
        let project = home.path("project").canonicalize().unwrap();
        let trusted = json!({"projects": {project.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
        home.lay(".claude.json", &trusted.to_string());
        home.done("install --check claude-code");
    }
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
            "gemini-cli",
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}} // off",
            "hooksConfig.enabled",
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"disabled\": [\"wb-compact\"]}}",
            "has wb-compact",
        ),
        (
            "gemini-cli",
            ".gemini/extensions/extension-enablement.json",
            "{\"wb-compact\": {\"overrides\": [\"/*\", \"!/*\"]}}",
            "has !/*",
        ),
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
            trust(&home);
        }
        let reported = wrong(&home, host);
        assert!(reported.contains("it is switched off: ") && reported.contains(why), "{path}: {reported}");
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
        trust(&home);
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
        trust(&home);
        let reported = wrong(&home, host);
        let file = path.rsplit('/').next().unwrap();
        assert!(reported.contains("JSON") || reported.contains(file), "{path}: {reported}");
        assert!(["repair", "and passes"].iter().any(|it| reported.contains(it)), "{path}: {reported}");
    }
}

#[test]
fn settings_at_the_root_of_the_repository_count_where_the_agent_reads_them() {
    let mut home = Home::new();
    home.lay("project/.git/HEAD", "");
    home.lay("project/sub/x", "");
    home.project = "project/sub".into();
    for (host, path, counts) in
        [("opencode", "project/opencode.json", true), ("pi", "project/.pi/settings.json", false)]
    {
        home.done(&format!("install {host}"));
        home.lay(path, "{ broken");
        assert_eq!(wrong(&home, host).contains("not valid JSON"), counts, "{host}");
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

/// Creates an agent's program that prints a version.
#[cfg(unix)]
fn lay_program(home: &Home, name: &str, version: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = format!("bin/{name}");
    home.lay(&path, &format!("#!/bin/sh\necho '{version}'\n"));
    std::fs::set_permissions(home.path(&path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_claude_code_that_never_asks_a_plug_in_is_refused_and_a_newer_one_is_untested() {
    let home = Home::new();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    lay_program(&home, "claude", "2.1.197 (Claude Code)");
    let refused = home.run_with_path("install claude-code");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("Claude Code 2.1.197 never asks a plug-in like this one"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--hooks") && !home.path(".claude/wb-compact").exists());
    home.done("install claude-code --hooks");
    assert_eq!(home.run_with_path("install --check claude-code").code, 0);
    home.done("uninstall claude-code");

    // The agent was replaced by an older one since.
    lay_program(&home, "claude", "3.0.0 (Claude Code)");
    let installed = words(&home.run_with_path("install claude-code").stdout);
    assert!(installed.contains("note: Claude Code 3.0.0 is untested"), "{installed}");
    let check = home.run_with_path("install --check claude-code");
    assert!(check.code == 0 && words(&check.stdout).contains("3.0.0 is untested"), "{}", check.stdout);
    lay_program(&home, "claude", "2.1.197 (Claude Code)");
    let check = home.run_with_path("install --check claude-code");
    assert!(check.code == 3 && words(&check.stdout).contains("installed, never asked"), "{}", check.stdout);
    for version in ["not a version", ""] {
        lay_program(&home, "claude", version);
        assert_eq!(home.run_with_path("install --check claude-code").code, 0, "{version}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_the_plug_in_runs_has_to_be_on_the_path() {
    let home = Home::new();
    let words = "it runs node, which is not on the PATH";
    let reported = |home: &Home, line: &str| {
        let answer = home.run_with_path(line);
        (answer.code, answer.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(words))
    };
    assert_eq!(reported(&home, "install gemini-cli"), (0, true));
    assert!(!home.run_with_path("install gemini-cli").stdout.contains("now reads"));
    assert_eq!(reported(&home, "install --check gemini-cli"), (3, true));
    lay_program(&home, "node", "v22.0.0");
    assert_eq!(reported(&home, "install gemini-cli"), (0, false));
    assert_eq!(reported(&home, "install --check gemini-cli"), (0, false));
}

#[cfg(unix)]
#[test]
fn settings_shared_with_the_project_are_reported_once() {
    let home = Home::new();
    std::fs::remove_dir(home.path("project")).unwrap();
    std::os::unix::fs::symlink(".", home.path("project")).unwrap();
    home.lay(".claude/settings.json", "{ broken");
    let reported = home.done("install claude-code --dry-run");
    assert_eq!(reported.matches("not valid JSON").count(), 1, "{reported}");
}
