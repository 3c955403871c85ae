//! Stories about commands, with real ones: what they print, how they end, and what is left of them.
//!
//! No story waits for time to pass: a command that never answers holds one end of a named pipe, and the other
//! end tells when it is gone.

use std::fs;

use agentsite_protocol::{Message, Role, Step};
use futures::FutureExt;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::*;
use crate::contract::{self, BEGINNING, Ran, Specimen, Subject, VirtualClock, job, soon};
use crate::sandbox::Bounds;
use crate::{Credential, Ephemeral, LogSource, Manifest, Runtime};

/// An agent folder with a runner in it.
struct Bench {
    folder: TempDir,
    log: AgentLog,
    exec: ExecRuntime,
    limits: Limits,
    environment: Environment,
}

impl Bench {
    fn new(command: &[&str]) -> Self {
        let exec = ExecRuntime {
            command: command.iter().map(ToString::to_string).collect(),
            stdin: crate::Stdin::Text,
            env: std::collections::BTreeMap::new(),
            pass_env: Vec::new(),
            memory: None,
            cpu: None,
            file_size: None,
            open_files: None,
        };
        let (folder, log) = (tempfile::tempdir().unwrap(), AgentLog::new(VirtualClock::at(BEGINNING)));
        Self { folder, log, exec, limits: Limits::default(), environment: Environment::default() }
    }

    /// A command of shell lines.
    fn sh(script: &str) -> Self {
        Self::new(&["sh", "-c", script])
    }

    fn runner(&self) -> ExecRunner {
        ExecRunner::new(
            self.exec.clone(),
            &self.limits,
            self.folder.path(),
            &self.environment,
            Confined::bounded(Bounds::of(
                self.exec.memory,
                self.exec.cpu,
                self.exec.file_size,
                self.exec.open_files,
            )),
            self.log.clone(),
        )
    }

    async fn run(&self, text: &str) -> Ran {
        contract::run(&self.runner(), job(text)).await
    }

    /// Makes the named pipe `alive` in the folder. The event comes when a process has opened it for writing
    /// and all who have are gone.
    fn all_gone(&self) -> BoxFuture<'static, ()> {
        let file = self.folder.path().join("alive");
        mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap();
        // Reading before the first writer opens would look like the end; our own writer, closed with the
        // first byte, prevents it.
        let own = pipe::OpenOptions::new().read_write(true).unchecked(true).open_sender(&file).unwrap();
        let mut reader = pipe::OpenOptions::new().open_receiver(&file).unwrap();
        Box::pin(async move {
            let mut byte = [0];
            reader.read_exact(&mut byte).await.unwrap();
            drop(own);
            reader.read_to_end(&mut Vec::new()).await.unwrap();
        })
    }
}

fn waiting(script: &'static str) -> contract::MakeSpecimen {
    Box::new(move || {
        let bench = Bench::sh(script);
        let (runner, gone) = (Arc::new(bench.runner()), bench.all_gone());
        // The folder must outlive the run.
        Specimen { runner, gone: Box::pin(gone.map(move |()| drop(bench))) }
    })
}

#[tokio::test]
async fn it_keeps_the_contract() {
    contract::run_all(Subject {
        answering: Arc::new(Bench::new(&["tr", "a-z", "A-Z"]).keeping_its_folder()),
        answer: str::to_uppercase,
        waiting: Some(waiting("exec 3>alive; printf x >&3; echo ready; sleep 1000")),
        talking: Some(waiting("exec 3>alive; printf x >&3; yes and so on")),
    })
    .await;
}

impl Bench {
    /// The runner alone, its folder left for the system to clean up.
    fn keeping_its_folder(mut self) -> ExecRunner {
        self.folder.disable_cleanup(true);
        self.runner()
    }
}

