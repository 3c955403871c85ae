//! Traces over OTLP/HTTP in protobuf, in batches, through the one way out of the site.
//!
//! Promises: a receiver that does not answer costs the site only its traces; what is collected is sent when
//! the site stops. It sends traces only: metrics are read from `/metrics`, logs from stderr.

use std::time::Duration;

use agentsite_egress::Egress;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use url::Url;

use crate::exit::CliError;

/// Longest that one batch may take; the collector's own default is the same.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest answer that is read; a collector says little.
const MAX_ANSWER: usize = 1 << 20;

/// Longest that a stop waits for the last batch.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The collected traces and the way they take.
#[derive(Debug)]
pub(super) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Prepares the way to the receiver at `endpoint`, below which `/v1/traces` lies. Sends nothing yet.
    pub(super) fn begin(endpoint: &str, egress: &Egress) -> Result<Self, CliError> {
        let wrong = |what: String| CliError::error(format!("telemetry.otlp_endpoint: {what}"));
        let url = traces_url(endpoint).map_err(wrong)?;
        let client = Sender { egress: egress.trusting(&url), runtime: Handle::current() };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url.as_str())
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let resource = Resource::builder().with_service_name(env!("CARGO_PKG_NAME")).build();
        let provider =
            SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
        Ok(Self { provider })
    }

    /// What spans are made with.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer(env!("CARGO_PKG_NAME"))
    }

    /// Sends what is left. Blocks, at most as long as [`FLUSH_TIMEOUT`].
    pub(super) fn end(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FLUSH_TIMEOUT) {
            tracing::warn!("the last traces were not sent: {error}");
        }
    }
}

/// The address for traces: that of the receiver with `/v1/traces`, unless it ends so already.
fn traces_url(endpoint: &str) -> Result<Url, String> {
    let base = endpoint.trim_end_matches('/');
    let full = if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") };
    full.parse().map_err(|error: url::ParseError| format!("`{endpoint}` is not a URL: {error}"))
}

/// Sends batches on the runtime of the site; the collecting thread has none of its own.
#[derive(Debug)]
struct Sender {
    egress: Egress,
    runtime: Handle,
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let url: Url = parts.uri.to_string().parse()?;
        let mut outgoing =
            self.egress.post(url).headers(&parts.headers).timeout(SEND_TIMEOUT).limit(MAX_ANSWER);
        outgoing = outgoing.body("application/x-protobuf", body);
        let sending = self.runtime.spawn(async move {
            let answer = outgoing.send().await?;
            let status = answer.status();
            Ok::<_, agentsite_egress::EgressError>((status, answer.bytes().await?))
        });
        let (status, bytes) = sending.await??;
        Ok(Response::builder().status(status).body(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_below_the_address_of_the_receiver() {
        for given in ["http://sink:4318", "http://sink:4318/", "http://sink:4318/v1/traces"] {
            assert_eq!(traces_url(given).unwrap().as_str(), "http://sink:4318/v1/traces");
        }
        assert!(traces_url("sink").is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_receiver_that_is_not_there_costs_nothing_but_the_traces() {
        use opentelemetry::trace::{Span, Tracer};
        let traces = Traces::begin("http://127.0.0.1:9", &Egress::default()).unwrap();
        traces.tracer().start("work").end();
        tokio::task::spawn_blocking(move || traces.end()).await.unwrap();
    }
}
