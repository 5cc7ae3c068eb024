//! Lists the patterns of words by which constraints are known; `word_patterns` tells how they are read.

/// What looks like a rule and is none.
pub(crate) const MASKS: &[&str] = &[
    "there must|should be a|an|something|some|more|another|any",
    "must|should|would|could|may|might ?not have been|%ed|had|done|gone|got|seen|known|caught|made|left|kept|used",
    "whether|where|what|how|which|who|why .. should|must|need|needs|has",
    "say|says|state|states|tells|claims|means .. must|should|needs|need|has|never|always|only",
    "only * of",
    "^^ that must be",
    "^^ it must be the|because",
    "must be kidding|joking",
    "must|needs|need|has|have .. right now|again",
    "only the .. is|are|was|were",
    "you should see|find|notice|get|have|already",
    "checks|tests|verifies|complains|complaining|asserts|shows|proves|means .. must|should|never|always|only",
    "^^ never heard|seen|got|worked|mind",
    "^^ always the|a",
    "no .. at all",
    "no .. yet|needed|required|pending",
    "should be|work|have .. now",
    "there has|have|needs to be a|some|another|something",
    "let's|lets use .. to see|find|check",
    "no further|pending|output|response|result|effect|luck|difference|funciona|puedo|sé|hay|se|tengo|es|está|me|lo",
    "important|crucial for|to me|us",
    "no .. was|were|is|are|has|have|found",
    "must be something|because|due|wrong|missing|why|how",
    "must|should i|we|you|it|they",
    "should be ?all|just fine|good|enough|ok|okay|done|fixed|working|easy|possible|there|able|straightforward|ready",
    "that|this|it should work|do|help|fix|suffice|now|already|just",
    "if|when|because|whether you|i|we|they|it must|need|have|want|needs|has|don't|can't|cannot|should",
    "info|information|all|everything|anything|what|files|data|that|things you|we|i need|want|have to",
    "the only",
    "not only",
    "if only",
    "or not",
    "not sure|yet|really|bad|too|even|just|all|working|a|the|being|found|able|necessarily|at|that|clear|so",
    "don't|dont know|think|understand|see|remember|recall|believe|mind|worry|hesitate|care",
    "do not know|think|understand|see|remember|recall|believe|mind|worry|hesitate|care",
    "i|we|they|it|this|that|which|who|code|app|is|are|was|were|has|have|been always|never|only",
    "never mind|mind",
    "no problem|worries|idea|thanks|matter|longer|one|way|doubt|luck|wonder|rush|such|i|it|that|we|you",
    "just|want|wanted|trying to make sure",
    "to make sure i|we",
    "to ensure i|we",
    "i|we'll|i'll ?really|also|still|just|will need|have|should|must",
    "we ?really|also|still|just|will|then|would need|have|should|must to",
    "we should",
    "i should",
    "don't|not need|have to worry",
    "at least one|once|try|check|tell",
    "instead of the expected",
    "keep going|working|trying|on|up|getting|seeing|me",
    "keep in touch",
    "avoid the error",
];

/// What a correction says.
pub(crate) const CORRECTS: &[&str] = &[
    "^^ no ,",
    "^^ not * .. but *",
    "^^ no that's|thats|this|it's|its|we|don't|dont|not|please|just|that",
    "^^ nope|nah|wrong",
    "^ that's|thats not|wrong|incorrect",
    "^ i mean|meant",
    "that|this is wrong|incorrect",
    "that|this is not what|right|correct|how|the",
    "not what i|we",
    "^ i|we ?already|just said|told|meant|asked",
    "as i|we ?already said|told|asked",
    "i did not|n't ?just say|ask|mean|want|tell",
    "i didn't|didnt ?just say|ask|mean|want|tell",
    "you should|shouldn't ?not have",
    "you should've",
    "you ?also|still forgot|missed|ignored|misunderstood|misread",
    "you did not|never add|read|do|update|run|follow|include|use|check|change",
    "you didn't|didnt|haven't|havent add|read|do|update|run|follow|include|use|check|change|added|done|updated",
    "das ist falsch",
    "c'est faux",
];

/// What only sounds like a correction.
pub(crate) const DECLINES: &[&str] =
    &["no , thanks|thank|problem|worries|i'm|im", "no , it's|its|that's fine|ok|okay|good|all"];

