"""The part of Cellar that runs inside the sandbox: standard library only, Python 3.8 and newer."""
