"""The limits of the protocol.

Generated from src/protocol/messages.ts by "npm run protocol"; not to be edited.
"""

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 16777216
MAX_DAEMON_FRAME_BYTES = 268435456
MAX_SOURCE_BYTES = 8388608
MAX_JSON_DEPTH = 256
MAX_JSON_VALUES = 1000000
MAX_CHECKED_VALUES = 100000
