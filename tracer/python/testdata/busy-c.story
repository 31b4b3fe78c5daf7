As busy-python, but the work is done in C, in one call.
-- command --
-c
import pkg
-- pkg/__init__.py --
from . import small
sum(range(20_000_000))
-- pkg/small.py --
import smaller
-- smaller.py --
