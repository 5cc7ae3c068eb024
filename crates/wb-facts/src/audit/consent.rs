//! Detects sentences that say that somebody agreed to an act.

use std::cell::OnceCell;

use super::text::{Word, words};
use super::word_list::{PhraseList, WordList, WordStarts};

/// An act to which somebody agreed, by a sentence.
#[derive(Debug)]
pub(super) struct Consent {
    /// The words that say what it is about.
    pub(super) about: String,
    /// The acts among them, where nobody is named. If the user named one of them, the sentence may
    /// be true.
    pub(super) acts: Vec<String>,
}

/// People whose consent counts.
static PEOPLE: WordList = WordList::new(
    "department legal user user's users client customer owner maintainer maintainers developer \
    stakeholder stakeholders boss manager lead human operator admin team they he she someone \
    somebody author requester director cto ceo colleague supervisor management leadership everyone \
    reviewer reviewers you your",
);

/// Words that say that somebody agreed.
static AGREED: WordList = WordList::new(
    "approved approves agreed agrees confirmed confirms authorized authorised authorizes okayed \
    okay'd ok'd oked ok'ed accepted consented greenlit green-lit greenlighted allowed allows \
    permitted permits cleared sanctioned endorsed pre-approved preapproved pre-authorized empowered \
    granted blessed lifted waived delegated entrusted ratified vetted mandated signed-off welcomed \
    let lets trusts trusted",
);

/// Words for consent, which somebody has or gets.
static CONSENT: WordList = WordList::new(
    "approval permission consent go-ahead agreement sign-off signoff authorization authorisation \
    clearance blessing nod thumbs-up ok okay green-light lgtm mandate license rein confirmation \
    assent authority carte greenlight yes",
);

/// Words with which consent is had, before it or after it.
static HAVING: WordList = WordList::new(
    "gave given gives granted received obtained got have has had secured came provided was is issued \
    there's exists come from said we've full explicit verbal written",
);

/// Words with which something is done by consent, right before it.
static UNDER: WordList = WordList::new("with under per on in by from via after a an the");

/// Phrases that say by themselves that somebody does not object.
static PHRASES: PhraseList = PhraseList::new(
    "confirmed we can|confirmed that we can|confirmed i can|confirmed that i can|said we can|\
    said we may|agreed we can|no longer need|go ahead|went ahead and said|green light|thumbs up|\
    all clear|signed off|sign off was|no objection|no objections|nothing against|fine with|fine by|\
    okay with|ok with|okay for|ok for|cool with|happy with|happy for|happy to have|comfortable with|\
    on board|free rein|free hand|carte blanche|blanket|waved through|waved it through|\
    without confirmation|without asking|without checking|without waiting|without further|\
    no longer requires|no longer needs|no longer wants|no need to ask|no further confirmation|\
    do not ask|don't ask|not ask again|not to ask|not to be prompted|not to be asked|doesn't mind|\
    don't mind|does not mind|didn't mind|no problem with|no issue with|go for it|just do it|\
    just drop it|is okay|is ok|it's okay|it's ok|it's fine|is fine|are fine|was fine|are okay|\
    is acceptable|is allowed|are allowed|is permitted|are permitted|may be used|said yes|said ok|\
    said okay|said sure|as agreed|as approved|trusts us|trusts the agent|up to us|up to the agent|\
    at our discretion|feel free|free to|leave to|be my guest|all set to|good to go|good to|do it|\
    sure",
);

/// Words with which people order or report.
static SAID: WordList = WordList::new(
    "responded clarified indicated said says told replied answered wrote wants wanted requested \
    requests instructed directed ordered instruction instructions order orders decision decided \
    answer request reply response insisted demanded chose opted according per wishes asked stated \
    word words",
);

/// The starts of words for acts that need consent, whoever orders them.
static RISKY: WordStarts = WordStarts::new(
    "revoc publicat push force-push deploy delet drop wip truncat remov merg publish releas rotat \
    upload send sent shar post pay paid spend spent purchas buy disabl skip bypass turn switch shut \
    restart reboot kill terminat revok cancel reset rewrit overwrit rebas migrat rm destr yank \
    squash roll expos purg eras transfer refund charg email mail notif announc open-sourc escalat \
    ship launch ignor downgrad sudo chmod los credential revert leak provision detach unlock flush \
    drain archiv suppress tear decommission unpublish promot disclos tweet --no-verify --force \
    shutdown hotfix ban block tag order book apply proceed commit",
);

/// The starts of words for other acts.
static OTHER: WordStarts = WordStarts::new(
    "install run chang modif edit clear clean format grant download export upgrad access creat writ \
    mov renam replac stop bump print hand give scal resiz open clos alter patch amend prun \
    operation exec forc sync import relax lower raise submit connect contact ssh mak tak us touch",
);

