//! A session between the stages of a repair, and the outcome of a stage.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use wb_dialect::Violation;
use wb_message::Message;
use wb_record::{ChangeSet, ChangedPart, Document, NotExpressible, Span, Stamp, View};

use super::SessionRepair;
use crate::dialects::SentAs;

/// The name of the part of a session of one file.
const ONLY_PART: &str = "";

/// The kinds of hidden records that may be revealed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncovers {
    /// Lines that follow one which is not in the file, and several records on one line.
    pub(super) lines: bool,
    /// Messages that lost their role.
    pub(super) roles: bool,
}

impl Uncovers {
    pub(super) const ALL: Self = Self { lines: true, roles: true };

    /// Returns the next attempt if more is refused than before: roles alone, lines alone, then
    /// neither.
    pub(super) fn less(self) -> Self {
        match self {
            Self { lines: true, roles: true } => Self { lines: false, roles: true },
            Self { lines: false, roles: true } => Self { lines: true, roles: false },
            _ => Self { lines: false, roles: false },
        }
    }
}

/// A session between two stages.
pub(super) struct Current<'a> {
    original: &'a dyn Document,
    /// The session as the stages before changed it, in memory.
    changed: Option<Box<dyn Document>>,
    pub(super) conversation: &'a str,
    pub(super) view: Cow<'a, View>,
    /// The stamp of the next new records.
    pub(super) stamp: Stamp,
    pub(super) sent: SentAs<'static>,
    pub(super) uncovers: Uncovers,
    violations: OnceCell<Cow<'a, [Violation]>>,
}

/// The outcome of a stage.
pub(super) enum Next {
    /// There is nothing for the stage to do.
    Nothing,
    /// Something changes.
    Step(Box<StageChanges>),
    /// Something stays unchanged, and the other stages may continue.
    Left(NotExpressible),
    /// No other stage can determine the right repair.
    Stop(Option<NotExpressible>),
}

impl Next {
    /// Converts changes into a step after which the session is known already.
    pub(super) fn step_to(done: SessionRepair, after: ChangedSession) -> Self {
        Self::Step(Box::new(StageChanges { done, after: After::Read(Box::new(after)) }))
    }
}

/// The changes of a stage.
pub(super) struct StageChanges {
    /// The report of it, with the changes and without the messages.
    pub(super) done: SessionRepair,
    pub(super) after: After,
}

/// A session after a stage.
pub(super) enum After {
    /// The session as read afterwards.
    Read(Box<ChangedSession>),
    /// The messages, if the session cannot be changed in memory.
    Messages(Vec<Message>),
}

/// A session that was changed in memory, as it is read then.
pub(super) struct ChangedSession {
    pub(super) document: Box<dyn Document>,
    pub(super) view: View,
    violations: OnceCell<Vec<Violation>>,
}

impl ChangedSession {
    pub(super) fn messages(&self) -> &[Message] {
        &self.view.messages
    }

    /// Returns what providers would refuse of the messages.
    pub(super) fn violations(&self) -> &[Violation] {
        // Readable lines may name another model.
        let find = || SentAs::from_view(&self.view).violations_in(self.document.as_ref(), &self.view);
        self.violations.get_or_init(find)
    }

    pub(super) fn is_refused(&self, rule: &str) -> bool {
        is_refused(self.violations(), rule)
    }
}

impl<'a> Current<'a> {
    pub(super) fn new(
        document: &'a dyn Document,
        conversation: &'a str,
        (view, violations): (&'a View, &'a [Violation]),
        stamp: &Stamp,
        uncovers: Uncovers,
    ) -> Self {
        Self {
            original: document,
            changed: None,
            conversation,
            view: Cow::Borrowed(view),
            stamp: stamp.clone(),
            sent: SentAs::from_view(view),
            uncovers,
            violations: OnceCell::from(Cow::Borrowed(violations)),
        }
    }

    pub(super) fn document(&self) -> &dyn Document {
        self.changed.as_deref().unwrap_or(self.original)
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.view.messages
    }

    /// Returns the messages, and what providers would refuse of them.
    pub(super) fn into_checked(mut self) -> (Vec<Message>, Vec<Violation>) {
        self.violations();
        let violations = self.violations.take().unwrap_or_default().into_owned();
        let messages = match self.view {
            Cow::Borrowed(view) => view.messages.clone(),
            Cow::Owned(view) => view.messages,
        };
        (messages, violations)
    }

    /// Returns what providers would refuse of the messages.
    pub(super) fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| self.sent.violations_in(self.document(), &self.view).into())
    }

    pub(super) fn is_refused(&self, rule: &str) -> bool {
        is_refused(self.violations(), rule)
    }

    /// Returns the session after a stage.
    pub(super) fn followed_by(mut self, after: After) -> Self {
        match after {
            After::Read(changed) => {
                let ChangedSession { document, view, violations } = *changed;
                self.sent = SentAs::from_view(&view);
                (self.changed, self.view) = (Some(document), Cow::Owned(view));
                self.violations =
                    violations.into_inner().map(Cow::Owned).map_or_else(OnceCell::new, OnceCell::from);
            }
            After::Messages(messages) => {
                self.view.to_mut().messages = messages;
                self.violations = OnceCell::new();
            }
        }
        self
    }

    /// Returns the session as it is read after changes.
    pub(super) fn read_after(&self, changes: &ChangeSet) -> Result<ChangedSession, NotExpressible> {
        if !self.is_one_file()? {
            return Err(self.refused("the ids and names of calls in a database stay as they are"));
        }
        let parts = self.document().parts().reopen().map_err(NotExpressible::unreadable)?;
        let part = ChangedPart::new(parts, changes).map_err(NotExpressible::unreadable)?;
        let document = self.document().format().open(Box::new(part)).map_err(NotExpressible::unreadable)?;
        let view = document.view(self.conversation).map_err(NotExpressible::unreadable)?;
        Ok(ChangedSession { document, view, violations: OnceCell::new() })
    }

    /// Converts changes into a step.
    pub(super) fn step(&self, done: SessionRepair) -> Result<Next, NotExpressible> {
        let changed = self.read_after(&done.changes)?;
        Ok(Next::step_to(done, changed))
    }

    pub(super) fn is_one_file(&self) -> Result<bool, NotExpressible> {
        Ok(self.document().parts().list("").map_err(NotExpressible::unreadable)? == [ONLY_PART])
    }

    pub(super) fn refused(&self, why: &str) -> NotExpressible {
        refused(self.document(), why)
    }
}

/// Returns the records of the messages of a kind, in order.
pub(super) fn records_of(view: &View, is_one: impl Fn(&Message) -> bool) -> BTreeSet<&Span> {
    let found = (0..view.messages.len()).filter(|at| is_one(&view.messages[*at]));
    found.flat_map(|at| view.provenance.places(at)).map(|place| &place.record).collect()
}

pub(super) fn refused(document: &dyn Document, why: &str) -> NotExpressible {
    NotExpressible::Refused { format: document.format().name(), why: why.to_owned() }
}

pub(super) fn is_refused(violations: &[Violation], rule: &str) -> bool {
    violations.iter().any(|violation| violation.rule == rule)
}
