//! Tenant: the agent that is meant, named in a request rather than in its path.
//!
//! Promises: at the site's own address a tenant names the agent; a tenant that contradicts the path answers
//! like an agent that is not there; an empty one is none. It does not know whether the agent exists.

use std::borrow::Cow;

use agentsite_protocol::MAX_NAME;
use agentsite_site::SiteError;
use serde::Deserialize;

use super::wrong;
use crate::failure::Failure;

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    tenant: Option<Cow<'a, str>>,
}

/// The tenant in parameters that are JSON. Parameters that are wrong otherwise are left to their own reader.
pub(super) fn in_json(params: &str) -> Result<Option<String>, Failure> {
    // Most requests have none, and reading them twice would cost every one.
    if !params.contains("\"tenant\"") {
        return Ok(None);
    }
    match serde_json::from_str::<Named<'_>>(params) {
        Ok(named) => Ok(named.tenant.map(Cow::into_owned)),
        Err(error) if error.is_data() => Err(wrong("tenant", "must be a string, once")),
        Err(_) => Ok(None),
    }
}

/// The agent that path and tenant name together; none for the site itself.
pub(super) fn agreed<'a>(path: Option<&'a str>, tenant: Option<&'a str>) -> Result<Option<&'a str>, Failure> {
    match (path, tenant.filter(|tenant| !tenant.is_empty())) {
        (Some(agent), Some(tenant)) if agent != tenant => {
            Err(SiteError::NoSuchAgent(tenant.chars().take(MAX_NAME).collect()).into())
        }
        (agent, tenant) => Ok(agent.or(tenant)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Fault;

    #[test]
    fn a_tenant_is_read_from_parameters() {
        assert_eq!(in_json(r#"{"id":"t"}"#).unwrap(), None);
        assert_eq!(in_json(r#"{"id":"t","tenant":"echo"}"#).unwrap().unwrap(), "echo");
        assert_eq!(in_json(r#"{"tenant":null}"#).unwrap(), None);
        assert_eq!(in_json(r#"{"message":{"tenant":7}}"#).unwrap(), None, "that of a message is not ours");
        for bad in [r#"{"tenant":7}"#, r#"{"tenant":"a","tenant":"b"}"#] {
            assert_eq!(in_json(bad).unwrap_err().fault, Fault::BadParams, "{bad}");
        }
        assert_eq!(in_json(r#"{"tenant""#).unwrap(), None, "the reader of the parameters says what is wrong");
    }

    #[test]
    fn path_and_tenant_agree_or_nobody_is_there() {
        for (path, tenant, agent) in [
            (None, None, None),
            (None, Some(""), None),
            (None, Some("echo"), Some("echo")),
            (Some("echo"), None, Some("echo")),
            (Some("echo"), Some("echo"), Some("echo")),
        ] {
            assert_eq!(agreed(path, tenant).unwrap(), agent);
        }
        assert_eq!(agreed(Some("echo"), Some("calc")).unwrap_err().fault, Fault::NoSuchAgent);
    }
}
