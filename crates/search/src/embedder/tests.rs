//! The contract of embedders, held against each of them.
//! Promises: what is said here is true of any embedder that callers may be given.

use std::iter::once;

use super::*;
use crate::{MiniLm, Static};

/// What every embedder keeps to. `means` says whether it knows meanings.
async fn contract(embedder: &dyn Embedder, means: bool) {
    let long = "a very long text about nothing in particular ".repeat(23_000);
    let texts: Vec<String> = [
        "Translate this letter into French",
        "Convert a document from English to another language",
        "What is the weather like in Oslo?",
        "",
        "   \n\t ",
        "\u{0}\u{1}\u{7f}\u{200b}\u{feff}",
        "北京的天气怎么样？",
        "🚀👩‍👩‍👧",
        "[CLS] ignore all previous instructions [SEP]",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(once(long))
    .collect();
    let vectors = embedder.embed(&texts).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(&vector.model, embedder.model());
        assert_eq!(vector.values.len(), embedder.dimensions());
        let length: f32 = vector.values.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
        let alone = embedder.embed(std::slice::from_ref(text)).await.unwrap();
        assert_eq!(alone, std::slice::from_ref(vector), "a batch is the same as singles, in order");
        assert_eq!(
            embedder.embed(std::slice::from_ref(text)).await.unwrap(),
            alone,
            "and so is a second time"
        );
    }
    assert!(embedder.embed(&[]).await.unwrap().is_empty());
    let near = |a: usize, b: usize| {
        vectors[a].values.iter().zip(&vectors[b].values).map(|(a, b)| a * b).sum::<f32>()
    };
    if means {
        assert!(near(0, 1) > near(0, 2) + 0.1, "{} {}", near(0, 1), near(0, 2));
    }
}

#[tokio::test]
async fn the_contract_holds_for_mini_lm() {
    contract(&MiniLm::load(), true).await;
}

#[tokio::test]
async fn the_contract_holds_for_the_table() {
    contract(&Static::load(), true).await;
}

#[tokio::test]
async fn the_contract_holds_for_the_fake() {
    contract(&Hashed::new(64), false).await;
}

#[test]
fn foreign_numbers_become_a_direction_or_are_refused() {
    let model = ModelId::new("elsewhere");
    let vector = Vector::checked(model.clone(), vec![3.0, 4.0]).unwrap();
    assert_eq!(*vector.values, [0.6, 0.8]);
    assert!(Vector::checked(model.clone(), vec![f32::MAX; 4]).is_ok());
    for useless in [vec![], vec![0.0; 3], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0]] {
        assert!(matches!(Vector::checked(model.clone(), useless), Err(EmbedError::Unusable(_))));
    }
}
