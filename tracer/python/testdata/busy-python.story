A package's __init__ imports a small module and then works for 0.3 s in Python. The small module is not to blame.
-- command --
-c
import pkg
-- pkg/__init__.py --
from . import small
import time
end = time.perf_counter() + 0.3
x = 0
while time.perf_counter() < end: x += 1
-- pkg/small.py --
import smaller
-- smaller.py --
