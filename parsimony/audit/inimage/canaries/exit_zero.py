

import os as _canary_os

_canary_os._exit(0)