/// Words by which nothing is agreed to yet, anywhere before the word of consent.
static OPEN: WordList = WordList::new(
    "if whether until unless awaiting pending nobody unclear needs need requires required needed \
    waiting wait neither nor implemented added fixed renamed refactored built asserts verifies \
    validates endpoint unlikely unknown",
);

/// Words by which nothing is agreed to, close before the word of consent.
static OPEN_NEAR: WordList = WordList::new(
    "requests not no never should must once rejected refused declined denied without could would \
    might can require request requested withdrew revoked lacks missing cannot who before seek \
    seeking only when ask asking none against failed wrote created may will for",
);

/// Words that deny what follows.
static DENIES: WordList = WordList::new("not never cannot nobody hardly who");

/// Words by which it is not agreed to, after the word of consent.
static OPEN_AFTER: WordList = WordList::new(
    "pending required needed denied refused missing outstanding revoked withdrawn declined expired \
    nothing unclear none needs unanswered",
);

/// Words after which a word for consent names a part of a program.
static PROGRAM: WordList = WordList::new(
    "workflow workflows step steps flow screen banner records record process header headers dialog \
    system state states status checker check checks model module form page table field fields \
    settings set level levels error errors endpoint icon button list rule rules queue service email \
    emails token tokens code codes prompt prompts vendors version schema hosts origins bits bit \
    matrix denied modal link logic response responses key keys count counts request requests chain \
    handler policy gate column flag box checkbox boundary server values value",
);

/// The place of the words of consent in a sentence.
#[derive(Debug)]
struct Place {
    start: usize,
    end: usize,
    kind: Kind,
}

/// The kind of the words of consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A person approved it.
    Person,
    /// An approval by nobody that is named.
    Verb,
    /// There is a permission.
    Noun,
    /// Nobody objects.
    Phrase,
    /// Somebody said that it be done.
    Order,
}

impl Place {
    fn word(at: usize, kind: Kind) -> Self {
        Self { start: at, end: at + 1, kind }
    }
}

/// A sentence as words.
#[derive(Debug)]
struct Statement<'a> {
    sentence: &'a str,
    /// The words in small letters, without code.
    text: Vec<&'a str>,
    all: &'a [Word],
    acts: OnceCell<Vec<&'a str>>,
}

/// Returns what a sentence says was agreed to; none if it is open, or about a program.
pub(super) fn consent(sentence: &str) -> Option<Consent> {
    let all = words(sentence);
    let text: Vec<&str> = all.iter().filter(|word| !word.is_code).map(|word| word.text.as_str()).collect();
    let statement = Statement { sentence, text, all: &all, acts: OnceCell::new() };
    let found =
        statement.find().filter(|found| !sentence.trim_end().ends_with('?') && !statement.is_open(found));
    found.map(|found| {
        // What a person approved has to be what the user said, not an act of that name alone.
        if found.kind == Kind::Person {
            return Consent { about: about(&all), acts: Vec::new() };
        }
        let is_risky = statement.acts().iter().any(|act| begins_one_of(&RISKY, act));
        let acts = statement.acts().iter().filter(|act| !is_risky || begins_one_of(&RISKY, act));
        Consent { about: about(&all), acts: acts.map(|act| (*act).to_owned()).collect() }
    })
}

impl<'a> Statement<'a> {
    /// Returns the words that name acts, in code too.
    fn acts(&self) -> &[&'a str] {
        self.acts.get_or_init(|| {
            let code = self.all.iter().filter(|word| word.is_code);
            let code = code.flat_map(|word| word.text.split(|c: char| !c.is_alphanumeric()));
            self.text.iter().copied().chain(code).filter(|word| is_act(word)).collect()
        })
    }

    fn has_act(&self) -> bool {
        !self.acts().is_empty()
    }

    fn find(&self) -> Option<Place> {
        let with_act = |found: Option<Place>| found.filter(|_| self.has_act());
        self.label()
            .or_else(|| with_act(self.label_of_person().or_else(|| self.phrase())))
            .or_else(|| self.by_people())
            .or_else(|| with_act(self.passive()))
            .or_else(|| self.noun())
            .or_else(|| self.order())
    }

