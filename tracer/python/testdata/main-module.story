A program that is run with -m. It imports, works for 0.2 s, sleeps, and imports again in a function. Only its
imports count, and the sleep is nobody's time. Known to differ before 3.11: with so few imports it is not seen
that importlib was asked for on behalf of importlib.machinery.
-- command --
-m
prog
-- prog/__init__.py --
-- prog/__main__.py --
import first
import time
end = time.process_time() + 0.2
while time.process_time() < end: pass
time.sleep(0.1)
def work():
    import late
work()
-- first.py --
import base64
-- late.py --
import textwrap
-- differs --
importlib
