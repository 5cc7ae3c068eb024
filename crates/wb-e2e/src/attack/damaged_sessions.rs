//! Damaged sessions, in every command that reads one.

use std::fs;
use std::path::{Path, PathBuf};

use wb_testkit::random::Random;

use super::AttackResult;
use super::limited_program::{LimitedProgram, bytes, folder, word, write};

const COMMANDS: [&[&str]; 9] = [
    &["weigh"],
    &["plan"],
    &["compact", "--force", "-o", "-"],
    &["compact", "--force", "--in-place", "--allow-open"],
    &["validate"],
    &["repair"],
    &["doctor"],
    &["audit"],
    &["convert", "--to", "native"],
];

/// The composed sessions of the repository.
const SESSIONS: [&str; 2] = ["fixtures/sessions", "crates/wb-formats/tests/fixtures"];

/// Damages sessions and gives them to a command each.
pub(super) fn run(root: &Path, wb: &LimitedProgram, n_runs: usize) -> Result<AttackResult, String> {
    let mut sessions = Vec::new();
    SESSIONS.iter().try_for_each(|name| add_files(&root.join(name), &mut sessions))?;
    sessions.sort();
    let (mut random, mut faults) = (Random(20_261_129), Vec::new());
    let folder = folder()?;
    for n in 0..n_runs {
        let session = &sessions[random.below(sessions.len())];
        let damaged = folder.path().join("damaged");
        write(&damaged, &damage(bytes(session)?, &mut random))?;
        let words = [COMMANDS[n % COMMANDS.len()], &[word(&damaged)]].concat();
        if let Some(fault) = wb.run(&words, None)?.fault() {
            faults.push(format!("{} of {}, run {n}: {fault}", words[0], session.display()));
        }
        // The list of operations belongs to this session alone.
        let _ = fs::remove_file(folder.path().join("damaged.wb-log"));
    }
    Ok(AttackResult { attack: "damaged sessions, in nine commands", n_tried: n_runs, faults })
}

fn add_files(folder: &Path, all: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() { add_files(&path, all)? } else { all.push(path) }
    }
    Ok(())
}

/// Changes one to four places of a file.
fn damage(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1));
        let end = (at + 1 + random.below(400)).min(bytes.len());
        match random.below(7) {
            _ if bytes.is_empty() => {}
            0 => bytes.truncate(at),
            1 => bytes[at] = u8::try_from(random.below(256)).unwrap_or(0),
            2 => bytes[at] ^= 1 << random.below(8),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_within(at..end),
            5 => bytes[at..end].fill(0),
            _ => {
                let other = random.below(bytes.len());
                bytes.swap(at, other);
            }
        }
    }
    bytes
}
