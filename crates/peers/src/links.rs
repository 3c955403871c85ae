//! Links: how calls of this site reach others, and how it proves itself to them.
//!
//! Promises: a stream is opened only while the mesh runs in this process, and never to a banned site; each
//! token is new. A site that did not answer a moment ago is not tried again. What travels on a stream is the
//! business of the egress and of the other site's gateway.

use std::sync::Weak;

use agentsite_egress::{LinkIo, Links};
use agentsite_mesh::{OverlayError, SiteId};
use agentsite_protocol::SiteToken;
use futures::future::BoxFuture;
use tokio_util::compat::FuturesAsyncReadCompatExt as _;

use crate::hosts::site_of_host;
use crate::settings::CallerIdentity;
use crate::shared::Shared;

/// The links of a site. It does not keep the mesh alive: the site does.
#[derive(Debug)]
pub(crate) struct SiteLinks(pub(crate) Weak<Shared>);

impl Links for SiteLinks {
    fn open(&self, host: &str) -> BoxFuture<'static, Result<Box<dyn LinkIo>, String>> {
        let (shared, site) = (self.0.upgrade(), site_of_host(host));
        Box::pin(async move {
            let site = site.ok_or("it does not name a site")?;
            let shared = shared.ok_or("this site has stopped")?;
            shared.check_not_banned(&site).map_err(|error| error.to_string())?;
            let running = shared.running().map_err(|error| error.to_string())?;
            if let Some(why) = shared.reach.refusal(&site, shared.ids.clock().now()) {
                return Err(why);
            }
            let opened = match running.overlay.open(site).await {
                // A connection may end at this moment because there is another one; nothing was sent on it.
                Err(OverlayError::Unreachable { .. }) => running.overlay.open(site).await,
                opened => opened,
            };
            let stream = opened.map_err(|error| {
                shared.reach.suspect(site, None, shared.ids.clock().now());
                error.to_string()
            })?;
            shared.metrics.link_opened();
            Ok(Box::new(stream.compat()) as Box<dyn LinkIo>)
        })
    }

    fn site_of(&self, host: &str) -> Option<String> {
        site_of_host(host).map(|site| site.to_string())
    }

    fn token(&self, site: &str, user: Option<&str>) -> Option<String> {
        let shared = self.0.upgrade().filter(|shared| shared.settings.enabled)?;
        let audience: SiteId = site.parse().ok()?;
        let word = shared.ids.rng().bytes16();
        let now = shared.ids.clock().now();
        let (to, is_named) =
            (audience.to_string(), shared.settings.caller_identity == CallerIdentity::Pseudonym);
        let user = user.filter(|_| is_named).map(|user| shared.local.pseudonym(user, &to));
        Some(SiteToken::sign_for(user, &shared.local.key(), &to, &word, now))
    }
}
