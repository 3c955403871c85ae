//! Fits the static table to the vectors of MiniLm: `fit CORPUS.jsonl QUERIES.jsonl OUT_FILE`, run by `cargo
//! xtask model --fit`.
//!
//! Promises: reads texts only (`name` and `text` of each line of the corpus, `query` of each line of the
//! queries), never which answer is right. Teaches with all those texts; a token that they lack keeps the
//! vector of its word alone. The same input gives the same file.
//!
//! The table is the ridge regression of sentence vectors on counts of tokens: it begins at the vectors of
//! single words and moves from there as little as the sentences ask, found by conjugate gradients.
#![expect(clippy::print_stdout, reason = "a command line tool talks on its standard streams")]

use std::error::Error;
use std::fs;

use agentsite_search::{MiniLm, WordPiece};
use serde_json::Value;
use sha2::{Digest, Sha256};

const TOKENS: usize = 30_522;
const WIDTH: usize = 384;
/// How strongly rows are held at the vectors of their words.
const HOLD: f32 = 0.1;
/// How long the vector of a word is at first, and in how many sentences it halves. These three were chosen
/// with half of the development queries kept out of the fit, by how well the table finds their answers.
const FIRST: f32 = 0.7;
const COMMON: f32 = 200.0;
/// Steps of the conjugate gradients; more steps fit these sentences better and others no better.
const STEPS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, queries, out] = words.as_slice() else {
        return Err("usage: fit CORPUS.jsonl QUERIES.jsonl OUT_FILE".into());
    };
    let texts = texts(corpus, queries)?;
    println!("{} sentences to learn from", texts.len());
    let teacher = Teacher::new();
    let goals = teacher.vectors(&texts);
    let sentences: Vec<Sentence> = texts.iter().map(|text| Sentence::of(text)).collect();
    let mut table = teacher.words(&sentences);
    fit(&sentences, &goals, &mut table);
    fs::write(out, file(&table))?;
    Ok(())
}

fn texts(corpus: &str, queries: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for line in fs::read_to_string(corpus)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let [name, text] = ["name", "text"].map(|key| line[key].as_str().unwrap_or_default());
        texts.push(format!("{name}. {text}"));
    }
    for line in fs::read_to_string(queries)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        texts.push(line["query"].as_str().unwrap_or_default().to_owned());
    }
    Ok(texts)
}

/// The tokens of a sentence, each with its share: all shares together have length 1.
struct Sentence(Vec<(usize, f32)>);

impl Sentence {
    fn of(text: &str) -> Self {
        let tokens = WordPiece::ours().tokens(text, 128);
        let mut tokens: Vec<usize> =
            tokens[1..tokens.len() - 1].iter().map(|token| *token as usize).collect();
        tokens.sort_unstable();
        let mut shares: Vec<(usize, f32)> = Vec::new();
        for token in tokens {
            match shares.last_mut() {
                Some((last, count)) if *last == token => *count += 1.0,
                _ => shares.push((token, 1.0)),
            }
        }
        let length = shares.iter().map(|(_, count)| count * count).sum::<f32>().sqrt();
        shares.iter_mut().for_each(|(_, count)| *count /= length);
        Self(shares)
    }

    fn sum(&self, table: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; WIDTH];
        for (token, share) in &self.0 {
            let row = &table[token * WIDTH..(token + 1) * WIDTH];
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * value);
        }
        sum
    }
}

struct Teacher(MiniLm);

impl Teacher {
    fn new() -> Self {
        Self(MiniLm::load())
    }

    fn vectors(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let (first, second) = texts.split_at(texts.len() / 2);
        let encode =
            |texts: &[String]| self.0.encode(texts).into_iter().map(|vector| vector.values.into_vec());
        std::thread::scope(|scope| {
            let second = scope.spawn(move || encode(second).collect::<Vec<_>>());
            let mut all: Vec<Vec<f32>> = encode(first).collect();
            all.extend(second.join().expect("encoding does not fail"));
            all
        })
    }

