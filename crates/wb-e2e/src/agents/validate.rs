//! The checks of a request from an agent, each a function from the request to its faults.

use super::provider::AgentRequest;
use super::script::{
    DIGEST_WORDS, HEAD_ANSWER, HEAD_OUTPUTS, NEXT_PROMPT, TAIL_ANSWER, TAIL_OUTPUTS, TAIL_PROMPT, TASK,
};
use super::wire::{Item, Who};

/// The first words of each of our digests.
const DIGEST_HEADER: &str = "[session digest";

/// The first words of every restored file.
pub(super) const RESTORED_WORDS: &str = "[Restored file after compaction]";

/// A request with what it is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<'a> {
    /// The request.
    pub(crate) request: &'a AgentRequest,
    /// The first request of the session.
    pub(crate) first: &'a AgentRequest,
    /// The prompt that it was sent for.
    pub(crate) prompt: &'a str,
}

impl Sent<'_> {
    pub(crate) fn expect_text(&self, words: &str) -> Vec<String> {
        (!self.has_text(words)).then(|| format!("`{words}` is missing")).into_iter().collect()
    }

    pub(super) fn reject_text(&self, words: &str) -> Vec<String> {
        self.has_text(words).then(|| format!("`{words}` is there")).into_iter().collect()
    }

    fn has_text(&self, words: &str) -> bool {
        texts(&self.request.items).any(|text| text.contains(words))
    }

    /// Returns whether it contains our digest.
    pub(crate) fn has_digest(&self) -> bool {
        self.request.text.contains(DIGEST_WORDS)
    }
}

/// A check, and what is so if it finds nothing.
pub(crate) type Check = (&'static str, fn(Sent) -> Vec<String>);

/// The checks of a session that nobody compacted.
const WHOLE: [Check; 5] = [
    ("no digest", |sent| no_digest(sent.request)),
    ("the head as it was", |sent| in_order(&sent.request.items, &HEAD)),
    ("the tail in order", |sent| in_order(&sent.request.items, &TAIL)),
    ("every call answered once", |sent| pairs(&sent.request.items)),
    ("the prompt last", |sent| prompt_is_last(&sent.request.items, sent.prompt)),
];

/// The checks after a compaction was undone: the same, and the messages after the compaction are
/// there too.
pub(crate) const UNDONE: [Check; 6] = {
    let [digest, head, tail, calls, prompt] = WHOLE;
    [digest, head, tail, ("what came since", |sent| in_order(&sent.request.items, &SINCE)), calls, prompt]
};

/// The checks after a line with an answer was lost and the session was repaired.
pub(crate) const REPAIRED: [Check; 5] = {
    let [digest, _, tail, calls, prompt] = WHOLE;
    [
        digest,
        ("the head but for the lost answer", |sent| all_but_the_answer(&sent.request.items)),
        tail,
        calls,
        prompt,
    ]
};

/// The checks after a compaction.
pub(crate) const COMPACTED: [Check; 6] = [
    ("the digest once", |sent| digest_once(&sent.request.items)),
    ("nothing else of the head", |sent| head_is_gone(sent.request)),
    ("the host's words once", |sent| host_speaks_once(&sent.request.items, &sent.first.items)),
    ("the tail in order", |sent| in_order(&sent.request.items, &TAIL)),
    ("every call answered once", |sent| pairs(&sent.request.items)),
    ("the prompt last", |sent| prompt_is_last(&sent.request.items, sent.prompt)),
];

/// Returns what is wrong with a request, each with the name of its check.
pub(crate) fn findings(checks: &[Check], sent: Sent) -> Vec<String> {
    let of = |(name, check): &Check| {
        check(sent).into_iter().map(|finding| format!("{name}: {finding}")).collect::<Vec<_>>()
    };
    checks.iter().flat_map(of).collect()
}

/// Finds calls without an output, outputs without a call, and duplicate ids.
///
/// All calls of an answer must have their outputs before anybody speaks again.
pub(crate) fn pairs(items: &[Item]) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut open, mut seen): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Call(id) if seen.contains(&id.as_str()) => {
                findings.push(format!("call {id} appears twice"));
            }
            Item::Call(id) => {
                open.push(id);
                seen.push(id);
            }
            Item::Output(id, _) if open.contains(&id.as_str()) => open.retain(|call| call != id),
            Item::Output(id, _) if seen.contains(&id.as_str()) => {
                findings.push(format!("call {id} is answered twice"));
            }
            Item::Output(id, _) => findings.push(format!("an output without its call {id}")),
            Item::Text(..) => findings.extend(open.drain(..).map(unanswered)),
        }
    }
    findings.extend(open.into_iter().map(unanswered));
    findings
}

