//! TraceContext: in which trace something happens, as W3C Trace Context level 1 writes it.
//!
//! Promises: only what is well-formed is kept, within the limits of the specification; a `tracestate` that is
//! not is dropped, and the trace continues without it. It is forwarded unchecked and proves nothing about the
//! caller.

use std::fmt;

/// Length of `traceparent` in the version that we write.
const PARENT: usize = 55;

/// Longest `tracestate`, and most members of it, that the specification requires to be forwarded.
const MAX_STATE: usize = 512;
const MAX_MEMBERS: usize = 32;

/// Longest key and longest value of a member.
const MAX_WORD: usize = 256;

/// In which trace something happens.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceContext {
    parent: String,
    state: Option<String>,
}

impl TraceContext {
    /// Reads the two headers; `None` when the first is not a trace.
    #[must_use]
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        let parent = read_parent(parent.trim())?;
        let state = state.map(str::trim).filter(|state| is_state(state)).map(str::to_owned);
        Some(Self { parent, state })
    }

    /// The value of `traceparent`.
    #[must_use]
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// The value of `tracestate`.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The trace, in 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.parent[3..35]
    }

    /// The span that is continued, in 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> &str {
        &self.parent[36..52]
    }

    /// Whether the trace is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.parent[53..PARENT], 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// The same trace with this span as the one that is continued; `None` when the digits are none.
    #[must_use]
    pub fn through(trace: &str, span: &str, sampled: bool, state: Option<&str>) -> Option<Self> {
        Self::read(&format!("00-{trace}-{span}-{:02x}", u8::from(sampled)), state)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.parent)
    }
}

/// The parent in our version. A later version may append fields; the fields that we know keep their
/// positions.
fn read_parent(text: &str) -> Option<String> {
    let known = text.get(..PARENT)?;
    let rest = &text[PARENT..];
    let fields: Vec<&str> = known.split('-').collect();
    let [version, trace, span, flags] = fields[..] else { return None };
    let sound = [(version, 2), (trace, 32), (span, 16), (flags, 2)]
        .iter()
        .all(|(field, length)| field.len() == *length && field.bytes().all(is_digit));
    let zero = |field: &str| field.bytes().all(|byte| byte == b'0');
    let longer = version == "00" && !rest.is_empty() || !rest.is_empty() && !rest.starts_with('-');
    if !sound || version == "ff" || zero(trace) || zero(span) || longer {
        return None;
    }
    Some(format!("00-{trace}-{span}-{flags}"))
}

const fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_state(text: &str) -> bool {
    let members = || text.split(',').map(str::trim).filter(|member| !member.is_empty());
    let count = members().count();
    text.len() <= MAX_STATE && (1..=MAX_MEMBERS).contains(&count) && members().all(is_member)
}

fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let is_key_byte = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let key_is_sound = (1..=MAX_WORD).contains(&key.len())
        && key.bytes().all(is_key_byte)
        && key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let value_is_sound = (1..=MAX_WORD).contains(&value.len())
        && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=');
    key_is_sound && value_is_sound
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_is_read_and_written_as_it_was() {
        let trace = TraceContext::read(GOOD, Some("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")).unwrap();
        assert_eq!(trace.parent(), GOOD);
        assert_eq!(trace.state(), Some("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"));
        assert_eq!(
            (trace.trace_id().len(), trace.span_id(), trace.is_sampled()),
            (32, "00f067aa0ba902b7", true)
        );
        let child =
            TraceContext::through(trace.trace_id(), "00000000000000aa", false, trace.state()).unwrap();
        assert_eq!(child.parent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-00");
    }

    #[test]
    fn a_later_version_is_read_as_far_as_we_know_it() {
        let later = GOOD.replacen("00", "cc", 1) + "-what-the-future-brings";
        assert_eq!(TraceContext::read(&later, None).unwrap().parent(), GOOD);
        assert!(TraceContext::read(&(GOOD.replacen("00", "cc", 1) + "x"), None).is_none());
    }

    #[test]
    fn what_is_no_trace_is_dropped() {
        let bad = [
            String::new(),
            GOOD.to_uppercase(),
            GOOD.replacen("00", "ff", 1),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            format!("{GOOD}-more"),
            GOOD.replace('-', "_"),
            GOOD[..54].to_owned(),
            "é".repeat(40),
        ];
        for text in bad {
            assert_eq!(TraceContext::read(&text, None), None, "{text}");
        }
    }

    #[test]
    fn a_state_that_is_not_well_formed_is_left_out() {
        let long = format!("a={}", "x".repeat(600));
        let many = vec!["a=1"; 33].join(",");
        for state in ["", "a", "=1", "A=1", "a=", "a=1\n2", "a=b=c", &long, &many] {
            assert_eq!(TraceContext::read(GOOD, Some(state)).unwrap().state(), None, "{state}");
        }
        assert!(TraceContext::read(GOOD, Some("a=1, b@c=2 ,")).unwrap().state().is_some());
    }

    proptest! {
        #[test]
        fn nothing_foreign_makes_it_panic(parent in ".{0,80}", state in ".{0,80}") {
            if let Some(trace) = TraceContext::read(&parent, Some(&state)) {
                prop_assert!(trace.parent().len() == PARENT && trace.trace_id().len() == 32);
            }
        }
    }
}