#[tokio::test]
async fn output_is_streamed_as_it_comes() {
    let bench = Bench::sh("echo first; read line < go; echo second");
    let go = bench.folder.path().join("go");
    mknodat(CWD, &go, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (report, mut listener) = Reporter::channel();
    let mut run = bench.runner().run(job(""), report);
    let first = async {
        tokio::select! { outcome = &mut run => panic!("{outcome:?}"), step = listener.recv() => step.unwrap() }
    };
    let first = soon("the first line comes while the command still runs", first).await;
    assert!(
        matches!(&first, Step::Artifact { append: false, artifact, .. } if artifact.plain_text() == "first\n"),
        "{first:?}"
    );
    let open = tokio::task::spawn_blocking(move || fs::write(go, "\n").unwrap());
    let outcome = soon("the command ends", run).await;
    open.await.unwrap();
    assert_eq!(outcome, Outcome::Completed(None));
    let second = listener.recv().await.unwrap();
    assert!(
        matches!(&second, Step::Artifact { append: true, artifact, .. } if artifact.plain_text() == "second\n"),
        "{second:?}"
    );
}

#[tokio::test]
async fn text_on_stdin_is_the_text_and_nothing_else() {
    assert_eq!(Bench::new(&["cat"]).run("no line feed added").await.answer(), "no line feed added");
}

#[tokio::test]
async fn json_on_stdin_is_one_object_with_all_that_matters() {
    let mut bench = Bench::new(&["cat"]);
    bench.exec.stdin = crate::Stdin::Json;
    let mut job = job("hello");
    job.attempt = 2;
    job.history = vec![Message::text(job.ids.message(), Role::User, "earlier")];
    let (task, context) = (job.task.to_string(), job.context.to_string());
    let ran = contract::run(&bench.runner(), job).await;
    assert!(ran.answer().ends_with("}\n"));
    let given: Value = serde_json::from_str(&ran.answer()).unwrap();
    assert_eq!((given["task"].as_str(), given["context"].as_str()), (Some(&*task), Some(&*context)));
    assert_eq!(
        (&given["agent"], &given["attempt"], &given["text"]),
        (&"subject".into(), &2.into(), &"hello".into())
    );
    assert_eq!(given["message"]["parts"][0]["text"], "hello");
    assert_eq!(given["history"][0]["parts"][0]["text"], "earlier");
}

#[tokio::test]
async fn a_large_text_flows_through_while_it_is_written() {
    let text = "0123456789abcdef".repeat(64 * 1024);
    let ran = Bench::new(&["cat"]).run(&text).await;
    assert_eq!(ran.answer().len(), text.len());
    assert_eq!(ran.ending().0, "completed");
}

#[tokio::test]
async fn a_command_that_does_not_read_is_none_the_worse_for_it() {
    let text = "x".repeat(1 << 20);
    let ran = Bench::sh("exec <&-; echo done").run(&text).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done\n", "completed"));
    let ran = Bench::sh("echo done").run(&text).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done\n", "completed"));
}

#[tokio::test]
async fn a_command_without_words_completes_without_an_artifact() {
    let ran = Bench::new(&["true"]).run("x").await;
    assert_eq!((ran.steps.len(), ran.ending().0), (0, "completed"));
}

#[tokio::test]
async fn endless_output_is_cut_at_the_limit() {
    let mut bench = Bench::new(&["yes"]);
    bench.limits.output = ByteSize(100_000);
    let ran = bench.run("").await;
    let (word, why) = ran.ending();
    assert_eq!(word, "failed");
    assert!(why.starts_with("`yes` printed more than 100000B (limits.output)"), "{why}");
    assert_eq!(ran.answer().len(), 100_000);
}

#[tokio::test]
async fn output_of_exactly_the_limit_is_fine() {
    let mut bench = Bench::sh("printf 12345678");
    bench.limits.output = ByteSize(8);
    assert_eq!(bench.run("").await.ending().0, "completed");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(Bench::sh(r"printf 'a\377b'").run("").await.answer(), "a\u{FFFD}b");
}

#[tokio::test]
async fn a_failure_says_the_code_and_the_last_words() {
    let bench = Bench::sh("echo partial; for i in $(seq 100); do echo line $i >&2; done; exit 3");
    let ran = bench.run("").await;
    let (word, why) = ran.ending();
    assert_eq!((word, ran.answer().as_str()), ("failed", "partial\n"));
    assert!(why.starts_with("`sh` ended with exit code 3: line 81\n"), "{why}");
    assert!(why.ends_with("line 100"), "{why}");
    assert_eq!(bench.log.tail(500).len(), 100);
    assert!(bench.log.tail(500).iter().all(|line| line.source == LogSource::Err));
}

#[tokio::test]
async fn a_silent_failure_says_the_code() {
    assert_eq!(Bench::sh("exit 4").run("").await.ending(), ("failed", "`sh` ended with exit code 4".into()));
}

#[tokio::test]
async fn a_killed_command_says_the_signal() {
    let why = Bench::sh("kill -SEGV $$").run("").await.ending().1;
    assert_eq!(why, "`sh` was killed by signal 11 (SIGSEGV)");
}

#[tokio::test]
async fn exit_code_ten_asks_the_caller_with_the_last_line() {
    let ran = Bench::sh("echo thinking; echo 'Which colour?'; exit 10").run("").await;
    assert_eq!(ran.ending(), ("input-required", "Which colour?".into()));
    let ran = Bench::sh("exit 10").run("").await;
    assert_eq!(ran.ending(), ("input-required", "The agent needs more input.".into()));
}

#[tokio::test]
async fn exit_code_eleven_asks_for_a_credential_which_comes_in_the_environment() {
    let script =
        "test -n \"$AGENTSITE_CREDENTIAL\" && echo welcome || { echo 'Your token, please'; exit 11; }";
    let bench = Bench::sh(script);
    assert_eq!(bench.run("").await.ending(), ("auth-required", "Your token, please".into()));
    let silent = Bench::sh("exit 11").run("").await;
    assert_eq!(silent.ending(), ("auth-required", "The agent needs a credential.".into()));
    let ephemeral = Ephemeral { credential: Some(Credential::new("s3cret")), ..Ephemeral::default() };
    let ran = contract::run(&bench.runner(), Job { ephemeral, ..job("here") }).await;
    assert_eq!(ran.answer(), "welcome\n");
}

#[tokio::test]
async fn the_environment_is_cleared_but_for_what_is_named() {
    let mut bench = Bench::new(&["env"]);
    let site = [
        ("PATH", "/usr/bin:/bin"),
        ("TZ", "Asia/Tokyo"),
        ("SECRET", "no"),
        ("TOKEN", "yes"),
        ("COLOUR", "red"),
    ];
    bench.environment = Environment::new(site.map(|(name, value)| (name.into(), value.into())));
    bench.exec.pass_env = vec!["TOKEN".into(), "COLOUR".into(), "NOT_THERE".into()];
    bench.exec.env.insert("COLOUR".into(), "blue".into());
    let job = job("");
    let task = job.task;
    let answer = contract::run(&bench.runner(), job).await.answer();
    let mut names: Vec<&str> =
        answer.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    let agentsite = ["AGENTSITE_AGENT", "AGENTSITE_ATTEMPT", "AGENTSITE_CONTEXT", "AGENTSITE_TASK"];
    assert_eq!(
        names,
        [&agentsite[..], &["COLOUR", "HOME", "LANG", "LC_ALL", "PATH", "TOKEN", "TZ"]].concat()
    );
    let home = format!("HOME={}", bench.folder.path().display());
    for line in [
        &format!("AGENTSITE_TASK={task}"),
        &home,
        "COLOUR=blue",
        "TOKEN=yes",
        "TZ=Asia/Tokyo",
        "PATH=/usr/bin:/bin",
    ] {
        assert!(answer.lines().any(|given| given == line), "{line} in {answer}");
    }
}

#[tokio::test]
async fn it_runs_in_the_agents_folder_and_finds_programs_there() {
    let bench = Bench::new(&["./bin/run.sh", "argument"]);
    let program = bench.folder.path().join("bin/run.sh");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\npwd\necho \"$1\"\n").unwrap();
    let denied = bench.run("").await.ending();
    assert_eq!(
        denied,
        ("failed", "`./bin/run.sh` is not executable; make it executable with chmod +x".into())
    );
    let mut mode = fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).unwrap();
    let folder = bench.folder.path().canonicalize().unwrap();
    assert_eq!(bench.run("").await.answer(), format!("{}\nargument\n", folder.display()));
}

