//! What `wb --help` ends with: exit codes and the environment.

/// What stands below the help of `wb` itself, and in its manual.
pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  done, also if there was nothing to do
  1  an error
  2  wrong usage
  3  something was found: a session over its budget (`wb weigh --check`), findings of `wb audit`,
     what a provider would refuse (`wb validate`), what stays unmended (`wb repair`), what keeps a
     session from going on (`wb doctor`), an agent that would not use `wb` (`wb install --check`)

Environment:
  HOME               your home, instead of the one that the system knows
  COLUMNS            the width of the output, instead of the terminal's
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY, OPENAI_COMPATIBLE_API_KEY
                     the keys of the providers that --model names
  NO_COLOR           no colours, unless --color=always
  CLAUDE_CONFIG_DIR  where Claude Code keeps its files, besides ~/.claude
  CODEX_HOME         where Codex keeps its files, instead of ~/.codex
  GEMINI_CLI_HOME    where Gemini CLI keeps its .gemini, instead of your home
  PI_CODING_AGENT_DIR
                     where pi keeps its files, instead of ~/.pi/agent
  XDG_CONFIG_HOME    where the settings stand, those of opencode too, instead of ~/.config
  XDG_STATE_HOME     where the log of the agents' compactions stands, instead of ~/.local/state";
