//! Hooks before and after a compaction, and before and after a session goes to another branch.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::{pending, ready};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, TokenEstimate, Usage};
use wb_conductor::{AgentContext, Compactor, CondenseOpts, DigestSource};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::Message;
use wb_session::{
    BeforeCompact, BeforeTree, CompactError, Compacted, CompactionSettings, DriverError, EntryId, EntryKind,
    EntryTag, HookCompaction, HookError, HookFuture, HookList, HookSummary, NavigateOpts, NoHooks, Session,
    SessionBeforeCompactEvent, SessionBeforeTreeEvent, SessionCompactEvent, SessionDriver, SessionHooks,
    SessionTreeEvent, TreeNavigation, navigate_tree,
};
use wb_testkit::script;

use crate::talks::{SUMMARY, TALK, append, session_of};

/// The behaviour of a hook.
#[derive(Clone)]
enum Way {
    Answers(Box<(BeforeCompact, BeforeTree)>),
    Fails,
    Panics,
    Hangs,
}

/// Hooks with a set behaviour that record their arguments.
struct Noting {
    way: Way,
    heard: Mutex<Vec<String>>,
}

impl Noting {
    fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way, heard: Mutex::default() })
    }

    fn compacts(answer: BeforeCompact) -> Arc<Self> {
        Self::new(Way::Answers(Box::new((answer, BeforeTree::Proceed))))
    }

    fn goes(answer: BeforeTree) -> Arc<Self> {
        Self::new(Way::Answers(Box::new((BeforeCompact::Proceed, answer))))
    }

    fn note(&self, line: String) {
        self.heard.lock().unwrap().push(line);
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn answer<'a, T: Send + 'a>(
        &self,
        pick: impl FnOnce(&BeforeCompact, &BeforeTree) -> T,
    ) -> HookFuture<'a, T> {
        match &self.way {
            Way::Answers(answers) => ready(Ok(pick(&answers.0, &answers.1))).boxed(),
            Way::Fails => ready(Err(HookError("no luck".into()))).boxed(),
            Way::Panics => panic!("oh no"),
            Way::Hangs => pending().boxed(),
        }
    }
}

impl SessionHooks for Noting {
    fn session_before_compact<'a>(
        &'a self,
        event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        let SessionBeforeCompactEvent { preparation, branch_entries, custom_instructions, .. } = event;
        let n_messages = preparation.messages_to_summarize.len();
        self.note(format!("before {n_messages} of {} {custom_instructions:?}", branch_entries.len()));
        self.answer(|compact, _| compact.clone())
    }

    fn session_compact<'a>(&'a self, event: &'a SessionCompactEvent) -> HookFuture<'a, ()> {
        self.note(format!("after {} {}", event.compaction_entry.id, event.from_extension));
        self.answer(|_, _| ())
    }

    fn session_before_tree<'a>(&'a self, event: &'a SessionBeforeTreeEvent) -> HookFuture<'a, BeforeTree> {
        let it = &event.preparation;
        assert!(it.old_leaf_id.is_some() && it.common_ancestor_id.is_some());
        self.note(format!(
            "before {} leaving {} {}",
            it.target_id,
            it.entries_to_summarize.len(),
            it.user_wants_summary
        ));
        self.answer(|_, tree| tree.clone())
    }

    fn session_tree<'a>(&'a self, event: &'a SessionTreeEvent) -> HookFuture<'a, ()> {
        let summary = event.summary_entry.as_ref().map(|entry| entry.id.clone());
        self.note(format!("after {:?} {}", summary == event.new_leaf_id, event.from_extension));
        self.answer(|_, _| ())
    }
}

fn list(hooks: &[Arc<Noting>]) -> HookList {
    let mut list = HookList::default();
    for hooks in hooks {
        list.push(hooks.clone());
    }
    list
}

fn is_send<T: Send>(future: T) -> T {
    future
}

