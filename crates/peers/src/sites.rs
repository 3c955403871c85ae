//! Sites: what other sites say of themselves, and which of them is meant by a word.
//!
//! Promises: a site is found by its DID, the beginning of its key, its domain or its title, and only when one
//! site fits. What a site says of itself proves nothing: its key is its name, and two sites may have one
//! title.

use std::collections::BTreeMap;

use agentsite_mesh::{Record, SiteId, SiteProfile};
use agentsite_protocol::{Caller, Timestamp};
use agentsite_store::{Collection, SharedStore, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::PeersError;
use crate::handle::Peers;

/// Where the sites are kept that told of themselves, by DID.
pub(crate) const SITES: Collection<SiteEntry> = Collection::new("mesh_sites");

/// Fewest letters of the beginning of a key by which a site is meant; the first four are the same for all.
const LEAST_PREFIX: usize = 8;

/// Most sites that are listed for people, the last announced first; a map or a table has room for no more.
const MAX_LISTED: usize = 1_000;

/// Sites that an error names when several fit.
const SHOWN: usize = 5;

/// What a site says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteEntry {
    /// Its name for people.
    pub title: String,
    /// Its address on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its addresses in the mesh.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// When it said so.
    pub issued_at: Timestamp,
}

impl SiteEntry {
    /// What a record says.
    pub(crate) fn of(record: &Record, profile: SiteProfile) -> Self {
        let SiteProfile { title, url, addresses } = profile;
        Self { title, url, addresses, issued_at: record.issued_at() }
    }

    fn domain(&self) -> Option<String> {
        let url = Url::parse(self.url.as_deref()?).ok()?;
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    }
}

/// A site that announced itself, for everybody who may see agents of other sites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownSite {
    /// Its DID.
    pub site: String,
    /// Its name for people; two sites may have the same.
    pub title: String,
    /// Its address on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When it announced itself.
    #[schemars(with = "String")]
    pub issued_at: Timestamp,
    /// Whether it answers this site; none while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
    /// When there was last contact with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub seen_at: Option<Timestamp>,
}

impl Peers {
    /// The sites that announced themselves in the mesh, the latest first and at most 1,000.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for anonymous callers, who do not see entries of the registry either.
    pub async fn sites(&self, caller: &Caller) -> Result<Vec<KnownSite>, PeersError> {
        if caller.is_anonymous() {
            return Err(PeersError::Forbidden);
        }
        let mut known: Vec<KnownSite> = all(&self.0.store)
            .await?
            .into_iter()
            .map(|(site, SiteEntry { title, url, issued_at, .. })| {
                let (live, seen_at) = self.0.reach.of(&site);
                KnownSite { site: site.to_string(), title, url, issued_at, live, seen_at }
            })
            .collect();
        known.sort_by(|a, b| b.issued_at.cmp(&a.issued_at).then_with(|| a.site.cmp(&b.site)));
        known.truncate(MAX_LISTED);
        Ok(known)
    }
}

/// All sites that told of themselves.
pub(crate) async fn all(store: &SharedStore) -> Result<BTreeMap<SiteId, SiteEntry>, StoreError> {
    let all = SITES.all(store).await?.into_iter();
    Ok(all.filter_map(|one| Some((one.key.parse().ok()?, one.value))).collect())
}

/// The one site that a word means.
pub(crate) fn meant(sites: &BTreeMap<SiteId, SiteEntry>, word: &str) -> Result<SiteId, PeersError> {
    if let Ok(site) = word.parse::<SiteId>() {
        return Ok(site);
    }
    let prefix = word.strip_prefix("did:key:").unwrap_or(word);
    let begins = |site: &SiteId| {
        prefix.len() >= LEAST_PREFIX
            && site.to_string().strip_prefix("did:key:").is_some_and(|key| key.starts_with(prefix))
    };
    let is_called = |entry: &SiteEntry| {
        entry.title.eq_ignore_ascii_case(word)
            || entry.domain().is_some_and(|domain| {
                domain.eq_ignore_ascii_case(word)
                    || domain.split(':').next().is_some_and(|host| host.eq_ignore_ascii_case(word))
            })
    };
    let fit: Vec<&SiteId> =
        sites.iter().filter(|(site, entry)| begins(site) || is_called(entry)).map(|(site, _)| site).collect();
    match fit.as_slice() {
        [one] => Ok(**one),
        [] => Err(PeersError::NotFound(format!(
            "no site in the mesh is called `{word}`; name it by its DID, its domain or its title (see `agentsite peer ls`)"
        ))),
        several => {
            let named: Vec<String> = several.iter().take(SHOWN).map(ToString::to_string).collect();
            Err(PeersError::Bad(format!(
                "{} sites are called `{word}`; name one of them by its DID: {}",
                several.len(),
                named.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::{Algorithm, SigningKey};

    use super::*;

    fn site(seed: u8) -> SiteId {
        SiteId::of(&SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap().public()).unwrap()
    }

    fn entry(title: &str, url: Option<&str>) -> SiteEntry {
        SiteEntry {
            title: title.into(),
            url: url.map(Into::into),
            addresses: Vec::new(),
            issued_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_site_is_meant_by_did_key_domain_and_title_when_one_fits() {
        let sites = BTreeMap::from([
            (site(1), entry("Bakery", Some("https://bakery.example"))),
            (site(2), entry("Mill", Some("http://127.0.0.1:4747/x"))),
            (site(3), entry("Mill", None)),
        ]);
        for word in [&site(1).to_string()[..24], "Bakery", "bakery", "bakery.example", "BAKERY.example"] {
            assert_eq!(meant(&sites, word).unwrap(), site(1), "{word}");
        }
        assert_eq!(meant(&sites, &site(1).to_string()["did:key:".len()..][..10]).unwrap(), site(1));
        assert_eq!(meant(&sites, "127.0.0.1:4747").unwrap(), site(2));
        let two = meant(&sites, "Mill").unwrap_err().to_string();
        assert!(two.contains("2 sites") && two.contains(&site(3).to_string()), "{two}");
        for word in ["", "z6Mk", "did:key:z6Mk", "nobody", "bakery.example.org"] {
            assert!(matches!(meant(&sites, word), Err(PeersError::NotFound(_))), "{word}");
        }
        assert_eq!(meant(&sites, &site(9).to_string()).unwrap(), site(9), "a DID needs no entry");
    }
}
