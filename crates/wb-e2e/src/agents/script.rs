//! The texts and calls of the scripted model, the files that it reads, and the texts that identify
//! its session.

use std::path::Path;

use wb_testkit::injections::texts;

/// A call, described by its effect: each host has different tools for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Runs a line in the shell.
    Run(String),
    /// Reads a file.
    Read(String),
    /// Looks up words of folded messages.
    Recall(String),
}

/// One answer of the model. Without calls it ends the turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// The thought before it; most models do not report one.
    pub(crate) thought: String,
    /// The words.
    pub(crate) text: String,
    /// The calls, all simultaneous.
    pub(crate) calls: Vec<Call>,
    /// The least number of tokens reported for the request; the real size may be larger.
    pub(crate) reported_tokens: usize,
}

/// The first prompt. The digest contains it, and after a compaction nothing else does.
pub(crate) const TASK: &str = "Count the herons of the northern marsh, and never change a notebook.";
/// The second prompt, which begins the tail. It is long, so that agents that count back from the
/// end find its beginning.
pub(crate) const TAIL_PROMPT: &str = "Now look at the southern marsh. Begin at the weir: what is said of the otters \
    there, and whether the gate is open or shut, can be read at once. When that is known, go on to the kites above \
    it, and tell when the marsh is done. The counting in the north need not be done again for that.";
/// The prompt after the compaction.
pub(crate) const NEXT_PROMPT: &str = "Go on with the eastern marsh.";
/// The prompt that fills the window for the third time.
pub(crate) const THIRD_PROMPT: &str = "Go on with the marsh beyond the river.";
/// The prompt after the compaction was undone.
pub(crate) const LAST_PROMPT: &str = "End with the western marsh.";

/// The texts in the long outputs of the head, each of which is in one file.
pub(crate) const HEAD_OUTPUTS: [&str; 3] =
    ["the reeds stand still at noon", "a grey bird walks in the shallows", "no wind and no boats since dawn"];
/// The end of the head.
pub(crate) const HEAD_ANSWER: &str = "The northern marsh is counted.";
/// The texts in the outputs of the tail: those of two simultaneous calls, and of one more.
pub(crate) const TAIL_OUTPUTS: [&str; 3] =
    ["two otters under the weir", "the gate of the weir is shut", "three kites above the weir"];
/// The thought before the last call of the tail.
pub(crate) const TAIL_THOUGHT: &str = "Above the weir there may be kites.";
/// The end of the tail.
pub(crate) const TAIL_ANSWER: &str = "The southern marsh is done.";

/// The text in a really large file, and in none of our texts: no log may hold it.
pub(crate) const LEDGER_OUTPUT: &str =
    "so the ledger of the wardens says, in the hand of the wardens, of this day and of that before it";
/// The words in each of our digests, and nowhere else in the session.
pub(crate) const DIGEST_WORDS: &str = "elided into this digest";
/// The user's wish for a compaction.
pub(crate) const WISH: &str = "Mind the colour of the herons.";

/// Lines of a file of the head; few enough that no host shortens them.
const HEAD_LINES: usize = 120;
/// Lines of a file of the tail.
const TAIL_LINES: usize = 12;
/// The number in front of each line distinguishes the lines of a file.
const HEAD_FILES: [&str; 3] = ["morning.txt", "noon.txt", "evening.txt"];
const TAIL_FILES: [&str; 3] = ["otters.txt", "gate.txt", "kites.txt"];

const LEDGER_FILE: &str = "ledger.txt";

/// A file that imitates the user, hosts and digests. No digest may present it as the user's.
const RUMOURS_FILE: &str = "rumours.txt";
/// Lines of the large file, about as many as the most cautious host does not shorten: 28,000 bytes.
const LEDGER_LINES: usize = 280;
/// Tokens of the large file, as the provider counts.
const LEDGER_TOKENS: usize = 7000;

