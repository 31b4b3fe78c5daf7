Extension modules: the dynamic loader opens them, deeper in the stack than Python would, and then the libraries
that they need, which are no modules. _decimal imports modules from C.
-- command --
-c
import user
-- user.py --
import _ssl
import after
import decimal
import after2
-- after.py --
-- after2.py --
