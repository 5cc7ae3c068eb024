//! Requests for one thing, once: to fix, move or add it, or that it exists.
//!
//! A sentence that says when or how often, or that limits or forbids, is no such request.

use std::sync::LazyLock;

use crate::word_patterns::{Grammar, Group, Words};

/// Words of rules: of all times, of conditions, of limits and of bans.
const RULE_WORDS: &[&str] = &[
    "always|never|every|ever|only|everything|nothing|anything|everywhere|whenever|generally",
    "when|if|unless|until|before|after|once|while|during|without|instead|rather|prefer|preferably|future",
    "don't|dont|not|no|avoid|must|stop|shouldn't|can't|cannot|won't|remember|exactly|strictly|convention",
    "from now|here on",
    "keep|stick|stay",
    "at most|least",
    "in english|german|french|spanish|chinese|japanese",
    "immer|stets|jede|jeden|jedes|jeder|jedem|alle|allen|nie|niemals|nur|nicht|kein|keine|keinen|ohne|statt",
    "wenn|falls|bevor|nachdem|sobald|solange|vor|grundsätzlich|künftig|lieber|bevorzugt|ab|sofort|jedesmal",
    "toujours|jamais|chaque|tous|toutes|tout|seulement|uniquement|sans|plutôt|désormais|dorénavant|avant|après",
    "quand|lorsque|dès|pas|aucun|aucune|sauf|évite|si",
    "ne .. que",
    "siempre|nunca|jamás|cada|todo|toda|todos|todas|solo|sólo|solamente|únicamente|sin|antes|después|adelante",
    "cuando|mientras|salvo|ningún|ninguna|nada|no|evita",
    "^^ no",
];
/// Words that make a rule of a wish, but not of an order on one thing: `split it, a file for each`.
const RULE_WORDS_OF_WISHES: &[&str] = &["each|all|any"];
const RULE_PARTS: &[&str] = &[
    "不要",
    "别",
    "不得",
    "禁止",
    "不准",
    "不许",
    "只",
    "仅",
    "每",
    "总是",
    "始终",
    "一律",
    "必须",
    "务必",
    "以后",
    "今后",
    "往后",
    "之前",
    "之后",
    "如果",
    "除非",
    "永远",
    "凡是",
    "所有",
    "都",
    "先",
    "时候",
    "ない",
    "必ず",
    "常に",
    "毎",
    "ごと",
    "たび",
    "いつも",
    "だけ",
    "のみ",
    "前に",
    "後に",
    "場合",
    "とき",
    "今後",
    "これから",
    "全て",
    "すべて",
    "絶対",
    "限り",
    "なく",
    "たら",
];

/// Wishes and polite questions, each followed by a verb of a step.
const LEADS: &[&str] = &[
    "i|we ?really|actually|basically|just|also|still|now|then need|want|have ?you to",
    "i'd|we'd ?really|also like ?you to",
    "we|you should ?also|now|then|just",
    "let's|lets ?also|now|then|just",
    "can|could|would|will you|we|u ?please|maybe|also|then|just|now",
];
/// A polite question, whatever its verb.
const QUESTION: &str = "^^ ?also|and|but|now|ok|okay|please|so|yes can|could|would|will you|we|u";
/// Verbs of one step.
const VERBS: &str = "add|adjust|analyse|analyze|build|bump|check|clean|close|configure|convert|copy|count|create|debug|\
    delete|document|draft|drop|enable|ensure|explain|extend|extract|figure|find|fix|generate|hook|implement|\
    improve|inline|insert|introduce|invert|investigate|list|mark|mention|merge|migrate|move|open|plan|port|\
    refactor|remove|rename|replace|reproduce|rerun|restart|restore|restructure|revert|review|rework|rewrite|\
    setup|show|split|summarize|switch|turn|undo|unify|update|wire";
