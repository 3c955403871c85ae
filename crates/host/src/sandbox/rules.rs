//! Rules: what the kernel refuses a confined process, independent of its view of the file system.
//!
//! Promises: Landlock limits files, signals and abstract sockets as far as this kernel knows them; a seccomp
//! filter refuses system calls that no agent needs and that reach past every namespace; capabilities that are
//! left concern files only. All of it holds for every descendant and cannot be undone. It does not limit
//! amounts: `limits` and control groups do.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
    path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::policy::{Policy, Tier};

/// The Landlock version whose rights are asked for; older kernels grant as many of them as they know.
const LANDLOCK: ABI = ABI::V7;

/// What is left of a superuser's powers: those over files that its own paths already allow, and over its own
/// processes.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// Devices that every program may use.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Puts the calling thread under Landlock. Gives the version of Landlock that is in force; zero when the
/// kernel has none.
pub(super) fn restrict_files(policy: &Policy) -> io::Result<i32> {
    let (read, all) = (AccessFs::from_read(LANDLOCK), AccessFs::from_all(LANDLOCK));
    let isolated = matches!(policy.tier, Tier::Namespaces { .. });
    let own: &[&str] =
        if isolated { &["/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/dev/ptmx"] } else { &[] };
    let everywhere = ["/proc", "/sys/devices/system"];
    let made = || {
        let rules = Ruleset::default()
            .handle_access(all)?
            .scope(Scope::from_all(LANDLOCK))?
            .create()?
            .add_rules(path_beneath_rules(&policy.read, read))?
            .add_rules(path_beneath_rules(&policy.write, read))?
            .add_rules(path_beneath_rules(everywhere, read))?
            .add_rules(path_beneath_rules(own, all))?
            .add_rules(path_beneath_rules(DEVICES, all))?
            .add_rules(path_beneath_rules([&policy.scratch], all))?;
        let writable = writable(policy, isolated);
        rules.add_rules(path_beneath_rules(writable, all))?.restrict_self()
    };
    let status = made().map_err(|error: landlock::RulesetError| io::Error::other(error.to_string()))?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
        _ => 0,
    })
}

/// The paths that may be written. Landlock has no exceptions, so where frozen files cannot be covered by a
/// mount, their folder is opened entry by entry without them.
fn writable(policy: &Policy, isolated: bool) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in &policy.write {
        if isolated || !policy.frozen.iter().any(|frozen| frozen.starts_with(path)) {
            paths.push(path.clone());
            continue;
        }
        let Ok(entries) = std::fs::read_dir(path) else { continue };
        let inside = entries.flatten().map(|entry| entry.path());
        paths.extend(inside.filter(|entry| !policy.frozen.contains(entry)));
    }
    paths
}

/// Gives up every power of a superuser that is not about files or own processes. Does nothing for other
/// users.
pub(super) fn drop_capabilities() -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        // Fails for capabilities that this kernel does not know.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let held = rustix::thread::capabilities(None)?;
    let kept = held.permitted.intersection(KEPT);
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// System calls that no agent needs: they change the machine, read the kernel, or reach what no namespace
/// separates.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
];

/// Socket families that reach past a network namespace or into the kernel.
const REFUSED_FAMILIES: [libc::c_int; 2] = [libc::AF_VSOCK, libc::AF_ALG];

/// Puts the calling thread under the system call filter. Without `network` and without its own network
/// namespace, only Unix sockets can be made.
pub(super) fn filter_calls(policy: &Policy) -> io::Result<()> {
    let wrong = |error: seccompiler::BackendError| io::Error::other(error.to_string());
    let arch = std::env::consts::ARCH.try_into().map_err(wrong)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let family = |compare, family: libc::c_int| {
        let family = u64::from(family.unsigned_abs());
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, compare, family)?;
        SeccompRule::new(vec![condition])
    };
    let alone = !policy.network && policy.tier == Tier::Reaper;
    let sockets = if alone {
        vec![family(SeccompCmpOp::Ne, libc::AF_UNIX)]
    } else {
        REFUSED_FAMILIES.iter().map(|one| family(SeccompCmpOp::Eq, *one)).collect()
    };
    rules.insert(libc::SYS_socket, sockets.into_iter().collect::<Result<_, _>>().map_err(wrong)?);
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).map_err(wrong)?;
    let program: seccompiler::BpfProgram = filter.try_into().map_err(wrong)?;
    seccompiler::apply_filter(&program).map_err(|error| io::Error::other(error.to_string()))
}
