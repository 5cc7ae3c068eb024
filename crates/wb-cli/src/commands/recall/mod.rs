//! `wb recall`: looks up what was said in a session, across all its compactions.

pub(crate) mod session_index;
pub(crate) use crate::session::find::find_session;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use wb_recall::{Answer, Question};

use crate::args::recall::RecallArgs;
use crate::session::find::agent_folders::working_folder;
use crate::terminal::escape::escaped;
use crate::terminal::exit_code::Exit;
use crate::terminal::number::{count, messages};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb recall --json`.
#[derive(Debug, Serialize)]
struct Recalled {
    sessions: Vec<RecalledSession>,
}

/// The answer of one session.
#[derive(Debug, Serialize)]
struct RecalledSession {
    file: String,
    #[serde(flatten)]
    answer: Answer,
}

/// Looks something up and prints the excerpts.
pub(crate) fn recall(shell: &Shell, args: &RecallArgs) -> Result<Exit> {
    let (session, words) = subject(shell, args)?;
    if let Some(arguments) = &args.arguments {
        return call(shell, &session, arguments);
    }
    let Some(question) = args.question(words) else {
        let hint = "add words, or one of --message, --file, --command and --turn";
        return Err(UserError::new("nothing to look up", hint).into());
    };
    let mut sessions = Vec::new();
    for path in paths(shell, &session, args.all) {
        let answered = answer(shell, &path, &question, args.no_redact);
        match answered {
            Ok(answer) if args.all && answer.excerpts.is_empty() => {}
            Ok(answer) => sessions.push(RecalledSession { file: path.display().to_string(), answer }),
            Err(error) if !args.all => return Err(error.into()),
            Err(error) => shell.fail(&error),
        }
    }
    let is_found = sessions.iter().any(|session| !session.answer.excerpts.is_empty());
    if shell.is_json {
        shell.print_json(&Recalled { sessions })?;
    } else {
        shell.print(|page| sessions.iter().try_for_each(|session| render(page, session)))?;
        if sessions.is_empty() {
            let n = "nothing found in any session of the project";
            shell.say(|page| page.prose("", 0, n));
        }
    }
    Ok(if is_found { Exit::Done } else { Exit::Found })
}

/// Answers a call of the tool by an agent's plug-in; that nothing was found is an answer too.
fn call(shell: &Shell, session: &Path, arguments: &str) -> Result<Exit> {
    let hint = "pass the arguments of the call as a JSON object";
    let arguments = serde_json::from_str(arguments)
        .map_err(|error| UserError::new(format!("--arguments: {error}"), hint))?;
    let answer =
        session_index::index(shell, session)?.call(&arguments).unwrap_or_else(|error| error.to_string());
    shell.print(|page| writeln!(page, "{}", answer.trim_end()))?;
    Ok(Exit::Done)
}

/// Returns the session that is meant, and the words to look up.
fn subject<'a>(shell: &Shell, args: &'a RecallArgs) -> Result<(PathBuf, &'a [String]), UserError> {
    let environment = &shell.environment;
    if let Some((first, rest)) = args.words.split_first()
        && let Some(session) = find_session::named(environment, first)
    {
        return match rest.first().filter(|_| args.has_subject()) {
            Some(word) => Err(UserError::new(
                format!("`{word}` is a word, and an option names the subject"),
                "leave out the words or the option",
            )),
            None => Ok((session, rest)),
        };
    }
    if let Some(first) =
        args.words.first().filter(|first| args.has_subject() || find_session::is_like_one(first))
    {
        return Err(no_session(first));
    }
    let newest = find_session::of_project(environment, Path::new("."), None).into_iter().next();
    let hint = "name a session first: wb recall SESSION WORDS; `wb -v` lists sessions";
    let none = || match args.words.first().map(Path::new).filter(|file| file.is_file()) {
        Some(file) => {
            let what = "is no session that `wb` can read, and no session of this folder was found";
            UserError::of_file(file.display().to_string(), what, hint)
        }
        None => UserError::new("no session of this folder was found", hint),
    };
    Ok((newest.ok_or_else(none)?, &args.words))
}

fn no_session(word: &str) -> UserError {
    let hint = "name a session file, an id, or the folder of a project; `wb -v` lists sessions";
    UserError::new(format!("`{word}` is no session"), hint)
}

/// Returns the sessions to search: one, or all of its project.
fn paths(shell: &Shell, session: &Path, all: bool) -> Vec<PathBuf> {
    let project = working_folder(session).filter(|_| all);
    let others = project.map(|folder| find_session::of_project(&shell.environment, &folder, None));
    let others = others.unwrap_or_default().into_iter().filter(|path| path != session);
    std::iter::once(session.to_owned()).chain(others).collect()
}

fn answer(shell: &Shell, path: &Path, question: &Question, no_redact: bool) -> Result<Answer, UserError> {
    // A person sees nothing of the model's context.
    let recall = session_index::index(shell, path)?.visible_from(0);
    let answer = shell.timed("searching", || recall.answer(question));
    Ok(if no_redact { answer } else { answer.redacted() })
}

/// Writes a line of an answer; a quoted one is wrapped below its text.
fn excerpt_line(page: &mut Page<'_>, line: &str) -> io::Result<()> {
    let number = line.split_once("| ").map_or("", |(number, _)| number);
    let is_quoted = !number.is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
    let indent = if is_quoted { number.len() + 2 } else { 2 };
    page.prose("", indent, line)
}

fn render(page: &mut Page<'_>, session: &RecalledSession) -> io::Result<()> {
    let found = count(session.answer.excerpts.len() + session.answer.others.len(), "match", "matches");
    let details = format!("{found} in {}", messages(session.answer.n_messages));
    page.heading(&escaped(&session.file), &details)?;
    let text = session.answer.to_string();
    text.lines().try_for_each(|line| excerpt_line(page, &escaped(line)))
}
