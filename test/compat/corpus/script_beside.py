import sys

print("arguments", sys.argv[1:], __name__)
