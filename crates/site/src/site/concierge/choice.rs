//! Choice: what follows for the concierge from how well agents fit.
//!
//! Promises: pure; the same candidates give the same choice. It asks rather than guesses where the best is
//! weak or hardly better than the next, and takes an agent that works before one that does not.

use std::collections::HashSet;

use agentsite_protocol::{AgentName, Match};

/// Nearness in meaning below which an agent does not fit at all, unless it has words of the request.
const FLOOR: f64 = 0.2;

/// Nearness in meaning below which a fit without words of the request is too weak to act on. Among the demo
/// agents and forty foreign ones, with full vectors, 1 of 26 unrelated questions without common words comes
/// nearer. 0.35 would stop that one, and ask back where "what is 17 times 23" (0.32) has its agent.
const WEAK: f64 = 0.3;

/// Nearness in meaning that an agent which does one small thing needs when no word of the request is its own.
const NEAR: f64 = 0.45;

/// How near the second may come to the first, as a part of its score, before the two count as equals.
const CLOSE: f64 = 0.97;

/// Candidates named in a question.
const SHOWN: usize = 4;

/// Most words around a sum; a text with more is about something else that has numbers in it.
const WORDS_AROUND_A_SUM: usize = 5;

/// An agent that could do it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) name: AgentName,
    /// What it does.
    pub(super) about: String,
    /// Why it is here, in a few words.
    pub(super) why: String,
    score: f64,
    meaning: f64,
    /// Whether words of the request are its own.
    has_words: bool,
    ready: bool,
    sure: bool,
    /// Whether it does one small thing only.
    narrow: bool,
}

impl Candidate {
    /// One that needs no comparison.
    pub(super) fn sure(name: AgentName, why: &str) -> Self {
        let (about, why) = (String::new(), why.to_owned());
        Self {
            name,
            about,
            why,
            score: 1.0,
            meaning: 1.0,
            has_words: true,
            ready: true,
            sure: true,
            narrow: false,
        }
    }

    /// One that was found.
    pub(super) fn found(name: AgentName, found: Match, ready: bool, narrow: bool) -> Self {
        Self {
            name,
            why: found.reason.sentence(),
            about: found.description,
            score: found.score,
            meaning: found.reason.meaning,
            has_words: !found.reason.matched.is_empty(),
            ready,
            sure: false,
            narrow,
        }
    }

    fn fits(&self) -> bool {
        if self.narrow {
            return self.meaning >= NEAR || self.has_words && self.meaning >= WEAK;
        }
        self.has_words || self.meaning >= FLOOR
    }

    fn is_weak(&self) -> bool {
        !self.has_words && self.meaning < WEAK
    }
}

/// What the concierge does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Choice {
    /// Nobody fits.
    Nobody,
    /// These might, and the caller should say.
    Unsure(Vec<Candidate>),
    /// These are asked in order.
    These(Vec<Candidate>),
}

/// Chooses among candidates, the best first; asks back only if it may.
pub(super) fn choose(mut candidates: Vec<Candidate>, may_ask: bool) -> Choice {
    candidates.retain(Candidate::fits);
    // A stable order: among those that work the best stays first.
    candidates.sort_by_key(|one| !one.ready);
    let Some(first) = candidates.first() else { return Choice::Nobody };
    let next = candidates.get(1).filter(|next| next.ready == first.ready && !next.sure);
    let close = next.is_some_and(|next| next.score >= first.score * CLOSE);
    if may_ask && !first.sure && (first.is_weak() || close) {
        candidates.truncate(SHOWN);
        return Choice::Unsure(candidates);
    }
    Choice::These(candidates)
}

/// The agent with whose name a text begins, as in `calc 2 + 2`, `ask calc: 2 + 2` or `@calc 2 + 2`.
pub(super) fn named<'a>(text: &str, names: &[&'a AgentName]) -> Option<&'a AgentName> {
    let mut words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let first = words.next()?.to_lowercase();
    let word = if first == "ask" { words.next()?.to_lowercase() } else { first };
    names.iter().find(|name| name.as_str() == word).copied()
}

/// Whether a text is a sum to work out: numbers joined by a sign, and few words around it.
pub(super) fn is_sum(text: &str) -> bool {
    let letters: HashSet<&str> =
        text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let signs = |c: char| matches!(c, '+' | '-' | '*' | '/' | '^' | '×' | '÷');
    let text = &spelt_signs(text);
    let tight: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')')).collect();
    let digit = |part: Option<char>| part.is_some_and(|c| c.is_ascii_digit());
    let joined = tight.char_indices().any(|(at, c)| {
        signs(c) && digit(tight[..at].chars().next_back()) && digit(tight[at + c.len_utf8()..].chars().next())
    });
    joined && letters.len() <= WORDS_AROUND_A_SUM
}

