//! Charts: how the site fared over the last minutes, hours and day.
//!
//! Promises: kept in memory, so many points and no more; a point is the difference of two readings, so a
//! counter is never wrong by being read late. Deciding is pure (`Reading`, `Point`, `Rings`); one worker
//! reads the counters (`keep`). It keeps nothing over a restart: who wants more has `/metrics` and a
//! Prometheus.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::Timestamp;
use agentsite_site::{Site, TaskFigures};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Face, GatewayMetrics, LATENCY, Sums};
use crate::process::{cpu_seconds, resident_bytes};

#[cfg(test)]
mod tests;

/// Time between two readings: a person who looks at a chart sees what just happened, and a read of the
/// counters costs microseconds.
const STEP: Duration = Duration::from_secs(10);

/// Fine points that are kept: an hour of them, the longest range that shows each.
const FINE: usize = 360;

/// Fine points that become a coarse one: two minutes, so that a day has as many points as a screen has
/// columns.
const JOINED: usize = 12;

/// Coarse points that are kept: a day of them. With the fine ones that is less than half a MiB.
const COARSE: usize = 720;

/// What the counters say at a moment; sums since the start, but for the memory.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    at: Timestamp,
    requests: Sums,
    site: TaskFigures,
    cpu: f64,
    memory: u64,
}

impl Reading {
    fn now(site: &Site, metrics: &GatewayMetrics) -> Self {
        Self {
            at: site.ids().clock().now(),
            requests: metrics.sums(),
            site: site.operations().figures(),
            cpu: cpu_seconds().unwrap_or_default(),
            memory: resident_bytes().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default(),
        }
    }
}

/// What happened between two readings.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    /// When it ended.
    at: Timestamp,
    seconds: f64,
    requests: Sums,
    site: TaskFigures,
    cpu: f64,
    memory: u64,
}

impl Point {
    fn between(before: &Reading, after: &Reading) -> Self {
        let gone = |before: u64, after: u64| after.saturating_sub(before);
        let (old, new) = (&before.requests, &after.requests);
        Self {
            at: after.at,
            seconds: after.at.since(before.at).as_secs_f64(),
            requests: Sums {
                requests: std::array::from_fn(|face| gone(old.requests[face], new.requests[face])),
                refused: gone(old.refused, new.refused),
                failed: gone(old.failed, new.failed),
                took: std::array::from_fn(|bucket| gone(old.took[bucket], new.took[bucket])),
            },
            site: TaskFigures {
                started: gone(before.site.started, after.site.started),
                failed: gone(before.site.failed, after.site.failed),
                tokens_in: gone(before.site.tokens_in, after.site.tokens_in),
                tokens_out: gone(before.site.tokens_out, after.site.tokens_out),
            },
            cpu: (after.cpu - before.cpu).max(0.0),
            memory: after.memory,
        }
    }

    /// Several points, one after the other, as one.
    fn join<'a>(points: impl IntoIterator<Item = &'a Self>) -> Self {
        points.into_iter().fold(Self::default(), |sum, next| Self {
            at: next.at,
            seconds: sum.seconds + next.seconds,
            requests: Sums {
                requests: std::array::from_fn(|face| {
                    sum.requests.requests[face] + next.requests.requests[face]
                }),
                refused: sum.requests.refused + next.requests.refused,
                failed: sum.requests.failed + next.requests.failed,
                took: std::array::from_fn(|bucket| sum.requests.took[bucket] + next.requests.took[bucket]),
            },
            site: TaskFigures {
                started: sum.site.started + next.site.started,
                failed: sum.site.failed + next.site.failed,
                tokens_in: sum.site.tokens_in + next.site.tokens_in,
                tokens_out: sum.site.tokens_out + next.site.tokens_out,
            },
            cpu: sum.cpu + next.cpu,
            memory: next.memory,
        })
    }

    /// A count by the second.
    fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { rounded(count as f64 / self.seconds) } else { 0.0 }
    }

    /// The time within which this share of the requests was answered, in milliseconds; `None` without
    /// requests.
    fn quantile(&self, share: f64) -> Option<f64> {
        let took = &self.requests.took;
        let all: u64 = took.iter().sum();
        if all == 0 {
            return None;
        }
        let wanted = share * all as f64;
        let mut before = 0.0;
        for (bucket, count) in took.iter().enumerate() {
            let count = *count as f64;
            if before + count >= wanted && count > 0.0 {
                let start = if bucket == 0 { 0.0 } else { LATENCY[bucket - 1] };
                // Beyond the last end nothing is known but that it was longer.
                let end = LATENCY.get(bucket).copied().unwrap_or(start);
                return Some(rounded((start + (end - start) * (wanted - before) / count) * 1000.0));
            }
            before += count;
        }
        None
    }
}

/// Three digits behind the point are more than a screen shows.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[derive(Debug, Default)]
struct Rings {
    last: Option<Reading>,
    fine: VecDeque<Point>,
    coarse: VecDeque<Point>,
    /// Fine points since the last coarse one.
    pending: usize,
}

impl Rings {
    fn take(&mut self, reading: Reading) {
        let Some(before) = self.last.replace(reading) else { return };
        push(&mut self.fine, FINE, Point::between(&before, &reading));
        self.pending += 1;
        if self.pending == JOINED {
            let joined = Point::join(self.fine.iter().skip(self.fine.len() - JOINED));
            push(&mut self.coarse, COARSE, joined);
            self.pending = 0;
        }
    }

