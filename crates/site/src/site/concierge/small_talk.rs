//! Small talk: what is said to the concierge itself rather than to an agent.
//!
//! Promises: pure. Greetings, thanks, farewells and questions about the concierge are recognised in English
//! and Chinese, alone or one after the other ("hi, what can you do?"). As soon as something else is asked
//! for, it is no small talk: "help me compute 2+2" is a request.

/// What is said to the concierge itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SmallTalk {
    /// Hello.
    Greeting,
    /// What can you do, who are you, help.
    About,
    /// Thank you.
    Thanks,
    /// Goodbye.
    Farewell,
}

/// Longest text that is small talk, in letters; what is longer asks for something.
const LONGEST: usize = 80;

const GREETINGS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "hiya",
    "howdy",
    "yo",
    "greetings",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "how are you",
    "how are you doing",
    "how is it going",
    "hows it going",
    "how do you do",
    "whats up",
    "sup",
    "nice to meet you",
    "are you there",
    "anyone there",
    "anybody there",
    "test",
    "testing",
    "ping",
    "hola",
    "bonjour",
    "hallo",
    "moin",
    "ciao",
    "你好",
    "您好",
    "你好吗",
    "你好啊",
    "你好呀",
    "嗨",
    "哈喽",
    "哈啰",
    "嘿",
    "喂",
    "早上好",
    "早",
    "早安",
    "上午好",
    "中午好",
    "下午好",
    "晚上好",
    "大家好",
    "在吗",
    "在不在",
    "有人吗",
    "很高兴认识你",
    "最近怎么样",
    "测试",
];

const ABOUT: &[&str] = &[
    "help",
    "help me",
    "i need help",
    "need help",
    "can you help",
    "can you help me",
    "could you help me",
    "help please",
    "please help",
    "who are you",
    "what are you",
    "who is this",
    "what is this",
    "whats this",
    "what is this site",
    "whats your name",
    "what is your name",
    "what do you do",
    "what can you do",
    "what can you do for me",
    "what can you help me with",
    "what can you help with",
    "what can i do",
    "what can i do here",
    "what can i ask",
    "what can i ask you",
    "what else can you do",
    "how can you help",
    "how can you help me",
    "how do you work",
    "how does this work",
    "how does it work",
    "how do i use this",
    "how do i use you",
    "how to use this",
    "introduce yourself",
    "tell me about yourself",
    "are you a bot",
    "are you human",
    "are you an ai",
    "are you a robot",
    "are you real",
    "what agents are there",
    "which agents are there",
    "what agents do you have",
    "which agents do you have",
    "what agents do you know",
    "list agents",
    "list the agents",
    "list your agents",
    "list all agents",
    "show agents",
    "show me the agents",
    "agents",
    "commands",
    "menu",
    "options",
    "start",
    "get started",
    "getting started",
    "usage",
    "man",
    "capabilities",
    "features",
    "帮助",
    "帮帮我",
    "帮我",
    "帮忙",
    "请帮助我",
    "我需要帮助",
    "需要帮助",
    "你能帮我吗",
    "能帮我吗",
    "可以帮我吗",
    "你可以帮我吗",
    "你是谁",
    "您是谁",
    "你是什么",
    "这是什么",
    "这里是什么",
    "你叫什么",
    "你叫什么名字",
    "您贵姓",
    "你能做什么",
    "您能做什么",
    "你会什么",
    "你会做什么",
    "你可以做什么",
    "你能干什么",
    "你能干嘛",
    "你有什么功能",
    "有什么功能",
    "能做什么",
    "我能做什么",
    "我可以做什么",
    "我能问什么",
    "怎么用",
    "如何使用",
    "怎么使用",
    "怎样使用",
    "使用说明",
    "介绍一下你自己",
    "自我介绍",
    "介绍自己",
    "你是机器人吗",
    "你是人吗",
    "你是真人吗",
    "有哪些智能体",
    "有什么智能体",
    "列出智能体",
    "有哪些代理",
    "菜单",
    "功能",
    "开始",
];

const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thank you very much",
    "thank you so much",
    "many thanks",
    "thanks a lot",
    "thx",
    "ty",
    "cheers",
    "great",
    "cool",
    "nice",
    "perfect",
    "awesome",
    "ok",
    "okay",
    "got it",
    "i see",
    "understood",
    "well done",
    "good job",
    "great job",
    "good bot",
    "never mind",
    "nevermind",
    "no",
    "yes",
    "sure",
    "lol",
    "谢谢",
    "谢谢你",
    "谢谢您",
    "多谢",
    "非常感谢",
    "感谢",
    "太感谢了",
    "谢了",
    "好的",
    "好",
    "知道了",
    "明白了",
    "明白",
    "不错",
    "太好了",
    "很好",
    "没事了",
    "不用了",
];

const FAREWELLS: &[&str] = &[
    "bye",
    "goodbye",
    "bye bye",
    "see you",
    "see you later",
    "see ya",
    "good night",
    "have a nice day",
    "farewell",
    "take care",
    "quit",
    "exit",
    "再见",
    "拜拜",
    "晚安",
    "回头见",
    "下次见",
    "回见",
];

/// Words that change nothing of what is said.
const FILLERS: &[&str] = &[
    "please",
    "there",
    "concierge",
    "all",
    "everyone",
    "everybody",
    "friend",
    "mate",
    "bot",
    "again",
    "so",
    "and",
    "well",
    "oh",
    "ah",
    "um",
];

