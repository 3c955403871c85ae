//! Is an agent of a site that counts words: connects to it, works, and connects again when the connection is
//! lost.
//!
//!     cargo run -p agentsite-client --example connected -- http://127.0.0.1:4747 [KEY]
//!
//! It needs no port, so it can run behind any firewall. It ends when the site refuses it.

use std::error::Error;
use std::io::Write;

use agentsite_client::agent::{Agent, Ending, EndingWay, News};
use agentsite_client::{Egress, Token};
use agentsite_protocol::{Skill, Visibility};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let site = arguments.next().ok_or("say which site: connected URL [KEY]")?.parse()?;
    let key = arguments.next().map(|key| Token::new(&key));
    let skill = Skill {
        id: "count".into(),
        name: "Count words".into(),
        description: "Says how many words a text has.".into(),
        tags: vec!["text".into()],
        examples: vec!["how many words are in this sentence?".into()],
        ..Skill::default()
    };
    let agent = Agent::new("counter".parse()?, "Counts the words of a text.")
        .skill(skill)
        .visibility(Visibility::Public)
        .on_news(|news| {
            let mut out = std::io::stdout();
            // No reader is connected: the agent works all the same.
            let _ = match news {
                News::Connected(welcome) => writeln!(out, "called at {}", welcome.urls.a2a),
                News::Lost(error, wait) => writeln!(out, "{error}; again in {wait:?}"),
                News::Notice(text) => writeln!(out, "the site says: {text}"),
            };
        });
    // A site on this machine may be meant; `Egress::default()` would refuse private addresses.
    let refused = agent
        .serve(&Egress::unguarded(), &site, key.as_ref(), async |given, work| {
            if given.text.trim().is_empty() {
                return Ending::saying(EndingWay::InputRequired, "Which text?");
            }
            let words = given.text.split_whitespace().count();
            match work.text(format!("{words} words")).await {
                Ok(()) => Ending::new(EndingWay::Completed),
                Err(_) => Ending::new(EndingWay::Canceled),
            }
        })
        .await;
    Err(refused.into())
}