/// What takes back, which may be asked for.
pub(crate) const REVERTS: &[&str] = &["^ revert|undo ?back that|this|it|your|the|those|all|last|to|my"];

/// What forbids.
pub(crate) const FORBIDS: &[&str] = &[
    "^ don't|dont|dont|donʼt *",
    "^ do not *",
    "^ never *",
    "^ avoid *",
    "^ refrain from",
    "^ stop %ing",
    "^ no *",
    "^ %do no *",
    "^ none of",
    "^^ not *",
    "^^ only *",
    "please only *",
    "^ only %do",
    "can|could we|you ?please|maybe not *",
    "^ skip *",
    "must|should|may not|never|only",
    "you|agents|they can|may|will not|never|only",
    "you|we cannot|can't",
    "mustn't|shouldn't|mustnt|shouldnt",
    "you don't|do ?not need|have to",
    "i|we ?still|really|also|explicitly|definitely|just|certainly don't|dont|do ?not ?really|actually|necessarily want|like|wanna|need",
    "i|we wouldn't want|like",
    "i|we would not want|like",
    "i|we ?would only want|need|like",
    "i'd only want|need",
    "you|they|we want|need|should|must|can|may only",
    "%do only",
    "^ %do .. only $",
    "nothing else|more|fancy",
    "^ nothing .. may|must|should",
    "nichts ohne",
    "must|should be no",
    "leave * alone|untouched|unchanged",
    "leave * * alone|untouched|unchanged",
    "leave * * * alone|untouched|unchanged",
    "leaving|leave|keeping .. same|unchanged|untouched|intact",
    "everything|anything|all except|but",
    "to never",
    "under no circumstances|condition|conditions",
    "hands off",
    "keep * out of",
    "is|are forbidden|prohibited|disallowed|banned",
    "is|are not allowed|permitted|acceptable",
    "darf|dürfen|darfst|soll|sollen|sollst|sollte nicht|kein|keine|keinen|nie",
    "^ niemals|keinesfalls",
    "auf keinen fall",
    "^ nicht *",
    "^ keine|keinen *",
    "^ ne * pas|jamais|plus|rien",
    "ne doit|doivent|dois pas|jamais",
    "surtout pas",
    "^ nunca|jamás *",
    "no debe|debes|deben|puede|puedes|pueden|quiero|uses|hagas|cambies|toques|modifiques|borres",
];

/// What forbids where the sentence asks for something.
pub(crate) const FORBIDS_IF_ASKED: &[&str] = &[
    "without %ing",
    "without any|the|a|changes|new",
    "with no *",
    "but not *",
    "only if|when|after|once|for|in|on|from|with",
    "no more|longer|fewer|less than",
    "ohne * zu",
    "ohne * * zu",
    "sans *",
    "sin *",
];

/// What requires.
pub(crate) const REQUIRES: &[&str] = &[
    "make sure",
    "^ ensure *",
    "^ be sure|certain to|that",
    "^ be careful|sure|mindful",
    "^ remember to|that|not",
    "keep in mind",
    "^ always *",
    "to always",
    "^ limit|restrict|confine * to",
    "^ limit|restrict|confine the|your * to",
    "^ ask .. before|first|if|when",
    "^ answer|reply|respond|write .. in english|german|french|spanish|chinese|japanese|markdown|json",
    "should|must|shall always",
    "must *",
    "shall *",
    "^ you ?also|still|will need|have to",
    "it|this|that|they|everything|all|there|rest ?also|still|will need|needs|have|has to",
    "needs|has to *",
    "needs ?to be",
    "every|each .. needs",
    "it|this is ?very|really|absolutely important|crucial|essential|imperative|critical",
    "it's ?very|really|absolutely important|crucial|essential|imperative|critical",
    "is|are mandatory|required",
    "required to",
    "muss|müssen|musst *",
    "stell|stelle sicher",
    "achte darauf",
    "^ immer *",
    "soll|sollen|sollte immer",
    "doit|doivent|dois *",
    "il faut *",
    "^ toujours *",
    "assure toi",
    "debe|debes|deben|tiene|tienes|tienen que",
    "debe|deben ser|estar|tener",
    "hay que",
    "asegúrate de|que",
    "^ siempre *",
];

