//! Messages that lost their role: it is restored if it can be inferred.

use wb_record::{ChangeSet, MissingRole, NotExpressible, Note};

use super::SessionRepair;
use super::stage::{Current, Next};

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let lost = lost_roles(current)?;
    let Some(first) = lost.first() else { return Ok(Next::Nothing) };
    let first = first.line;
    let roles: Vec<MissingRole> = lost.into_iter().filter(|lost| lost.role.is_some()).collect();
    if current.uncovers.roles && !roles.is_empty() {
        // A restored role can identify that of the message next to it.
        let changes = with_roles(current, &roles)?;
        return current.step(SessionRepair { roles, ..SessionRepair::from_changes(changes) });
    }
    // An unread message may be the missing call or result.
    let why = NotExpressible::unreadable(format_args!("line {first} does not say who speaks"));
    Ok(Next::Stop((!current.violations().is_empty()).then_some(why)))
}

/// Returns the messages that lost their role.
fn lost_roles(current: &Current<'_>) -> Result<Vec<MissingRole>, NotExpressible> {
    if !current.view.notes.iter().any(|note| matches!(note, Note::MissingRoles { .. })) {
        return Ok(Vec::new());
    }
    current.document().lost_roles(current.conversation).map_err(NotExpressible::unreadable)
}

/// Returns the changes that give messages their roles.
fn with_roles(current: &Current<'_>, roles: &[MissingRole]) -> Result<ChangeSet, NotExpressible> {
    if let Some(why) = current.document().abilities().body.why_not() {
        return Err(current.refused(why));
    }
    // In reverse order, so that no change moves the position of another.
    let change = |lost: &MissingRole| Some((lost.record.part.clone(), lost.change()?));
    Ok(ChangeSet { changes: roles.iter().rev().filter_map(change).collect() })
}