/// A session whose digests a model writes, and how often that is asked.
fn driver(session: Session, hooks: HookList) -> (SessionDriver, Arc<ScriptedInvoker>) {
    let invoker = Arc::new(ScriptedInvoker::new([Script::says("# Objective\n- Fix the cart.")]));
    let compactor = Compactor::new().card(ModelCard::with_window(200_000)).summarizer(invoker.clone());
    let compactor = compactor.max_restored(0);
    let context = AgentContext::from_compactor(compactor);
    let driver = SessionDriver::new(session, context, CompactionSettings::default()).unwrap();
    (driver.with_hooks(hooks), invoker)
}

fn compacted(driver: &mut SessionDriver, opts: &CondenseOpts) -> Result<Compacted, DriverError> {
    block_on(is_send(driver.compact(opts, 9_000)))
}

fn is_by_model(done: Result<Compacted, DriverError>) -> bool {
    match done.unwrap() {
        Compacted::ByEngine(report) => matches!(report.digest, Some(DigestSource::Model { .. })),
        _ => false,
    }
}

fn replacement(first_kept_entry_id: &EntryId) -> BeforeCompact {
    BeforeCompact::Replace(HookCompaction {
        summary: "mine".into(),
        first_kept_entry_id: first_kept_entry_id.clone(),
        tokens_before: 999,
        details: Some(json!([1, {"any": "thing"}])),
    })
}

#[test]
fn hooks_without_an_answer_hear_of_a_compaction_before_and_after_it_is_appended() {
    let (session, _) = session_of(TALK);
    let noting = Noting::compacts(BeforeCompact::Proceed);
    let mut hooks = list(std::slice::from_ref(&noting));
    hooks.push(Arc::new(NoHooks));
    let (mut driver, invoker) = driver(session, hooks);
    let opts = CondenseOpts { instructions: Some("API".into()), ..CondenseOpts::default() };
    assert!(is_by_model(compacted(&mut driver, &opts)));
    assert_eq!(invoker.prompts().len(), 1);
    let path = driver.session().path().unwrap();
    let compaction = path.iter().rfind(|node| node.tag == EntryTag::Compaction).unwrap();
    let after = format!("after {} false", compaction.id);
    assert_eq!(noting.heard(), ["before 7 of 9 Some(\"API\")", &after]);
    assert!(driver.hooks().take_faults().is_empty());
}

#[test]
fn a_hook_that_cancels_leaves_the_session_as_it_is_and_no_model_is_asked() {
    let (session, ids) = session_of(TALK);
    let (first, second) = (Noting::compacts(BeforeCompact::Cancel), Noting::compacts(replacement(&ids[4])));
    let (mut driver, invoker) = driver(session, list(&[first, second.clone()]));
    let known = driver.messages().to_vec();
    let done = compacted(&mut driver, &CondenseOpts::default());
    assert!(matches!(done, Ok(Compacted::Cancelled)), "{done:?}");
    assert_eq!((driver.session().leaf(), driver.messages()), (ids.last(), &known[..]));
    assert_eq!((invoker.prompts().len(), second.heard().len()), (0, 0));
}

#[test]
fn the_first_compaction_of_a_hook_is_appended_as_it_is_and_undone_as_any() {
    let (session, ids) = session_of(TALK);
    let all = [BeforeCompact::Proceed, replacement(&ids[4]), BeforeCompact::Cancel].map(Noting::compacts);
    let (mut driver, invoker) = driver(session, list(&all));
    let known = driver.messages().to_vec();
    let done = compacted(&mut driver, &CondenseOpts::default()).unwrap();
    let Compacted::ByHook(entry_id) = done else { panic!("{done:?}") };
    assert_eq!(invoker.prompts().len(), 0);
    let EntryKind::Compaction(entry) = driver.session().entry(&entry_id).unwrap().kind else { panic!() };
    assert_eq!((entry.summary.as_str(), entry.tokens_before, entry.from_hook), ("mine", 999, true));
    assert_eq!(entry.first_kept_entry_id, Some(ids[4].clone()));
    assert_eq!(entry.details, Some(json!([1, {"any": "thing"}])));
    assert!(all.iter().all(|hooks| hooks.heard().last() == Some(&format!("after {entry_id} true"))));
    assert_eq!(driver.messages()[1..], known[4..]);
    assert!(driver.undo(9_001).unwrap() && driver.messages() == known);
}

