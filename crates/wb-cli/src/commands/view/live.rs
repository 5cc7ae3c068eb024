//! The screen, and a thread that reads, searches and writes for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use wb_message::Message;
use wb_recall::{Question, Recall};
use wb_view::{Choice, Colors, Details, Effect, Input, Screen, found_lines};

use crate::args::pin::{DropArgs, PinArgs};
use crate::args::view::ViewArgs;
use crate::commands::view::shown_session::{self, Loaded};
use crate::commands::{compact, drop, pin, undo_redo};
use crate::terminal::number::{grouped, listed};
use crate::terminal::shell::{Shell, Talk};
use crate::terminal::user_error::UserError;

/// The shortest time between two looks at the file.
const PAUSE: Duration = Duration::from_millis(500);
/// A session that takes long to read is read less often.
const REST: u32 = 4;
/// The tokens of an answer to a search.
const ANSWER_TOKENS: u64 = 4_000;

/// Shows a session until a key ends it.
pub(super) fn show(shell: &Shell, args: &ViewArgs, path: &Path) -> Result<()> {
    let seen = look(path);
    // What cannot be read is reported before there is a screen.
    let first = shown_session::open(shell, args, path)?;
    let (news, inbox) = channel();
    let (ask, asked) = channel();
    let shell = Shell::new(shell.environment.clone(), Talk::Quiet, false);
    let reader =
        Reader { shell, args: args.clone(), path: path.to_owned(), news, seen, pause: PAUSE, log: None };
    thread::spawn(move || reader.work(first, &asked));
    let is_plain = anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never;
    let colors = if is_plain { Colors::Off } else { Colors::On };
    let mut screen = Screen::new(path.display().to_string(), colors);
    wb_view::run(&mut screen, &inbox, |effect| {
        // Without a reader the screen ends by itself.
        let _ = ask.send(effect);
    })?;
    Ok(())
}

/// The sizes and times of a session's files.
type FileTimes = [Option<(u64, SystemTime)>; 4];

fn look(path: &Path) -> FileTimes {
    let name = path.display().to_string();
    // A database writes next to itself first.
    [name.clone(), format!("{name}-wal"), format!("{name}.wb-log"), format!("{name}.wb-pins")].map(|name| {
        let there = fs::metadata(name).ok()?;
        Some((there.len(), there.modified().ok()?))
    })
}

/// Reads, searches and writes for the screen.
struct Reader {
    shell: Shell,
    args: ViewArgs,
    path: PathBuf,
    news: Sender<Input>,
    seen: FileTimes,
    pause: Duration,
    /// All messages of the session, for searches.
    log: Option<Recall<Message>>,
}