    /// The vector of each word alone, the shorter the more sentences have it.
    fn words(&self, sentences: &[Sentence]) -> Vec<f32> {
        let mut having = vec![0.0_f32; TOKENS];
        sentences.iter().flat_map(|sentence| &sentence.0).for_each(|(token, _)| having[*token] += 1.0);
        let words: Vec<String> =
            WordPiece::ours().words().map(|word| word.trim_start_matches("##").to_owned()).collect();
        let vectors = self.vectors(&words);
        let weights = having.iter().map(|having| FIRST / (1.0 + having / COMMON));
        vectors
            .iter()
            .zip(weights)
            .flat_map(|(vector, weight)| vector.iter().map(move |value| value * weight))
            .collect()
    }
}

/// Moves the table so that sums over sentences come near to their goals.
fn fit(sentences: &[Sentence], goals: &[Vec<f32>], table: &mut [f32]) {
    let mut rest = vec![0.0; table.len()];
    for (sentence, goal) in sentences.iter().zip(goals) {
        let found = sentence.sum(table);
        let error: Vec<f32> = goal.iter().zip(found).map(|(goal, found)| goal - found).collect();
        spread(sentence, &error, &mut rest);
    }
    let mut way = rest.clone();
    let mut size = squares(&rest);
    for step in 0..STEPS {
        let mut image: Vec<f32> = way.iter().map(|value| value * HOLD).collect();
        sentences.iter().for_each(|sentence| spread(sentence, &sentence.sum(&way), &mut image));
        let along: Vec<f64> = columns(&way, &image);
        let reach: Vec<f32> =
            size.iter().zip(along).map(|(size, along)| (size / along.max(1e-30)) as f32).collect();
        each(table, &way, |at, value, way| *value += reach[at] * way);
        each(&mut rest, &image, |at, value, image| *value -= reach[at] * image);
        let next = squares(&rest);
        let turn: Vec<f32> =
            next.iter().zip(&size).map(|(next, size)| (next / size.max(1e-30)) as f32).collect();
        each(&mut way, &rest, |at, value, rest| *value = rest + turn[at] * *value);
        size = next;
        if step % 5 == 4 {
            println!("step {}: {:.3e} left", step + 1, size.iter().sum::<f64>());
        }
    }
}

fn spread(sentence: &Sentence, error: &[f32], out: &mut [f32]) {
    for (token, share) in &sentence.0 {
        let row = &mut out[token * WIDTH..(token + 1) * WIDTH];
        row.iter_mut().zip(error).for_each(|(value, error)| *value += share * error);
    }
}

fn each(left: &mut [f32], right: &[f32], change: impl Fn(usize, &mut f32, f32)) {
    for (left, right) in left.chunks_exact_mut(WIDTH).zip(right.chunks_exact(WIDTH)) {
        left.iter_mut().zip(right).enumerate().for_each(|(at, (left, right))| change(at, left, *right));
    }
}

fn columns(left: &[f32], right: &[f32]) -> Vec<f64> {
    let mut sums = vec![0.0; WIDTH];
    for (left, right) in left.chunks_exact(WIDTH).zip(right.chunks_exact(WIDTH)) {
        sums.iter_mut()
            .zip(left.iter().zip(right))
            .for_each(|(sum, (left, right))| *sum += f64::from(left * right));
    }
    sums
}

fn squares(values: &[f32]) -> Vec<f64> {
    columns(values, values)
}

/// The file, in the layout that `src/table.rs` describes.
fn file(table: &[f32]) -> Vec<u8> {
    let (mut rows, mut factors) = (Vec::new(), Vec::new());
    for row in table.chunks_exact(WIDTH) {
        let peak = row.iter().fold(f32::MIN_POSITIVE, |peak, value| peak.max(value.abs()));
        rows.extend(row.iter().map(|value| ((value / peak * 127.0).round() as i8).cast_unsigned()));
        factors.extend((peak / 127.0).to_le_bytes());
    }
    rows.extend(factors);
    let mut out = b"AGSTAB01".to_vec();
    [TOKENS as u32, WIDTH as u32].iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.extend(&Sha256::digest(&rows)[..]);
    out.extend(rows);
    out
}
