"""What a head and init say to each other on the link of a head."""

import struct

# The step of a checkpoint that init is asked to make, where the C library keeps the thread's id, and a number that
# stands for the actions of all signals.
CHECKPOINT = struct.Struct("=QQQ")
# The step that a copy was made of, and its pid.
PARKED = struct.Struct("=II")
# The number of a writer and its pid; the last word tells it from the one above.
WRITING = struct.Struct("=III")
LONGEST = CHECKPOINT.size

# What init passes to a head: the link of its next checkpoint, one to write its state on, or the
# file of a state to restore.
SPARE_LINK, WRITER, STATE = b"spare", b"writer", b"state"
# Init's answers to CHECKPOINT: it was made, or the head has to copy itself.
TAKEN, COPY = b"taken", b"copy"
# Before the orders of a new head: files to open anew, some in each message.
FILES = b"files"
