//! Whole files, and lines at the end of one.

use std::fs;
use std::io::Write;
use std::path::Path;

use wb_record::{CommitError, FileError, append_line, check_new, write_new};

fn write(path: &Path, mode_of: Option<&Path>, overwrite: bool, text: &str) -> Result<(), FileError> {
    write_new(path, mode_of, overwrite, |out: &mut dyn Write| {
        out.write_all(text.as_bytes()).map_err(|source| FileError::Io {
            path: path.to_owned(),
            doing: "writing it",
            source,
        })
    })
}

#[test]
fn a_file_is_written_over_only_if_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    write(&path, None, false, "one").unwrap();
    let error = write(&path, None, false, "two").unwrap_err();
    assert!(matches!(error, FileError::Exists { .. }));
    assert!(error.to_string().ends_with("out.jsonl: already exists"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    assert!(matches!(check_new(&path, false), Err(FileError::Exists { .. })));
    check_new(&path, true).unwrap();
    check_new(&folder.path().join("other"), false).unwrap();
    write(&path, None, true, "three").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn drafts_that_a_kill_left_a_day_ago_go_with_the_next_write_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let day = std::time::Duration::from_hours(24);
    for (name, n_days) in [(".wb-a1.draft", 2), (".wb-b2.draft", 0), (".wb-c3.other", 2), ("d.draft", 2)] {
        let file = fs::File::create(path(name)).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - day * n_days).unwrap();
    }
    fs::create_dir(path(".wb-folder.draft")).unwrap();
    fs::File::open(path(".wb-folder.draft")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    write(&path("out.jsonl"), None, false, "one").unwrap();
    let mut left: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".wb-b2.draft", ".wb-c3.other", ".wb-folder.draft", "d.draft", "out.jsonl"]);
}

#[test]
fn a_file_whose_content_fails_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let failed = write_new(&path, None, false, |out: &mut dyn Write| {
        out.write_all(&b"x".repeat(100_000)).unwrap();
        Err(FileError::Exists { path: "the content".into() })
    });
    assert_eq!(failed.unwrap_err().to_string(), "the content: already exists");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn an_unwritable_file_is_reported_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let error = write(folder.path(), None, true, "x").unwrap_err();
    assert_eq!(error.hint(), "name a file, not a folder", "{error}");
    let error = write(&folder.path().join("none/out"), None, false, "x").unwrap_err();
    assert_eq!(error.hint(), "check that the file and its folder are there");
    assert!(!error.to_string().contains(".draft"), "{error}");
}

#[test]
fn a_line_ends_the_one_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("operations");
    append_line(&path, None, b"one").unwrap();
    append_line(&path, None, b"two").unwrap();
    fs::write(&path, "one\ntw").unwrap();
    append_line(&path, None, b"three").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\n");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_allows_what_its_source_allows_and_never_more_than_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let [source, out] = ["source", "out"].map(|name| folder.path().join(name));
        write(&source, None, false, "x").unwrap();
        assert_eq!(mode(&source), 0o600, "what is new is private");
        for (of_source, before, expected) in [
            (0o644, None, 0o644),
            (0o600, None, 0o600),
            (0o644, Some(0o600), 0o600),
            (0o640, Some(0o664), 0o640),
        ] {
            let _ = fs::remove_file(&out);
            fs::set_permissions(&source, fs::Permissions::from_mode(of_source)).unwrap();
            if let Some(before) = before {
                fs::write(&out, "before").unwrap();
                fs::set_permissions(&out, fs::Permissions::from_mode(before)).unwrap();
            }
            write(&out, Some(&source), true, "after").unwrap();
            assert_eq!(mode(&out), expected, "{of_source:o} over {before:?}");
        }
        fs::set_permissions(&out, fs::Permissions::from_mode(0o644)).unwrap();
        let draft = write_new::<FileError>(&out, None, true, |_| {
            let drafts = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let modes: Vec<u32> =
                drafts.filter(|path| path.extension().is_some()).map(|path| mode(&path)).collect();
            assert_eq!(modes, [0o600], "a draft is private until it is whole");
            Ok(())
        });
        draft.unwrap();
        assert_eq!(mode(&out), 0o600, "without a source only its owner reads it");
        fs::set_permissions(&out, fs::Permissions::from_mode(0o644)).unwrap();
        let line = folder.path().join("line");
        append_line(&line, Some(&out), b"x").unwrap();
        assert_eq!(mode(&line), 0o644);
    }

    #[test]
    fn a_link_is_refused_with_its_target_and_nothing_is_written_through_it() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, link] = ["victim", "link"].map(|name| folder.path().join(name));
        symlink("victim", &link).unwrap();
        for overwrite in [false, true] {
            let error = write(&link, None, overwrite, "x").unwrap_err();
            assert_eq!(error.to_string(), format!("{}: is a link to {}", link.display(), victim.display()));
            assert!(!victim.exists());
        }
        fs::write(&victim, "precious").unwrap();
        let error = write(&link, None, true, "x").unwrap_err();
        assert!(matches!(error, FileError::Link { .. }));
        let error = append_line(&link, None, b"x").unwrap_err();
        assert!(matches!(error, CommitError::File(FileError::Link { .. })), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(link.is_symlink());
    }

    #[test]
    fn devices_and_pipes_are_written_in_place() {
        write(Path::new("/dev/null"), None, false, "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read_to_string(&pipe).unwrap());
            write(&pipe, None, false, "through").unwrap();
            assert_eq!(reader.join().unwrap(), "through");
        });
        let copy = folder.path().join("copy");
        write(&copy, Some(&pipe), false, "x").unwrap();
        assert_eq!(mode(&copy), 0o600, "what came through a pipe is private");
        let device = folder.path().join("device");
        symlink("/dev/null", &device).unwrap();
        write(&device, None, false, "x").unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_reported() {
        let error = write(Path::new("/dev/full"), None, false, "x").unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: writing it failed"), "{error}");
    }
}