#[tokio::test]
async fn a_missing_program_is_named_with_what_to_check() {
    let bench = Bench::new(&["no-such-program-here"]);
    let (word, why) = bench.run("").await.ending();
    assert_eq!(word, "failed");
    assert!(why.starts_with("there is no program `no-such-program-here` in PATH; install it"), "{why}");
    assert!(bench.log.tail(1)[0].text.contains("/usr/bin"), "the log says where it was looked for");

    let why = Bench::new(&["./missing.sh"]).run("").await.ending().1;
    assert!(why.starts_with("there is no file `./missing.sh`; check `command`"), "{why}");

    let bench = Bench::new(&["cat"]);
    let runner = bench.runner();
    drop(bench);
    let why = contract::run(&runner, job("")).await.ending().1;
    assert!(why.contains("folder is gone"), "{why}");
}

#[tokio::test]
async fn a_missing_interpreter_is_told_from_a_missing_program() {
    let bench = Bench::new(&["./run.py"]);
    let program = bench.folder.path().join("run.py");
    fs::write(&program, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let why = bench.run("").await.ending().1;
    assert!(why.contains("the interpreter that its first line names is not installed"), "{why}");
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let bench = Bench::sh("exec 3>alive; printf x >&3; sleep 1000 >/dev/null 2>&1 & echo done");
    let gone = bench.all_gone();
    let ran = bench.run("").await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done\n", "completed"));
    soon("the leftover is gone", gone).await;
}

#[tokio::test]
async fn a_leftover_that_holds_the_output_does_not_hold_the_run() {
    let ran = Bench::sh("sleep 1000 & echo done").run("").await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done\n", "completed"));
}

#[tokio::test]
async fn one_that_left_the_group_and_holds_the_output_does_not_hold_the_run() {
    let ran = Bench::sh("setsid sleep 5 & echo done").run("").await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done\n", "completed"));
}

#[tokio::test]
async fn one_that_does_not_heed_the_cancel_is_killed() {
    let bench =
        Bench::sh("trap '' TERM; exec 3>alive; printf x >&3; echo ready; while :; do sleep 1000; done");
    let gone = bench.all_gone();
    let job = job("");
    let cancel = job.cancel.clone();
    let (report, mut listener) = Reporter::channel();
    let listening = async {
        listener.recv().await.unwrap();
        cancel.cancel();
    };
    let runner = bench.runner();
    let both = async { tokio::join!(runner.run(job, report), listening) };
    assert_eq!(soon("the run ends", both).await.0, Outcome::Canceled(None));
    soon("the group is gone", gone).await;
}

#[tokio::test]
async fn one_that_is_cancelled_may_tidy_up() {
    let bench = Bench::sh("trap 'echo tidy > tidied; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let job = job("");
    let cancel = job.cancel.clone();
    let (report, mut listener) = Reporter::channel();
    let listening = async {
        listener.recv().await.unwrap();
        cancel.cancel();
    };
    let runner = bench.runner();
    soon("the run ends", async { tokio::join!(runner.run(job, report), listening) }).await;
    assert_eq!(fs::read_to_string(bench.folder.path().join("tidied")).unwrap(), "tidy\n");
}

#[tokio::test]
async fn limits_are_in_force_before_the_command_begins() {
    let mut bench = Bench::sh("ulimit -n; ulimit -c; ulimit -f; ulimit -v; ulimit -t");
    bench.exec.open_files = Some(50);
    bench.exec.file_size = Some(ByteSize(4096));
    bench.exec.memory = Some(ByteSize(512 << 20));
    bench.exec.cpu = Some(agentsite_protocol::Period::seconds(5));
    assert_eq!(bench.run("").await.answer(), "50\n0\n8\n524288\n5\n");
    assert_eq!(Bench::sh("ulimit -n; ulimit -c").run("").await.answer(), "1024\n0\n");
}

#[tokio::test]
async fn a_file_larger_than_allowed_is_not_written() {
    let mut bench = Bench::sh("exec head -c 100000 /dev/zero > big");
    bench.exec.file_size = Some(ByteSize(4096));
    let (word, why) = bench.run("").await.ending();
    assert_eq!(word, "failed");
    assert!(
        why.contains("(SIGXFSZ), because it wrote a file larger than 4KiB (runtime.file_size_limit)"),
        "{why}"
    );
    assert_eq!(fs::metadata(bench.folder.path().join("big")).unwrap().len(), 4096);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_gains_no_privileges() {
    let answer = Bench::new(&["cat", "/proc/self/status"]).run("").await.answer();
    assert!(answer.lines().any(|line| line == "NoNewPrivs:\t1"), "{answer}");
}

#[test]
fn what_the_runner_shows_of_itself_holds_no_secrets() {
    let mut bench = Bench::new(&["env"]);
    bench.exec.env.insert("TOKEN".into(), "hush".into());
    assert!(!format!("{:?}", bench.runner()).contains("hush"));
}

#[tokio::test]
async fn the_example_of_the_manual_answers() {
    let text = "name = \"upper\"\ndescription = \"Upper-cases\"\n[runtime]\nkind = \"exec\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n";
    let manifest = Manifest::read(text).unwrap();
    let Runtime::Exec(exec) = manifest.runtime else { panic!("exec") };
    let bench = Bench { exec, ..Bench::new(&[]) };
    assert_eq!(bench.run("make this loud").await.answer(), "MAKE THIS LOUD");
}
