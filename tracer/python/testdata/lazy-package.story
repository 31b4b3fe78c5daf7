A package whose __getattr__ imports a submodule when it is first used: by the importer's body (heavy) and
by a function that the program calls after all imports (late). Known to differ: from Python 3.11 on, what importlib.import_module imports is as deep as
a sibling of the module whose code called it.
-- command --
-c
import use; import lazy; lazy.late
-- lazy/__init__.py --
import importlib
def __getattr__(name):
    if name.startswith('_'):
        raise AttributeError(name)
    return importlib.import_module('lazy.' + name)
-- lazy/heavy.py --
import textwrap
-- lazy/late.py --
import base64
-- use.py --
import lazy
lazy.heavy
-- differs --
textwrap
