Modules that import each other. A module is a part of whoever asked first; who asks later finds it in
sys.modules, even half-made, and opens nothing.
-- command --
-c
import first
-- first.py --
import second
-- second.py --
import third
import first
-- third.py --
import first
import second
import fourth
-- fourth.py --
import third
