//! The interface for people: one document and the files that it loads, built from `web/` and held in the
//! binary.
//!
//! Promises: nothing inline is run or styled and nothing loads from elsewhere (`POLICY`); files whose name
//! holds their hash are kept by browsers for good, the document is asked for anew each time and costs nothing
//! when it is the same. Bytes leave as the caller can read them: brotli, gzip or plain. The document is the
//! same for everybody; what somebody may see is decided by the REST face that it asks.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::PAGES;
use crate::failure::{Failure, Fault};
use crate::route::Route;

#[path = "../../web/files.rs"]
mod files;

/// Scripts and styles of our own only; pictures, sound and film may also be made by the page; the page talks
/// to this site only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Bytes of the hash in an ETag; 128 bits never collide by accident.
const TAG_BYTES: usize = 16;

/// Largest file that is written out plain; a build that made a larger one would not pass its own check.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The document that every page begins with.
const DOCUMENT: &str = "index.html";

/// Its tag; it changes with each build.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let mut tag = String::from("\"");
    let bytes = file(DOCUMENT).map_or(&[][..], |(_, _, brotli, _)| brotli);
    for byte in &Sha256::digest(bytes)[..TAG_BYTES] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
});

/// The routes of the files that the document loads.
pub(super) fn routes() -> [Route; 2] {
    [PAGES.get("/assets/{name}", asset), PAGES.get("/icon.svg", icon)]
}

/// The document, for a request of any page.
pub(super) fn page(parts: &Parts) -> Response {
    let known = parts.headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = if known == Some(TAG.as_str()) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        send(DOCUMENT, &parts.headers)
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::VARY, "accept, accept-encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [(header::ETAG, TAG.clone()), (header::LINK, twin(parts.uri.path()))] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

/// Says where the page's twin is.
fn twin(path: &str) -> String {
    let path = if matches!(path, "/" | "/signin") { "/index" } else { path.trim_end_matches('/') };
    format!("<{path}.md>; rel=\"alternate\"; type=\"text/markdown\"")
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let mut response = send(&format!("assets/{name}"), &headers);
    if response.status().is_success() {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, forever);
    }
    response
}

async fn icon(headers: HeaderMap) -> Response {
    let mut response = send("icon.svg", &headers);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    response
}

fn file(name: &str) -> Option<&'static files::File> {
    files::FILES.iter().find(|(known, ..)| *known == name)
}

/// A file in the encoding that the caller reads best.
fn send(name: &str, headers: &HeaderMap) -> Response {
    let Some((_, media, brotli, gzip)) = file(name) else {
        return Failure::new(Fault::NoSuchPath, "this file is not of this version; load the page again")
            .rest();
    };
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (encoding, bytes) = if accepts(accepted, "br") {
        (Some("br"), Bytes::from_static(brotli))
    } else if accepts(accepted, "gzip") {
        (Some("gzip"), Bytes::from_static(gzip))
    } else {
        (None, plain(gzip))
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Whether a list of encodings names this one and does not rule it out.
fn accepts(list: &str, encoding: &str) -> bool {
    list.split(',').any(|one| {
        let mut words = one.split(';').map(str::trim);
        words.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding))
            && words.all(|word| !matches!(word, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn plain(gzip: &'static [u8]) -> Bytes {
    let mut bytes = Vec::new();
    let read = flate2::read::GzDecoder::new(gzip).take(LARGEST).read_to_end(&mut bytes);
    if let Err(error) = read {
        tracing::error!(%error, "A built page cannot be unpacked.");
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_used_only_where_it_is_named() {
        assert!(accepts("gzip, deflate, br", "br") && accepts("GZIP;q=0.5", "gzip"));
        assert!(!accepts("gzip;q=0, br", "gzip") && !accepts("", "br") && !accepts("brotli", "br"));
    }

    #[test]
    fn both_encodings_of_every_file_hold_something_and_the_document_is_there() {
        assert!(file(DOCUMENT).is_some());
        for (name, _, brotli, gzip) in files::FILES {
            assert!(!brotli.is_empty() && !plain(gzip).is_empty(), "{name}");
        }
    }

    #[test]
    fn the_document_holds_nothing_inline() {
        let (.., gzip) = file(DOCUMENT).unwrap();
        let text = String::from_utf8(plain(gzip).to_vec()).unwrap();
        assert!(
            !text.contains("<style") && !text.contains(" style=") && !text.contains(" onload="),
            "{text}"
        );
        for script in text.split("<script").skip(1) {
            assert!(script.split('>').next().unwrap().contains("src=\"/assets/"), "{text}");
        }
    }
}
