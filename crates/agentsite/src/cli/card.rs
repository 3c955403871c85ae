//! `agentsite card verify`: who signed the card of an agent.
//!
//! Promises: ends with 0 when a signature holds and with 1 and the reason when none does. A card at an
//! address is held against the keys that its own origin publishes; one in a file only against the keys that
//! it names itself, or those given with `--key`.

use agentsite_client::{CardRefusal, KnownBy, KnownKeys, SignedCard, verify_card, verify_card_at};
use agentsite_egress::Egress;
use agentsite_protocol::PublicKey;
use clap::{Args, Subcommand};
use url::Url;

use super::shell::Shell;
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// Arguments of `card`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say who signed a card; exit with 1 when it is not signed.
    Verify {
        /// Address of an agent or of its card, or a file.
        #[arg(value_name = "URL|FILE")]
        target: String,
        /// Require that this key signed, or one that it has named as its successor; may be given several
        /// times.
        #[arg(long = "key", value_name = "DID_KEY")]
        keys: Vec<String>,
    },
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let Verb::Verify { target, keys } = arguments.verb;
    let pinned = keys.iter().map(|key| {
        PublicKey::from_did_key(key).map_err(|error| CliError::usage(format!("`{key}`: {error}")))
    });
    let pinned: Vec<PublicKey> = pinned.collect::<Result<_, _>>()?;
    match look(&target, &pinned).await? {
        Ok(card) => print_signatures(shell, &card),
        Err(refusal) => {
            if shell.output.is_json() {
                let report = serde_json::json!({ "valid": false, "reason": refusal.to_string() });
                shell.output.json(&report)?;
            }
            Err(CliError::error(refusal.to_string()))
        }
    }
}

async fn look(target: &str, pinned: &[PublicKey]) -> Result<Result<SignedCard, CardRefusal>, CliError> {
    if target.starts_with("http://") || target.starts_with("https://") {
        let url: Url =
            target.parse().map_err(|error| CliError::usage(format!("`{target}` is not a URL: {error}")))?;
        return Ok(verify_card_at(&Egress::unguarded(), &url, None, pinned).await);
    }
    let path = std::path::Path::new(target);
    let bytes = std::fs::read(path).map_err(|error| CliError::file("read", path, &error))?;
    Ok(verify_card(&bytes, &KnownKeys::default().pinned(pinned.iter().cloned())))
}

fn print_signatures(shell: &Shell, card: &SignedCard) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "valid": true, "card": card }))?;
        return Ok(Exit::Ok);
    }
    // A hybrid card bears two signatures of each key: one for readers of each version.
    let mut printed: Vec<String> = Vec::new();
    for signer in &card.signers {
        let known = match &signer.known {
            KnownBy::Origin(origin) => format!("published by {origin}"),
            KnownBy::Pin => "the key that you named".to_owned(),
            KnownBy::Itself => "the owner of the key is unknown; compare it with a key you know".to_owned(),
        };
        let line = format!("`{}` is signed with {} by {} ({known})", card.name, signer.algorithm, signer.key);
        if !printed.contains(&line) {
            shell.output.line(&line)?;
            printed.push(line);
        }
    }
    for why in &card.passed_over {
        shell.output.alert(Style::Warn, why);
    }
    Ok(Exit::Ok)
}