/// What requires, unless the sentence tells of a fault.
pub(crate) const REQUIRES_IF_SOUND: &[&str] = &["should *"];

/// What prefers.
pub(crate) const PREFERS: &[&str] = &[
    "^ prefer *",
    "i|we ?would|really|strongly prefer",
    "preferably",
    "ideally",
    "i'd|we'd|would ?really|much rather|prefer",
    "i'd|we'd ?really like|love it|them|this|that|if|everything",
    "i|we ?really|basically|actually|just want it|them|this|that|everything|all|these to|in|as|like",
    "i|we ?really|basically|actually|just want the * to",
    "i|we ?really|basically|actually|just want the * * to",
    "we ?really|basically|actually|just want a|an|the|something",
    "i|we want .. to be|stay|remain|have",
    "i basically|really|actually want a|an|something",
    "^ keep *",
    "^ stick|stay to|with|in|on|within",
    "^ favor|favour *",
    "^ use * ?* ?* not|over",
    "let's|lets use|keep|stick|stay",
    "let's|lets go with",
    "^^ be *",
    "^ be ?very|really|as|more|extremely concise|brief|thorough|explicit|specific|strict|consistent|exhaustive|terse|precise|honest|critical",
    "%do as * as possible",
    "^^ as * .. as possible",
    "am liebsten",
    "^ lieber *",
    "de préférence",
    "prefiero",
];

/// What prefers where the sentence asks for something.
pub(crate) const PREFERS_IF_ASKED: &[&str] = &[
    "rather than",
    "^^ instead of .. %do",
    "strictly|exactly",
    "make it so *",
    "instead of",
    ", not *",
    "as * as possible",
    "at most",
    "up to *",
    "plutôt que",
    "en lugar de",
    "en vez de",
    "statt *",
];

/// What asks for something.
pub(crate) const ASKS: &[&str] = &[
    "^ %do",
    "please|pls|plz|bitte|let's|lets|should|must|needs|want|prefer",
    "can|could|would|will you",
    "i'd|would like",
    "make sure",
    "por favor",
    "por * que",
];

/// What tells that a sentence reports a fault, or how things are.
pub(crate) const REPORTS: &[&str] = &[
    "but * * ?* ?* shows|is|are|gives|returns|does|says|gets|was|has|doesn't|isn't|didn't",
    "but|instead|yet it|i|they|there|we|now|the|only|nothing|doesn't|isn't|takes",
    "but shows|gives|returns|gets|got|instead|it's",
    "currently|expected|actual|apparently|broken|fails|failed|crashes|crashed|seems",
    "instead it|i",
    "shows|showed|displays|returns|returned up|me|nothing|only",
    "doesn't|isn't|don't|didn't|can't|won't work|seem|appear|exist|match",
    "i|we thought|guess|wonder|assume|suppose",
];

/// What begins a question, also without its mark.
pub(crate) const QUESTIONS: &[&str] = &[
    "^^ why|what|what's|whats|how|how's|who|which|whose|is|are|was|were|did|does|has|have|am|any|shall|where's",
    "^^ should i|we|you|it|they|this|that|the|there|he|she|a|an|these",
    "^^ do i|we|you|they|the|these|those",
];

/// What begins a question that asks for something to be done.
pub(crate) const POLITE: &[&str] =
    &["^^ can|could|would|will you|we", "^^ please", "^ please", "can|could|would you"];

/// Parts of words of languages without blanks that forbid, and that require.
pub(crate) const FORBIDS_INSIDE: &[&str] = &[
    "不要",
    "别再",
    "不得",
    "禁止",
    "不准",
    "请勿",
    "不允许",
    "不可以",
    "只能",
    "无需",
    "不许",
    "ないで",
    "してはいけ",
    "しては駄目",
    "禁じ",
];
pub(crate) const REQUIRES_INSIDE: &[&str] =
    &["必须", "务必", "一定要", "确保", "始终", "总是", "必要がある", "必ず", "絶対に", "なければならない"];
pub(crate) const QUESTION_ENDS: &[&str] = &["?", "？", "吗", "呢", "吗。", "呢。", "か。"];
