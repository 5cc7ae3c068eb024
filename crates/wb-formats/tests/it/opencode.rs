//! Sessions of opencode: exports, and databases as its program keeps them.

use wb_record::{MemoryParts, Parts};

use crate::laws;
use crate::support::{bytes_of, files_of, shared};

#[test]
fn the_laws_hold_on_every_real_export() {
    let Some(sessions) = shared("sessions/opencode") else { return };
    let mut folds = 0;
    for (name, path) in files_of(&sessions) {
        let tried = laws::holds(&MemoryParts::of(bytes_of(&path)), 12);
        println!("{name}: {tried:?}");
        folds += tried.folds;
    }
    assert!(folds > 20);
}

#[test]
fn peek() {
    let Some(sessions) = shared("sessions/opencode") else { return };
    let hosts = shared("hosts/fixtures/opencode").unwrap();
    let files = files_of(&sessions)
        .into_iter()
        .chain(files_of(&hosts).into_iter().filter(|(name, _)| name.ends_with(".json")));
    for (name, path) in files {
        let view = crate::support::open(&bytes_of(&path)).unwrap();
        println!("== {name} {:?} {:?}", view.model, view.notes);
        for (at, message) in view.messages.iter().enumerate() {
            let request = view.usage.iter().find(|it| it.at == at);
            println!(
                "{at:3} {} {}",
                wb_message::outline::line(message),
                request.map_or(String::new(), |it| format!("<- {}", it.usage.prompt_tokens()))
            );
        }
    }
    #[cfg(feature = "sqlite")]
    for (name, path) in files_of(&hosts).into_iter().filter(|(name, _)| name.ends_with(".db")) {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.db");
        std::fs::copy(path, &copy).unwrap();
        let document = wb_formats::formats::opencode::open_database(&copy, wb_record::Access::Read).unwrap();
        let newest = wb_formats::newest(document.as_ref()).unwrap();
        let view = document.view(&newest).unwrap();
        println!("== {name} {newest} {:?} {:?}", view.model, view.notes);
        for (at, message) in view.messages.iter().enumerate() {
            let request = view.usage.iter().find(|it| it.at == at);
            println!(
                "{at:3} {} {}",
                wb_message::outline::line(message),
                request.map_or(String::new(), |it| format!("<- {}", it.usage.prompt_tokens()))
            );
        }
        let parts = document.parts();
        let names = parts.list("").unwrap();
        let copy =
            MemoryParts(names.into_iter().map(|name| (name.clone(), parts.whole(&name).unwrap())).collect());
        println!("{:?}", laws::holds(&copy, 12));
    }
}