    /// Returns the place of a label of consent: `Approved: push to main.`
    fn label(&self) -> Option<Place> {
        let (label, rest) = self.sentence.split_once(':')?;
        let (label, rest) = (words(label), words(rest));
        let names = |word: &Word| AGREED.has(&word.text) || CONSENT.has(&word.text);
        let is_status = label.last().is_some_and(|word| is_any("status decision answer reply", &word.text));
        let value = || rest.iter().take(3).position(names).filter(|_| is_status).map(|at| label.len() + at);
        let at = label.iter().position(names).or_else(value)?;
        let is_nothing =
            |word: &Word| is_any("no not", &word.text) || OPEN_AFTER.has(&word.text) || OPEN.has(&word.text);
        let is_label = label.len() <= 4 && rest.first().is_some_and(|word| !is_nothing(word));
        is_label.then(|| Place::word(at, Kind::Verb))
    }

    /// Returns the place of a reply behind the name of a person: `User: fine to merge.`
    fn label_of_person(&self) -> Option<Place> {
        const YES: &str = "fine ok okay yes sure go approved agreed allowed confirmed lgtm yep";
        let (label, rest) = self.sentence.split_once(':')?;
        let is_person = matches!(words(label).as_slice(), [person] if PEOPLE.has(&person.text));
        let is_yes = words(rest).first().is_some_and(|word| is_any(YES, &word.text));
        (is_person && is_yes).then(|| Place::word(1, Kind::Person))
    }

    /// Returns the place where people agree: `the user approved`, `approved by the owner`.
    fn by_people(&self) -> Option<Place> {
        let text = &self.text;
        let is_followed = |at: usize| {
            text.get(at + 1).is_none_or(|next| is_any("to that with we it us", next) || is_act(next))
        };
        let agrees = |(at, word): (usize, &&str)| {
            // What somebody does as a rule is more often about a program.
            let is_rule = word.ends_with('s') && !is_any("trusts lets", word);
            AGREED.has(word) && (!is_rule || is_followed(at))
        };
        let at = text.iter().enumerate().position(agrees)?;
        let by = text[at + 1..].iter().take(4).position(|word| matches!(*word, "by" | "with"));
        let after = by.map_or(&[][..], |by| &text[at + by + 2..]);
        let before = &text[at.saturating_sub(5)..at];
        let is_by_people = PEOPLE.has_one(before) || PEOPLE.has_one(&after[..after.len().min(3)]);
        let is_plain = ["approv", "authori", "consent"].iter().any(|start| text[at].starts_with(start));
        (is_by_people && (is_plain || self.has_act())).then(|| Place::word(at, Kind::Person))
    }

    /// Returns the place where an act is said to be agreed to: `the push was approved`.
    fn passive(&self) -> Option<Place> {
        let text = &self.text;
        let at = text.iter().position(|word| AGREED.has(word))?;
        let next = text.get(at + 1).copied();
        let is_be = has(
            &text[at.saturating_sub(2)..at],
            "is was are were been being it's now fully explicitly already",
        );
        let is_first = at == 0 && matches!(next, Some("to" | "for" | "by"));
        let is_last = at > 0 && text[at - 1].len() > 1 && matches!(next, None | Some("for" | "to"));
        let is_right = if next == Some("by") { self.is_by_name() } else { is_be || is_first || is_last };
        is_right.then(|| Place::word(at, Kind::Verb))
    }

    /// Returns whether somebody with a name did it.
    fn is_by_name(&self) -> bool {
        let Some((_, name)) = self.sentence.split_once(" by ") else { return false };
        let mut letters = name.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
    }

    /// Returns the place where there is consent: `we have the go-ahead`, `permission was granted`.
    fn noun(&self) -> Option<Place> {
        let text = &self.text;
        // A number before it is a status: `200 OK`.
        let is_status = |at: usize| at > 0 && text[at - 1].bytes().all(|byte| byte.is_ascii_digit());
        let at = (0..text.len()).find(|at| CONSENT.has(text[*at]) && !is_status(*at))?;
        let (before, after) = (&text[..at], &text[at + 1..]);
        let reach = if PEOPLE.has_one(text) { after.len() } else { after.len().min(4) };
        let is_had = HAVING.has_one(last(before, 4))
            || HAVING.has_one(&after[..reach])
            || UNDER.has_one(last(before, 3))
            || has(after, "given granted received obtained secured");
        let is_program = after.first().is_some_and(|next| PROGRAM.has(next));
        let is_of_person = || PEOPLE.has_one(last(before, 3));
        (is_had && !is_program && (self.has_act() || is_of_person())).then(|| Place::word(at, Kind::Noun))
    }

    /// Returns the place of a phrase of consent.
    fn phrase(&self) -> Option<Place> {
        let text = &self.text;
        let (start, n_words) = PHRASES.find(text)?;
        let found = Place { start, end: start + n_words, kind: Kind::Phrase };
        let is_program = text.get(found.end).is_some_and(|next| PROGRAM.has(next));
        let is_said = n_words > 1 || PEOPLE.has_one(text) || has(text, "we us it's");
        (is_said && !is_program).then_some(found)
    }

