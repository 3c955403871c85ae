//! Figures about the endpoints of agents elsewhere, for `/metrics`.
//!
//! Promises: they are counted on request; nothing is kept here.

use std::fmt;

use agentsite_egress::Circuits;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The circuits of a site, as figures.
#[derive(Debug)]
pub(super) struct CircuitFigures(pub(super) Circuits);

impl Collector for CircuitFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let open = ConstGauge::new(i64::try_from(self.0.open_now()).unwrap_or(i64::MAX));
        let help = "Remote agent endpoints that are paused now because they fail";
        let name = "agentsite_circuits_open";
        open.encode(encoder.encode_descriptor(name, help, None, open.metric_type())?)?;
        let openings = ConstCounter::new(self.0.openings());
        let help = "How often a remote agent endpoint was paused";
        let name = "agentsite_circuit_openings";
        openings.encode(encoder.encode_descriptor(name, help, None, openings.metric_type())?)
    }
}
