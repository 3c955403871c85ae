"""An agent that tries to escape. It reads what to try as JSON and prints `held` or `ESCAPED` with a reason."""
import ctypes
import json
import os
import signal
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    """Reads a file, directly and through links made in the own folder."""
    tries = [path]
    for make, name in ((os.symlink, "soft"), (os.link, "hard")):
        try:
            if os.path.lexists(name):
                os.unlink(name)
            make(path, name)
            tries.append(name)
        except OSError:
            pass
    for one in tries:
        with open(one, "rb") as file:
            return file.read(64)


def listing(path):
    return os.listdir(path)


def write(path):
    with open(path, "ab") as file:
        file.write(b"# written by an agent\n")
    return "written"


def replace(path):
    with open("new-file", "w") as file:
        file.write("enabled = false\n")
    os.rename("new-file", path)
    return "replaced"


def remove(path):
    os.unlink(path)
    return "removed"


def environments(secret):
    """Looks for a secret in the environment of every process."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    found.append(file.read())
            except OSError:
                pass
    if any(secret.encode() in one for one in found):
        return "the secret"
    raise OSError("not found")


def send_signal(pid):
    os.kill(pid, 0)
    os.kill(pid, signal.SIGSTOP)
    return "signalled"


def trace(pid):
    if libc.ptrace(16, pid, 0, 0) == 0:
        return "attached"
    raise OSError(ctypes.get_errno(), "ptrace")


def memory_of(pid):
    with open(f"/proc/{pid}/mem", "rb") as file:
        return file.read(1)


def tcp(address):
    host, port = address
    socket.create_connection((host, port), timeout=3).sendall(b"escaped")
    return "connected"


def udp(address):
    host, port = address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"escaped", (host, port))
    return "sent"


def unix(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
    return "connected"


def abstract(name):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + name)
    return "connected"


def vsock(_):
    with socket.socket(40, socket.SOCK_STREAM) as one:
        one.settimeout(1)
        one.connect((2, 1))
    return "connected"


def mount(_):
    if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        return "mounted"
    if libc.unshare(0x10000000 | 0x00020000) == 0 and libc.mount(b"none", b"/usr", b"tmpfs", 0, None) == 0:
        return "mounted in a nested namespace"
    raise OSError("refused")


def chroot(_):
    os.mkdir("jail") if not os.path.isdir("jail") else None
    root = os.open("/", os.O_RDONLY)
    os.chroot("jail")
    os.fchdir(root)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    with open("/etc/shadow", "rb") as file:
        return file.read(8)


def keyring(_):
    if libc.syscall(250, 0, -4, 1) > 0:  # keyctl: the user's keyring
        return "reached"
    raise OSError("refused")


def device(_):
    os.mknod("disk", 0o600 | 0o060000, os.makedev(254, 0))
    with open("disk", "rb") as file:
        return file.read(1)


def core_pattern(_):
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        file.write("|/bin/true")
    return "written"


def bomb(_):
    """Forks as often as it can; says how often that was."""
    count = 0
    while count < 20_000:
        try:
            if os.fork() == 0:
                signal.pause()
                os._exit(0)
        except OSError:
            print(f"held {count} processes")
            sys.exit(0)
        count += 1
    return f"{count} processes"


def allocate(_):
    kept = []
    try:
        for _ in range(160):
            block = bytearray(64 << 20)
            for at in range(0, len(block), 4096):
                block[at] = 1
            kept.append(block)
    except MemoryError as error:
        raise OSError(f"refused after {len(kept) * 64} MiB") from error
    return "10 GiB"


def allocate_apart(_):
    """Ten gigabytes in many processes of one gigabyte."""
    for _ in range(10):
        if os.fork() == 0:
            block = bytearray(1 << 30)
            for at in range(0, len(block), 4096):
                block[at] = 1
            print("reached", flush=True)
            signal.pause()
    time.sleep(2)
    return "asked"


def fill(path):
    """Fills memory with files."""
    block = b"x" * (64 << 20)
    with open(path, "wb") as file:
        for _ in range(160):
            file.write(block)
    return "10 GiB"


def daemon(name):
    """Leaves a process behind that has left session, group and parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sys.stdout.close()
            null = os.open("/dev/null", os.O_RDWR)
            for one in (0, 1, 2):
                os.dup2(null, one)
            with open(name, "w") as file:
                file.write("running")
            while True:
                signal.pause()
        os._exit(0)
    while not os.path.exists(name):
        pass
    print("held for now")
    sys.exit(0)


def runaway(name):
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    with open(name, "w") as file:
        file.write("running")
    while True:
        pass


def main():
    wish = json.loads(sys.stdin.read())
    try:
        got = globals()[wish["attack"]](wish.get("on"))
        print(f"ESCAPED {got!r}")
    except OSError as error:
        print(f"held {error}")


main()
