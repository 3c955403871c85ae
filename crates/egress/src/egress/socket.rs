//! A WebSocket through the egress: the upgrade request, and the resulting connection.
//!
//! Promises: the address is checked like every other; the answer must prove that it understood the question
//! (RFC 6455, section 4.1). It is independent of the messages.

use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, StatusCode};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::failure::{failure_of, origin};
use super::{EgressAnswer, EgressError, EgressRequest};

/// A WebSocket to the outside.
pub type EgressSocket = WebSocketStream<reqwest::Upgraded>;

impl EgressRequest {
    /// Asks for a WebSocket whose messages have at most `limit` bytes; what answers without one is given
    /// back.
    ///
    /// # Errors [`EgressError`] when the address is refused, nothing answers in time, or the answer does not
    /// follow RFC 6455.
    pub async fn socket(self, limit: usize) -> Result<Result<EgressSocket, EgressAnswer>, EgressError> {
        let key = generate_key();
        let wanted = HeaderValue::from_str(&key).map_err(|error| EgressError::Settings(error.to_string()))?;
        let request = self
            .http1()
            .without_redirects()
            .header(CONNECTION, HeaderValue::from_static("Upgrade"))
            .header(UPGRADE, HeaderValue::from_static("websocket"))
            .header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            .header(SEC_WEBSOCKET_KEY, wanted);
        let answer = request.send().await?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Err(answer));
        }
        let url = answer.url().clone();
        let broken = |reason: &str| EgressError::Unreachable { origin: origin(&url), reason: reason.into() };
        let proof = answer.headers().get(SEC_WEBSOCKET_ACCEPT).and_then(|proof| proof.to_str().ok());
        if proof != Some(derive_accept_key(key.as_bytes()).as_str()) {
            return Err(broken("it does not support WebSocket at this address"));
        }
        let timeout = std::time::Duration::ZERO;
        let upgraded = answer.response.upgrade().await.map_err(|error| failure_of(&error, &url, timeout))?;
        let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
        Ok(Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await))
    }
}
