//! How much a request may cost: size and time of its body, and how often its caller may come.
//!
//! Promises: a body that is too large is refused by its declared length or as soon as the count passes the
//! cap; memory per caller is bounded. It does not limit agents: their queues do.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agentsite_protocol::{Caller, Principal};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use http_body_util::BodyExt;

use crate::arriving::ArrivalError;
use crate::failure::{Failure, Fault};
use crate::settings::{HttpLimits, Rate, Rates};

/// Most callers whose buckets are remembered; a bucket is about 100 bytes. Full buckets are forgotten first,
/// at no loss.
const MAX_BUCKETS: usize = 10_000;

/// Requests between two looks at the number of buckets, so that most requests do not count them.
const LOOK_EVERY: usize = 1_024;

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

/// The buckets of one kind of caller.
#[derive(Debug)]
struct Buckets {
    limiter: DefaultKeyedRateLimiter<Principal>,
    clock: DefaultClock,
    looks: AtomicUsize,
    crowded: AtomicBool,
    crowd: Principal,
}

impl Buckets {
    fn new(rate: Rate) -> Option<Self> {
        let per_second = NonZeroU32::new(rate.per_second)?;
        let burst = NonZeroU32::new(rate.burst).unwrap_or(per_second);
        let limiter = DefaultKeyedRateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst));
        let crowd = "key:crowd".parse::<Principal>().expect("it is the written form of a key");
        let crowded = AtomicBool::new(false);
        Some(Self { limiter, clock: DefaultClock::default(), looks: AtomicUsize::new(0), crowded, crowd })
    }

    /// Takes one from the caller's bucket, or says how long to wait. While more callers come than can be
    /// remembered, all share one bucket.
    fn take(&self, owner: &Principal) -> Result<(), Duration> {
        if self.looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_EVERY) {
            self.look();
        }
        let key = if self.crowded.load(Ordering::Relaxed) { &self.crowd } else { owner };
        self.limiter.check_key(key).map_err(|early| early.wait_time_from(self.clock.now()))
    }

    fn look(&self) {
        if self.limiter.len() > MAX_BUCKETS {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.crowded.store(self.limiter.len() > MAX_BUCKETS, Ordering::Relaxed);
    }
}

/// How often each caller may come.
#[derive(Debug)]
pub(crate) struct Throttle {
    key: Option<Buckets>,
    anonymous: Option<Buckets>,
    admin: Option<Buckets>,
}

impl Throttle {
    pub(crate) fn new(rates: &Rates) -> Self {
        Self {
            key: Buckets::new(rates.key),
            anonymous: Buckets::new(rates.anonymous),
            admin: Buckets::new(rates.admin),
        }
    }

    /// Lets a caller in, or says when to come back.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), Failure> {
        let buckets = if caller.is_anonymous() {
            &self.anonymous
        } else if caller.is_admin() {
            &self.admin
        } else {
            &self.key
        };
        let Some(buckets) = buckets else { return Ok(()) };
        buckets.take(caller.owner()).map_err(|wait| {
            let sentence =
                "you ask more often than this site allows; wait as Retry-After says, or ask for another key";
            Failure::new(Fault::TooMany, sentence).retry_after(wait)
        })
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Scope;

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

    #[test]
    fn each_caller_has_a_bucket_of_its_own() {
        let rates = Rates { anonymous: Rate { per_second: 1, burst: 2 }, ..Rates::default() };
        let throttle = Throttle::new(&rates);
        let caller = |last: u8| Caller::anonymous([192, 0, 2, last].into());
        assert!(throttle.admit(&caller(1)).is_ok());
        assert!(throttle.admit(&caller(1)).is_ok());
        assert_eq!(throttle.admit(&caller(1)).unwrap_err().fault, Fault::TooMany);
        assert!(throttle.admit(&caller(2)).is_ok());
    }

    #[test]
    fn admins_are_not_counted() {
        let throttle = Throttle::new(&Rates::default());
        let admin = Caller::key(&"k".parse().unwrap(), [Scope::Admin]);
        let key = Caller::key(&"k2".parse().unwrap(), [Scope::Call]);
        for _ in 0..1_000 {
            assert!(throttle.admit(&Caller::admin()).is_ok());
            assert!(throttle.admit(&admin).is_ok());
        }
        let admitted = (0..1_000).filter(|_| throttle.admit(&key).is_ok()).count();
        assert!((100..200).contains(&admitted), "{admitted}");
    }

    #[test]
    fn a_crowd_of_addresses_does_not_grow_memory() {
        let buckets = Buckets::new(Rate { per_second: 1, burst: 1 }).unwrap();
        for number in 0..60_000_u32 {
            let caller = Caller::anonymous(std::net::Ipv4Addr::from(number).into());
            let _ = buckets.take(caller.owner());
        }
        assert!(buckets.limiter.len() <= MAX_BUCKETS + LOOK_EVERY + 1, "{}", buckets.limiter.len());
    }
}
