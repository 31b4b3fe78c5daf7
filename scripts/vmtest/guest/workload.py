"""Imports the modules it is told to, and prints what a trace of it must agree with."""

import sys

for name in sys.argv[1:]:
    __import__(name)

import importlib.util
import json
import os
import resource


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


usage = resource.getrusage(resource.RUSAGE_SELF)
json.dump(
    {
        "pid": os.getpid(),
        "argv": ["python3"] + sys.argv,
        "compiled_files": compiled_files(),
        "stack": stack(),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "minor_faults": usage.ru_minflt,
    },
    sys.stdout,
)
