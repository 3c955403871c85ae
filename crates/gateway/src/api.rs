//! The REST face under `/api`: what the command line and the pages need of a site.
//!
//! Promises: JSON in camelCase; every route but the session is for callers with a key, many for admins only,
//! as its row says; errors are `{"error":{"code","message"}}`. It is ours and may change with the program;
//! other agents use the A2A face.

mod agents;
mod config;
mod conversations;
mod find;
mod hub;
mod identity;
mod journal;
mod keys;
mod logs;
mod mesh;
mod names;
mod operation;
mod outbox;
mod queries;
mod request;
mod rooms;
mod session;
mod tasks;
mod workshop;

use crate::route::Route;

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let files = [
        agents::routes(),
        config::routes(),
        conversations::routes(),
        find::routes(),
        hub::routes(),
        identity::routes(),
        journal::routes(),
        keys::routes(),
        logs::routes(),
        mesh::routes(),
        names::routes(),
        operation::routes(),
        outbox::routes(),
        queries::routes(),
        rooms::routes(),
        session::routes(),
        tasks::routes(),
        workshop::routes(),
    ];
    files.into_iter().flatten().collect()
}

/// The paths of the REST face, for the test that walks them.
#[doc(hidden)]
#[must_use]
pub fn api_paths() -> Vec<&'static str> {
    let paths: std::collections::BTreeSet<_> = routes().iter().map(Route::path).collect();
    paths.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_all_but_the_session_need_a_key() {
        for route in routes() {
            let described = route.described().unwrap_or_else(|| panic!("{} is not described", route.path()));
            let open = route.path() == "/api/session" && described.id != "signOut";
            assert_eq!(described.needs_key, !open, "{} {}", route.path(), described.id);
        }
    }
}
