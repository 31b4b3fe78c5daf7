The dependency-injection case: the importing module's body uses a decorator of a module that it has imported,
which builds models for 0.3 s. That is the body's time, not the decorator module's.
-- command --
-c
import app
-- app.py --
from inject import injectable
@injectable
class One:
    a: int
@injectable
class Two:
    b: int
-- inject.py --
import dataclasses
def injectable(cls):
    for i in range(150):
        dataclasses.make_dataclass('Model', [('field%d' % n, int) for n in range(5)])
    return dataclasses.dataclass(cls)