/// A text in which signs that are written as words between numbers are signs: `17 times 23`, `17乘以23`.
fn spelt_signs(text: &str) -> String {
    const SPELT: [(&str, &str); 9] = [
        (" times ", "*"),
        (" multiplied by ", "*"),
        (" plus ", "+"),
        (" minus ", "-"),
        (" divided by ", "/"),
        ("乘以", "*"),
        ("除以", "/"),
        ("加", "+"),
        ("减", "-"),
    ];
    SPELT.iter().fold(text.to_lowercase(), |text, (word, sign)| text.replace(word, sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_protocol::Reason;

    fn found(name: &str, score: f64, matched: &[&str]) -> Candidate {
        let matched = matched.iter().map(|word| (*word).to_owned()).collect();
        let reason = Reason { meaning: score, matched, ..Reason::default() };
        let (id, description) = (String::new(), format!("does {name}"));
        let found = Match {
            id,
            name: name.into(),
            description,
            card: None,
            local: true,
            score,
            reason,
            source: None,
            live: None,
            seen_at: None,
        };
        Candidate::found(name.parse().unwrap(), found, true, false)
    }

    fn names(candidates: &[Candidate]) -> Vec<&str> {
        candidates.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn the_best_is_taken_when_it_stands_out() {
        let Choice::These(order) = choose(vec![found("a", 0.8, &[]), found("b", 0.4, &[])], true) else {
            panic!()
        };
        assert_eq!(names(&order), ["a", "b"]);
    }

    #[test]
    fn one_that_does_one_small_thing_must_be_near() {
        let narrow = |score, matched: &[&str]| Candidate { narrow: true, ..found("echo", score, matched) };
        assert_eq!(choose(vec![narrow(0.25, &["say"])], true), Choice::Nobody);
        assert_eq!(choose(vec![narrow(0.4, &[])], true), Choice::Nobody);
        assert!(matches!(choose(vec![narrow(0.4, &["time"])], true), Choice::These(_)));
        assert!(matches!(choose(vec![narrow(0.5, &[])], true), Choice::These(_)));
    }

    #[test]
    fn nobody_is_chosen_when_nothing_fits() {
        assert_eq!(choose(vec![found("a", 0.1, &[])], true), Choice::Nobody);
        assert_eq!(choose(Vec::new(), true), Choice::Nobody);
    }

    #[test]
    fn two_that_are_close_and_one_that_is_weak_lead_to_a_question_once() {
        let close = vec![found("a", 0.80, &["x"]), found("b", 0.79, &["x"])];
        let weak = vec![found("a", 0.25, &[])];
        for candidates in [close, weak] {
            assert!(matches!(choose(candidates.clone(), true), Choice::Unsure(_)));
            assert!(matches!(choose(candidates, false), Choice::These(_)));
        }
        let many = (0..9).map(|_| found("a", 0.5, &[])).collect();
        let Choice::Unsure(shown) = choose(many, true) else { panic!() };
        assert_eq!(shown.len(), SHOWN);
    }

    #[test]
    fn one_that_works_comes_before_one_that_does_not() {
        let down = Candidate { ready: false, ..found("a", 0.9, &["x"]) };
        let Choice::These(order) = choose(vec![down, found("b", 0.4, &["x"])], true) else { panic!() };
        assert_eq!(names(&order), ["b", "a"]);
    }

    #[test]
    fn an_agent_is_named_at_the_beginning_only() {
        let (calc, upper) = ("calc".parse().unwrap(), "upper".parse().unwrap());
        let names = [&calc, &upper];
        for text in ["calc 2 + 2", "Calc: what is it", "ask calc, 2+2", "@calc 2"] {
            assert_eq!(named(text, &names), Some(&calc), "{text}");
        }
        for text in ["what is the upper bound", "ask", "", "calculate"] {
            assert_eq!(named(text, &names), None, "{text}");
        }
    }

    #[test]
    fn a_sum_is_known_by_its_signs() {
        for text in [
            "what is 17 * 23?",
            "2+2",
            "(1 + 2) * 3 =",
            "please work out 10 / 4",
            "what is 17 times 23",
            "帮我算17乘以23",
            "help me compute 2+2",
        ] {
            assert!(is_sum(text), "{text}");
        }
        for text in ["the flight on 3/4 from Rome to New York at noon", "call 112", "a + b", "c++ 17", ""] {
            assert!(!is_sum(text), "{text}");
        }
    }
}