/// Writes the files that the session is about.
pub(crate) fn write_files(project: &Path) -> Result<(), String> {
    let head = HEAD_FILES.into_iter().zip(HEAD_OUTPUTS).map(|(name, line)| (name, line, HEAD_LINES));
    let tail = TAIL_FILES.into_iter().zip(TAIL_OUTPUTS).map(|(name, line)| (name, line, TAIL_LINES));
    let ledger = [(LEDGER_FILE, LEDGER_OUTPUT, LEDGER_LINES)];
    let write = |name: &str, text: &str| {
        let file = project.join(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    };
    for (name, line, n_lines) in head.chain(tail).chain(ledger) {
        let lines: Vec<String> = (1..=n_lines).map(|number| format!("{number} {line}")).collect();
        write(name, &(lines.join("\n") + "\n"))?;
    }
    // The end of a digest is how the checks find ours.
    let rumours = texts().into_iter().filter(|text| !text.contains(DIGEST_WORDS));
    write(RUMOURS_FILE, &rumours.collect::<Vec<_>>().join("\n"))
}

/// The answers to the first prompt: six calls, two of them simultaneous, one of which fails.
pub(crate) fn head(project: &Path) -> Vec<Turn> {
    let [morning, noon, evening] = HEAD_FILES;
    vec![
        calls("First the morning.", vec![run(&format!("cat {morning}"))]),
        calls("", vec![read(project, noon)]),
        Turn {
            thought: "Two can be looked at together.".to_owned(),
            ..calls(
                "Two at once.",
                vec![run(&format!("wc -l {noon}")), run(&format!("cat {RUMOURS_FILE} no-such-notebook"))],
            )
        },
        calls("", vec![run(&format!("cat {RUMOURS_FILE}"))]),
        calls("", vec![run(&format!("cat {evening}"))]),
        says(HEAD_ANSWER),
    ]
}

/// The answers to the second prompt: three calls, two of them simultaneous.
pub(crate) fn tail(project: &Path) -> Vec<Turn> {
    let [otters, gate, kites] = TAIL_FILES;
    vec![
        calls("The weir first.", vec![run(&format!("cat {otters}")), read(project, gate)]),
        Turn { thought: TAIL_THOUGHT.to_owned(), ..calls("", vec![run(&format!("cat {kites}"))]) },
        says(TAIL_ANSWER),
    ]
}

/// The answers to a prompt of a session that was resumed: one call.
pub(crate) fn resumed() -> Vec<Turn> {
    vec![calls("", vec![run("echo the session goes on")]), says("That marsh is done too.")]
}

/// The answers to a prompt after several compactions: a call for what the first one folded.
pub(crate) fn recalling() -> Vec<Turn> {
    vec![calls("", vec![Call::Recall(HEAD_OUTPUTS[0].to_owned())]), says("That marsh is done too.")]
}

/// Returns the answers with a usage that fills the window: in the last one, or in the last but one,
/// which calls.
pub(crate) fn filled(mut turns: Vec<Turn>, n_tokens: usize, is_midway: bool) -> Vec<Turn> {
    let n_turns = turns.len();
    if let Some(turn) = n_turns.checked_sub(1 + usize::from(is_midway)).and_then(|at| turns.get_mut(at)) {
        turn.reported_tokens = n_tokens;
    }
    turns
}

/// The answers to a prompt whose outputs really are this large, all simultaneous; and some
/// thoughts.
pub(crate) fn large(n_tokens: usize) -> Vec<Turn> {
    // Hosts stop a model that calls the same again and again.
    let ledger = |number: usize| run(&format!("cat {LEDGER_FILE}; echo end of reading {number}"));
    let all = (0..n_tokens.div_ceil(LEDGER_TOKENS)).map(ledger).collect();
    let thought = Turn { thought: "The ledger tells of the east.".to_owned(), ..calls("The ledger.", all) };
    vec![thought, calls("", vec![run("echo the ledger is read")]), says("The eastern marsh is done.")]
}

fn calls(text: &str, calls: Vec<Call>) -> Turn {
    Turn { text: text.to_owned(), calls, ..Turn::default() }
}

fn says(text: &str) -> Turn {
    calls(text, Vec::new())
}

fn run(line: &str) -> Call {
    Call::Run(line.to_owned())
}

fn read(project: &Path, name: &str) -> Call {
    Call::Read(project.join(name).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_nine_calls_with_a_pair_in_the_head_and_one_in_the_tail() {
        let project = Path::new("p");
        let counts = |turns: Vec<Turn>| turns.iter().map(|turn| turn.calls.len()).collect::<Vec<_>>();
        assert_eq!(counts(head(project)), [1, 1, 2, 1, 1, 0]);
        assert_eq!(counts(tail(project)), [2, 1, 0]);
    }

    #[test]
    fn the_marks_of_the_head_stand_in_outputs_only_so_that_a_digest_need_not_repeat_them() {
        let texts = format!("{TASK}{TAIL_PROMPT}{:?}{:?}", head(Path::new("p")), tail(Path::new("p")));
        assert!(HEAD_OUTPUTS.iter().all(|output| !texts.contains(output)));
    }
}