impl Reader {
    fn work(mut self, first: Loaded, asked: &Receiver<Effect>) {
        self.show(first);
        loop {
            match asked.recv_timeout(self.pause) {
                Ok(effect) => self.carry_out(effect),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = look(&self.path);
            if now != self.seen {
                self.seen = now;
                self.reload();
            }
        }
    }

    fn reload(&mut self) {
        let start = Instant::now();
        match shown_session::open(&self.shell, &self.args, &self.path) {
            Ok(loaded) => self.show(loaded),
            Err(error) => self.send(Input::Failed(in_words(&error))),
        }
        self.pause = PAUSE.max(start.elapsed() * REST);
    }

    /// Shows the context, then what is found out about it.
    fn show(&mut self, Loaded { context, session }: Loaded) {
        self.send(Input::Opened(Box::new(context)));
        self.log = None;
        match shown_session::details(&self.shell, &self.args, &self.path, session, false) {
            Ok((details, log)) => {
                self.log = Some(log);
                self.send(Input::Explained(Box::new(details)));
            }
            Err(error) => self.send(Input::Failed(in_words(&error))),
        }
    }

    fn send(&self, input: Input) {
        // The screen has ended.
        let _ = self.news.send(input);
    }

    fn carry_out(&mut self, effect: Effect) {
        let done = match effect {
            Effect::Quit => return,
            Effect::Search(words) => return self.search(words),
            Effect::Compact { force } => self.compact(force),
            Effect::Undo => self.undo(true),
            Effect::Redo => self.undo(false),
            Effect::Choose(choice, number) => self.choose(choice, number as u64),
        };
        self.send(match done {
            Ok(what) => Input::Done(what),
            Err(error) => {
                Input::Failed(UserError::from_error(&error).map_or_else(String::new, |it| in_words(&it)))
            }
        });
    }

    fn compact(&self, force: bool) -> Result<String> {
        let (_, outcome, written) = compact::carry_out(&self.shell, &self.args.compact(&self.path, force))?;
        let Some(id) = written.and_then(|written| written.operation) else {
            return Ok(format!("nothing was written: {}", outcome.reason().unwrap_or_default()));
        };
        let (before, after) = (grouped(outcome.tokens_before), grouped(outcome.tokens_after));
        Ok(format!("operation {id} compacted {before} → {after} tokens; u undoes it"))
    }

    fn undo(&self, undone: bool) -> Result<String> {
        let (changed, _) = undo_redo::carry_out(&self.args.undo(&self.path), undone)?;
        let what = if undone { "undone; r redoes it" } else { "redone; u undoes it" };
        Ok(format!("operation {} {what}", changed.operation))
    }

    fn choose(&self, choice: Choice, number: u64) -> Result<String> {
        let (file, numbers) = (self.path.clone(), vec![number]);
        let drop_args =
            |undo| DropArgs { file: file.clone(), numbers: numbers.clone(), undo, ..DropArgs::default() };
        Ok(match choice {
            Choice::Pin => {
                pin::add(&self.shell, &PinArgs { file, numbers, ..PinArgs::default() })?;
                format!("#{number} is pinned; p unpins it")
            }
            Choice::Unpin => {
                pin::remove_message(&file, number)?;
                format!("#{number} is unpinned; p pins it")
            }
            Choice::Drop => {
                let (_, dropped) = drop::add(&self.shell, &drop_args(false))?;
                format!("dropped: {}; d keeps it again", listed(&dropped))
            }
            Choice::Undrop => {
                let (_, kept) = drop::remove(&drop_args(true))?;
                format!("dropped no longer: {}", listed(&kept))
            }
        })
    }

    fn search(&self, words: String) {
        let Some(log) = &self.log else {
            return self.send(Input::Failed("the session is being read; search again".to_owned()));
        };
        let answer = log.answer(&Question::words(words.clone()).max_tokens(ANSWER_TOKENS));
        let answer = if self.args.no_redact { answer } else { answer.redacted() };
        let shows = Details { shows_credentials: self.args.no_redact, ..Details::default() };
        let numbers = answer.excerpts.iter().map(|excerpt| excerpt.message);
        let folded: BTreeMap<_, _> = numbers
            .filter_map(|number| Some((number, shows.folded_message(log.messages().get(number)?))))
            .collect();
        self.send(Input::Found { words, lines: found_lines(&answer), folded });
    }
}

fn in_words(error: &UserError) -> String {
    match &error.hint {
        Some(hint) => format!("{}: {hint}", error.message),
        None => error.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::platform::environment::Environment;

    /// A session in a folder of its own, last written some minutes ago.
    fn session(folder: &Path) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = folder.join("s.jsonl");
        fs::copy(root.join("fixtures/sessions/flaky-checkout.jsonl"), &path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_mins(5)).unwrap();
        path
    }

    fn reader(path: &Path, news: Sender<Input>) -> Reader {
        let cli = <Cli as clap::Parser>::parse_from(["wb", "view"]);
        let Some(Command::View(args)) = cli.command else { panic!("the command is view") };
        let shell = Shell::new(Environment::default(), Talk::Quiet, false);
        Reader { shell, args, path: path.to_owned(), news, seen: look(path), pause: PAUSE, log: None }
    }

    #[test]
    fn keys_compact_as_previewed_and_undo_and_redo_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = session(folder.path());
        let before = fs::read(&path).unwrap();
        let (news, inbox) = channel();
        let mut reader = reader(&path, news);
        reader.reload();
        let Ok(Input::Opened(context)) = inbox.recv() else { panic!("it is opened first") };
        let Ok(Input::Explained(details)) = inbox.recv() else { panic!("then explained") };
        assert!(details.preview.is_early && context.items.len() == 147);
        reader.carry_out(Effect::Compact { force: details.preview.is_early });
        let Ok(Input::Done(done)) = inbox.recv() else { panic!("it is compacted") };
        let after = grouped(details.preview.used_after);
        assert!(done.contains(&format!("→ {after} tokens; u undoes it")), "{done}");
        let compacted = fs::read(&path).unwrap();
        assert!(compacted != before && look(&path) != reader.seen, "the change is noticed");
        for (effect, expected) in [(Effect::Undo, &before), (Effect::Redo, &compacted)] {
            reader.carry_out(effect);
            assert!(matches!(inbox.recv(), Ok(Input::Done(_))));
            assert_eq!(fs::read(&path).unwrap().len(), expected.len());
        }
        reader.reload();
        assert!(matches!(inbox.recv(), Ok(Input::Opened(context)) if context.items.len() < 147));
        assert!(matches!(inbox.recv(), Ok(Input::Explained(details)) if details.operations.len() == 3));
        reader.carry_out(Effect::Search("leftover cents".to_owned()));
        let Ok(Input::Found { lines, folded, .. }) = inbox.recv() else { panic!("it is found") };
        assert!(!lines.is_empty() && !folded.is_empty());
    }

    #[test]
    fn a_session_in_use_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = session(folder.path());
        let before = fs::read(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
        let (news, inbox) = channel();
        reader(&path, news).carry_out(Effect::Compact { force: true });
        assert!(matches!(inbox.recv(), Ok(Input::Failed(_))));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
