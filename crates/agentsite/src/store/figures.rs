//! Figures about the connections to the database, for `/metrics`.
//!
//! Promises: they are counted on request; nothing is kept here.

use std::fmt;
use std::sync::Arc;

use agentsite_store_pg::PgStore;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The connections of a store, as figures.
#[derive(Debug)]
pub(super) struct PoolFigures(pub(super) Arc<PgStore>);

impl Collector for PoolFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let pool = self.0.pool();
        let gauges = [
            ("agentsite_database_connections_max", "Most reading connections to the database", pool.most),
            ("agentsite_database_connections_busy", "Reading connections that are in use now", pool.busy),
            ("agentsite_database_connections_idle", "Reading connections that are open and idle", pool.idle),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let counters = [
            ("agentsite_database_connections_opened", "Reading connections that were opened", pool.opened),
            ("agentsite_database_connections_waited", "Reads that waited for a connection", pool.waited),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
