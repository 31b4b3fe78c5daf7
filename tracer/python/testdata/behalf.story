Packages that are imported only because a submodule was asked for: top.middle.leaf brings top and top.middle
along. In self_made the package's own code imports the submodule that it was asked for.
-- command --
-c
import top.middle.leaf, self_made.inner
-- top/__init__.py --
import helper
-- top/middle/__init__.py --
-- top/middle/leaf.py --
import helper2
-- helper.py --
-- helper2.py --
-- self_made/__init__.py --
from . import inner
-- self_made/inner.py --
import helper3
-- helper3.py --