/// Words for what the talk is about, behind a verb in an order: `split it into two files`.
const THE_THING: &str = "it|them|this|that|these|those";
/// The same in German, French and Spanish, where several words may be in between.
const OTHER_LEADS: [(&str, &str); 3] = [
    (
        "wir|ich|du|kannst|könntest|können|könnten|bitte müssen|muss|musst|sollten|sollen|möchte|möchten|will|\
         wollen|würde|du|wir",
        "anlegen|anpassen|aufräumen|aufteilen|ausbauen|austauschen|beheben|einbauen|einrichten|entfernen|\
         ergänzen|ersetzen|erstellen|erweitern|hinzufügen|korrigieren|löschen|prüfen|reparieren|sorgen|\
         umbauen|umbenennen|umstellen|untersuchen|verschieben|zusammenführen",
    ),
    (
        "faut|doit|devons|veux|voudrais|voudrait|aimerais|peux|pourrais|peut|allons|tu",
        "adapter|ajouter|analyser|ajoutes|convertir|corriger|corriges|créer|crées|déplacer|déplaces|diviser|\
         étendre|extraire|fusionner|implémenter|inverser|nettoyer|remplacer|remplaces|renommer|renommes|\
         réparer|scinder|séparer|supprimer|supprimes|vérifier",
    ),
    (
        "que|necesitamos|necesito|quiero|queremos|quisiera|gustaría|puedes|podrías|podemos|deberíamos|vamos",
        "agregar|ampliar|analizar|añadir|arreglar|arregles|borrar|comprobar|convertir|copiar|corregir|corrijas|\
         crear|crees|dividir|eliminar|extender|extraer|fusionar|implementar|invertir|limpiar|mover|muevas|\
         reemplazar|renombrar|reparar|separar|sustituir",
    ),
];
/// Demands that a thing exists now.
const EXISTENCE: &[&str] = &[
    "make sure|ensure ?that ?we|you|it|they|there ?also|now|then has|have|is|exists a|an|some|one",
    "make sure|ensure|certain .. is|are now|also|there",
    "make sure .. know to",
    "stell|stelle sicher dass es|wir .. gibt|haben",
    "dafür sorgen dass es|wir .. gibt|haben",
    "assure toi qu'il y a",
    "assure toi qu'on a",
    "asegúrate de que haya|exista|tengamos",
];
/// Steps in Chinese and Japanese.
const STEP_PARTS: &[&str] = &[
    "需要修",
    "要修一下",
    "修一下",
    "修复一下",
    "移动到",
    "移到",
    "挪到",
    "搬到",
    "加一个",
    "加个",
    "添加一个",
    "新建一个",
    "写一个",
    "拆成",
    "拆分成",
    "改名为",
    "确保有",
    "确保现在",
    "删掉这",
    "帮我",
    "修正する必要",
    "直す必要",
    "修正したい",
    "移したい",
    "移動したい",
    "追加したい",
    "を修正して",
    "を直して",
    "移動して",
    "移して",
    "追加して",
    "作って",
    "用意して",
    "分割して",
    "削除して",
    "できますか",
    "もらえますか",
];

struct Steps {
    grammar: Grammar,
    rule_words: Group,
    rule_words_of_wishes: Group,
    wishes: Group,
    orders: Group,
}

static STEPS: LazyLock<Steps> = LazyLock::new(Steps::new);

impl Steps {
    fn new() -> Self {
        let mut grammar = Grammar::new();
        let rule_words = grammar.add(RULE_WORDS);
        let leads = LEADS.iter().map(|lead| [lead, " ", VERBS].concat());
        let others = OTHER_LEADS.iter().map(|(lead, verbs)| [lead, " .. ", verbs].concat());
        let wishes: Vec<String> = leads.chain(others).collect();
        let others = EXISTENCE.iter().copied().chain([QUESTION]);
        let wishes: Vec<&str> = wishes.iter().map(String::as_str).chain(others).collect();
        let order = ["^^ ?please|now|then|also|just ", VERBS, " ?up|out ", THE_THING].concat();
        let (wishes, orders) = (grammar.add(&wishes), grammar.add(&[order.as_str()]));
        let rule_words_of_wishes = grammar.add(RULE_WORDS_OF_WISHES);
        Self { grammar, rule_words, rule_words_of_wishes, wishes, orders }
    }
}

/// Returns whether a sentence asks for one thing, once.
pub(crate) fn is_one_time_request(sentence: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| sentence.contains(part));
    let words = Words::new(&STEPS.grammar, sentence);
    let wishes = || words.has(STEPS.wishes) && !words.has(STEPS.rule_words_of_wishes);
    (words.has(STEPS.orders) || has(STEP_PARTS) || wishes())
        && !words.has(STEPS.rule_words)
        && !has(RULE_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_one_step_is_known_in_six_languages() {
        for step in [
            "we need to fix the tui test sources.",
            "I actually want to move those files to their final location.",
            "can you ensure we have an example that runs.",
            "can you ask me questions to get the info you need",
            "ok, could we also look at the other reader",
            "yes, but I think we should rewrite the reader, can you switch to main",
            "the button has a padding, can you update it to make sure it fits",
            "Make sure there is an entry for the new flag",
            "split it into separate modules, with a description of each",
            "Now move them to src",
            "Wir müssen die Quellen der Tests reparieren.",
            "Kannst du dafür sorgen, dass es ein Beispiel gibt?",
            "Il faut corriger les tests du lecteur.",
            "Je voudrais déplacer ces fichiers.",
            "Hay que arreglar las pruebas del lector.",
            "Quiero mover esos archivos a su carpeta.",
            "我们需要修一下界面的测试。",
            "把这些文件移到 src 里",
            "読み取りのテストを修正する必要がある。",
            "このファイルを src に移動してください",
        ] {
            assert!(is_one_time_request(step), "{step}");
        }
    }

    #[test]
    fn a_rule_asks_for_no_step() {
        for rule in [
            "we need to update the changelog with every change",
            "can you always add a test",
            "I want you to check with me before you delete a file",
            "from now on we should split commits by crate",
            "We should never move those files.",
            "make sure it works on Windows",
            "Make sure there are no warnings",
            "can you answer in English",
            "Wir müssen bei jedem Commit das Log anpassen.",
            "Kannst du bitte immer einen Test hinzufügen",
            "Il faut toujours ajouter un test.",
            "Hay que añadir una prueba antes de cada cambio.",
            "每次都要加一个测试。",
            "必ずテストを追加してください。",
        ] {
            assert!(!is_one_time_request(rule), "{rule}");
        }
    }
}
