//! The load by gRPC: HTTP/2 connections that each send one call after another.
//!
//! Promises: one call in flight on each connection, as in the load by HTTP/1.1, so that the bindings can be
//! compared; every answer is checked to be a success. It implements just enough gRPC for one unary method.

use std::net::SocketAddr;

use agentsite_protocol::proto::{Message, SendMessageRequest};
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use tokio::net::TcpStream;

/// The one method that is measured.
const METHOD: &str = "/lf.a2a.v1.A2AService/SendMessage";

/// Bytes before each message: a flag and the length.
const PREFIX: usize = 5;

/// A connection on which calls are made.
pub(super) struct Caller {
    sender: SendRequest<Full<Bytes>>,
    target: http::Uri,
    agent: String,
}

impl Caller {
    /// Connects; the connection ends with the caller.
    pub(super) async fn connect(address: SocketAddr, agent: &str) -> Result<Self, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let stream = TcpStream::connect(address).await.map_err(|error| said(&error))?;
        stream.set_nodelay(true).map_err(|error| said(&error))?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| said(&error))?;
        tokio::spawn(connection);
        let target = format!("http://{address}{METHOD}");
        let target = target.parse().map_err(|error: http::uri::InvalidUri| said(&error))?;
        Ok(Self { sender, target, agent: agent.into() })
    }

    /// Makes one call with this number in its message id and waits for the answer.
    pub(super) async fn call(&mut self, number: u64) -> Result<(), String> {
        let message = agentsite_protocol::Message::text(
            format!("bench-{number:016}").parse().map_err(|_| "the id is too long")?,
            agentsite_protocol::Role::User,
            "hello world",
        );
        let message = Message::try_from(&message).map_err(|error| error.to_string())?;
        let call =
            SendMessageRequest { tenant: self.agent.clone(), message: Some(message), ..Default::default() };
        let request = http::Request::post(self.target.clone())
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("a2a-version", "1.0")
            .body(Full::new(framed(&call)))
            .map_err(|error| error.to_string())?;
        let answer = self.sender.send_request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?;
        let trailers = body.trailers().unwrap_or(&head.headers);
        match trailers.get("grpc-status").map(http::HeaderValue::as_bytes) {
            Some(b"0") => Ok(()),
            _ => Err(format!("{head:?} {trailers:?}")),
        }
    }
}

fn framed(call: &SendMessageRequest) -> Bytes {
    let size = call.encoded_len();
    let mut out = BytesMut::with_capacity(PREFIX + size);
    out.put_u8(0);
    out.put_u32(u32::try_from(size).unwrap_or(u32::MAX));
    out.put(call.encode_to_vec().as_slice());
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_long_as_it_says() {
        let call = SendMessageRequest { tenant: "echo".into(), ..Default::default() };
        let frame = framed(&call);
        assert_eq!(frame[..PREFIX], [0, 0, 0, 0, 6]);
        assert_eq!(frame.len(), PREFIX + 6);
    }
}
