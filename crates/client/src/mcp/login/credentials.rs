//! Saved credentials: those of the engine, in the credential store of the caller.
//!
//! Promises: what is kept is one text that holds the tokens, their issuer and the secret of a client that was
//! registered for them, so that a later process can refresh them. A refresh token that was refused is
//! forgotten, unless another login has replaced it meanwhile.

use std::pin::Pin;

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::mcp::OAuth;

/// The engine's view of the credential store of the caller.
pub(in crate::mcp) struct SavedCredentials {
    server: Url,
    oauth: OAuth,
    /// The secret of a client that the authorization server registered for us.
    pub(in crate::mcp) secret: Option<String>,
}

/// What is kept of one login.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedLogin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    pub(super) credentials: StoredCredentials,
}

type Keeping<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl SavedCredentials {
    pub(in crate::mcp) const fn new(server: Url, oauth: OAuth) -> Self {
        Self { server, oauth, secret: None }
    }

    /// What was kept; a text that is not ours counts as nothing.
    pub(super) async fn before(&self) -> Result<Option<SavedLogin>, AuthError> {
        let kept = self.oauth.store.load(&self.oauth.holder, &self.server).await.map_err(unkept)?;
        Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()))
    }

    pub(super) async fn forget(&self) -> Result<(), AuthError> {
        self.oauth.store.save(&self.oauth.holder, &self.server, None).await.map_err(unkept)
    }

    async fn keep(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let before = SavedLogin { secret: self.secret.clone(), credentials };
        let written = serde_json::to_string(&before).map_err(unkept)?;
        self.oauth.store.save(&self.oauth.holder, &self.server, Some(written)).await.map_err(unkept)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "given to map_err")]
fn unkept(error: impl ToString) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

impl CredentialStore for SavedCredentials {
    fn load<'a, 'b>(&'a self) -> Keeping<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { Ok(self.before().await?.map(|before| before.credentials)) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Keeping<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.keep(credentials))
    }

    fn clear<'a, 'b>(&'a self) -> Keeping<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.forget())
    }

    fn on_refresh_token_rejected<'a, 'c, 'b>(&'a self, refused: &'c StoredCredentials) -> Keeping<'b, ()>
    where
        'a: 'b,
        'c: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            match self.before().await? {
                Some(now) if refresh_token(&now.credentials) == refresh_token(refused) => self.forget().await,
                _ => Ok(()),
            }
        })
    }
}

fn refresh_token(credentials: &StoredCredentials) -> Option<String> {
    let response = serde_json::to_value(credentials.token_response.as_ref()?).ok()?;
    Some(response.get("refresh_token")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::mcp::InMemory;

    fn kept() -> SavedCredentials {
        let oauth = OAuth::kept("notes".into(), Arc::new(InMemory::default()));
        SavedCredentials::new("https://tools.example/mcp".parse().unwrap(), oauth)
    }

    fn credentials(refresh: &str) -> StoredCredentials {
        let response = json!({ "access_token": "a", "token_type": "Bearer", "refresh_token": refresh });
        serde_json::from_value(json!({ "client_id": "c", "token_response": response, "issuer": "https://i" }))
            .unwrap()
    }

    #[tokio::test]
    async fn a_later_process_finds_the_tokens_their_issuer_and_the_secret_of_the_client() {
        let mut first = kept();
        first.secret = Some("s".into());
        first.save(credentials("r")).await.unwrap();
        let later = SavedCredentials::new(first.server.clone(), first.oauth.clone());
        let before = later.before().await.unwrap().unwrap();
        assert_eq!(before.secret.as_deref(), Some("s"));
        assert_eq!(before.credentials.issuer.as_deref(), Some("https://i"));
        assert_eq!(refresh_token(&before.credentials).as_deref(), Some("r"));
        let other = OAuth { holder: "other".into(), ..first.oauth.clone() };
        assert!(SavedCredentials::new(first.server.clone(), other).before().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_refused_refresh_token_is_forgotten_unless_another_took_its_place() {
        let kept = kept();
        kept.save(credentials("new")).await.unwrap();
        kept.on_refresh_token_rejected(&credentials("old")).await.unwrap();
        assert!(kept.load().await.unwrap().is_some());
        kept.on_refresh_token_rejected(&credentials("new")).await.unwrap();
        assert!(kept.load().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_text_that_is_not_ours_counts_as_nothing() {
        let kept = kept();
        kept.oauth.store.save("notes", &kept.server, Some("{}".into())).await.unwrap();
        assert!(kept.before().await.unwrap().is_none());
    }
}
