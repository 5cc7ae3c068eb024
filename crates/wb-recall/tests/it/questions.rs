//! Questions of each kind about one session.

use wb_message::{Block, Message, ToolVocabulary, json};
use wb_recall::{Author, LaterEvent, Question, Recall, Subject};

fn call(id: &str, name: &str, input: wb_message::Value) -> Message {
    Message::assistant_blocks(vec![Block::call(id, name, input)])
}

/// A session in which a port is set, a file read and edited, and a command run twice.
fn session() -> Vec<Message> {
    let lines: Vec<String> = (1..=200).map(|n| format!("line {n} of the cart\n")).collect();
    let whole = lines.concat();
    vec![
        Message::user("Use port 9090 for the admin server, and never touch src/billing.rs."),
        call("1", "Read", json!({"file_path": "/w/src/cart.rs"})),
        Message::tool_result("1", "Read", whole),
        call("2", "Bash", json!({"command": "cargo test -p cart"})),
        Message::tool_error("2", "Bash", "test total_of_cart ... FAILED\nerror: 1 test failed"),
        call(
            "3",
            "Edit",
            json!({"file_path": "/w/src/cart.rs", "old_string": "line 7", "new_string": "LINE 7"}),
        ),
        Message::tool_result("3", "Edit", "The file was updated."),
        Message::user("Now run the tests again."),
        call("4", "Bash", json!({"command": "cargo test -p cart"})),
        Message::tool_result("4", "Bash", "test result: ok. 12 passed"),
        Message::assistant("All 12 tests pass. The admin server listens on 9090."),
        call("5", "recall", json!({"query": "port"})),
        Message::tool_result("5", "recall", "#0 the user\n     1| Use port 9090"),
    ]
}

fn ask(about: Subject) -> wb_recall::Answer {
    let session = session();
    Recall::new(&session, ToolVocabulary::UNIVERSAL).answer(&Question::new(about))
}

#[test]
fn words_find_what_the_user_said_and_no_earlier_answer() {
    let answer = ask(Subject::Words("admin port".into()));
    assert_eq!((answer.excerpts[0].message, answer.excerpts[0].author), (0, Author::User));
    assert!(answer.excerpts.iter().all(|found| found.message != 12), "an answer is not an answer to itself");
    assert_eq!(answer.n_messages, 13);
}

#[test]
fn a_name_finds_its_newest_mention_first() {
    let answer = ask(Subject::Words("/w/src/cart.rs".into()));
    assert_eq!(answer.excerpts[0].message, 5);
    let later = ask(Subject::Words("9090".into()));
    assert_eq!(later.excerpts.iter().map(|found| found.message).collect::<Vec<_>>(), [10, 0]);
}

#[test]
fn a_part_of_a_word_is_found_too() {
    assert_eq!(ask(Subject::Words("billin".into())).excerpts[0].message, 0);
    let nothing = ask(Subject::Words("kubernetes".into()));
    assert!(nothing.excerpts.is_empty() && nothing.note.is_some());
}

#[test]
fn a_file_comes_as_last_read_with_its_later_changes() {
    let answer = ask(Subject::File("src/cart.rs".into()));
    let found = &answer.excerpts[0];
    assert_eq!((found.message, found.lines[0].0, answer.excerpts.len()), (2, 1, 2));
    assert_eq!(found.later, [LaterEvent::Changed(5)]);
    let change = &answer.excerpts[1];
    assert!(change.message == 5 && change.lines.iter().any(|(_, line)| line.inspect().contains("LINE 7")));
    assert!(answer.note.as_deref().is_some_and(|note| note.contains("More: file src/cart.rs, line ")));
    let session = session();
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    let rest = recall.answer(&Question::new(Subject::File("cart.rs".into())).from_line(199));
    assert_eq!(rest.excerpts[0].lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [199, 200, 201]);
}

#[test]
fn a_command_comes_with_its_last_output() {
    let answer = ask(Subject::Command("cargo test".into()));
    assert_eq!((answer.excerpts[0].message, answer.others.as_slice()), (9, &[4][..]));
    assert_eq!(answer.excerpts[0].outcome.as_deref(), Some("ok"));
    let first = ask(Subject::Message(4));
    assert_eq!(first.excerpts[0].later, [LaterEvent::Ran(9)]);
    assert_eq!(first.excerpts[0].outcome.as_deref(), Some("failed"));
}

#[test]
fn a_turn_comes_with_an_outline() {
    let answer = ask(Subject::Turn(2));
    assert_eq!(answer.excerpts[0].message, 7);
    assert!(answer.note.as_deref().is_some_and(|note| note.starts_with("Turn 2 has messages #7 to #12:")));
    for missing in [Subject::Turn(3), Subject::Turn(0), Subject::Message(13)] {
        let answer = ask(missing);
        assert!(answer.excerpts.is_empty() && answer.note.is_some());
    }
}

#[test]
fn what_the_model_still_sees_comes_last() {
    let session = session();
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL).visible_from(7);
    let found = recall.answer(&Question::words("9090")).excerpts;
    assert_eq!(found.iter().map(|found| found.message).collect::<Vec<_>>(), [0, 10]);
    let only_visible = recall.answer(&Question::words("All 12 tests")).excerpts;
    assert_eq!(only_visible[0].message, 10, "exact words lead, wherever they are");
}

