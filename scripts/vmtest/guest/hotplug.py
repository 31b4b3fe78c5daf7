"""Takes CPUs away and brings them, runs programs on them, and prints what a trace of it must agree with.

It is the command that is recorded. With arguments it is such a program: it stays on the CPU that it was put on.
"""

import mmap
import os
import sys
import time

SYSFS = "/sys/devices/system/cpu/"
PAGE = 4096
PAGES = 16  # that each program reads from the disk, one fault each
LENGTH = 8 << 20  # of the disk
PROBES = 3  # that have an event on each CPU: faults, samples, mappings


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def work(first):
    """Runs for half a second, and touches pages that nobody has read, far enough from one another."""
    began = now()
    while time.process_time() < 0.5:
        pass
    with open("/dev/vdb", "rb") as disk:
        with mmap.mmap(disk.fileno(), LENGTH, access=mmap.ACCESS_READ) as memory:
            memory.madvise(mmap.MADV_RANDOM)
            touched = sum(memory[(first + page * 8) * PAGE] for page in range(PAGES))
    assert touched == 0
    print(began)


def spin():
    while True:
        pass


class Machine:
    """Does things, and keeps a log of when."""

    def __init__(self):
        self.recorder = os.getppid()
        self.changes = []  # (cpu, online, time before, time after)
        self.workers = []
        self.events = self.perf_events()
        self.online = 3

    def perf_events(self):
        """How many the recorder has open."""
        names, count = "/proc/%d/fd/" % self.recorder, 0
        for fd in os.listdir(names):
            try:
                count += os.readlink(names + fd) == "anon_inode:[perf_event]"
            except FileNotFoundError:  # it has just been closed
                pass
        return count

    def write(self, file, text, changes):
        before = now()
        with open(SYSFS + file, "w") as sysfs:
            sysfs.write(text)
        after = now()
        for cpu, online in changes:
            self.changes.append((cpu, online, before, after))
            self.online += 1 if online else -1

    def set(self, cpu, online):
        self.write("cpu%d/online" % cpu, str(online), [(cpu, online)])

    def follow(self):
        """Waits until the recorder has taken note of all changes."""
        want = self.events + PROBES * (self.online - 3)
        end = now() + 60 * 10**9
        while self.perf_events() != want:
            if now() > end:
                raise SystemExit("the recorder has %d perf events instead of %d" % (self.perf_events(), want))
            time.sleep(0.01)

    def start(self, cpu, *args):
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {cpu})
            os.execv(sys.executable, ["python3", "-S", __file__] + [str(arg) for arg in args])
        return pid

    def work(self, cpu):
        """Has a program run on a CPU, and notes what the kernel counted of it."""
        read, write = os.pipe()
        os.set_inheritable(write, True)
        pid = self.start(cpu, len(self.workers) * PAGES * 8, write)
        os.close(write)
        with os.fdopen(read) as pipe:
            began = int(pipe.read())
        _, status, usage = os.wait4(pid, 0)
        assert status == 0, status
        switches = usage.ru_nvcsw + usage.ru_nivcsw
        self.workers.append((pid, cpu, began, usage.ru_utime + usage.ru_stime, switches, usage.ru_majflt))


def run():
    machine = Machine()
    machine.work(1)

    # It goes while a program runs that is not allowed on any other.
    spinner = machine.start(1, "spin")
    time.sleep(0.3)
    machine.set(1, 0)
    machine.follow()
    machine.work(2)
    machine.set(1, 1)
    machine.follow()
    machine.work(1)
    os.kill(spinner, 9)
    os.wait4(spinner, 0)

    # It goes and comes faster than anybody looks.
    machine.set(2, 0)
    machine.set(2, 1)

    # It comes for the first time.
    machine.set(3, 1)
    machine.follow()
    machine.work(3)
    machine.work(2)

    # The second thread of each core goes, and comes back.
    machine.write("smt/control", "off", [(1, 0), (3, 0)])
    machine.follow()
    machine.work(2)
    machine.write("smt/control", "on", [(1, 1), (3, 1)])
    machine.follow()
    machine.work(3)
    machine.work(1)

    changes = ['{"cpu": %d, "online": %d, "before": %d, "after": %d}' % change for change in machine.changes]
    workers = [
        '{"pid": %d, "cpu": %d, "began": %d, "cpu_s": %f, "switches": %d, "major_faults": %d}' % worker
        for worker in machine.workers
    ]
    print('{"spinner": %d, "changes": [%s], "workers": [%s]}' % (spinner, ", ".join(changes), ", ".join(workers)))


if len(sys.argv) < 2:
    run()
elif sys.argv[1] == "spin":
    spin()
else:
    sys.stdout = os.fdopen(int(sys.argv[2]), "w")
    work(int(sys.argv[1]))