/// Endings of Chinese sentences that change nothing of what is said.
const PARTICLES: &[char] = &['啊', '呀', '呢', '吧', '哦', '啦', '喔', '哈', '嘛', '请'];

/// What is said to the concierge itself; `None` when something is asked for. Of several things the one that
/// wants the longest answer counts.
pub(super) fn small_talk(text: &str) -> Option<SmallTalk> {
    if text.chars().count() > LONGEST {
        return None;
    }
    let mut found: Option<SmallTalk> = None;
    for clause in
        text.split(['.', ',', '!', '?', ';', ':', '\n', '。', '，', '！', '？', '；', '：', '、', '~', '～'])
    {
        let words = plain(clause);
        if words.is_empty() {
            continue;
        }
        let Some(kind) = of_clause(&words) else {
            if bare(&words).is_empty() {
                continue;
            }
            return None;
        };
        found = Some(match (found, kind) {
            (Some(SmallTalk::About), _) | (_, SmallTalk::About) => SmallTalk::About,
            (_, kind) => kind,
        });
    }
    found
}

fn of_clause(words: &str) -> Option<SmallTalk> {
    let known = |words: &str| {
        let lists = [
            (ABOUT, SmallTalk::About),
            (GREETINGS, SmallTalk::Greeting),
            (THANKS, SmallTalk::Thanks),
            (FAREWELLS, SmallTalk::Farewell),
        ];
        lists.into_iter().find(|(list, _)| list.contains(&words)).map(|(_, kind)| kind)
    };
    let known = |words: &str| known(words).or_else(|| known(&bare(words)));
    known(words).or_else(|| {
        // "hi what can you do", "你好你是谁": a greeting, then something else that is small talk.
        let greeted = GREETINGS.iter().filter_map(|greeting| words.strip_prefix(greeting));
        greeted.filter(|rest| !rest.is_empty()).find_map(|rest| {
            let apart = rest.starts_with(' ') || !rest.is_ascii();
            known(rest.trim()).filter(|_| apart)
        })
    })
}

/// The words of a clause: lower case, without signs.
fn plain(clause: &str) -> String {
    let kept: String = clause
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '\'' | '’' | '`'))
        .map(|c| if c.is_alphanumeric() || "+-*/^×÷=".contains(c) { c } else { ' ' })
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words without what changes nothing of them. They are looked up as they are first: `there` and `么` also
/// belong to phrases.
fn bare(words: &str) -> String {
    let words = words.split(' ').filter(|word| !FILLERS.contains(word)).collect::<Vec<_>>().join(" ");
    words.trim_start_matches("请问").trim_matches(|c| PARTICLES.contains(&c)).trim().to_owned()
}

/// Whether a text is written in Chinese.
pub(super) fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}'))
}

#[cfg(test)]
mod tests {
    use super::SmallTalk::{About, Farewell, Greeting, Thanks};
    use super::*;

    #[test]
    fn small_talk_is_told_from_requests() {
        let table: &[(&str, Option<SmallTalk>)] = &[
            ("help", Some(About)),
            ("Help!", Some(About)),
            ("help me", Some(About)),
            ("Can you help me, please?", Some(About)),
            ("hello", Some(Greeting)),
            ("Hello there!", Some(Greeting)),
            ("hi", Some(Greeting)),
            ("Hi :)", Some(Greeting)),
            ("hey concierge", Some(Greeting)),
            ("good morning", Some(Greeting)),
            ("How are you?", Some(Greeting)),
            ("who are you?", Some(About)),
            ("what's your name?", Some(About)),
            ("what can you do?", Some(About)),
            ("Hi, what can you do?", Some(About)),
            ("hello who are you", Some(About)),
            ("Which agents are there?", Some(About)),
            ("thanks", Some(Thanks)),
            ("Thank you very much!", Some(Thanks)),
            ("ok, thanks", Some(Thanks)),
            ("bye", Some(Farewell)),
            ("???", None),
            ("你好", Some(Greeting)),
            ("你好！", Some(Greeting)),
            ("您好，请问你是谁？", Some(About)),
            ("你好，你是谁？", Some(About)),
            ("你好你能做什么", Some(About)),
            ("帮助", Some(About)),
            ("你是谁", Some(About)),
            ("你是谁呀？", Some(About)),
            ("你能做什么？", Some(About)),
            ("谢谢", Some(Thanks)),
            ("谢谢你！", Some(Thanks)),
            ("再见", Some(Farewell)),
            ("help me compute 2+2", None),
            ("help: 2+2", None),
            ("hello, what is 17 * 23?", None),
            ("hi, what time is it in Tokyo?", None),
            ("what can you do about my broken bicycle?", None),
            ("who are you voting for in the election", None),
            ("thank you note for my teacher", None),
            ("say hello", None),
            ("echo hello", None),
            ("hellomatic", None),
            ("highlight this", None),
            ("help desk ticket 42", None),
            ("帮我算 2+2", None),
            ("帮我计算一下17乘以23", None),
            ("你好，东京现在几点？", None),
            ("谢谢你帮我写的信，请翻译成英文", None),
            ("2+2", None),
            ("", None),
            ("   ", None),
        ];
        for (text, kind) in table {
            assert_eq!(small_talk(text), *kind, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_a_request() {
        assert_eq!(small_talk(&"hello ".repeat(40)), None);
    }

    #[test]
    fn chinese_is_recognised() {
        assert!(is_chinese("你好 calc"));
        assert!(!is_chinese("hello") && !is_chinese("こんにちは"));
    }
}
