A namespace package: two directories without an __init__, and a regular package with one inside.
-- command --
-c
import plugins.one, plugins.two.deep, regular.inner.leaf
-- plugins/one.py --
import base64
-- plugins/two/deep.py --
-- regular/__init__.py --
-- regular/inner/leaf.py --
import textwrap
