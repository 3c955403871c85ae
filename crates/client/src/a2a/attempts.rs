//! Attempts: which endpoint of an agent is tried next, if any.
//!
//! Promises: endpoints are tried in the order of the card, paused ones are skipped. A request goes to a
//! second endpoint only when the first surely did not get it, or when getting it twice does no harm; see
//! docs/decisions/0009-failover.md. It sends nothing: the client does, and tells how it went.

use std::ops::ControlFlow;

use agentsite_egress::CircuitPermit;
use agentsite_egress::Circuits;

use super::endpoint::Endpoint;
use crate::ClientError;

/// The endpoints of one request, tried one after the other.
#[derive(Debug)]
pub(super) struct Attempts<'a> {
    left: std::slice::Iter<'a, Endpoint>,
    circuits: Option<&'a Circuits>,
    /// Whether the request does no harm when it arrives twice.
    harmless: bool,
    trouble: Option<ClientError>,
}

/// One endpoint that may be tried now.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) endpoint: &'a Endpoint,
    permit: Option<CircuitPermit>,
}

impl<'a> Attempts<'a> {
    /// Nothing was tried yet.
    pub(super) fn new(endpoints: &'a [Endpoint], circuits: Option<&'a Circuits>, harmless: bool) -> Self {
        Self { left: endpoints.iter(), circuits, harmless, trouble: None }
    }

    /// The next endpoint that may be tried.
    pub(super) fn next(&mut self) -> Option<Attempt<'a>> {
        loop {
            let endpoint = self.left.next()?;
            match self.circuits.map(|circuits| circuits.enter(&endpoint.name())).transpose() {
                Ok(permit) => return Some(Attempt { endpoint, permit }),
                Err(open) => {
                    self.trouble.get_or_insert_with(|| open.into());
                }
            }
        }
    }

    /// Takes note of how an attempt went; breaks with the result, or continues when another endpoint may be
    /// tried.
    pub(super) fn judge<T>(
        &mut self,
        attempt: Attempt<'_>,
        outcome: Result<T, ClientError>,
    ) -> ControlFlow<Result<T, ClientError>> {
        if let Some(permit) = attempt.permit {
            ClientError::report(outcome.as_ref().err(), permit);
        }
        match outcome {
            Err(error) if error.never_arrived() || self.harmless && error.is_failing() => {
                if self.left.len() > 0 {
                    let endpoint = attempt.endpoint.name();
                    tracing::info!(endpoint, %error, "the endpoint fails; trying the agent's next one");
                }
                if matches!(self.trouble, None | Some(ClientError::Resting { .. })) {
                    self.trouble = Some(error);
                }
                ControlFlow::Continue(())
            }
            done => ControlFlow::Break(done),
        }
    }

    /// Why no endpoint could be used.
    pub(super) fn trouble(self) -> ClientError {
        self.trouble.unwrap_or_else(|| ClientError::Unsupported("the agent has no address to call".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::endpoint::Dialect;

    fn endpoints() -> [Endpoint; 3] {
        ["http://a/", "http://b/", "http://c/"].map(|url| Endpoint {
            dialect: Dialect::JsonRpc,
            url: url.parse().unwrap(),
            tenant: None,
        })
    }

    fn status(status: u16) -> ClientError {
        ClientError::Status { status, code: None, message: String::new() }
    }

    /// How many endpoints are asked when each fails like this.
    fn asked(harmless: bool, error: &ClientError) -> usize {
        let endpoints = endpoints();
        let mut attempts = Attempts::new(&endpoints, None, harmless);
        let mut count = 0;
        while let Some(attempt) = attempts.next() {
            count += 1;
            if attempts.judge(attempt, Err::<(), _>(error.clone())).is_break() {
                break;
            }
        }
        count
    }

    #[test]
    fn a_message_goes_to_another_endpoint_only_when_it_surely_did_not_arrive() {
        let surely_not = [ClientError::NoConnection("n".into()), status(503)];
        for error in surely_not {
            assert_eq!((asked(false, &error), asked(true, &error)), (3, 3), "{error:?}");
        }
        let perhaps = [
            ClientError::Unreachable("broke".into()),
            ClientError::TimedOut("late".into()),
            status(502),
            status(504),
        ];
        for error in perhaps {
            assert_eq!((asked(false, &error), asked(true, &error)), (1, 3), "{error:?}");
        }
        let answers = [status(400), status(500), status(429), ClientError::TooLarge("much".into())];
        for error in answers {
            assert_eq!((asked(false, &error), asked(true, &error)), (1, 1), "{error:?}");
        }
    }

    #[test]
    fn the_first_real_trouble_is_told() {
        let endpoints = endpoints();
        let mut attempts = Attempts::new(&endpoints, None, true);
        for status in [self::status(502), self::status(503)] {
            let attempt = attempts.next().unwrap();
            assert!(attempts.judge(attempt, Err::<(), _>(status)).is_continue());
        }
        assert_eq!(attempts.trouble(), status(502));
    }
}
