//! The rule that relative links in Markdown lead somewhere.

use super::tree::{File, Tree};

/// Finds links in Markdown files that lead to no file of the repository.
pub(crate) fn broken_links(tree: &Tree) -> Vec<String> {
    let pages = tree.files.iter().filter(|file| file.is(&[".md"]));
    pages.flat_map(|page| broken_on(page, tree)).collect()
}

fn broken_on(page: &File, tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (line, number) in page.text.lines().zip(1..) {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for target in targets(&without_code(line)) {
            let path = target.split('#').next().unwrap_or_default();
            if is_relative(&target) && !resolved(&page.path, path).is_some_and(|path| tree.has(&path)) {
                findings.push(format!("{}:{number}: the link to `{target}` leads nowhere", page.path));
            }
        }
    }
    findings
}

/// Returns the line without the text between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the targets of inline links, and of a reference where the line is one.
fn targets(line: &str) -> Vec<String> {
    let reference = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    // A title may follow the target.
    inline.chain(reference).filter_map(|target| target.split_whitespace().next().map(str::to_owned)).collect()
}

fn is_relative(target: &str) -> bool {
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    !has_scheme && !target.starts_with('#')
}

/// Resolves a target against the page that names it, nothing if it leaves the repository.
fn resolved(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        broken_links(&Tree::from_files(&[("docs/a.md", text), ("docs/adr/0001.md", ""), ("README.md", "")]))
    }

    #[test]
    fn a_link_to_a_missing_page_is_found() {
        let line = "See [the map](missing.md) and [it](../README.md).\n";
        assert_eq!(findings(line), ["docs/a.md:1: the link to `missing.md` leads nowhere"]);
        assert_eq!(
            findings("\n[map]: ../missing.md\n"),
            ["docs/a.md:2: the link to `../missing.md` leads nowhere"]
        );
        assert_eq!(findings("![plot](plots/x.svg \"a title\")\n").len(), 1);
        assert_eq!(findings("[out](../../README.md)\n").len(), 1);
    }

    #[test]
    fn pages_directories_anchors_and_addresses_are_fine() {
        let text =
            "[a](adr/0001.md#context) [b](adr/) [c](../README.md) [d](#here) [e](https://example.org/x.md)\n";
        assert!(findings(text).is_empty());
    }

    #[test]
    fn code_holds_no_links() {
        assert!(findings("`[a](b.md)`\n```text\n[a](b.md)\n```\n").is_empty());
        assert_eq!(findings("```text\n```\n[a](b.md)\n").len(), 1);
    }
}