#[test]
fn what_a_hook_returns_is_checked_against_the_context() {
    let (session, ids) = session_of(TALK);
    let heavy = BeforeCompact::Replace(HookCompaction {
        summary: "word ".repeat(20_000),
        first_kept_entry_id: ids[4].clone(),
        tokens_before: 0,
        details: None,
    });
    let blank = BeforeCompact::Replace(HookCompaction {
        summary: " ".into(),
        first_kept_entry_id: ids[4].clone(),
        tokens_before: 0,
        details: None,
    });
    // The third is a result, which stays with its call.
    let bad = [replacement(&"nowhere".into()), replacement(&ids[2]), heavy, blank];
    let (mut driver, _) = driver(session, list(&bad.map(Noting::compacts)));
    assert!(is_by_model(compacted(&mut driver, &CondenseOpts::default())));
    let faults = driver.hooks().take_faults();
    assert_eq!(faults.iter().map(|fault| fault.hook).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(faults[0].what, "the session cannot be cut at entry nowhere");
    assert_eq!(faults[2].what, "the summary is heavier than what it replaces");
    assert_eq!(
        (faults[3].what.as_str(), faults[3].event),
        ("the summary is blank", "session_before_compact")
    );
}

#[test]
fn a_hook_that_fails_or_panics_is_reported_and_passed_over() {
    let (session, _) = session_of(TALK);
    let (mut driver, _) = driver(session, list(&[Way::Fails, Way::Panics].map(Noting::new)));
    assert!(is_by_model(compacted(&mut driver, &CondenseOpts::default())));
    let faults = driver.hooks().take_faults();
    let faults: Vec<_> = faults.into_iter().map(|fault| (fault.hook, fault.event, fault.what)).collect();
    let (before, after) = ("session_before_compact", "session_compact");
    let (no_luck, oh_no) = ("no luck".to_owned(), "panicked: oh no".to_owned());
    assert_eq!(
        faults,
        [(0, before, no_luck.clone()), (1, before, oh_no.clone()), (0, after, no_luck), (1, after, oh_no)]
    );
    assert!(driver.hooks().take_faults().is_empty());
}

#[test]
fn a_hook_that_hangs_ends_with_the_cancelled_run() {
    let (session, ids) = session_of(TALK);
    let cancel = CancellationToken::new();
    let opts = CondenseOpts { cancel: Some(cancel.clone()), ..CondenseOpts::default() };
    let later = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        cancel.cancel();
    });
    let (mut driver, _) = driver(session, list(&[Noting::new(Way::Hangs)]));
    let done = compacted(&mut driver, &opts);
    later.join().unwrap();
    assert!(matches!(done, Err(DriverError::Compact(CompactError::Cancelled { .. }))), "{done:?}");
    assert_eq!(driver.session().leaf(), ids.last());
}

