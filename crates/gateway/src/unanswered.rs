//! What a program in front of a site answers by JSON-RPC when the site itself cannot.
//!
//! Promises: the codes are those of the one table, so that a caller cannot tell whether the site or the
//! program before it refused. It sends nothing.

use crate::failure::{Failure, Fault};

/// Why a request gets no answer of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// It is not JSON.
    NotJson,
    /// It is JSON, but no message.
    BadMessage,
    /// It is larger than is taken.
    TooLarge,
    /// Too many are under way.
    TooMany,
    /// No site is there.
    NoSite,
    /// The site answered with something else.
    BadAnswer,
}

impl Unanswered {
    /// The answer to the request of this id, given as JSON; `null` where it is not known.
    #[must_use]
    pub fn answer(self, id: &str, sentence: &str) -> String {
        let fault = match self {
            Self::NotJson => Fault::NotJson,
            Self::BadMessage => Fault::BadRequest,
            Self::TooLarge => Fault::TooLarge,
            Self::TooMany => Fault::TooMany,
            Self::NoSite => Fault::Stopping,
            Self::BadAnswer => Fault::Internal,
        };
        let body = Failure::new(fault, sentence.to_owned()).rpc_body(id);
        String::from_utf8(body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line_with_the_id_of_its_request() {
        let answer = Unanswered::NoSite.answer("\"a\"", "nobody\nthere");
        assert!(!answer.contains('\n'));
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["message"]), (&"a".into(), &"nobody\nthere".into()));
        assert_eq!(answer["error"]["code"], -32000);
    }
}
