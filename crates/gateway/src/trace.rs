//! Traces across the site: what a caller's trace headers say, and what is passed on to others.
//!
//! Promises: headers are read strictly, one of each; a call of which traces are collected becomes a child of
//! the caller's span, and those whom the agent calls become children of ours. Where none are collected, the
//! caller's trace is passed on as it came. A trace never decides who may do what.

use agentsite_protocol::TraceContext;
use http::{HeaderMap, HeaderName};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt, TraceFlags, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The headers of W3C Trace Context.
const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// The trace that a caller names.
pub(crate) fn of_caller(headers: &HeaderMap) -> Option<TraceContext> {
    let one = |name: HeaderName| {
        let mut all = headers.get_all(name).iter();
        let first = all.next()?;
        // Two parents are none: it is unclear which is meant.
        if all.next().is_some() { None } else { first.to_str().ok() }
    };
    TraceContext::read(one(PARENT)?, one(STATE))
}

/// Makes a span that has not begun a child of the caller's.
pub(crate) fn join(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() {
        return;
    }
    let Some(context) = of_caller(headers).as_ref().and_then(remote) else { return };
    // It fails where no traces are collected, and then there is nothing to join.
    let _ = span.set_parent(Context::new().with_remote_span_context(context));
}

/// The trace in which whatever follows happens: that of the present span where traces are collected, else the
/// caller's own.
pub(crate) fn onward(headers: &HeaderMap) -> Option<TraceContext> {
    let context = Span::current().context();
    let span = context.span();
    let ours = span.span_context();
    if !ours.is_valid() {
        return of_caller(headers);
    }
    let (trace, span) = (ours.trace_id().to_string(), ours.span_id().to_string());
    let state = ours.trace_state().header();
    TraceContext::through(&trace, &span, ours.is_sampled(), Some(&state))
}

fn remote(trace: &TraceContext) -> Option<SpanContext> {
    let trace_id = opentelemetry::TraceId::from_hex(trace.trace_id()).ok()?;
    let span_id = opentelemetry::SpanId::from_hex(trace.span_id()).ok()?;
    let flags = if trace.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let state = trace.state().and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    Some(SpanContext::new(trace_id, span_id, flags, true, state))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_trace_is_passed_on_as_it_came_where_none_are_collected() {
        let trace = onward(&headers(&[("traceparent", GIVEN), ("tracestate", "a=1")])).unwrap();
        assert_eq!((trace.parent(), trace.state()), (GIVEN, Some("a=1")));
        assert_eq!(onward(&headers(&[])), None);
    }

    #[test]
    fn two_parents_are_none() {
        assert_eq!(of_caller(&headers(&[("traceparent", GIVEN), ("traceparent", GIVEN)])), None);
        assert_eq!(of_caller(&headers(&[("traceparent", "00-x"), ("tracestate", "a=1")])), None);
    }

    #[test]
    fn a_callers_span_is_read_as_one_from_elsewhere() {
        let context = remote(&TraceContext::read(GIVEN, Some("a=1")).unwrap()).unwrap();
        assert!(context.is_remote() && context.is_sampled() && context.is_valid());
        assert_eq!(context.trace_state().header(), "a=1");
    }
}