#[test]
fn an_automatic_compaction_asks_the_hooks_too_and_a_dropped_wait_changes_nothing() {
    let talk: String = (0..40).map(|_| r#"u*900 a"Done." "#).collect();
    let full = |way: Way| {
        let (session, _) = session_of(&talk);
        let context = AgentContext::new(ModelCard::with_window(6_000));
        let noting = Noting::new(way);
        let driver = SessionDriver::new(session, context, CompactionSettings::default()).unwrap();
        (driver.with_hooks(list(std::slice::from_ref(&noting))), noting)
    };
    let answers = |answer| Way::Answers(Box::new((answer, BeforeTree::Proceed)));
    let (mut driver, noting) = full(answers(BeforeCompact::Proceed));
    let done = block_on(driver.before_request(1)).unwrap();
    assert!(matches!(&done[..], [Compacted::ByEngine(report)] if report.is_changed()), "{done:?}");
    assert_eq!(noting.heard().len(), 2);

    let (mut driver, _) = full(answers(BeforeCompact::Cancel));
    let known = driver.messages().to_vec();
    let done = block_on(driver.before_request(1)).unwrap();
    assert!(matches!(done[..], [Compacted::Cancelled]) && driver.messages() == known, "{done:?}");

    let (mut driver, _) = full(Way::Hangs);
    assert!(driver.before_request(1).now_or_never().is_none());
    assert_eq!(driver.messages(), known);
    assert!(driver.context().is_over(&known), "the context follows what is there");
}

/// The figures by which a context decides.
fn figures(driver: &mut SessionDriver) -> (TokenEstimate, bool, usize, usize, String) {
    let messages = driver.messages().to_vec();
    let (estimate, facts) = (driver.estimate(), format!("{:?}", driver.facts()));
    let context = driver.context();
    let (is_over, n_known) = (context.is_over(&messages), context.tracker().len());
    (estimate, is_over, n_known, messages.len(), facts)
}

#[test]
fn a_cancelled_compaction_leaves_the_context_as_it_was() {
    let talk: String = (0..40).map(|_| r#"u*900 a"Done." "#).collect();
    let new = |answers: Option<BeforeCompact>| {
        let (session, _) = session_of(&talk);
        let compactor = Compactor::new().card(ModelCard::with_window(40_000)).max_restored(0);
        let context = AgentContext::from_compactor(compactor);
        let driver = SessionDriver::new(session, context, CompactionSettings::default()).unwrap();
        let hooks: Vec<_> = answers.into_iter().map(Noting::compacts).collect();
        let mut driver = driver.with_hooks(list(&hooks));
        for message in [Message::user("Go on."), Message::assistant("Done.")] {
            driver.append(message, None, 1).unwrap();
        }
        driver.after_response(&Usage { input_tokens: 38_000, output_tokens: 3, ..Usage::EMPTY });
        driver
    };
    let cancel = CancellationToken::new();
    let mut cancelled = new(Some(BeforeCompact::Cancel));
    let mut plain = new(None);
    let (estimate, is_over, ..) = figures(&mut plain);
    assert!(estimate.anchored && is_over, "{estimate:?}");
    let mut all = block_on(cancelled.before_request(1)).unwrap();
    all.extend(block_on(cancelled.recover(&cancel, 1)).unwrap());
    all.push(compacted(&mut cancelled, &CondenseOpts::default()).unwrap());
    assert!(matches!(all[..], [Compacted::Cancelled, Compacted::Cancelled, Compacted::Cancelled]), "{all:?}");
    assert_eq!(figures(&mut cancelled), figures(&mut plain));
    let mut cancelled = cancelled.with_hooks(HookList::default());
    for driver in [&mut cancelled, &mut plain] {
        compacted(driver, &CondenseOpts::default()).unwrap();
    }
    assert_eq!(cancelled.last_step(), plain.last_step());
    assert_eq!(cancelled.messages(), plain.messages());
    assert_eq!(figures(&mut cancelled), figures(&mut plain));

    // A hook that does not cancel changes no figure either.
    let (mut hooked, mut plain) = (new(Some(BeforeCompact::Proceed)), new(None));
    for driver in [&mut hooked, &mut plain] {
        block_on(driver.before_request(1)).unwrap();
    }
    assert_eq!((hooked.last_step(), hooked.messages()), (plain.last_step(), plain.messages()));
    assert_eq!(figures(&mut hooked), figures(&mut plain));
}

/// A root R, the answer E with the prompt F on one branch, and B, C on the other, where the leaf
/// is.
fn two_branches() -> (Session, Vec<EntryId>, Vec<EntryId>) {
    let (mut session, mut ids) = session_of(r#"u"R""#);
    let root = ids[0].clone();
    ids.extend(append(&mut session, script(r#"a"E" u"F""#)));
    session.branch(&root).unwrap();
    let left = append(&mut session, script(r#"a"B" u"C""#));
    (session, ids, left)
}

fn go(
    session: &mut Session,
    target: &EntryId,
    hooks: &mut HookList,
    user_wants_summary: bool,
) -> (Result<TreeNavigation, DriverError>, usize) {
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let opts = NavigateOpts { user_wants_summary, ..NavigateOpts::default() };
    let run = navigate_tree(session, target, Some(&invoker), hooks, opts, 9_000);
    (block_on(is_send(run)), invoker.prompts().len())
}

#[test]
fn going_to_a_prompt_gives_its_words_back_and_leads_to_the_entry_before_it() {
    let (mut session, ids, left) = two_branches();
    let noting = Noting::goes(BeforeTree::Proceed);
    let (gone, n_asked) = go(&mut session, &ids[2], &mut list(std::slice::from_ref(&noting)), false);
    let gone = gone.unwrap();
    assert_eq!((gone.old_leaf_id.as_ref(), gone.new_leaf_id.as_ref()), (left.last(), Some(&ids[1])));
    assert_eq!((gone.editor_text.as_deref(), gone.summary_entry_id, n_asked), (Some("F"), None, 0));
    assert_eq!(
        noting.heard(),
        [format!("before {} leaving 2 false", ids[2]), "after false false".to_owned()]
    );
    let (root, _) = go(&mut session, &ids[0], &mut HookList::default(), false);
    assert_eq!(root.unwrap().new_leaf_id, None);
    assert_eq!(session.leaf(), None);
}

#[test]
fn a_summary_that_is_wanted_becomes_the_child_of_the_goal() {
    let (mut session, ids, left) = two_branches();
    let noting = Noting::goes(BeforeTree::Proceed);
    let (gone, n_asked) = go(&mut session, &ids[1], &mut list(std::slice::from_ref(&noting)), true);
    let gone = gone.unwrap();
    let entry = session.entry(gone.summary_entry_id.as_ref().unwrap()).unwrap();
    assert_eq!((entry.parent_id.as_ref(), n_asked, gone.editor_text), (Some(&ids[1]), 1, None));
    let EntryKind::BranchSummary(summary) = &entry.kind else { panic!() };
    assert_eq!((summary.from_id.as_str(), summary.summary.as_str()), (left[1].as_str(), SUMMARY));
    assert_eq!((gone.new_leaf_id.as_ref(), session.leaf()), (Some(&entry.id), Some(&entry.id)));
    assert_eq!(noting.heard()[1], "after true false");
    // The way to the leaf itself is none.
    let n_entries = session.tree().nodes().len();
    let (stays, _) = go(&mut session, &entry.id, &mut list(std::slice::from_ref(&noting)), true);
    assert_eq!(stays.unwrap().new_leaf_id, Some(entry.id));
    assert_eq!((session.tree().nodes().len(), noting.heard().len()), (n_entries, 2));
}

#[test]
fn the_summary_of_a_hook_counts_only_if_the_user_wants_one() {
    let mine = || BeforeTree::Replace(HookSummary { summary: "mine".into(), details: Some(json!("x")) });
    let blank = BeforeTree::Replace(HookSummary { summary: "\n".into(), details: None });
    for wants in [true, false] {
        let (mut session, ids, _) = two_branches();
        let mut hooks = list(&[blank.clone(), mine(), BeforeTree::Proceed].map(Noting::goes));
        let (gone, n_asked) = go(&mut session, &ids[1], &mut hooks, wants);
        let gone = gone.unwrap();
        assert_eq!((gone.summary_entry_id.is_some(), n_asked), (wants, 0));
        assert_eq!(
            hooks.take_faults().len(),
            usize::from(wants),
            "a blank one is a fault where one is wanted"
        );
        if let Some(id) = gone.summary_entry_id {
            let EntryKind::BranchSummary(entry) = session.entry(&id).unwrap().kind else { panic!() };
            assert_eq!(
                (entry.summary.as_str(), entry.details, entry.from_hook),
                ("mine", Some(json!("x")), true)
            );
        }
    }
}

#[test]
fn a_hook_that_cancels_keeps_the_session_where_it_is() {
    let (mut session, ids, left) = two_branches();
    for wants in [true, false] {
        let mut hooks = list(&[Noting::new(Way::Panics), Noting::goes(BeforeTree::Cancel)]);
        let (gone, n_asked) = go(&mut session, &ids[1], &mut hooks, wants);
        assert!(matches!(gone, Err(DriverError::CancelledByHook)));
        assert_eq!((session.leaf(), n_asked), (left.last(), 0));
        assert_eq!(hooks.take_faults()[0].what, "panicked: oh no");
    }
    assert_eq!(session.tree().nodes().len(), 5);
    assert!(go(&mut session, &"nowhere".into(), &mut HookList::default(), false).0.is_err());
}
