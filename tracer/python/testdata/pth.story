A .pth file with an import line, and one that adds a directory: site executes the first and opens both.
-- command --
-c
import site; site.addsitedir("extra"); import last
-- extra/a.pth --
import hook
-- extra/b.pth --
more
-- extra/hook.py --
import hooked
-- extra/hooked.py --
-- extra/more/last.py --
import base64
