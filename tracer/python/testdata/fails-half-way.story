An import that fails half-way: the package asks for broken, which has imported json.scanner and then raises
ImportError. The package catches that and goes on with fallback. Later broken is tried again, in vain.
Both attempts are imports, and what they had loaded stays loaded.
-- command --
-c
import app
-- app/__init__.py --
try:
    from . import broken
except ImportError:
    from . import fallback
try:
    from . import broken
except ImportError:
    pass
-- app/broken.py --
import base64
raise ImportError('no such feature')
-- app/fallback.py --
import textwrap
