"""Imports the modules it is told to, does what probes record, and prints what the kernel answered: a trace must
agree with it.

Nothing here waits for a time to pass: where something must have happened, the kernel is asked.
"""

import sys

for name in sys.argv[1:]:
    __import__(name)

import importlib.util
import json
import mmap
import os
import resource
import socket
import time


def compiled_files():
    """The .pyc files that modules were loaded from."""
    specs = [getattr(module, "__spec__", None) for module in sys.modules.values()]
    if sys.version_info < (3, 10):  # it loads this one for the standard streams, and forgets it
        specs.append(importlib.util.find_spec("_bootlocale"))
    files = {spec.cached for spec in specs if spec and spec.has_location and spec.cached}
    return sorted(name for name in files if os.path.exists(name))


def stack():
    """Where the main thread's stack is."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith("[stack]"):
                return [int(address, 16) for address in line.split()[0].split("-")]
    raise SystemExit("no stack in /proc/self/maps")


DISK = "/dev/vda"  # of which nothing has been read yet; the results go there at the end


def attempt(call, *args, **kwargs):
    """What the kernel returns: a number, or an errno below 0."""
    try:
        return call(*args, **kwargs)
    except OSError as error:
        return -error.errno


def opens(directory):
    """Opens by all kinds of names. Each is told as it was written, and as the absolute path of what was found."""
    os.chdir(directory)
    os.symlink("made", "link")
    top = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)
    told = []
    for name, flags, at in (
        ("made", os.O_WRONLY | os.O_CREAT, None),
        ("./made", os.O_RDONLY, None),
        (directory + "/made", os.O_RDONLY, None),
        (os.path.basename(directory) + "/made", os.O_RDONLY, top),
        ("link", os.O_RDONLY, None),
        ("missing", os.O_RDONLY, None),
        ("made/below", os.O_RDONLY, None),
        ("made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, None),
        ("link", os.O_RDONLY | os.O_NOFOLLOW, None),
    ):
        fd = attempt(os.open, name, flags, dir_fd=at)
        path = os.path.normpath(os.path.join(directory, name))
        if fd >= 0:
            path = os.readlink("/proc/self/fd/%d" % fd)
            os.close(fd)
        told.append({"name": name, "path": path, "result": fd})
    os.close(top)
    return told


def syncs(directory):
    fd = os.open(directory + "/synced", os.O_WRONLY | os.O_CREAT)
    told = [
        {"call": "fsync", "path": directory + "/synced", "result": attempt(os.fsync, fd) or 0},
        {"call": "fdatasync", "path": directory + "/synced", "result": attempt(os.fdatasync, fd) or 0},
    ]
    os.close(fd)
    os.sync()
    return told + [{"call": "sync", "path": "", "result": 0}]


def sockets(directory):
    """A client that comes too early, the server, and a client that is in time."""
    path = directory + "/socket"
    early, server, client = (socket.socket(socket.AF_UNIX) for _ in range(3))
    told = [
        {"call": "connect", "result": attempt(early.connect, path) or 0},
        {"call": "bind", "result": attempt(server.bind, path) or 0},
        {"call": "listen", "result": attempt(server.listen, 1) or 0},
        {"call": "connect", "result": attempt(client.connect, path) or 0},
    ]
    for each in early, server, client:
        each.close()
    return path, told


def children(count):
    """Short processes, all started before the first is waited for, and what the kernel says of each."""
    pids = {}
    for i in range(count):
        argv = ["sh", "-c", "exit %d" % (i % 7), "child %d" % i]
        pids[os.posix_spawn("/usr/bin/busybox", argv, {})] = argv
    told = []
    for pid, argv in pids.items():
        _, status, usage = os.wait4(pid, 0)
        told.append({"pid": pid, "argv": argv, "status": status, "minor": usage.ru_minflt, "major": usage.ru_majflt})
    return told


def cgroup():
    """A process that goes into a cgroup of its own."""
    path = "/steps-%d" % os.getpid()
    os.mkdir("/sys/fs/cgroup" + path)
    pid = os.fork()
    if pid == 0:
        with open("/sys/fs/cgroup%s/cgroup.procs" % path, "w") as procs:
            procs.write("0")
        os._exit(0)
    os.waitpid(pid, 0)
    return {"pid": pid, "path": path}


def major_faults(count):
    """Touches pages that are not in memory, far from each other."""
    with open("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write("1")
    with open(DISK, "rb") as disk:
        pages = mmap.mmap(disk.fileno(), 2 * count << 20, access=mmap.ACCESS_READ)
    pages.madvise(mmap.MADV_RANDOM)
    for i in range(count):
        pages[i << 20]
    pages.close()


def context_switches():
    """The kernel's count since boot, and between which moments it was read."""
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    with open("/proc/stat") as stat:
        count = next(int(line.split()[1]) for line in stat if line.startswith("ctxt "))
    return {"count": count, "from": before, "to": time.clock_gettime_ns(time.CLOCK_BOOTTIME)}


def switches(rounds):
    """Two processes pass a byte to and fro."""
    (there, send), (receive, back) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        for _ in range(rounds):
            os.write(back, os.read(there, 1))
        os._exit(0)
    begin = context_switches()
    for _ in range(rounds):
        os.write(send, b"x")
        os.read(receive, 1)
    end = context_switches()
    os.waitpid(pid, 0)
    for fd in there, send, receive, back:
        os.close(fd)
    return [begin, end]


def waiting_opens(count):
    """Processes that wait in an open, all at a time. Each opens the FIFO once."""
    os.mkfifo("fifo")
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os.open("fifo", os.O_RDONLY)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        state = ""
        while state != "S":
            os.sched_yield()
            with open("/proc/%d/stat" % pid) as stat:
                state = stat.read().rsplit(") ", 1)[1][0]
    fd = os.open("fifo", os.O_WRONLY)
    for pid in pids:
        os.waitpid(pid, 0)
    os.close(fd)
    return pids


def steps():
    directory = "/tmp/steps-%d" % os.getpid()
    os.mkdir(directory)
    told = {"opens": opens(directory), "syncs": syncs(directory)}
    told["socket"], told["sockets"] = sockets(directory)
    told["children"] = children(40)
    told["cgroup"] = cgroup()
    told["switches"] = switches(500)
    major_faults(8)
    told["waiting"] = waiting_opens(12)
    return told


told = steps()
usage = resource.getrusage(resource.RUSAGE_SELF)
json.dump(
    {
        "pid": os.getpid(),
        "argv": ["python3"] + sys.argv,
        "compiled_files": compiled_files(),
        "stack": stack(),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "steps": told,
    },
    sys.stdout,
)
