A Python program that replaces itself by another one: two interpreters in one process. The second has a new stack.
-- command --
main.py
-- main.py --
import before
import os, sys
os.execv(sys.executable, [sys.executable, '-ESs', 'second.py'])
-- before.py --
import base64
-- second.py --
import sys
sys.path.insert(0, '.')
import after
-- after.py --
import textwrap
