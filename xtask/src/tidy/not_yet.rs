//! The parts of the repository that do not keep every rule yet; the list can only shrink.

/// The crates, and `docs` for all pages, whose findings of the newer rules do not fail `cargo xtask
/// tidy`.
pub(crate) const NOT_YET: &[&str] = &[
    // One a line, so that branches which clean different crates merge.
    "wb-cli",
];

/// Returns the part of the repository that a path or a finding belongs to.
pub(crate) fn part(path: &str) -> &str {
    let mut names = path.split(['/', ':']);
    match (names.next(), names.next()) {
        (Some("crates"), Some(name)) if !name.contains(".md") => name,
        (Some("xtask"), _) => "xtask",
        (Some("fuzz"), _) => "fuzz",
        _ => "docs",
    }
}

/// Splits findings into those that count and the listed parts that have none and are to be taken
/// off the list.
pub(crate) fn outstanding(findings: Vec<String>, listed: &[&str]) -> Vec<String> {
    let is_clean = |name: &&&str| !findings.iter().any(|finding| part(finding) == **name);
    let clean = listed.iter().filter(is_clean);
    let clean: Vec<String> = clean
        .map(|name| format!("{name}: has no findings → remove it from NOT_YET in {}", file!()))
        .collect();
    findings.into_iter().filter(|finding| !listed.contains(&part(finding))).chain(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_its_crate_or_to_the_pages() {
        let paths = [
            "crates/wb-a/src/b.rs:1: c",
            "crates/wb-a: d",
            "xtask/src/b.rs",
            "README.md:1: e",
            "docs/f.md",
            "crates/README.md",
            "fuzz/src/a.rs",
        ];
        assert_eq!(paths.map(part), ["wb-a", "wb-a", "xtask", "docs", "docs", "docs", "fuzz"]);
    }

    #[test]
    fn findings_of_a_listed_crate_are_left_out_and_a_listed_crate_without_any_is_one() {
        let findings = ["crates/a/src/b.rs:1: x", "crates/c/src/d.rs:2: y"].map(str::to_owned).to_vec();
        assert_eq!(outstanding(findings.clone(), &["a"]), ["crates/c/src/d.rs:2: y"]);
        let found = outstanding(findings, &["a", "c", "e"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("e: has no findings"), "{found:?}");
    }
}
