//! How often questions about agentsite get the sentence that answers them, measured with the real models.
//!
//! The state is that of a fresh site: passages have the vectors of the fast model, and a few sentences of
//! each answer are compared by the full one. The questions are in `questions.tsv`; every third is kept out of
//! tuning. The floors leave room for pages that change; when one breaks, look at what is printed.

use std::sync::Arc;

use agentsite_host::AgentLog;
use agentsite_protocol::{Clock, Timestamp};
use agentsite_search::{Embedders, MiniLm, Static};

use super::answer::{self, Pick};
use super::folders::IndexFolder;
use super::reading::Reading;
use super::scan::Source;

const QUESTIONS: &str = include_str!("questions.tsv");

/// A fixed clock: nothing here depends on time.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }
}

/// A question and what a right answer has.
struct Question {
    pages: Vec<&'static str>,
    words: Vec<&'static str>,
    question: &'static str,
}

impl Question {
    fn all() -> Vec<Self> {
        let lines = QUESTIONS.lines().filter(|line| !line.starts_with('#'));
        let parts = |text: &'static str| text.split(" / ").collect();
        let read = |line: &'static str| {
            let [pages, words, question] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            Self { pages: parts(pages), words: parts(words), question }
        };
        lines.map(read).collect()
    }

    fn has_answer(&self) -> bool {
        self.pages != ["-"]
    }

    fn is_right(&self, pick: Option<&Pick>, text: impl Fn(&Pick) -> &str) -> bool {
        pick.is_some_and(|pick| {
            self.pages.contains(&&*pick.passage.file)
                && self.words.iter().any(|word| text(pick).contains(word))
        })
    }
}

/// Right answers among some questions.
#[derive(Debug, Default)]
struct Count {
    questions: usize,
    passages: usize,
    sentences: usize,
    unanswered: usize,
    said_so: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn most_questions_about_agentsite_get_the_sentence_that_answers_them() {
    let clock: Arc<dyn Clock> = Arc::new(Still);
    let embedders = Embedders { fast: Arc::new(Static::load()), full: Some(Arc::new(MiniLm::load())) };
    let reading =
        Reading::new(Source::Own, IndexFolder::none(), embedders, AgentLog::new(clock.clone()), clock);
    reading.read_all().await;
    let (mut tuned, mut kept_out) = (Count::default(), Count::default());
    for (at, asked) in Question::all().into_iter().enumerate() {
        let count = if at % 3 == 2 { &mut kept_out } else { &mut tuned };
        let picks = answer::find(&reading, asked.question, answer::PASSAGES).await.unwrap();
        let first = picks.first();
        if !asked.has_answer() {
            count.unanswered += 1;
            count.said_so += usize::from(picks.is_empty());
            continue;
        }
        let sentence = asked.is_right(first, |pick| &pick.best);
        count.questions += 1;
        count.sentences += usize::from(sentence);
        count.passages += usize::from(sentence || asked.is_right(first, |pick| &pick.passage.text));
        if !sentence {
            let given = first.map(|pick| format!("{} ({})", pick.best, pick.passage.source()));
            println!("{} {:?}", asked.question, given.unwrap_or_default());
        }
    }
    println!("{tuned:?}\n{kept_out:?}");
    let share = |right: usize, of: usize| right * 100 / of;
    assert!(share(tuned.sentences, tuned.questions) >= 60, "{tuned:?}");
    assert!(share(tuned.passages, tuned.questions) >= 60, "{tuned:?}");
    assert!(share(kept_out.sentences, kept_out.questions) >= 45, "{kept_out:?}");
    assert!(tuned.said_so + kept_out.said_so + 1 >= tuned.unanswered + kept_out.unanswered);
}