/// Removes outputs that are repeated before anybody else speaks.
pub(crate) fn without_repeats(items: &mut Vec<Item>) {
    let mut seen: Vec<Item> = Vec::new();
    items.retain(|item| {
        if !matches!(item, Item::Output(..)) {
            seen.clear();
            return true;
        }
        let is_new = !seen.contains(item);
        seen.push(item.clone());
        is_new
    });
}

fn unanswered(id: &str) -> String {
    format!("call {id} is not answered")
}

/// Finds a digest that is missing, duplicated, or does not mention the first prompt.
fn digest_once(items: &[Item]) -> Vec<String> {
    let digests: Vec<&str> = texts(items).filter(|text| text.contains(DIGEST_WORDS)).collect();
    let n_times = |words| digests.iter().map(|text| text.matches(words).count()).sum::<usize>();
    let n_times = n_times(DIGEST_WORDS).max(n_times(DIGEST_HEADER));
    match (n_times, digests.first()) {
        (1, Some(digest)) if digest.contains(TASK) => Vec::new(),
        (1, _) => vec!["the digest does not contain the first prompt".to_owned()],
        (0, _) => vec!["the digest is missing".to_owned()],
        (n_times, _) => vec![format!("the digest appears {n_times} times")],
    }
}

pub(super) fn no_digest(asked: &AgentRequest) -> Vec<String> {
    let is_there = asked.text.contains(DIGEST_WORDS);
    is_there.then(|| "the digest is there".to_owned()).into_iter().collect()
}

/// Finds messages of the head, its prompt and outputs, that the host still sends in addition to the
/// digest and the restored files.
fn head_is_gone(asked: &AgentRequest) -> Vec<String> {
    let is_ours = |text: &&str| text.contains(DIGEST_WORDS) || text.starts_with(RESTORED_WORDS);
    let elsewhere = texts(&asked.items).filter(|text| text.contains(TASK) && !is_ours(text));
    let prompt = elsewhere.map(|_| "the first prompt is still there".to_owned());
    let n_ours = |output: &str| -> usize {
        texts(&asked.items).filter(is_ours).map(|text| text.matches(output).count()).sum()
    };
    let left = HEAD_OUTPUTS.into_iter().filter(|output| asked.text.matches(output).count() > n_ours(output));
    prompt.chain(left.map(|output| format!("an output of the head is still there: {output}"))).collect()
}

/// Finds duplicate words of the host, and kinds of them that are missing.
fn host_speaks_once(items: &[Item], first: &[Item]) -> Vec<String> {
    let here: Vec<&Item> = items.iter().filter(|item| is_of_host(item)).collect();
    let is_here = |kind: &str| here.iter().any(|item| kind_of(item) == kind);
    let missing = first.iter().filter(|item| is_of_host(item) && !is_here(kind_of(item)));
    let twice = (0..here.len()).filter(|place| here[..*place].contains(&here[*place]));
    let twice = twice.map(|place| here[place]);
    let finding = |what: &str, item: &Item| format!("{what}: {}", beginning(item));
    missing.map(|item| finding("missing", item)).chain(twice.map(|item| finding("again", item))).collect()
}

/// Returns whether the host speaks: in its own name, or between tags in that of the user.
fn is_of_host(item: &Item) -> bool {
    match item {
        Item::Text(Who::Host, _) => true,
        Item::Text(Who::User, text) => text.starts_with('<'),
        _ => false,
    }
}

