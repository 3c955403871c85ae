//! Fetch: the way of the engine to authorization servers.
//!
//! Promises: everything goes through the egress, bounded in time and size, and redirects are followed only
//! where the engine says so.

use std::time::Duration;

use agentsite_egress::Egress;
use http::Method;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use url::Url;

/// How long an authorization server may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The way of the engine to authorization servers: the egress.
pub(super) struct Fetch(pub(super) Egress);

impl OAuthHttpClient for Fetch {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.request.into_parts();
            let url = Url::parse(&parts.uri.to_string())?;
            let mut asking = self.0.request(parts.method.clone(), url).timeout(ANSWER);
            if parts.method != Method::GET {
                asking = asking.body("application/x-www-form-urlencoded", body);
            }
            asking = asking.headers(&parts.headers);
            if request.redirect_policy == OAuthHttpRedirectPolicy::Stop {
                asking = asking.without_redirects();
            }
            let answer = asking.send().await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let mut response = http::Response::new(answer.bytes().await?.to_vec());
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Ok(response)
        })
    }
}
