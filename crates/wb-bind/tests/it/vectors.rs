//! Calls and their answers, which every binding gives.

use std::fs;
use std::path::Path;

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
        assert_eq!(wb_bind::call(&call), answer.trim_end(), "{name}: see fixtures/bindings/README.md");
        n_calls += 1;
    }
    assert!(n_calls > 20, "{n_calls}");
}
