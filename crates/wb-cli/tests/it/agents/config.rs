//! `wb config set`, `unset` and `edit`.

use crate::support::home::Home;

const FILE: &str = ".config/wb/config.toml";

#[test]
fn a_key_is_set_and_unset_and_comments_stay() {
    let home = Home::new();
    home.lay(FILE, "# mine\nkeep_recent_tokens = 9000 # enough\n");
    let set = home.done("config set keep_recent_tokens 7000");
    let scope = "  counts when an agent compacts; `wb plan` and `wb compact` take an option instead\n";
    let expected = "keep_recent_tokens = 7000  (was 9000) in ~/.config/wb/config.toml\n";
    assert_eq!(set, format!("{expected}{}", scope.trim_start()));
    assert!(home.done("config").contains("keep_recent_tokens, reserve_tokens: when an agent compacts;"));
    home.done("config set hosts.pi false");
    home.done("config set strategy ladder");
    home.done("config set models.\"my-model\".context_window 64000");
    let text = home.text(FILE);
    assert!(text.starts_with("# mine\nkeep_recent_tokens = 7000 # enough\n"), "{text}");
    assert!(text.contains("[hosts]\npi = false\n") && text.contains("strategy = \"ladder\"\n"), "{text}");
    assert!(text.contains("[models.my-model]\ncontext_window = 64000\n"), "{text}");
    let unset = home.done("config unset hosts.pi");
    assert_eq!(unset, "hosts.pi is not set any more (was false) in ~/.config/wb/config.toml\n");
    assert!(home.refused("config unset hosts.pi").contains("hosts.pi is not set there"));
}

#[test]
fn a_value_that_is_not_valid_changes_nothing() {
    let home = Home::new();
    home.lay(FILE, "trigger_ratio = 0.5\n");
    for (line, reason) in [
        ("config set trigger_ratio 7", "ratio"),
        ("config set stratgy ladder", "stratgy"),
        ("config set hosts.emacs true", "emacs"),
        ("config set images hide", "hide"),
        ("config set a..b 1", "`a..b` is no key"),
        ("config set trigger_ratio.x 1", "no table"),
        ("config set reserve_tokens lots", "lots: expected whole tokens, such as 200000, 200k or 1.5m"),
        ("config trust", "there is no .wb.toml in this folder\nhint: name the folder that has one"),
    ] {
        assert!(home.refused(line).contains(reason), "{line}");
    }
}

#[test]
fn a_new_file_is_private_and_json_says_what_was_changed() {
    let home = Home::new();
    let set = home.json("config set pin Never");
    assert_eq!((&set["value"], &set["previous"]), (&"[\"Never\"]".into(), &serde_json::Value::Null));
    #[cfg(unix)]
    {
        let file = std::fs::metadata(home.path(FILE)).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777, 0o600);
    }
    home.done("config set keep_recent_tokens 5 --project");
    assert_eq!(home.text("project/.wb.toml"), "keep_recent_tokens = 5\n");
}

#[test]
fn tokens_are_taken_as_the_options_take_them() {
    let home = Home::new();
    home.done("config set keep_recent_tokens 20k");
    home.done("config set reserve_tokens 1_500");
    let shown = home.done("config");
    assert!(
        shown.contains("keep_recent_tokens = 20000  ") && shown.contains("reserve_tokens = 1500  "),
        "{shown}"
    );
}

#[cfg(unix)]
#[test]
fn the_editor_gets_an_example_and_a_fault_is_reported_with_its_line() {
    let home = Home::new();
    let edit = |editor: &str| home.run_with(&[("EDITOR", editor), ("PATH", "/usr/bin:/bin")], "config edit");
    let valid = edit("true");
    assert_eq!(valid.stdout, "~/.config/wb/config.toml: the settings are valid\n", "{}", valid.stderr);
    assert_eq!(home.text(FILE), home.done("config example"));
    let fault = edit("sed -i s/^#strategy/stratgy/");
    assert!(fault.code == 1 && fault.stderr.contains("unknown field `stratgy`"), "{}", fault.stderr);
    assert!(edit("false").stderr.contains("hint: set VISUAL or EDITOR"));
}

#[test]
fn a_shell_completes_the_keys() {
    let home = Home::new();
    let script = home.done("completions bash");
    assert!(script.contains("keep_recent_tokens") && script.contains("hosts.opencode"), "{script}");
}
