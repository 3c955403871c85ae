//! The contract on a real server, and what belongs to PostgreSQL alone.
//!
//! Each test has a schema of its own on a server that all share (see `server`). What other stores do is not
//! tested here.

mod backup;
mod faults;
mod model;
mod moving;
mod outcome;
mod processes;
mod proxy;
mod server;
mod tls;
mod upgrade;

use agentsite_store::contract::Fresh;
use agentsite_store::{SharedStore, StoreKey, contract_suite, shared_suite};

use super::*;
use server::Place;

/// A store in a schema of its own, which goes with it.
async fn fresh() -> Fresh {
    let place = Place::new().await;
    let store = place.open().await;
    let (again, another, clock) = (place.clone(), place.clone(), place.clone());
    Fresh::of(store)
        .opening_again(Box::new(move |store: SharedStore| {
            let place = again.clone();
            Box::pin(async move {
                store.close().await.unwrap();
                Arc::new(place.open().await) as SharedStore
            })
        }))
        .sharing(
            Box::new(move || {
                let place = another.clone();
                Box::pin(async move { Arc::new(place.open().await) as SharedStore })
            }),
            Box::new(move |time| {
                let place = clock.clone();
                Box::pin(async move { place.pass(time).await })
            }),
        )
        .keeping(place)
}

/// Why a database cannot be opened.
async fn refused(url: &str) -> String {
    match PgStore::open(PgSettings::new(url, key())).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    }
}

fn key() -> StoreKey {
    StoreKey::new([7; 32])
}

mod contract {
    use super::*;

    contract_suite!(fresh);
}

mod shared {
    use super::*;

    shared_suite!(fresh);
}
