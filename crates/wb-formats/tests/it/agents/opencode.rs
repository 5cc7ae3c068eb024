//! Sessions of opencode: exports, and databases as its program keeps them.

use std::fmt::Write as _;
use std::path::Path;

use insta::assert_snapshot;
use wb_formats::{Document, Segment, UsageAt, View};
use wb_message::outline::line;
use wb_message::{Block, Edit, Message, Pairing, Patch, markers};
use wb_record::{Item, MemoryParts, ONLY_CONVERSATION, Span, Stamp, items};
use wb_testkit::depth::rounds;

use crate::support::{bytes_of, files_of, fixture, open, shared};
use crate::writing::laws;

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 9, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

fn outline(messages: &[Message], usage: &[UsageAt]) -> String {
    let mut out = String::new();
    for (at, message) in messages.iter().enumerate() {
        let request = usage.iter().find(|request| request.at == at);
        let counted =
            request.map(|it| format!("  <- {}+{}", it.usage.prompt_tokens(), it.usage.output_tokens));
        let _ = writeln!(out, "{at:>2} {}{}", line(message), counted.unwrap_or_default());
    }
    out
}

fn outline_of(view: &View) -> String {
    let mut out = outline(&view.messages, &view.usage);
    let _ = writeln!(out, "{} {}", view.format, view.model.as_deref().unwrap_or("-"));
    for note in &view.notes {
        let _ = writeln!(out, "{note}");
    }
    out
}

fn document(bytes: &[u8]) -> Box<dyn Document> {
    wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))).unwrap()
}

fn bytes(document: &dyn Document) -> Vec<u8> {
    document.parts().whole("").unwrap()
}

fn digest(text: &str) -> Message {
    Message::user(format!("{}\n{text}", markers::DIGEST_HEADER))
}

/// Folds everything before a message and returns what takes it back.
fn fold(document: &mut dyn Document, name: &str, cut: usize, with: Vec<Message>) -> wb_record::ChangeSet {
    let view = document.view(name).unwrap();
    let patch = Patch::new(vec![Edit::Fold { range: 0..cut, with }]);
    let set = document.render(name, &view, &items(&patch, view.messages.len()), &STAMP).unwrap();
    document.commit(&set).unwrap();
    set.inverse()
}

/// Returns the first position after the first message from which the rest can be kept.
fn cut(view: &View) -> Option<usize> {
    let pairing = Pairing::new(&view.messages);
    (1..view.messages.len()).find(|at| pairing.is_legal(*at) && view.provenance.is_seam(*at))
}

#[test]
fn parts_become_what_the_model_gets_of_them() {
    assert_snapshot!(outline_of(&open(fixture("opencode/session.json")).unwrap()));
}

#[test]
fn failed_answers_are_left_out_and_stopped_ones_are_sent() {
    assert_snapshot!(outline_of(&open(fixture("opencode/failures.json")).unwrap()));
}

#[test]
fn a_tail_that_was_kept_follows_the_summary() {
    assert_snapshot!(outline_of(&open(fixture("opencode/compacted.json")).unwrap()));
}

#[test]
fn our_own_digest_is_read_back_with_the_texts_next_to_it() {
    let view = open(fixture("opencode/digest.json")).unwrap();
    assert_snapshot!(outline_of(&view));
    assert_eq!(markers::digest_body(&view.messages[0]).as_deref(), Some("# Goal\nOurs."));
    assert_eq!(markers::restored_file(&view.messages[1]), Some(("src/a.rs", "fn a() {}")));
    assert!(!view.provenance.is_seam(1), "both stand in one summary");
}

#[test]
fn what_the_user_undid_is_left_apart_and_nothing_is_written_behind_it() {
    let document = document(fixture("opencode/reverted.json"));
    let view = document.view(ONLY_CONVERSATION).unwrap();
    assert_snapshot!(outline_of(&view));
    let patch = Patch::new(vec![Edit::Fold { range: 0..1, with: vec![digest("d")] }]);
    let refused = document.render(ONLY_CONVERSATION, &view, &items(&patch, view.messages.len()), &STAMP);
    assert!(refused.unwrap_err().to_string().contains("the user has gone back"));
}

#[test]
fn segments_begin_at_compactions_and_where_results_were_cleared() {
    let segments = wb_formats::segments(&mut fixture("opencode/compacted.json")).unwrap();
    let each = segments.iter().map(|segment| outline(&segment.messages, &segment.usage));
    assert_snapshot!(each.collect::<Vec<_>>().join("--\n"));
}

#[test]
fn a_digest_is_written_as_a_pair_behind_all_others() {
    let mut document = document(fixture("opencode/session.json"));
    let before = bytes(document.as_ref());
    let view = document.view(ONLY_CONVERSATION).unwrap();
    let at = (2..view.messages.len()).rfind(|at| view.provenance.is_seam(*at)).unwrap();
    let restored = Message::user(format!("{} src/a.rs\nfn a() {{}}", markers::RESTORED_FILE_PREFIX));
    let back = fold(document.as_mut(), ONLY_CONVERSATION, at, vec![digest("D"), restored]);
    let after = String::from_utf8(bytes(document.as_ref())).unwrap();
    let added = &after[before.len() - "]}\n".len()..];
    assert_snapshot!(added);
    document.commit(&back).unwrap();
    assert_eq!(bytes(document.as_ref()), before);
}

