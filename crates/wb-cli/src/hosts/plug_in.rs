//! The embedded plug-ins, and the marker that identifies their files.

use std::path::Path;

use serde_json::json;

use super::hooks;

/// A file of a plug-in, below the folder that the agent reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embedded {
    pub(crate) path: &'static str,
    text: &'static str,
}

/// Embeds a file of `integrations`, to be installed at a path.
macro_rules! embedded {
    ($path:literal, $source:literal) => {
        Embedded { path: $path, text: include_str!(concat!("../../integrations/", $source)) }
    };
}

pub(crate) const OF_PI: [Embedded; 1] = [embedded!("extensions/wb-compact.ts", "pi/wb-compact.ts")];
pub(crate) const OF_GEMINI_CLI: [Embedded; 3] = [
    embedded!("extensions/wb-compact/wb-compact.mjs", "gemini-cli/wb-compact.mjs"),
    embedded!("extensions/wb-compact/hooks/hooks.json", "gemini-cli/hooks/hooks.json"),
    embedded!("extensions/wb-compact/gemini-extension.json", "gemini-cli/gemini-extension.json"),
];
pub(crate) const OF_OPENCODE: [Embedded; 1] = [embedded!("plugins/wb-compact.ts", "opencode/wb-compact.ts")];
/// The first file runs `wb`; it is written last, so that the plug-in is complete once it is
/// present.
pub(crate) const OF_CLAUDE_CODE: [Embedded; 4] = [
    embedded!("skills/wb-compact/hooks/register.ts", "claude-code/hooks/register.ts"),
    embedded!("skills/wb-compact/.mcp.json", "claude-code/.mcp.json"),
    embedded!("skills/wb-compact/hooks/hooks.json", "claude-code/hooks/hooks.json"),
    embedded!("skills/wb-compact/.claude-plugin/plugin.json", "claude-code/.claude-plugin/plugin.json"),
];

/// This version of `wb`.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
const MARK: &str = "// Written by `wb install` of wb ";

/// The setting of the tool with which the model looks up what was folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecallTool {
    On,
    Off,
}

impl Embedded {
    /// Returns the text of the file for a `wb` at a path.
    pub(crate) fn rendered(self, program: &str, recall: RecallTool) -> String {
        let path = serde_json::Value::from(program).to_string();
        let server = |host: &str| json!({ "command": program, "args": ["mcp", "--host", host] });
        let servers = |server: serde_json::Value| match recall {
            RecallTool::On => json!({ "wb": server }).to_string(),
            RecallTool::Off => "{}".to_owned(),
        };
        let mut of_claude_code = server("claude-code");
        of_claude_code["alwaysLoad"] = true.into();
        let is_on = if recall == RecallTool::On { "true" } else { "false" };
        let hook = serde_json::Value::from(hooks::command_of(program)).to_string();
        let text = self.text.replace("\"@WB_HOOK@\"", &hook);
        let text = text.replace("'@WB@'", &path).replace("\"@WB@\"", &path);
        let text = text.replace("'@RECALL@'", is_on).replace("\"@RECALL@\"", is_on);
        let text = text.replace("\"@SERVERS_OF_CLAUDE_CODE@\"", &servers(of_claude_code));
        let text = text.replace("\"@SERVERS_OF_GEMINI_CLI@\"", &servers(server("gemini-cli")));
        let tool = serde_json::to_string(&wb_recall::descriptor()).unwrap_or_default();
        let text = text.replace("\"@TOOL@\"", &tool);
        let mark = if self.is_script() {
            format!("{MARK}{VERSION}, which overwrites it; `wb uninstall` removes it.\n")
        } else {
            String::new()
        };
        mark + &text.replace("@VERSION@", VERSION)
    }

    /// Returns whether a text without a marker is what was written for some `wb`.
    pub(crate) fn is_of_any(self, text: &str) -> bool {
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let word = |place| value.pointer(place).and_then(serde_json::Value::as_str);
        let of_hook = || hooks::program_of(word("/hooks/SessionStart/0/hooks/0/command")?);
        let program = word("/mcpServers/wb/command").map(str::to_owned).or_else(of_hook);
        self.is_rendered(text, &program.unwrap_or_default())
    }

    /// Returns whether a text is what was written for this `wb`, whichever the recall.
    pub(crate) fn is_rendered(self, text: &str, program: &str) -> bool {
        [RecallTool::On, RecallTool::Off].into_iter().any(|recall| text == self.rendered(program, recall))
    }

    /// Returns whether the file has room for a marker: a script, not JSON.
    fn is_script(self) -> bool {
        Path::new(self.path).extension().is_some_and(|end| end == "ts" || end == "mjs")
    }
}

/// The header of an embedded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// The version of `wb` that wrote it.
    pub(crate) version: String,
    /// The path of `wb` that it runs.
    pub(crate) program: Option<String>,
}

/// Returns the header of a file, if it is ours.
pub(crate) fn read(text: &str) -> Option<FileHeader> {
    let version = text.strip_prefix(MARK)?.split(',').next()?.to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("const WB = ")?.strip_suffix(';'));
    Some(FileHeader { version, program: line.and_then(|line| serde_json::from_str(line).ok()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_kind_comes_back_from_each_file() {
        for first in [OF_PI[0], OF_OPENCODE[0], OF_GEMINI_CLI[0], OF_CLAUDE_CODE[0]] {
            for program in ["/usr/bin/wb", "/a b/it's \"wb\"", "C:\\x\\wb", "/Grüße/世界/`${x}`\n/wb"] {
                let text = first.rendered(program, RecallTool::On);
                let written = FileHeader { version: VERSION.to_owned(), program: Some(program.to_owned()) };
                assert_eq!(read(&text), Some(written), "{text}");
            }
        }
    }

    #[test]
    fn a_hook_is_known_again_whatever_the_path_of_its_program() {
        let file = OF_CLAUDE_CODE[2];
        for program in ["/usr/bin/wb", "/a b/it's \"x\"/wb"] {
            let text = file.rendered(program, RecallTool::On);
            assert!(file.is_of_any(&text) && !file.is_of_any(&text.replace("/wb", "/other")), "{text}");
        }
    }

    #[test]
    fn nothing_is_left_to_be_filled_in() {
        for file in [&OF_PI[..], &OF_OPENCODE, &OF_GEMINI_CLI, &OF_CLAUDE_CODE].concat() {
            let text = file.rendered("/usr/bin/wb", RecallTool::Off);
            assert!(
                !["@WB", "@VERSION@", "@RECALL@", "@SERVERS", "@TOOL@"].iter().any(|it| text.contains(it)),
                "{text}"
            );
            assert!(file.is_script() || serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_others_wrote_is_not_ours() {
        assert_eq!(read("// An extension of mine\nconst WB = \"/x/wb\";\n"), None);
    }
}
