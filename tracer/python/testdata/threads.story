Three threads import at the same time. Each has its own stack: what one imports is not part of what another
one does. The log can't be compared: it takes all threads for one.
-- command --
main.py
-- main.py --
import threading
import a0, b0, c0
def work(name):
    __import__(name)
list_ = [threading.Thread(target=work, args=(n,)) for n in ('a', 'b', 'c')]
for t in list_: t.start()
for t in list_: t.join()
-- a0.py --
import a00
-- b0.py --
import b00
-- c0.py --
import c00
-- a00.py --
-- b00.py --
-- c00.py --
-- a.py --
import time
import a1
time.sleep(0.01)
import a3
-- b.py --
import time
import b1
time.sleep(0.01)
import b3
-- c.py --
import time
import c1
time.sleep(0.01)
import c3
-- a1.py --
import a2
-- b1.py --
import b2
-- c1.py --
import c2
-- a2.py --
import time
time.sleep(0.005)
-- b2.py --
import time
time.sleep(0.005)
-- c2.py --
import time
time.sleep(0.005)
-- a3.py --
-- b3.py --
-- c3.py --
-- differs --
*
