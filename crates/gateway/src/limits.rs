//! How much the body of a request may cost: its size and its time.
//!
//! Promises: a body that is too large is refused by its declared length or as soon as the count passes the
//! cap. How often callers may come is in `throttle`, how much they may have at once in `shares`.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::arriving::ArrivalError;
use crate::failure::{Failure, Fault};
use crate::settings::HttpLimits;

/// How much of an oversized body is read and thrown away before the refusal is sent: a client that is cut off
/// while it writes never reads the answer.
const READ_ON: usize = 8 << 20;

/// When to send a body again for which there was no space.
const LATER: Duration = Duration::from_secs(5);

/// How long that may take.
const READ_ON_TIME: Duration = Duration::from_secs(2);

/// Reads a request body within the limits.
pub(crate) async fn read_body(body: Body, limits: &HttpLimits) -> Result<Bytes, Failure> {
    match tokio::time::timeout(limits.body_time, collect(body, limits.body)).await {
        Ok(read) => read,
        Err(_) => {
            let sentence = format!(
                "the body took longer than {} s to arrive; send it faster",
                limits.body_time.as_secs()
            );
            Err(Failure::new(Fault::TooSlow, sentence))
        }
    }
}

async fn collect(mut body: Body, cap: usize) -> Result<Bytes, Failure> {
    use hyper::body::Body as _;
    if body.size_hint().lower() > cap as u64 {
        return Err(too_large(body, cap).await);
    }
    let mut first = Bytes::new();
    let mut rest: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(not_arrived)?;
        let Ok(data) = frame.into_data() else { continue };
        if first.is_empty() && rest.is_none() {
            first = data;
        } else {
            let whole = rest.get_or_insert_with(|| BytesMut::from(&*first));
            whole.extend_from_slice(&data);
        }
        if rest.as_ref().map_or(first.len(), BytesMut::len) > cap {
            return Err(too_large(body, cap).await);
        }
    }
    Ok(rest.map_or(first, BytesMut::freeze))
}

/// Why a body did not arrive, in words for its sender.
fn not_arrived(error: axum::Error) -> Failure {
    match error.into_inner().downcast::<ArrivalError>().map(|error| *error) {
        Ok(ArrivalError::TooSlow) => {
            Failure::new(Fault::TooSlow, "the body comes too slowly; send it faster (limits.body_rate)")
        }
        Ok(ArrivalError::NoRoom) => {
            let sentence =
                "too much is being sent to this site at once; send this again later, or less at once";
            Failure::new(Fault::TooMany, sentence).retry_after(LATER)
        }
        Ok(ArrivalError::Broken(error)) => {
            Failure::new(Fault::BadRequest, format!("the body broke off: {error}"))
        }
        Err(error) => Failure::new(Fault::BadRequest, format!("the body broke off: {error}")),
    }
}

async fn too_large(mut body: Body, cap: usize) -> Failure {
    let read_on = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > READ_ON {
                break;
            }
        }
    };
    // Whether all of it came or not, the answer is the same.
    drop(tokio::time::timeout(READ_ON_TIME, read_on).await);
    let sentence =
        format!("the body is larger than {cap} bytes; send less at once, or pass a file by its URL");
    Failure::new(Fault::TooLarge, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(body: usize) -> HttpLimits {
        HttpLimits { body, ..HttpLimits::default() }
    }

    fn chunks(chunks: Vec<&'static str>) -> Body {
        Body::from_stream(futures::stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>)))
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_joined() {
        assert_eq!(read_body(chunks(vec!["a", "bc", "d"]), &limits(4)).await.unwrap(), "abcd");
        assert_eq!(read_body(Body::empty(), &limits(4)).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_is_refused_when_its_count_or_its_length_passes_the_cap() {
        for body in [chunks(vec!["abc", "de"]), chunks(vec!["abcde"]), Body::from("abcde")] {
            let failure = read_body(body, &limits(4)).await.unwrap_err();
            assert_eq!(failure.fault, Fault::TooLarge);
            assert!(failure.sentence.contains("4 bytes"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_refused() {
        let never = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
        let failure = read_body(never, &limits(4)).await.unwrap_err();
        assert_eq!(failure.fault, Fault::TooSlow);
    }
}
