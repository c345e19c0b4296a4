"""The builtins as they were at start; runner modules bind them, so cells cannot replace them."""

import builtins

BUILTINS = dict(vars(builtins))
