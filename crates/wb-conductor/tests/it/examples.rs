//! The four programs of a host are as short as the documentation promises.

const PROGRAMS: [(&str, &str); 4] = [
    ("count", include_str!("../../examples/count.rs")),
    ("without_a_model", include_str!("../../examples/without_a_model.rs")),
    ("with_a_closure", include_str!("../../examples/with_a_closure.rs")),
    ("in_the_background", include_str!("../../examples/in_the_background.rs")),
];

#[test]
fn each_program_has_at_most_fifteen_lines_of_host_code() {
    for (name, source) in PROGRAMS {
        let (_, host) = source.split_once("// host:\n").unwrap();
        let (host, _) = host.split_once("// :host").unwrap();
        let n_lines = host.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((1..=15).contains(&n_lines), "{name}: {n_lines}");
    }
}