#[test]
fn an_older_compaction_among_what_is_kept_goes_and_comes_back() {
    let mut document = document(fixture("opencode/compacted.json"));
    let before = bytes(document.as_ref());
    let view = document.view(ONLY_CONVERSATION).unwrap();
    assert!(matches!(view.messages[1], Message::Assistant { .. }), "the kept tail");
    let back = fold(document.as_mut(), ONLY_CONVERSATION, 1, vec![digest("D")]);
    let after = document.view(ONLY_CONVERSATION).unwrap();
    assert_eq!(laws::said(&after.messages[1..]), laws::said(&view.messages[1..]));
    let text = String::from_utf8(bytes(document.as_ref())).unwrap();
    assert!(!text.contains("## Goal") && text.contains("\"First.\""));
    document.commit(&back).unwrap();
    assert_eq!(bytes(document.as_ref()), before);
}

#[test]
fn the_pair_is_removed_where_all_that_was_before_is_wanted() {
    let mut document = document(fixture("opencode/session.json"));
    let before = document.view(ONLY_CONVERSATION).unwrap();
    let cut = cut(&before).unwrap();
    fold(document.as_mut(), ONLY_CONVERSATION, cut, vec![digest("D")]);
    let view = document.view(ONLY_CONVERSATION).unwrap();
    let record = |at: usize| Item::Old(before.provenance.places(at)[0].record.clone());
    let mut wanted: Vec<Item<'_>> = (0..cut).map(record).collect();
    wanted.extend((1..view.messages.len()).map(Item::Same));
    let set = document.render(ONLY_CONVERSATION, &view, &wanted, &STAMP).unwrap();
    document.commit(&set).unwrap();
    assert_eq!(bytes(document.as_ref()), fixture("opencode/session.json"));
    let view = document.view(ONLY_CONVERSATION).unwrap();
    let gone = Item::Old(Span { at: 1, ..Span::default() });
    assert!(document.render(ONLY_CONVERSATION, &view, &[gone], &STAMP).is_err());
}

