An import inside a function, long after start-up: the program sleeps 0.3 s in between. It is nobody's child,
and the sleep is nobody's time.
-- command --
main.py
-- main.py --
import early
import time
def work():
    import late
time.sleep(0.3)
work()
-- early.py --
import textwrap
-- late.py --
import base64
