//! Network namespaces: a network of a story's own, in which links are cut and packets are lost.
//!
//! A story runs in a child of the test program that `unshare` starts with its own network, processes and
//! mounts: whatever happens, everything in it ends with that child, and nothing of the machine is changed.
//! Each host is one more namespace with two links: `net` leads to a bridge, where faults happen, `admin` to
//! the story.
//!
//! Promises: works for root, and for others where the kernel allows user namespaces; where it does not, or
//! where a program is missing, the story fails and says what is missing. Delay is not simulated: the
//! kernels that run these tests have no netem.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Set inside of the namespaces.
const INSIDE: &str = "AGENTSITE_TEST_NAMESPACE";

/// What to do when something is missing.
const HELP: &str = "this test needs network namespaces (root, or user namespaces) and the programs `unshare`, `nsenter` \
                    (util-linux), `ip` (iproute2) and `nft` (nftables); `cargo xtask test` installs them on Debian";

/// Runs a story in a network of its own. The closure must be written inside of the test, which is found by
/// its name.
pub(crate) fn isolated<S: AsyncFnOnce()>(story: S) {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(story());
    }
    let path = std::any::type_name::<S>().trim_end_matches("::{{closure}}");
    let (_, test) = path.split_once("::").expect("the test is in a module");
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    // The names of namespaces are kept below /run.
    command.args(["sh", "-c", "mount -t tmpfs tmpfs /run && exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    let done = command.env(INSIDE, "1").output().unwrap_or_else(|error| panic!("unshare: {error}; {HELP}"));
    let (said, complained) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    println!("{said}");
    assert!(said.contains("running 1 test"), "no namespaces: {complained}; {HELP}");
    assert!(done.status.success() && said.contains("1 passed"), "{complained}");
}

/// A host of the network.
#[derive(Debug, Default)]
struct Host {
    /// From which other hosts nothing arrives.
    deaf_to: BTreeSet<u8>,
    /// How much of what arrives is lost.
    loss_percent: u8,
}

/// A network of hosts, which are numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Network {
    hosts: BTreeMap<u8, Host>,
}

impl Network {
    /// A bridge without hosts.
    pub(crate) fn new() -> Self {
        ip("link set lo up");
        ip("link add bridge type bridge");
        ip("link set bridge up");
        Self::default()
    }

    /// Adds a host at [`address`].
    pub(crate) fn add_host(&mut self, host: u8) {
        self.add_namespace(host);
        plug(&name(host), &format!("h{host}"), &format!("{}/16", address(host)));
    }

    /// Adds a host in a home network behind a router that lets connections out and none in. To the other
    /// hosts it has the address of its router.
    pub(crate) fn add_host_behind_nat(&mut self, host: u8) {
        self.add_namespace(host);
        let (inner, router) = (name(host), format!("router{host}"));
        ip(&format!("netns add {router}"));
        plug(&router, &format!("h{host}"), &format!("{}/16", address(host)));
        ip(&format!("-n {router} link add home type veth peer name net netns {inner}"));
        ip(&format!("-n {router} addr add 192.168.{host}.1/24 dev home"));
        ip(&format!("-n {router} link set home up"));
        ip(&format!("-n {inner} addr add {}/24 dev net", home_address(host)));
        ip(&format!("-n {inner} link set net up"));
        ip(&format!("-n {inner} route add default via 192.168.{host}.1"));
        let forwards = ["-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"];
        succeed(within(&router, "sh").args(forwards), None);
        nft(&router, ROUTER);
    }

    fn add_namespace(&mut self, host: u8) {
        let namespace = name(host);
        ip(&format!("netns add {namespace}"));
        ip(&format!("-n {namespace} link set lo up"));
        ip(&format!("link add a{host} type veth peer name admin netns {namespace}"));
        ip(&format!("addr add 10.78.{host}.1/24 dev a{host}"));
        ip(&format!("link set a{host} up"));
        ip(&format!("-n {namespace} addr add {}/24 dev admin", admin_address(host)));
        ip(&format!("-n {namespace} link set admin up"));
        self.hosts.insert(host, Host::default());
    }

    /// Nothing of `from` arrives at `to` any more.
    pub(crate) fn cut_one_way(&mut self, from: u8, to: u8) {
        self.change(to, |host| host.deaf_to.extend([from]));
    }

    /// Nothing passes between the two any more.
    pub(crate) fn cut(&mut self, one: u8, other: u8) {
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// So much of what arrives at any host is lost.
    pub(crate) fn lose(&mut self, percent: u8) {
        for host in self.hosts.keys().copied().collect::<Vec<_>>() {
            self.change(host, |host| host.loss_percent = percent);
        }
    }

    /// Everything arrives again.
    pub(crate) fn heal(&mut self) {
        for host in self.hosts.keys().copied().collect::<Vec<_>>() {
            self.change(host, |host| *host = Host::default());
        }
    }

    fn change(&mut self, number: u8, change: impl FnOnce(&mut Host)) {
        let host = self.hosts.get_mut(&number).expect("the host is there");
        change(host);
        nft(&name(number), &host.rules());
    }
}

/// What the router of a home network does.
const ROUTER: &str = r#"
table ip nat {
  chain leave {
    type nat hook postrouting priority 100
    oifname "net" masquerade
  }
  chain enter {
    type filter hook forward priority 0
    iifname "net" ct state established,related accept
    iifname "net" drop
  }
  chain itself {
    type filter hook input priority 0
    iifname "net" ct state established,related accept
    iifname "net" drop
  }
}
"#;

impl Host {
    /// The faults as rules, which replace those before them.
    fn rules(&self) -> String {
        let refused: String = self
            .deaf_to
            .iter()
            .map(|from| format!("    iifname \"net\" ip saddr {} drop\n", address(*from)))
            .collect();
        let loss = match self.loss_percent {
            0 => String::new(),
            percent => format!("    iifname \"net\" numgen random mod 100 < {percent} drop\n"),
        };
        format!(
            "table inet faults\ndelete table inet faults\ntable inet faults {{\n  chain arrive {{\n    \
             type filter hook input priority 0\n{refused}{loss}  }}\n}}\n"
        )
    }
}

/// The namespace of a host.
pub(crate) fn name(host: u8) -> String {
    format!("host{host}")
}

/// Where others reach a host.
pub(crate) fn address(host: u8) -> String {
    format!("10.77.0.{host}")
}

/// The address of a host in its home network.
pub(crate) fn home_address(host: u8) -> String {
    format!("192.168.{host}.2")
}

/// Where the story reaches a host, whatever happens to the network.
pub(crate) fn admin_address(host: u8) -> String {
    format!("10.78.{host}.2")
}

/// A program in a namespace.
pub(crate) fn within(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{namespace}")).arg(program);
    command
}

/// Connects a namespace to the bridge.
fn plug(namespace: &str, end: &str, address: &str) {
    ip(&format!("link add {end} type veth peer name net netns {namespace}"));
    ip(&format!("link set {end} master bridge up"));
    ip(&format!("-n {namespace} addr add {address} dev net"));
    ip(&format!("-n {namespace} link set net up"));
}

fn ip(words: &str) {
    succeed(Command::new("ip").args(words.split(' ')), None);
}

fn nft(namespace: &str, rules: &str) {
    succeed(within(namespace, "nft").args(["-f", "-"]), Some(rules));
}

fn succeed(command: &mut Command, input: Option<&str>) {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; {HELP}"));
    child.stdin.take().unwrap().write_all(input.unwrap_or_default().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{command:?}: {}; {HELP}", String::from_utf8_lossy(&done.stderr));
}