#[test]
fn a_result_is_cleared_by_its_mark_and_restored() {
    let mut document = document(fixture("opencode/failures.json"));
    let before = bytes(document.as_ref());
    let results = |view: &View| -> Vec<usize> {
        let is_result = |at: &usize| matches!(view.messages[*at], Message::ToolResult { .. });
        (0..view.messages.len()).filter(is_result).collect()
    };
    let view = document.view(ONLY_CONVERSATION).unwrap();
    // The last result is missing: no record holds the text sent for it.
    let all = results(&view);
    let (interrupted, kept) = all.split_last().unwrap();
    let clear = |at: usize| Edit::Body { at, content: markers::cleared_body() };
    let patch = Patch::new(kept.iter().map(|at| clear(*at)).collect());
    let set = document.render(ONLY_CONVERSATION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap();
    document.commit(&set).unwrap();
    let cleared = document.view(ONLY_CONVERSATION).unwrap();
    for at in kept {
        assert!(markers::is_cleared(cleared.messages[*at].blocks()) && cleared.provenance.is_altered(*at));
    }
    let full = kept.iter().map(|at| Edit::Body { at: *at, content: view.messages[*at].blocks().to_vec() });
    let full = Patch::new(full.collect());
    let again =
        document.render(ONLY_CONVERSATION, &cleared, &items(&full, view.messages.len()), &STAMP).unwrap();
    document.commit(&again).unwrap();
    assert_eq!(document.view(ONLY_CONVERSATION).unwrap().messages, view.messages);
    document.commit(&again.inverse()).unwrap();
    document.commit(&set.inverse()).unwrap();
    assert_eq!(bytes(document.as_ref()), before);
    for (at, content) in [(*interrupted, markers::cleared_body()), (kept[0], vec![Block::text("other")])] {
        let patch = Patch::new(vec![Edit::Body { at, content }]);
        let refused = document.render(ONLY_CONVERSATION, &view, &items(&patch, view.messages.len()), &STAMP);
        assert!(refused.unwrap_err().to_string().ends_with("is sent as it was or cleared"));
    }
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let document = document(fixture("opencode/session.json"));
    let view = document.view(ONLY_CONVERSATION).unwrap();
    let n = view.messages.len();
    let (new, note) = (digest("D"), Message::user("a note"));
    let same = |range: std::ops::Range<usize>| range.map(Item::Same).collect::<Vec<_>>();
    let cut = (2..n).find(|at| view.provenance.is_seam(*at)).unwrap();
    for (wanted, why) in [
        ([vec![Item::New(&new)], same(1..n)].concat(), "holds message 1 and its neighbour in one record"),
        ([same(0..cut), vec![Item::New(&new)], same(cut..n)].concat(), "a digest precedes all that stays"),
        ([vec![Item::New(&note)], same(cut..n)].concat(), "must be a digest"),
        (
            [vec![Item::New(&new), Item::New(&note)], same(cut..n)].concat(),
            "only restored files can be written",
        ),
        (same(cut..n), "only messages at the end can stay behind a digest"),
        (
            [vec![Item::New(&new)], same(cut..n - 1)].concat(),
            "only messages at the end can stay behind a digest",
        ),
    ] {
        let refused = document.render(ONLY_CONVERSATION, &view, &wanted, &STAMP).unwrap_err().to_string();
        assert!(refused.ends_with(why), "{refused}");
    }
}

#[test]
fn an_export_is_recognized_when_what_comes_first_is_long() {
    let info = format!(r#"{{"info":{{"id":"ses_1","title":"{}"}},"messages":[]}}"#, "x".repeat(100_000));
    assert_eq!(open(info.as_bytes()).unwrap().format, "opencode");
    assert!(
        open(br#"{"info":{"id":"1"},"messages":[{"role":"user","content":"a"}]}"#)
            .is_ok_and(|it| it.format != "opencode")
    );
}

/// Returns the requests of a file as the table has them: prompt, answer and the bytes before it.
fn table(sessions: &Path, file: &str) -> Vec<(u64, u64, u64)> {
    let csv = String::from_utf8(bytes_of(&sessions.join("usage_per_request.csv"))).unwrap();
    let cells = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let rows = cells.filter(|cells| cells[..3] == ["opencode", file, "main"]);
    rows.map(|cells| (cells[6].parse().unwrap(), cells[10].parse().unwrap(), cells[11].parse().unwrap()))
        .collect()
}

fn size(message: &Message) -> usize {
    let block = |block: &Block| match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len(),
        Block::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
        _ => 0,
    };
    match message {
        Message::CompactionSummary { summary, .. } => summary.len(),
        Message::User { content, .. } | Message::Custom { content, .. } => {
            content.texts().map(str::len).sum()
        }
        other => other.blocks().iter().map(block).sum(),
    }
}

/// The table counts the request for a summary too, and leaves out the answer's tokens of thought.
#[test]
fn requests_of_real_exports_are_those_of_the_table() {
    let Some(sessions) = shared("sessions") else { return };
    for (name, path) in files_of(&sessions.join("opencode")) {
        let segments = wb_formats::segments(&mut bytes_of(&path).as_slice()).unwrap();
        let ours = segments.iter().flat_map(|Segment { messages, usage, .. }| {
            usage.iter().map(|it| {
                let before = messages[..it.at].iter().map(size).sum::<usize>() as u64;
                (it.usage.prompt_tokens(), it.usage.output_tokens, before)
            })
        });
        let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), table(&sessions, &name));
        let is_summary = |row: &(u64, u64, u64)| row.0 == 98_608;
        let theirs: Vec<_> = theirs.into_iter().filter(|row| !is_summary(row)).collect();
        let sizes = |rows: &[(u64, u64, u64)]| rows.iter().map(|row| (row.0, row.2)).collect::<Vec<_>>();
        assert_eq!(sizes(&ours), sizes(&theirs), "{name}");
        assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| ours.1 >= theirs.1), "{name}");
    }
}

#[test]
fn the_laws_hold_on_every_real_export() {
    let Some(sessions) = shared("sessions/opencode") else { return };
    let mut folds = 0;
    for (_, path) in files_of(&sessions) {
        let tried = laws::holds(&MemoryParts::from_bytes(bytes_of(&path)), 12);
        assert_eq!(tried.refused, 0);
        folds += tried.folds;
    }
    assert!(folds > 20, "{folds}");
}

#[test]
fn fifty_compactions_in_a_row_are_written_read_and_undone() {
    let Some(sessions) = shared("sessions/opencode") else { return };
    for (name, path) in files_of(&sessions) {
        let before = bytes_of(&path);
        if before.len() < 500_000 {
            continue;
        }
        let mut document = document(&before);
        let mut back = Vec::new();
        for round in 0..rounds(50) {
            let view = document.view(ONLY_CONVERSATION).unwrap();
            let Some(cut) = cut(&view) else { break };
            back.push(fold(
                document.as_mut(),
                ONLY_CONVERSATION,
                cut,
                vec![digest(&format!("round {round}"))],
            ));
            let now = document.view(ONLY_CONVERSATION).unwrap();
            assert_eq!(markers::digest_body(&now.messages[0]), Some(format!("round {round}").into()));
            assert_eq!(laws::said(&now.messages[1..]), laws::said(&view.messages[cut..]));
        }
        assert_eq!(back.len(), rounds(50), "{name}");
        for set in back.iter().rev() {
            document.commit(set).unwrap();
        }
        assert_eq!(bytes(document.as_ref()), before);
    }
}
