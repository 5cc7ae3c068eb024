//! Checks that `wb fleet` runs the program `wb-fleet`.

use std::path::Path;

use crate::support::wb_in;

#[cfg(unix)]
#[test]
fn fleet_runs_the_program_of_the_path_with_its_words_and_exit_code() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("wb-fleet");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\nexit 3\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let run = |words: &[&str]| {
        let answer = wb_in(Path::new("/nowhere"), &[("PATH", path.as_str())], words, b"");
        (answer.code, answer.stdout)
    };
    let report = ["fleet", "report", "traces", "--html", "out.html", "--help"];
    assert_eq!(run(&report), (3, "report traces --html out.html --help\n".to_owned()));
    assert!(run(&["fleet", "--help"]).1.contains("wb-fleet"));
    assert_eq!(run(&["--json", "fleet", "report", "a"]), (3, "report a --json\n".to_owned()));
}

#[test]
fn fleet_without_its_program_says_how_to_get_it() {
    let answer = wb_in(Path::new("/nowhere"), &[("PATH", "/nowhere")], &["fleet", "report", "x"], b"");
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
    assert!(answer.stderr.starts_with("error: wb-fleet cannot be run: "), "{}", answer.stderr);
    assert!(answer.stderr.contains("cargo install --path fleet/wb-fleet"), "{}", answer.stderr);
}
