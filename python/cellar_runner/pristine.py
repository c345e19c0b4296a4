"""The builtins as they were at start: runner modules bind these, so user code cannot replace them."""

import builtins

BUILTINS = dict(vars(builtins))
