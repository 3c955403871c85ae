//! The server that everything is compared with: axum that reads a JSON body and writes it back.
//!
//! Promises: only reading, parsing, writing; one line on stdout prints its address.

use std::io::Read;

use crate::bench::BenchError;
use axum::routing::post;
use axum::{Json, Router};
use futures::future::BoxFuture;
use serde_json::Value;

/// Serves until stdin closes; `announce` gets the address first. Boxed, so that it is compiled in this crate
/// and not for size like the binary.
///
/// # Errors
/// [`BenchError`] when no port is free or the server fails.
pub fn serve_bare<'a>(announce: Box<dyn FnOnce(&str) + Send + 'a>) -> BoxFuture<'a, Result<(), BenchError>> {
    Box::pin(serve(announce))
}

async fn serve(announce: Box<dyn FnOnce(&str) + Send + '_>) -> Result<(), BenchError> {
    let failed = |error: std::io::Error| BenchError::error(format!("the bare server failed: {error}"));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    announce(&address.to_string());
    let app = Router::new().route("/", post(|Json(body): Json<Value>| async { Json(body) }));
    let (closed, stdin_closes) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || closed.send(std::io::stdin().read(&mut [0; 1])));
    let ends = async {
        let _ = stdin_closes.await;
    };
    axum::serve(listener, app).with_graceful_shutdown(ends).await.map_err(failed)
}
