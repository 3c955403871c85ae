//! The lines of the README, pasted: each works when it follows the one before at once.
//!
//! They run in one shell in the folder of a running site, joined as a person joins them, without pauses
//! between. Lines that need the network, a model or another machine are not run.

use crate::site::{TestSite, binary, repository};

/// Runs lines in one shell, in the folder of the site, with `agentsite` on the PATH.
fn paste(site: &TestSite, lines: &str) -> (bool, String) {
    let bin = site.path().join(".bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = std::os::unix::fs::symlink(binary(), bin.join("agentsite"));
    let path = format!("{}:{}", bin.display(), std::env::var_os("PATH").unwrap().display());
    let mut shell = std::process::Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", lines]).current_dir(site.path()).env_clear().env("PATH", path);
    let ran = shell.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (ran.status.success(), said)
}

/// The commands of the README's transcript: what follows `$ `, with the lines of a here-document.
fn transcript() -> Vec<String> {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let block = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let mut commands: Vec<String> = Vec::new();
    let mut inside = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            inside = command.contains("<<'EOF'");
            commands.push(command.to_owned());
        } else if inside {
            let last = commands.last_mut().unwrap();
            last.push('\n');
            last.push_str(line);
            inside = line != "EOF";
        }
    }
    commands
}

#[test]
fn the_transcript_of_the_readme_works_when_it_is_pasted() {
    let site = TestSite::started();
    let commands = transcript();
    assert!(commands.len() >= 6 && commands[0] == "agentsite", "{commands:?}");
    // The first one serves, which the site of this story does already.
    let lines = commands[1..].join("\n");
    let (worked, said) = paste(&site, &lines);
    assert!(worked, "{said}");
    for answer in ["18446744073709551615", "Asia/Tokyo", "calc", "NO RESTART NEEDED"] {
        assert!(said.contains(answer), "{answer}: {said}");
    }
}

#[test]
fn a_new_agent_answers_the_command_that_follows() {
    let site = TestSite::started();
    for round in 0..3 {
        let lines = format!(
            "agentsite agent new x{round} --lang sh && agentsite call x{round} \"one two three\" && agentsite agent rm x{round} --yes"
        );
        let (worked, said) = paste(&site, &lines);
        assert!(worked && said.contains("That text has 3 words."), "{said}");
        assert!(said.contains("visibility: private"), "{said}");
        let (worked, said) = paste(&site, &format!("agentsite call x{round} hello"));
        assert!(!worked && said.contains("there is no agent"), "it is gone when `rm` returns: {said}");
    }
    let (worked, said) = paste(
        &site,
        "agentsite agent new hello --lang python; agentsite call hello \"good morning\"; agentsite status; agentsite task ls; \
         agentsite key new --label laptop --scope call; agentsite backup site.backup; agentsite backup --list site.backup",
    );
    assert!(worked, "{said}");
}

#[test]
fn without_a_running_site_a_new_agent_says_so() {
    let site = TestSite::new();
    let (worked, said) = paste(&site, "agentsite agent new x --lang sh");
    assert!(worked && said.contains("no site is running here; start it with `agentsite`"), "{said}");
}

#[test]
fn help_is_help() {
    let site = TestSite::new();
    let help = site.run(&["help"]).ok();
    assert!(help.out().contains("Usage: agentsite") && help.out().contains("doctor"), "{help:?}");
    assert!(site.run(&["help", "backup"]).ok().out().contains("--data-only"));
    assert!(site.run(&["help", "agent", "new"]).ok().out().contains("--lang"));
    assert_eq!(site.run(&["help", "nonsense"]).code(), 2);
}

#[tokio::test]
async fn the_concierge_of_a_new_site_gives_nothing_to_echo_clock_or_calc_that_is_not_for_them() {
    let site = TestSite::started();
    let requests = [
        "help",
        "hello",
        "who are you?",
        "what can you do?",
        "thanks",
        "你好",
        "帮助",
        "你是谁",
        "你能做什么",
        "谢谢",
        "book me a flight to Paris",
        "write a poem about the sea",
        "translate this contract into German",
        "what is the capital of Peru?",
        "paint my bicycle red",
        "who won the world cup?",
        "帮我订一张去北京的机票",
        "写一首关于秋天的诗",
    ];
    for request in requests {
        let said = site.run(&["call", "concierge", request, "--json"]);
        let text = said.out();
        for agent in ["echo", "clock", "calc"] {
            assert!(!text.contains(&format!("I asked {agent}")), "{request} went to {agent}: {text}");
        }
    }
    for (request, agent) in [
        ("help me compute 2+2", "calc"),
        ("what is 17 * 23?", "calc"),
        ("what time is it in Tokyo?", "clock"),
    ] {
        let said = site.run(&["call", "concierge", request]);
        assert!(said.err().contains(&format!("I ask {agent}")), "{request}: {said:?}");
    }
}