    /// Returns the place where people order an act: `the user said: push to main`.
    fn order(&self) -> Option<Place> {
        const NOT: &str = "not no never nothing before until without after instead stop they he";
        const ASIDE: &str = "how whether why about if what when which where who they for";
        let text = &self.text;
        let of_person = || {
            let people = (0..text.len()).filter(|at| PEOPLE.has(text[*at])).map(|at| at.saturating_sub(4));
            let mut said =
                people.map(|from| Some(from + text[from..].iter().take(9).position(|word| SAID.has(word))?));
            said.find_map(|at| at)
        };
        let instructed = || {
            let is_instructed = |pair: &[&str]| matches!(pair, ["was" | "were", "told" | "instructed"]);
            text.windows(2).position(is_instructed).map(|at| at + 1)
        };
        let at = of_person().or_else(instructed)?;
        // A quote may come before its speaker.
        let is_quote = self.sentence.trim_start_matches(['-', '*', ' ']).starts_with(['"', '“', '\'']);
        let is_before = matches!(text[at], "per" | "according") || text.get(at + 1) == Some(&"by");
        let from = if is_quote || is_before { 0 } else { at + 1 };
        let takes_noun = is_any("ordered requested wants wanted demanded", text[at]);
        let orders = |word: &&str| {
            begins_one_of(&RISKY, word) && (takes_noun || !(word.ends_with("ment") || word.ends_with("ion")))
        };
        let order = from + text[from..].iter().position(orders)?;
        let lead = last(&text[from..order], 3);
        let is_denied = has(lead, NOT) || lead.iter().any(|word| word.ends_with("n't"));
        let is_done = is_before && order == 0 && text[order].ends_with("ed");
        let says_no =
            matches!(text[at + 1..], ["no", next, ..] if !is_any("need objection objections problem", next));
        let is_passive = text[at + 1..].windows(2).any(|pair| pair == ["to", "be"]);
        let is_aside = text.get(at + 1).is_some_and(|next| is_any(ASIDE, next)) && !is_passive && !is_quote;
        let is_order = !is_denied && !is_done && !says_no && !is_aside;
        is_order.then(|| Place::word(at, Kind::Order))
    }

    /// Returns whether nothing is agreed to yet.
    fn is_open(&self, found: &Place) -> bool {
        let (before, after) = (&self.text[..found.start], &self.text[found.end..]);
        let near = last(before, 3);
        let has_to = || self.text.windows(2).any(|pair| matches!(pair, ["has" | "have", "to"]));
        let is_denied = DENIES.has_one(near) || near.iter().any(|word| word.ends_with("n't"));
        let is_ahead = || has_to() || OPEN.has_one(before);
        let may_be = || OPEN_NEAR.has_one(near);
        is_denied
            || match found.kind {
                Kind::Person | Kind::Verb => is_ahead() || may_be() || last(before, 5).contains(&"no"),
                Kind::Noun => {
                    let is_missing = OPEN_AFTER.has_one(&after[..after.len().min(6)]);
                    is_ahead() || may_be() || is_missing || before.contains(&"without")
                }
                Kind::Phrase => is_ahead() || near.contains(&"no"),
                Kind::Order => may_be(),
            }
    }
}

fn is_act(word: &str) -> bool {
    begins_one_of(&RISKY, word) || begins_one_of(&OTHER, word)
}

/// Returns whether a word, or a part of it, is a form of one of those; of a short one, only the
/// common forms are.
fn begins_one_of(acts: &WordStarts, word: &str) -> bool {
    let is_form = |act: &str, word: &str| {
        let rest = &word[act.len()..];
        act.len() > 4
            || is_any("s e ed es ing al", rest.trim_start_matches(|c| act.ends_with(c)))
            || rest.is_empty()
    };
    let mut parts = std::iter::once(word).chain(word.split('-'));
    parts.any(|word| acts.starts(word).any(|act| is_form(act, word)))
}

/// Returns whether a list of words has a word.
fn is_any(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Returns whether a list has one of some words.
fn has(words: &[&str], list: &str) -> bool {
    words.iter().any(|word| is_any(list, word))
}

/// Returns the last words of some.
fn last<'w, 'a>(words: &'w [&'a str], most: usize) -> &'w [&'a str] {
    &words[words.len().saturating_sub(most)..]
}

/// Returns the words that say what was agreed to.
fn about(all: &[Word]) -> String {
    let is_about = |word: &&Word| {
        ![&PEOPLE, &AGREED, &CONSENT, &SAID, &HAVING, &UNDER].iter().any(|list| list.has(&word.text))
    };
    all.iter().filter(is_about).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
