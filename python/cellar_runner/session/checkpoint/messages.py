"""What a head and init say to each other on the link of a head."""

import struct

# The step of a checkpoint that init is asked to make, where the C library keeps the thread's id, a number that
# stands for the actions of all signals, and whether the head has given back what it does not use.
CHECKPOINT = struct.Struct("=QQQQ")
# The step that a copy was made of, and its pid.
PARKED = struct.Struct("=II")
# The number of a writer and its pid; the last word tells it from the one above.
WRITING = struct.Struct("=III")
LONGEST = CHECKPOINT.size

# What init passes to a head: the link of its next checkpoint, one to write its state on, or the
# file of a state to restore.
SPARE_LINK, WRITER, STATE = b"spare", b"writer", b"state"
# Answers of init to CHECKPOINT: it was made; will be when the head has given back memory; the head has to copy itself.
TAKEN, TRIM, COPY = b"taken", b"trim", b"copy"
# Before the orders of a new head: files to open anew, some in each message.
FILES = b"files"
