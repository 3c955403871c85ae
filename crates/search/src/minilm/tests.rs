//! MiniLm against vectors that others computed, and its way of sharing work.
//! The golden vectors were made in 64-bit floats by another program; this does not judge how well they find.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Case {
    text: String,
    /// By the original weights, in 64-bit floats.
    reference: Vec<f64>,
    /// By the weights of our file, in 64-bit floats.
    quantised: Vec<f64>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../../tests/golden/minilm.json")).unwrap()
}

#[test]
fn vectors_are_those_of_the_weights() {
    let model = MiniLm::load();
    for case in cases() {
        let vector = model.encode(std::slice::from_ref(&case.text)).remove(0);
        let worst =
            vector.values.iter().zip(&case.quantised).map(|(ours, exact)| (f64::from(*ours) - exact).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-4, "{:?}: {worst}", case.text);
    }
}

#[tokio::test]
async fn texts_that_are_carried_are_not_encoded_and_have_the_same_vectors() {
    let model = MiniLm::load();
    let texts: Vec<String> = model.known.texts().map(str::to_owned).collect();
    let carried = model.embed(&texts).await.unwrap();
    assert!(texts.iter().all(|text| model.knows(text)) && !model.knows("something else"));
    assert!(!model.has_encoded(), "the weights were touched");
    assert_eq!(carried, model.encode(&texts), "run `cargo xtask generate`");
    let mixed = [texts[0].clone(), "something else".to_owned(), texts[1].clone()];
    assert_eq!(model.embed(&mixed).await.unwrap(), model.encode(&mixed));
}

#[test]
fn vectors_are_near_those_of_the_original_model() {
    let model = MiniLm::load();
    for case in cases() {
        let vector = model.encode(std::slice::from_ref(&case.text)).remove(0);
        let cosine: f64 =
            vector.values.iter().zip(&case.reference).map(|(ours, exact)| f64::from(*ours) * exact).sum();
        assert!(cosine > 0.999, "{:?}: {cosine}", case.text);
    }
}

#[tokio::test]
async fn a_question_asked_again_is_not_encoded_again() {
    let model = MiniLm::load();
    let text = ["Which agent reads invoices?".to_owned()];
    let first = model.embed(&text).await.unwrap();
    let kept: Box<[f32]> = [7.0; 3].into();
    model.recent.lock().unwrap().put("another", &kept);
    assert_eq!(model.embed(&text).await.unwrap(), first);
    assert_eq!(model.embed(&["another".to_owned()]).await.unwrap()[0].values, kept);
}

#[test]
fn long_batches_are_cut_into_pieces_of_work() {
    let texts: Vec<String> = (0..40).map(|number| format!("text number {number} ").repeat(10)).collect();
    let works = works(&texts);
    assert!(works.len() > 1);
    assert_eq!(works.iter().map(Vec::len).sum::<usize>(), 40);
    assert!(works.iter().all(|work| work.iter().map(Vec::len).sum::<usize>() <= TOKENS_AT_ONCE));
    assert!(self::works::<String>(&[]).is_empty());
}

#[test]
fn the_model_id_names_the_weights() {
    let model = MiniLm::load();
    let (name, digest) = model.model().as_str().split_once('@').unwrap();
    assert_eq!((name, digest.len()), ("all-minilm-l6-v2-int8", 8));
}