#[test]
fn an_answer_reads_as_text() {
    let session = session();
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    insta::assert_snapshot!(recall.call(&json!({"query": "cargo test"})).unwrap());
    insta::assert_snapshot!(recall.call(&json!({"message": 2, "line": 60, "max_tokens": 160})).unwrap());
    assert!(recall.call(&json!({"message": 2, "line": 999})).unwrap().contains("Message 2 ends at line "));
    insta::assert_snapshot!(recall.call(&json!({"turn": 2})).unwrap());
    let wrong = recall.call(&json!({"quary": "x"})).unwrap_err().to_string();
    assert!(wrong.starts_with("unknown field `quary`"), "{wrong}");
}

#[test]
fn credentials_are_marked() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n-----END PRIVATE KEY-----";
    let session =
        [Message::user("deploy"), Message::tool_result("1", "Bash", format!("token {token}\n{key}\nend"))];
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    for question in [json!({"query": "token"}), json!({"message": 1})] {
        let text = recall.call(&question).unwrap();
        assert!(text.contains("redacted") && !text.contains(&token) && !text.contains("MIIEvQ"), "{text}");
        assert!(text.contains("| end"), "{text}");
    }
}

#[test]
fn a_long_line_shows_the_piece_that_is_wanted() {
    let line = format!("{}needle{}", "x ".repeat(40_000), " y".repeat(40_000));
    let session = [Message::tool_result("1", "Bash", line)];
    let answer = Recall::new(&session, ToolVocabulary::UNIVERSAL).answer(&Question::words("needle"));
    assert!(answer.excerpts[0].lines.iter().any(|(_, line)| line.inspect().contains("needle")));
    let whole = "word ".repeat(2_000);
    let session = [Message::user(whole.as_str())];
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    let (mut said, mut line) = (String::new(), 1);
    while let Some((number, text)) = {
        let answer = recall.answer(&Question::new(Subject::Message(0)).from_line(line).max_tokens(160));
        answer.excerpts[0].lines.first().map(|(number, text)| (*number, text.inspect().to_owned()))
    } {
        said.push_str(&text);
        line = number + 1;
    }
    assert_eq!(said, whole);
}

#[test]
fn a_file_that_was_never_read_whole_comes_in_its_newest_parts_and_changes() {
    let session = [
        call("1", "Read", json!({"file_path": "/w/a.rs", "offset": 10, "limit": 2})),
        Message::tool_result("1", "Read", "10 fn a() {}\n11 fn b() {}"),
        call(
            "2",
            "Edit",
            json!({"file_path": "/w/a.rs", "old_string": "fn b() {}", "new_string": "fn c() {}"}),
        ),
        Message::tool_result("2", "Edit", "The file was updated."),
        Message::assistant("See also src/other.rs."),
    ];
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    let of = |path: &str| recall.answer(&Question::new(Subject::File(path.into())));
    assert_eq!(of("a.rs").excerpts.iter().map(|found| found.message).collect::<Vec<_>>(), [2, 1]);
    let named = of("src/other.rs");
    assert_eq!(
        (named.excerpts.len(), named.note.as_deref()),
        (1, Some("No call reads or changes src/other.rs."))
    );
    assert!(of("nope/nothing.rs").excerpts.is_empty());
}

#[test]
fn the_index_takes_less_than_sixty_percent_of_the_text() {
    let text = |n: usize| {
        (0..400)
            .map(|at| format!("line {at} of file{n} calls fn_{} in {n:x}", at * n % 997))
            .collect::<Vec<_>>()
    };
    let session: Vec<Message> =
        (1..200).map(|n| Message::tool_result("1", "Read", text(n).join("\n"))).collect();
    let n_bytes: usize =
        session.iter().flat_map(Message::blocks).filter_map(Block::as_text).map(str::len).sum();
    let index = Recall::new(&session, ToolVocabulary::UNIVERSAL).index_bytes();
    assert!(index * 10 < n_bytes * 6, "{index} of {n_bytes}");
}

#[test]
fn turns_are_numbered_as_in_a_digest() {
    let picture = vec![Block::image("image/png", "aGk=")];
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
        To tell you how to proceed, the user said:\nkeep the folder build";
    let refusal = Message::ToolResult {
        tool_call_id: "c1".into(),
        tool_name: "Bash".into(),
        content: vec![Block::text(refusal)],
        is_error: true,
        is_refusal: true,
    };
    let session = [
        Message::user("/mode"),
        Message::user("Add a cart."),
        Message::assistant("Done."),
        Message::user(picture),
        Message::user("/review"),
        Message::assistant("Nothing to report."),
        Message::user("<command-name>/context</command-name><command-args></command-args>"),
        Message::user("Now the checkout."),
        Message::assistant_blocks(vec![Block::call("c1", "Bash", json!({"command": "rm -r build"}))]),
        refusal,
        Message::user("Go on."),
    ];
    let mut facts = wb_facts::Facts::default();
    for message in &session {
        facts.observe(message, &ToolVocabulary::UNIVERSAL);
    }
    let recall = Recall::new(&session, ToolVocabulary::UNIVERSAL);
    let starts = |n: usize| recall.answer(&Question::new(Subject::Turn(n))).excerpts[0].message;
    let expected: Vec<_> =
        facts.turns().iter().map(|turn| (turn.number as usize, turn.start as usize)).collect();
    assert_eq!(expected.iter().map(|(number, _)| (*number, starts(*number))).collect::<Vec<_>>(), expected);
    assert_eq!(expected, [(1, 1), (2, 4), (3, 7), (4, 9), (5, 10)]);
}
