//! Calls and their answers, which every binding gives.

use std::fs;
use std::path::Path;

use wb_bind::Progress;

#[test]
#[expect(clippy::disallowed_methods, reason = "the calls are files")]
fn every_call_has_its_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bindings");
    let mut n_calls = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".call.json") else { continue };
        let answer = fs::read_to_string(folder.join(format!("{name}.answer.json"))).unwrap();
        let call = fs::read_to_string(&path).unwrap();
        let mut stages = Vec::new();
        let mut note = |stage: &Progress| stages.push(stage.to_string());
        let given = wb_bind::call_with_progress(&call, &mut note);
        assert_eq!(given, answer.trim_end(), "{name}: see fixtures/bindings/README.md");
        if let Ok(expected) = fs::read_to_string(folder.join(format!("{name}.progress.json"))) {
            assert_eq!(format!("[{}]", stages.join(",")), expected.trim_end(), "{name}");
        }
        n_calls += 1;
    }
    assert!(n_calls > 20, "{n_calls}");
}
