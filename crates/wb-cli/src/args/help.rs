//! The end of `wb --help`: exit codes and the environment.

/// The end of the help and of the manual of `wb`.
pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  done, or nothing to do
  1  error
  2  wrong usage
  3  something was found: a session over its budget (`wb weigh --check`), findings of `wb audit`,
     violations (`wb validate`), problems that cannot be repaired (`wb repair`), reasons why a session
     won't resume (`wb doctor`), an agent that would not use `wb` (`wb install --check`)

Environment:
  HOME               your home directory
  COLUMNS            width of the output, instead of the terminal's
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY, OPENAI_COMPATIBLE_API_KEY
                     keys of the providers of --model
  NO_COLOR           no colours, unless --color=always
  CLAUDE_CONFIG_DIR  folder of Claude Code, in addition to ~/.claude
  CODEX_HOME         folder of Codex, instead of ~/.codex
  GEMINI_CLI_HOME    folder with .gemini of Gemini CLI, instead of your home
  PI_CODING_AGENT_DIR
                     folder of pi, instead of ~/.pi/agent
  XDG_CONFIG_HOME    folder of settings, including those of opencode, instead of ~/.config
  XDG_STATE_HOME     folder of the log of agents' compactions, instead of ~/.local/state";
