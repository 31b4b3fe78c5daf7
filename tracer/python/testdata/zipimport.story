Modules in an archive: Python opens the archive for each, so their names are not known, but their times and
places are.
-- command --
main.py
-- main.py --
import sys
sys.path.insert(0, 'library.zip')
import zipped
-- library.zip/zipped.py --
import inner
import plain
-- library.zip/inner.py --
x = 1
-- plain.py --
import base64
