import sys

print(sys.argv, __name__)
