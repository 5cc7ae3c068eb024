//! Ends of substitutions, quotes and heredocs in a shell command.

use std::borrow::Cow;

/// The depth to which nested substitutions are followed; deeper ones extend to the end.
const MAX_NESTING: usize = 24;

/// Returns the body of the heredoc in a substitution such as `$(cat <<'EOF'`.
pub(crate) fn inner_body(raw: &str) -> Option<&str> {
    let (first, rest) = raw.split_once('\n')?;
    let (_, name) = first.split_once("<<")?;
    let name = name.trim_start_matches('-').trim();
    Some(heredoc(rest, name.trim_matches(['\'', '"', '\\'])).0)
}

/// Splits a text into the body of a heredoc and the text after its closing line.
pub(crate) fn heredoc<'a>(text: &'a str, end: &str) -> (&'a str, &'a str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end_matches(['\n', '\r']).trim_start_matches('\t') == end {
            return (&text[..at], &text[at + line.len()..]);
        }
        at += line.len();
    }
    (text, "")
}

/// Removes the bodies of heredocs that a command writes to files: they are not commands that ran.
pub fn without_file_bodies(command: &str) -> Cow<'_, str> {
    let mut rest = command;
    let mut out = String::new();
    while let Some((line, body)) = rest.split_once('\n') {
        let name = line.find("<<").filter(|at| line[at + 2..].starts_with(|c| c != '<') && writes(line));
        let Some(name) = name.and_then(|at| heredoc_name(line, at + 2).0) else {
            out.extend([line, "\n"]);
            rest = body;
            continue;
        };
        out.extend([line, " …\n"]);
        rest = heredoc(body, name).1;
    }
    if out.len() + rest.len() == command.len() {
        return Cow::Borrowed(command);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns whether a line of a command writes its input to a file.
fn writes(line: &str) -> bool {
    line.contains('>') || line.split_whitespace().any(|word| word == "tee")
}

/// Returns the index after the bracket that closes the one at `at`, skipping quotes and heredocs.
pub(crate) fn after_bracket(text: &str, at: usize, nesting: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut awaited) = (at, 0_usize, None);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return at,
            b')' => depth = depth.saturating_sub(1),
            b'\\' => at += 1,
            b'\'' => {
                at = text.get(at..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| at + end + 1);
            }
            b'"' => at = after_quote(text, at, nesting),
            b'<' if bytes.get(at) == Some(&b'<') && bytes.get(at + 1) != Some(&b'<') => {
                (awaited, at) = heredoc_name(text, at + 1);
            }
            b'<' => at += bytes[at..].iter().take_while(|byte| **byte == b'<').count(),
            b'\n' => {
                if let Some(name) = awaited.take() {
                    at = text.len() - heredoc(&text[at..], name).1.len();
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Returns the index after the double quote that closes a text starting at `at`.
fn after_quote(text: &str, at: usize, nesting: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = at;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            b'$' if bytes.get(at + 1) == Some(&b'(') && nesting < MAX_NESTING => {
                at = after_bracket(text, at + 1, nesting + 1);
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the delimiter of a heredoc, and the index after it.
fn heredoc_name(text: &str, at: usize) -> (Option<&str>, usize) {
    let rest = text.get(at..).unwrap_or_default();
    let is_end = |c: char| c.is_whitespace() || matches!(c, ')' | ';' | '|' | '&' | '>');
    let trimmed = rest.trim_start_matches(['-', ' ']);
    let n_bytes = trimmed.find(is_end).unwrap_or(trimmed.len());
    let name = trimmed[..n_bytes].trim_matches(['\'', '"', '\\']);
    ((!name.is_empty()).then_some(name), at + (rest.len() - trimmed.len()) + n_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_written_to_a_file_is_not_part_of_a_command() {
        for (command, expected) in [
            ("cat > a.py << 'EOF'\nimport os\nEOF\npython a.py", "cat > a.py << 'EOF' …\npython a.py"),
            ("make\ntee b <<-X >/dev/null\nx\n\tX\n", "make\ntee b <<-X >/dev/null …\n"),
            ("python <<EOF\nprint(1)\nEOF", "python <<EOF\nprint(1)\nEOF"),
            ("cat > a <<< b\nmake", "cat > a <<< b\nmake"),
            ("cat > a << EOF\nnever closed", "cat > a << EOF …\n"),
        ] {
            assert_eq!(without_file_bodies(command), expected, "{command}");
        }
    }
}
