//! The subject of a session, from the start and the end of its file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::text::one_line;

/// The bytes at the start of a file that are read first; the prompt is rarely later.
const FIRST_BYTES: usize = 1 << 13;
/// The bytes at the start of a file in which to search at most.
const HEAD_BYTES: usize = 1 << 16;
/// The bytes at the end of a file in which to search for a title, which a later one replaces.
const TAIL_BYTES: u64 = 1 << 13;
/// The characters of a title.
const TITLE_CHARS: usize = 200;
/// The starts of texts that hosts write in the user's role.
const OF_HOSTS: [&str; 4] = ["<", "# AGENTS.md", "Caveat:", "[Request interrupted"];
/// The file in which Gemini CLI names the folder of a project.
const GEMINI_PROJECT: &str = ".project_root";

/// The subject of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionHead {
    /// The working folder, if the file has it.
    pub(crate) folder: Option<PathBuf>,
    /// The title that the agent or the user gave it.
    pub(crate) title: Option<String>,
    /// The first prompt of the user.
    pub(crate) prompt: Option<String>,
}

impl SessionHead {
    /// Reads the start of a file, and its end for a later title.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        let mut head = Self::default();
        for limit in [FIRST_BYTES, HEAD_BYTES] {
            let n_missing = limit - bytes.len();
            let is_end = Read::by_ref(&mut file).take(n_missing as u64).read_to_end(&mut bytes)? < n_missing;
            head = Self::default();
            bytes.split(|byte| *byte == b'\n').for_each(|line| head.add(line));
            if is_end || head.is_complete() {
                break;
            }
        }
        let n_bytes = file.seek(SeekFrom::End(0))?;
        let start = n_bytes.saturating_sub(TAIL_BYTES).max(bytes.len() as u64);
        let mut tail = Vec::new();
        if file.seek(SeekFrom::Start(start)).is_ok() {
            file.take(TAIL_BYTES).read_to_end(&mut tail)?;
        }
        tail.split(|byte| *byte == b'\n').for_each(|line| head.add_title(line));
        head.folder = head.folder.or_else(|| gemini_project(path));
        Ok(head)
    }

    /// Returns the title, or else the first prompt.
    pub(crate) fn name(&self) -> Option<&str> {
        self.title.as_deref().or(self.prompt.as_deref())
    }

    fn is_complete(&self) -> bool {
        self.folder.is_some() && self.prompt.is_some()
    }

    fn add(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return };
        if self.folder.is_none() {
            let folder = value.get("cwd").or_else(|| value.pointer("/payload/cwd"));
            self.folder = folder.and_then(Value::as_str).map(PathBuf::from);
        }
        self.title = title_in(&value).or(self.title.take());
        if self.prompt.is_none() {
            self.prompt = prompt_in(&value);
        }
    }

    fn add_title(&mut self, line: &[u8]) {
        // A message may be long, and a line with a title is short.
        if line.len() < TITLE_CHARS * 8
            && let Ok(value) = serde_json::from_slice::<Value>(line)
        {
            self.title = title_in(&value).or(self.title.take());
        }
    }
}

/// Returns the project of a Gemini CLI session, which is in a file above the folder of the session.
fn gemini_project(session: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(session.parent()?.parent()?.join(GEMINI_PROJECT)).ok()?;
    Some(PathBuf::from(text.trim())).filter(|folder| folder.is_absolute())
}

/// Returns the title in a record.
fn title_in(record: &Value) -> Option<String> {
    let key = match record.get("type")?.as_str()? {
        "summary" => "summary",
        "custom-title" => "customTitle",
        "ai-title" => "aiTitle",
        "session_info" => "name",
        _ => return None,
    };
    tidy(record.get(key)?.as_str()?)
}

/// Returns the user's words in a record.
fn prompt_in(record: &Value) -> Option<String> {
    let is = |key: &str| record.get(key) == Some(&Value::Bool(true));
    let content = match record.get("type").or_else(|| record.get("role"))?.as_str()? {
        "user" if record.get("content").is_some() => record.get("content")?,
        "user" if !is("isMeta") && !is("isSidechain") => record.pointer("/message/content")?,
        "message" if record.pointer("/message/role")? == "user" => record.pointer("/message/content")?,
        "event_msg" if record.pointer("/payload/type")? == "user_message" => {
            record.pointer("/payload/message")?
        }
        "response_item" if record.pointer("/payload/role")? == "user" => {
            record.pointer("/payload/content")?
        }
        _ => return None,
    };
    let texts = match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect(),
        _ => return None,
    };
    let is_of_user = |text: &&str| !OF_HOSTS.iter().any(|start| text.trim_start().starts_with(start));
    texts.into_iter().find(is_of_user).and_then(tidy)
}

fn tidy(text: &str) -> Option<String> {
    let text = one_line(text, TITLE_CHARS);
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &[&str]) -> SessionHead {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        SessionHead::read(file.path()).unwrap()
    }

    #[test]
    fn each_agent_says_its_folder_and_the_first_prompt() {
        let claude = head(&[
            r#"{"type":"user","isMeta":true,"cwd":"/a","message":{"content":"Caveat: x"}}"#,
            r#"{"type":"user","cwd":"/a","message":{"content":"<command-name>/clear</command-name>"}}"#,
            r#"{"type":"user","cwd":"/a","message":{"content":[{"type":"text","text":"Fix\n it"}]}}"#,
        ]);
        let codex = head(&[
            r#"{"type":"session_meta","payload":{"id":"1","cwd":"/a"}}"#,
            r#"{"type":"response_item","payload":{"role":"user","content":[{"text":"<environment_context>"}]}}"#,
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"Fix it"}}"#,
        ]);
        let pi = head(&[
            r#"{"type":"session","id":"1","cwd":"/a"}"#,
            r#"{"type":"message","message":{"role":"user","content":"Fix it"}}"#,
        ]);
        for head in [claude, codex, pi] {
            assert_eq!((head.folder, head.prompt.as_deref()), (Some("/a".into()), Some("Fix it")));
        }
    }

    #[test]
    fn the_last_title_counts_wherever_it_is() {
        let long = format!(r#"{{"type":"assistant","x":"{}"}}"#, "y".repeat(80_000));
        let lines = [
            r#"{"type":"summary","summary":"First"}"#,
            r#"{"type":"user","cwd":"/a","message":{"content":"go"}}"#,
            &long,
            r#"{"type":"custom-title","customTitle":"Second"}"#,
        ];
        assert_eq!(head(&lines).name(), Some("Second"));
        assert_eq!(head(&lines[..3]).name(), Some("First"));
        assert_eq!(head(&lines[1..3]).name(), Some("go"));
        assert_eq!(head(&["{\"type\":", "\u{0}"]), SessionHead::default());
    }
}