    /// The points of a range, with what has happened since the last reading as the last one.
    fn points(&self, range: Range, now: &Reading) -> Vec<Point> {
        let unfinished = self.last.as_ref().map(|last| Point::between(last, now));
        match range {
            Range::Day => {
                let rest = self.fine.iter().skip(self.fine.len() - self.pending).chain(&unfinished);
                self.coarse
                    .iter()
                    .copied()
                    .chain([Point::join(rest)])
                    .filter(|point| point.seconds > 0.0)
                    .collect()
            }
            Range::Hour => self.fine.iter().copied().chain(unfinished).collect(),
            Range::Quarter => {
                let shown = FINE / 4;
                self.fine
                    .iter()
                    .skip(self.fine.len().saturating_sub(shown))
                    .copied()
                    .chain(unfinished)
                    .collect()
            }
        }
    }
}

fn push(ring: &mut VecDeque<Point>, most: usize, point: Point) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(point);
}

/// How far back a chart goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Range {
    /// 15 minutes.
    #[default]
    Quarter,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl std::str::FromStr for Range {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "15m" => Ok(Self::Quarter),
            "1h" => Ok(Self::Hour),
            "24h" => Ok(Self::Day),
            _ => Err("there are 15m, 1h and 24h"),
        }
    }
}

/// The points of a range by what they tell, each list as long as `at`.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Charts")]
pub(crate) struct Drawn {
    /// Seconds between two points.
    #[schemars(extend("about" = "Seconds between two points"))]
    step: u64,
    /// When each ended, in seconds since 1970.
    #[schemars(extend("about" = "When each point ended, in seconds since 1970; the last one is not over yet"))]
    at: Vec<i64>,
    /// Requests a second, by face.
    #[schemars(extend("about" = "Requests a second by face"))]
    requests: BTreeMap<&'static str, Vec<f64>>,
    /// Requests a second that were turned down.
    #[schemars(extend("about" = "Requests a second that were turned down"))]
    refused: Vec<f64>,
    /// Requests a second that were not answered.
    #[schemars(extend("about" = "Requests a second that were not answered"))]
    failed: Vec<f64>,
    /// Half of the requests were answered within so many milliseconds.
    #[schemars(extend("about" = "Milliseconds within which half of the requests were answered"))]
    p50: Vec<Option<f64>>,
    /// Ninety-nine of a hundred.
    #[schemars(extend("about" = "Milliseconds within which ninety-nine of a hundred were answered"))]
    p99: Vec<Option<f64>>,
    /// Tokens that models read meanwhile.
    #[schemars(extend("about" = "Tokens that models read in the step"))]
    tokens_in: Vec<u64>,
    /// Tokens that models wrote meanwhile.
    #[schemars(extend("about" = "Tokens that models wrote in the step"))]
    tokens_out: Vec<u64>,
    /// Tasks that were accepted meanwhile.
    tasks_started: Vec<u64>,
    /// Tasks that failed meanwhile.
    tasks_failed: Vec<u64>,
    /// Bytes of memory at the end.
    #[schemars(extend("about" = "Bytes"))]
    memory: Vec<u64>,
    /// Processors that were busy, on average.
    #[schemars(extend("about" = "Processors that were busy"))]
    cpu: Vec<f64>,
}

impl Drawn {
    fn of(range: Range, points: &[Point]) -> Self {
        let step = STEP.as_secs() * if range == Range::Day { JOINED as u64 } else { 1 };
        let mut drawn = Self { step, ..Self::default() };
        for face in Face::ALL {
            let rates =
                points.iter().map(|point| point.rate(point.requests.requests[face as usize])).collect();
            drawn.requests.insert(face.word(), rates);
        }
        for point in points {
            drawn.at.push(point.at.as_millis() / 1000);
            drawn.refused.push(point.rate(point.requests.refused));
            drawn.failed.push(point.rate(point.requests.failed));
            drawn.p50.push(point.quantile(0.5));
            drawn.p99.push(point.quantile(0.99));
            drawn.tokens_in.push(point.site.tokens_in);
            drawn.tokens_out.push(point.site.tokens_out);
            drawn.tasks_started.push(point.site.started);
            drawn.tasks_failed.push(point.site.failed);
            drawn.memory.push(point.memory);
            drawn.cpu.push(if point.seconds > 0.0 { rounded(point.cpu / point.seconds) } else { 0.0 });
        }
        drawn
    }
}

/// The charts of a site.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    // A std lock: held for a push or a copy of a few hundred points, never across an await.
    rings: Mutex<Rings>,
}

impl Charts {
    /// What is drawn for a range.
    pub(crate) fn draw(&self, range: Range, site: &Site, metrics: &GatewayMetrics) -> Drawn {
        let now = Reading::now(site, metrics);
        let points = self.lock().points(range, &now);
        Drawn::of(range, &points)
    }

    /// Reads the counters at each step until the gateway stops.
    pub(crate) async fn keep(&self, site: &Site, metrics: &GatewayMetrics, stop: &CancellationToken) {
        let worker = site.workers().register("charts", "Reads the counters that the charts are drawn from.");
        let mut ticks = tokio::time::interval(STEP);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.lock().take(Reading::now(site, metrics));
                    worker.idle("waits for the next reading");
                }
                () = stop.cancelled() => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