/// Returns the constant part of a host's words from request to request: their tag, or all of them.
fn kind_of(item: &Item) -> &str {
    let text = texts(std::slice::from_ref(item)).next().unwrap_or_default();
    let tag = text.strip_prefix('<').and_then(|rest| rest.split('>').next());
    tag.unwrap_or(text)
}

fn beginning(item: &Item) -> String {
    let line = texts(std::slice::from_ref(item)).next().and_then(|text| text.lines().next());
    line.unwrap_or_default().chars().take(60).collect()
}

/// A part that a request must hold once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    User(&'static str),
    Assistant(&'static str),
    Output(&'static str),
}

/// The order of parts; those of simultaneous calls may change places.
pub(super) type Order = [&'static [Part]];

const HEAD: [&[Part]; 5] = [
    &[Part::User(TASK)],
    &[Part::Output(HEAD_OUTPUTS[0])],
    &[Part::Output(HEAD_OUTPUTS[1])],
    &[Part::Output(HEAD_OUTPUTS[2])],
    &[Part::Assistant(HEAD_ANSWER)],
];

pub(super) const TAIL: [&[Part]; 4] = [
    &[Part::User(TAIL_PROMPT)],
    &[Part::Output(TAIL_OUTPUTS[0]), Part::Output(TAIL_OUTPUTS[1])],
    &[Part::Output(TAIL_OUTPUTS[2])],
    &[Part::Assistant(TAIL_ANSWER)],
];

const SINCE: [&[Part]; 2] = [&[Part::Assistant(TAIL_ANSWER)], &[Part::User(NEXT_PROMPT)]];

impl Part {
    fn is(self, item: &Item) -> bool {
        match (self, item) {
            (Self::User(words), Item::Text(Who::User, text))
            | (Self::Assistant(words), Item::Text(Who::Assistant, text))
            | (Self::Output(words), Item::Output(_, text)) => text.contains(words),
            _ => false,
        }
    }
}

/// Finds parts that are missing, duplicated, or before those that they follow.
pub(super) fn in_order(items: &[Item], order: &Order) -> Vec<String> {
    let mut findings = Vec::new();
    let mut end = 0;
    for group in order {
        let begin = end;
        for part in *group {
            let places: Vec<usize> = (0..items.len()).filter(|place| part.is(&items[*place])).collect();
            match places[..] {
                [] => findings.push(format!("{part:?} is missing")),
                [place] if place < begin => findings.push(format!("{part:?} appears too early")),
                [place] => end = end.max(place),
                _ => findings.push(format!("{part:?} appears {} times", places.len())),
            }
        }
    }
    findings
}

/// Finds parts of the head that are missing or out of order, and its answer if present.
fn all_but_the_answer(items: &[Item]) -> Vec<String> {
    let [rest @ .., answer] = &HEAD;
    let is_there = in_order(items, &[answer]).is_empty();
    let found = is_there.then(|| "the lost answer is there".to_owned());
    in_order(items, rest).into_iter().chain(found).collect()
}

/// Finds a prompt that is missing, duplicated, or followed by a speaker other than the host.
fn prompt_is_last(items: &[Item], prompt: &str) -> Vec<String> {
    let is_prompt = |item: &Item| matches!(item, Item::Text(Who::User, text) if text.contains(prompt));
    let places: Vec<usize> = (0..items.len()).filter(|place| is_prompt(&items[*place])).collect();
    let [place] = places[..] else {
        return vec![format!("the prompt `{prompt}` appears {} times", places.len())];
    };
    // A host may add reminders after the prompt, in the name of the user.
    let is_later = |item: &Item| !matches!(item, Item::Text(Who::User | Who::Host, _));
    let n_later = items[place + 1..].iter().filter(|item| is_later(item)).count();
    if n_later == 0 { Vec::new() } else { vec![format!("{n_later} parts follow the prompt")] }
}

pub(super) fn texts(items: &[Item]) -> impl Iterator<Item = &str> {
    items.iter().filter_map(|item| match item {
        Item::Text(_, text) => Some(text.as_str()),
        Item::Call(_) | Item::Output(..) => None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NEXT: &str = "Go on.";

    pub(in crate::agents) fn user(text: &str) -> Item {
        Item::Text(Who::User, text.to_owned())
    }

    fn says(text: &str) -> Item {
        Item::Text(Who::Assistant, text.to_owned())
    }

    fn call(id: &str) -> Item {
        Item::Call(id.to_owned())
    }

    pub(in crate::agents) fn output(id: &str, text: &str) -> Item {
        Item::Output(id.to_owned(), format!("1 {text}\n2 {text}"))
    }

    fn head() -> Vec<Item> {
        let called = |(place, text): (usize, &&str)| {
            let id = format!("h{place}");
            [call(&id), output(&id, text)]
        };
        let called = HEAD_OUTPUTS.iter().enumerate().flat_map(called);
        [user(TASK)].into_iter().chain(called).chain([says(HEAD_ANSWER)]).collect()
    }

    pub(in crate::agents) fn tail() -> Vec<Item> {
        let [first, second, third] = TAIL_OUTPUTS;
        let pair = [call("a"), call("b"), output("a", first), output("b", second)];
        let rest = [call("c"), output("c", third), says(TAIL_ANSWER)];
        [user(TAIL_PROMPT)].into_iter().chain(pair).chain(rest).collect()
    }

    fn digest() -> Item {
        user(&format!("- First request: {TASK}\n12 messages {DIGEST_WORDS} (12 in all)."))
    }

    pub(in crate::agents) fn compacted() -> Vec<Item> {
        [digest()].into_iter().chain(tail()).chain([user(NEXT)]).collect()
    }

    fn whole() -> Vec<Item> {
        head().into_iter().chain(tail()).chain([user(NEXT)]).collect()
    }

    pub(in crate::agents) fn request(items: Vec<Item>) -> AgentRequest {
        let text = format!("{items:?}");
        AgentRequest { items, text }
    }

    pub(in crate::agents) fn sent(asked: &AgentRequest) -> Sent<'_> {
        Sent { request: asked, first: asked, prompt: NEXT }
    }

    fn compacted_findings(items: Vec<Item>) -> Vec<String> {
        findings(&COMPACTED, sent(&request(items)))
    }

    #[test]
    fn nothing_is_found_in_a_request_of_digest_tail_and_prompt() {
        assert!(compacted_findings(compacted()).is_empty());
    }

    #[test]
    fn nothing_is_found_in_a_whole_session() {
        assert!(findings(&WHOLE, sent(&request(whole()))).is_empty());
    }

    #[test]
    fn a_repair_keeps_all_of_the_head_but_the_lost_answer() {
        let repaired: Vec<Item> = whole().into_iter().filter(|item| *item != says(HEAD_ANSWER)).collect();
        let found = |items: Vec<Item>| findings(&REPAIRED, sent(&request(items)));
        assert!(found(repaired.clone()).is_empty());
        assert_eq!(found(whole()), ["the head but for the lost answer: the lost answer is there"]);
        assert_eq!(found(repaired[head().len() - 1..].to_vec()).len(), HEAD.len() - 1);
    }

    #[test]
    fn a_digest_may_be_in_the_name_of_the_model_and_reminders_may_follow_the_prompt() {
        let Item::Text(_, text) = digest() else { panic!("a digest is a text") };
        let mut items = compacted();
        items.splice(..1, [user("What was done so far?"), says(&text)]);
        items.extend([user("<reminder>"), Item::Text(Who::Host, "<reminder>".into())]);
        assert!(compacted_findings(items).is_empty());
    }

    #[test]
    fn a_missing_digest_is_found() {
        assert_eq!(compacted_findings(compacted().split_off(1)), ["the digest once: the digest is missing"]);
    }

    #[test]
    fn a_digest_that_appears_twice_is_found() {
        let mut items = compacted();
        items.insert(1, digest());
        assert_eq!(compacted_findings(items), ["the digest once: the digest appears 2 times"]);
    }

    #[test]
    fn a_digest_of_another_session_is_found() {
        let mut items = compacted();
        items[0] = user(&format!("- First request: bake bread\n12 messages {DIGEST_WORDS}"));
        assert_eq!(
            compacted_findings(items),
            ["the digest once: the digest does not contain the first prompt"]
        );
    }

    #[test]
    fn a_head_that_is_still_there_is_found() {
        let items = [digest()].into_iter().chain(whole()).collect();
        let found = compacted_findings(items);
        assert_eq!(found.len(), 1 + HEAD_OUTPUTS.len(), "{found:?}");
        assert_eq!(found[0], "nothing else of the head: the first prompt is still there");
    }

    #[test]
    fn an_output_of_the_head_is_found_anywhere() {
        let items = compacted();
        let text = format!("{items:?} and in the instructions {}", HEAD_OUTPUTS[1]);
        let found = findings(&COMPACTED, sent(&AgentRequest { items, text }));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(HEAD_OUTPUTS[1]), "{found:?}");
    }

    #[test]
    fn an_output_without_its_call_is_found() {
        let mut items = compacted();
        items.retain(|item| *item != call("b"));
        assert_eq!(compacted_findings(items), ["every call answered once: an output without its call b"]);
    }

    #[test]
    fn a_call_that_is_not_answered_is_found() {
        let mut items = compacted();
        items.insert(8, call("d"));
        assert_eq!(compacted_findings(items), ["every call answered once: call d is not answered"]);
    }

    #[test]
    fn outputs_that_a_host_repeats_are_left_out_and_others_stay() {
        let (call, one, two) = (call("a"), output("a", "one"), output("a", "two"));
        let mut items = vec![call.clone(), one.clone(), two.clone(), one.clone(), call.clone(), one.clone()];
        without_repeats(&mut items);
        assert_eq!(items, [call.clone(), one.clone(), two, call, one]);
    }

    #[test]
    fn calls_and_outputs_that_appear_twice_are_found() {
        let mut items = compacted();
        items.insert(8, output("c", ""));
        items.splice(2..2, [call("a"), output("a", "")]);
        assert_eq!(
            pairs(&items),
            ["call a appears twice", "call a is answered twice", "call c is answered twice"]
        );
    }

    #[test]
    fn a_tail_that_lost_a_part_changed_its_order_or_was_doubled_is_found() {
        let part = |items: Vec<Item>| compacted_findings(items).concat();
        let mut lost = compacted();
        lost.retain(|item| *item != says(TAIL_ANSWER));
        assert!(part(lost).contains("is missing"));
        let mut turned = compacted();
        turned.swap(1, 8);
        assert!(part(turned).contains("appears too early"));
        let mut doubled = compacted();
        doubled.insert(9, says(TAIL_ANSWER));
        assert!(part(doubled).contains("appears 2 times"));
    }

    #[test]
    fn a_prompt_that_is_not_the_last_word_is_found() {
        let mut items = compacted();
        items.push(says("Yes."));
        assert_eq!(compacted_findings(items), ["the prompt last: 1 parts follow the prompt"]);
        let n_times = |items| prompt_is_last(items, NEXT);
        assert_eq!(n_times(&tail()), ["the prompt `Go on.` appears 0 times"]);
    }

    #[test]
    fn a_head_that_did_not_come_back_is_found() {
        let found = findings(&WHOLE, sent(&request(compacted())));
        assert_eq!(found.len(), 1 + HEAD.len() - 1, "{found:?}");
    }

    #[test]
    fn words_of_the_host_that_are_doubled_or_lost_are_found() {
        let rules = Item::Text(Who::Host, "Rules.\nMore.".into());
        let [place, other_place] = ["<place>here</place>", "<place>there</place>"].map(user);
        let speaks = |items: &[&Item]| {
            let items: Vec<Item> = items.iter().map(|item| (*item).clone()).collect();
            host_speaks_once(&items, &[rules.clone(), place.clone()])
        };
        let go = user("Go.");
        assert!(speaks(&[&rules, &other_place, &go, &go]).is_empty());
        assert_eq!(speaks(&[&place]), ["missing: Rules."]);
        assert_eq!(speaks(&[&rules, &go]), ["missing: <place>here</place>"]);
        assert_eq!(speaks(&[&rules, &place, &place]), ["again: <place>here</place>"]);
    }
}
