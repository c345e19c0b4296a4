"""The tables of the protocol.

Generated from src/protocol/messages.ts by "npm run protocol"; not to be edited.
"""

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 16777216
MAX_DAEMON_FRAME_BYTES = 268435456
MAX_SOURCE_BYTES = 8388608
MAX_JSON_DEPTH = 256
MAX_JSON_VALUES = 1000000
MAX_CHECKED_VALUES = 100000

ENVELOPE = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": "integer", "minimum": 0},
                "method": {"type": "string", "maxLength": 4096},
                "params": {"type": "object", "additionalProperties": {}},
            },
            "required": ["jsonrpc", "method", "params"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": "integer", "minimum": 0},
                "result": {},
            },
            "required": ["jsonrpc", "id", "result"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "error": {
                    "type": "object",
                    "properties": {
                        "code": {"type": "integer"},
                        "message": {"type": "string"},
                        "data": {},
                    },
                    "required": ["code", "message"],
                    "additionalProperties": False,
                },
            },
            "required": ["jsonrpc", "id", "error"],
            "additionalProperties": False,
        },
    ],
}

MESSAGES = {
    "boot": {
        "link": "zygote",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "preload": {
                    "maxItems": 256,
                    "type": "array",
                    "items": {"type": "string", "maxLength": 4096},
                },
                "seccomp": {"type": "string"},
                "hatch_fd": {"type": "integer", "minimum": 0},
                "shares_network": {"type": "boolean"},
                "group": {
                    "anyOf": [
                        {
                            "oneOf": [
                                {
                                    "type": "object",
                                    "properties": {
                                        "version": {"const": 1},
                                        "memory_fd": {"type": "integer", "minimum": 0},
                                        "pids_fd": {"type": "integer", "minimum": 0},
                                        "cpu_fd": {"type": "integer", "minimum": 0},
                                    },
                                    "required": ["version", "memory_fd", "pids_fd"],
                                    "additionalProperties": False,
                                },
                                {
                                    "type": "object",
                                    "properties": {
                                        "version": {"const": 2},
                                        "unified_fd": {"type": "integer", "minimum": 0},
                                    },
                                    "required": ["version", "unified_fd"],
                                    "additionalProperties": False,
                                },
                            ],
                        },
                        {"type": "null"},
                    ],
                },
            },
            "required": ["preload", "seccomp", "hatch_fd", "group"],
            "additionalProperties": False,
        },
    },
    "spawn": {
        "link": "zygote",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "session": {"type": "string", "maxLength": 4096},
                "token": {"type": "string", "maxLength": 4096},
                "limits": {
                    "type": "object",
                    "properties": {
                        "memory_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "processes": {"type": "integer", "exclusiveMinimum": 0},
                        "workspace_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "tmp_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "file_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "open_files": {"type": "integer", "minimum": 32},
                        "inotify_watches": {"type": "integer", "minimum": 0},
                    },
                    "required": [
                        "memory_mb",
                        "processes",
                        "workspace_mb",
                        "tmp_mb",
                        "file_mb",
                        "open_files",
                        "inotify_watches",
                    ],
                    "additionalProperties": False,
                },
                "keep_checkpoints": {"type": "integer", "minimum": 0},
                "rehearse": {"type": "boolean"},
                "room": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "maxLength": 4096},
                        "egress": {"type": "boolean"},
                    },
                    "required": ["name", "egress"],
                    "additionalProperties": False,
                },
            },
            "required": ["session", "token", "limits", "keep_checkpoints", "rehearse"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "end_session": {
        "link": "zygote",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {"session": {"type": "string", "maxLength": 4096}},
            "required": ["session"],
            "additionalProperties": False,
        },
    },
    "template": {
        "link": "zygote",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "template": {"type": "string", "maxLength": 4096},
                "token": {"type": "string", "maxLength": 4096},
            },
            "required": ["template", "token"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "read_context": {
        "link": "template",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "format": {"enum": ["utf-8", "utf-16-le", "json"]},
                "bytes": {"type": "integer", "minimum": 0},
            },
            "required": ["format", "bytes"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {"memory": {"type": "integer", "minimum": 0}},
            "required": ["memory"],
            "additionalProperties": False,
        },
    },
    "ready": {
        "link": "zygote",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "protocol": {"type": "integer", "minimum": 0},
                "python": {"type": "string", "maxLength": 4096},
                "threads": {"type": "integer", "minimum": 0},
                "preloaded": {
                    "maxItems": 256,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "maxLength": 4096},
                            "version": {"type": "string", "maxLength": 4096},
                        },
                        "required": ["name", "version"],
                        "additionalProperties": False,
                    },
                },
                "absent": {
                    "maxItems": 256,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "maxLength": 4096},
                            "reason": {"type": "string", "maxLength": 4096},
                        },
                        "required": ["name", "reason"],
                        "additionalProperties": False,
                    },
                },
                "seconds": {"type": "number", "minimum": 0},
            },
            "required": ["protocol", "python", "threads", "preloaded", "absent", "seconds"],
            "additionalProperties": False,
        },
    },
    "exited": {
        "link": "zygote",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "session": {"type": "string", "maxLength": 4096},
                "reason": {"type": "string", "maxLength": 4096},
            },
            "required": ["session", "reason"],
            "additionalProperties": False,
        },
    },
    "plain_boot": {
        "link": "plain",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "session": {"type": "string", "maxLength": 4096},
                "token": {"type": "string", "maxLength": 4096},
                "limits": {
                    "type": "object",
                    "properties": {
                        "memory_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "processes": {"type": "integer", "exclusiveMinimum": 0},
                        "workspace_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "tmp_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "file_mb": {"type": "integer", "exclusiveMinimum": 0},
                        "open_files": {"type": "integer", "minimum": 32},
                        "inotify_watches": {"type": "integer", "minimum": 0},
                    },
                    "required": [
                        "memory_mb",
                        "processes",
                        "workspace_mb",
                        "tmp_mb",
                        "file_mb",
                        "open_files",
                        "inotify_watches",
                    ],
                    "additionalProperties": False,
                },
            },
            "required": ["session", "token", "limits"],
            "additionalProperties": False,
        },
    },
    "hello": {
        "link": "head",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "protocol": {"type": "integer", "minimum": 0},
                "role": {"enum": ["init", "head", "plain", "template", "writer"]},
                "session": {"type": "string", "maxLength": 4096},
                "token": {"type": "string", "maxLength": 4096},
                "branch": {"type": "integer", "minimum": 0},
                "generation": {"type": "integer", "minimum": 0},
                "python": {"type": "string", "maxLength": 4096},
                "abilities": {
                    "maxItems": 64,
                    "type": "array",
                    "items": {"type": "string", "maxLength": 4096},
                },
            },
            "required": [
                "protocol",
                "role",
                "session",
                "token",
                "branch",
                "generation",
                "python",
                "abilities",
            ],
            "additionalProperties": False,
        },
    },
    "initialize": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "variables": {
                    "type": "object",
                    "propertyNames": {"type": "string", "maxLength": 4096},
                    "additionalProperties": {},
                },
                "checkpoint": {"enum": ["always", "idle", "off"]},
                "rest_ms": {"type": "integer", "minimum": 0},
            },
            "required": ["step", "variables", "checkpoint"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "checkpoint": {
                    "type": "object",
                    "properties": {
                        "planned": {"type": "boolean"},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["planned"],
                    "additionalProperties": False,
                },
            },
            "required": ["checkpoint"],
            "additionalProperties": False,
        },
    },
    "context_part": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "format": {"enum": ["utf-8", "utf-16-le", "json"]},
                "total": {"type": "integer", "minimum": 0},
                "offset": {"type": "integer", "minimum": 0},
                "attachments": {
                    "minItems": 1,
                    "maxItems": 1,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"bytes": {"type": "integer", "minimum": 0}},
                        "required": ["bytes"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["format", "total", "offset", "attachments"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "load_context": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "name": {"type": "string", "minLength": 1, "maxLength": 4096},
                "total": {"type": "integer", "minimum": 0},
                "checkpoint": {"enum": ["always", "idle", "off"]},
                "rest_ms": {"type": "integer", "minimum": 0},
            },
            "required": ["step", "total", "checkpoint"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "checkpoint": {
                    "type": "object",
                    "properties": {
                        "planned": {"type": "boolean"},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["planned"],
                    "additionalProperties": False,
                },
            },
            "required": ["checkpoint"],
            "additionalProperties": False,
        },
    },
    "configure": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "environment": {
                    "type": "object",
                    "propertyNames": {"type": "string", "maxLength": 4096},
                    "additionalProperties": {"type": "string"},
                },
                "conduct": {
                    "type": "object",
                    "properties": {
                        "policy": {"enum": ["off", "ast", "restricted"]},
                        "sanitise": {"type": "boolean"},
                    },
                    "required": ["policy", "sanitise"],
                    "additionalProperties": False,
                },
                "agent": {
                    "type": "object",
                    "properties": {
                        "max_grep_results": {"type": "integer", "exclusiveMinimum": 0},
                        "require_exploration_before_final": {"type": "boolean"},
                        "min_exploration_calls": {"type": "integer", "minimum": 0},
                    },
                    "required": [
                        "max_grep_results",
                        "require_exploration_before_final",
                        "min_exploration_calls",
                    ],
                    "additionalProperties": False,
                },
                "tools": {
                    "maxItems": 256,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "minLength": 1, "maxLength": 4096},
                            "doc": {"type": "string", "maxLength": 100000},
                            "parameters": {
                                "maxItems": 256,
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "name": {
                                            "type": "string",
                                            "minLength": 1,
                                            "maxLength": 4096,
                                        },
                                        "required": {"type": "boolean"},
                                    },
                                    "required": ["name", "required"],
                                    "additionalProperties": False,
                                },
                            },
                            "open": {"type": "boolean"},
                        },
                        "required": ["name", "doc", "parameters", "open"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["environment"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "execute": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "number": {"type": "integer", "minimum": 0},
                "code": {"type": "string"},
                "max_output": {"type": "integer", "minimum": 0},
                "checkpoint": {"enum": ["always", "idle", "off"]},
                "rest_ms": {"type": "integer", "minimum": 0},
                "argv": {
                    "minItems": 1,
                    "maxItems": 1000,
                    "type": "array",
                    "items": {"type": "string"},
                },
            },
            "required": ["step", "number", "code", "max_output", "checkpoint"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "status": {"enum": ["ok", "error", "interrupted"]},
                "error": {
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": {
                                "type": {"type": "string", "minLength": 1, "maxLength": 4096},
                                "message": {"type": "string"},
                                "traceback": {"type": "string"},
                                "hint": {"type": "string"},
                            },
                            "required": ["type", "message", "traceback"],
                            "additionalProperties": False,
                        },
                        {"type": "null"},
                    ],
                },
                "result": {
                    "anyOf": [
                        {
                            "type": "object",
                            "propertyNames": {"type": "string", "maxLength": 4096},
                            "additionalProperties": {"type": "string"},
                        },
                        {"type": "null"},
                    ],
                },
                "exit_code": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "duration_ms": {"type": "number", "minimum": 0},
                "end_seq": {"type": "integer", "minimum": 0},
                "checkpoint": {
                    "type": "object",
                    "properties": {
                        "planned": {"type": "boolean"},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["planned"],
                    "additionalProperties": False,
                },
                "replaced": {
                    "type": "object",
                    "properties": {
                        "total": {"type": "integer", "minimum": 0},
                        "characters": {
                            "maxItems": 64,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "character": {"type": "string", "maxLength": 8},
                                    "name": {"type": "string", "maxLength": 4096},
                                    "line": {"type": "integer", "minimum": 0},
                                    "column": {"type": "integer", "minimum": 0},
                                    "with": {"type": "string", "maxLength": 64},
                                },
                                "required": ["character", "name", "line", "column", "with"],
                                "additionalProperties": False,
                            },
                        },
                    },
                    "required": ["total", "characters"],
                    "additionalProperties": False,
                },
                "agent": {
                    "type": "object",
                    "properties": {
                        "calls": {
                            "maxItems": 200,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "id": {"type": "string", "minLength": 1, "maxLength": 32},
                                    "name": {
                                        "type": "string",
                                        "minLength": 1,
                                        "maxLength": 4096,
                                    },
                                    "arguments": {
                                        "type": "object",
                                        "propertyNames": {"type": "string", "maxLength": 4096},
                                        "additionalProperties": {},
                                    },
                                    "size": {"type": "integer", "minimum": 0},
                                    "preview": {"type": "string", "maxLength": 4096},
                                    "parents": {
                                        "maxItems": 64,
                                        "type": "array",
                                        "items": {
                                            "type": "string",
                                            "minLength": 1,
                                            "maxLength": 32,
                                        },
                                    },
                                    "seconds": {"type": "number", "minimum": 0},
                                    "error": {
                                        "anyOf": [
                                            {"type": "string", "maxLength": 4096},
                                            {"type": "null"},
                                        ],
                                    },
                                },
                                "required": [
                                    "id",
                                    "name",
                                    "arguments",
                                    "size",
                                    "preview",
                                    "parents",
                                    "seconds",
                                    "error",
                                ],
                                "additionalProperties": False,
                            },
                        },
                        "omitted": {"type": "integer", "minimum": 0},
                        "explored": {"type": "integer", "minimum": 0},
                        "final": {
                            "anyOf": [
                                {
                                    "type": "object",
                                    "properties": {
                                        "via": {"type": "string", "maxLength": 4096},
                                        "name": {
                                            "anyOf": [
                                                {"type": "string", "maxLength": 4096},
                                                {"type": "null"},
                                            ],
                                        },
                                        "type": {"type": "string", "maxLength": 4096},
                                        "value": {},
                                        "text": {
                                            "anyOf": [
                                                {"type": "string", "maxLength": 100000},
                                                {"type": "null"},
                                            ],
                                        },
                                        "loss": {
                                            "anyOf": [
                                                {"type": "string", "maxLength": 4096},
                                                {"type": "null"},
                                            ],
                                        },
                                    },
                                    "required": [
                                        "via",
                                        "name",
                                        "type",
                                        "value",
                                        "text",
                                        "loss",
                                    ],
                                    "additionalProperties": False,
                                },
                                {"type": "null"},
                            ],
                        },
                        "findings": {
                            "maxItems": 500,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "number": {"type": "integer", "minimum": 0},
                                    "text": {"type": "string", "maxLength": 4096},
                                    "source": {
                                        "anyOf": [
                                            {"type": "string", "maxLength": 4096},
                                            {"type": "null"},
                                        ],
                                    },
                                },
                                "required": ["number", "text", "source"],
                                "additionalProperties": False,
                            },
                        },
                        "refused": {
                            "maxItems": 20,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": {"type": "string", "maxLength": 4096},
                                    "reason": {"type": "string", "maxLength": 4096},
                                },
                                "required": ["name", "reason"],
                                "additionalProperties": False,
                            },
                        },
                        "put_back": {
                            "maxItems": 64,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": {
                                        "type": "string",
                                        "minLength": 1,
                                        "maxLength": 4096,
                                    },
                                    "kept": {
                                        "anyOf": [
                                            {
                                                "type": "string",
                                                "minLength": 1,
                                                "maxLength": 4096,
                                            },
                                            {"type": "null"},
                                        ],
                                    },
                                },
                                "required": ["name", "kept"],
                                "additionalProperties": False,
                            },
                        },
                    },
                    "required": [
                        "calls",
                        "omitted",
                        "explored",
                        "final",
                        "findings",
                        "refused",
                        "put_back",
                    ],
                    "additionalProperties": False,
                },
                "output": {
                    "type": "object",
                    "properties": {
                        "pieces": {
                            "maxItems": 10000,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "step": {
                                        "anyOf": [
                                            {"type": "integer", "minimum": 0},
                                            {"type": "null"},
                                        ],
                                    },
                                    "stream": {"enum": ["stdout", "stderr"]},
                                    "text": {"type": "string"},
                                    "seq": {"type": "integer", "minimum": 0},
                                },
                                "required": ["step", "stream", "text", "seq"],
                                "additionalProperties": False,
                            },
                        },
                        "omitted": {
                            "type": "object",
                            "properties": {
                                "stdout": {"type": "integer", "minimum": 0},
                                "stderr": {"type": "integer", "minimum": 0},
                            },
                            "required": ["stdout", "stderr"],
                            "additionalProperties": False,
                        },
                    },
                    "required": ["pieces", "omitted"],
                    "additionalProperties": False,
                },
            },
            "required": ["status", "error", "result", "exit_code", "duration_ms", "checkpoint"],
            "additionalProperties": False,
        },
    },
    "get_variable": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 4096}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"found": {"const": True}, "value": {}},
                    "required": ["found", "value"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"found": {"const": False}},
                    "required": ["found"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "variables": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {"type": "object", "properties": {}, "additionalProperties": False},
        "result": {
            "type": "object",
            "properties": {
                "variables": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "maxLength": 4096},
                            "type": {"type": "string", "maxLength": 4096},
                            "text": {"type": "string", "maxLength": 4096},
                            "size": {"type": "integer", "minimum": 0},
                        },
                        "required": ["name", "type", "text"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["variables"],
            "additionalProperties": False,
        },
    },
    "complete": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "cursor": {"type": "integer", "minimum": 0},
            },
            "required": ["code", "cursor"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "matches": {
                    "maxItems": 1000,
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": 256},
                },
                "start": {"type": "integer", "minimum": 0},
                "end": {"type": "integer", "minimum": 0},
            },
            "required": ["matches", "start", "end"],
            "additionalProperties": False,
        },
    },
    "ping": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {"type": "object", "properties": {}, "additionalProperties": False},
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "display": {
        "link": "head",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "seq": {"type": "integer", "minimum": 0},
                "data": {
                    "type": "object",
                    "propertyNames": {"type": "string", "maxLength": 4096},
                    "additionalProperties": {"type": "string"},
                },
                "attachments": {
                    "maxItems": 16,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "mime": {"type": "string", "maxLength": 4096},
                            "bytes": {"type": "integer", "minimum": 0},
                        },
                        "required": ["mime", "bytes"],
                        "additionalProperties": False,
                    },
                },
                "metadata": {
                    "type": "object",
                    "propertyNames": {"type": "string", "maxLength": 4096},
                    "additionalProperties": {},
                },
                "display_id": {"type": "string", "minLength": 1, "maxLength": 200},
                "role": {"enum": ["result", "update"]},
            },
            "required": ["step", "seq", "data", "attachments", "metadata"],
            "additionalProperties": False,
        },
    },
    "clear_output": {
        "link": "head",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "seq": {"type": "integer", "minimum": 0},
                "wait": {"type": "boolean"},
            },
            "required": ["step", "seq", "wait"],
            "additionalProperties": False,
        },
    },
    "host_call": {
        "link": "head",
        "from": "inside",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "step": {"type": "integer", "minimum": 0},
                "name": {"type": "string", "minLength": 1, "maxLength": 4096},
                "input": {"type": "string"},
            },
            "required": ["step", "name", "input"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {"output": {}},
            "required": ["output"],
            "additionalProperties": False,
        },
    },
    "interrupt": {
        "link": "init",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "step": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "step"],
            "additionalProperties": False,
        },
    },
    "kill": {
        "link": "init",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "generation": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "generation"],
            "additionalProperties": False,
        },
    },
    "rollback": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "checkpoint": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "checkpoint"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": True},
                        "generation": {"type": "integer", "minimum": 0},
                    },
                    "required": ["done", "generation"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "reason": {"type": "string", "maxLength": 4096},
                        "instead": {
                            "type": "object",
                            "properties": {
                                "restored": {"type": "integer", "minimum": 0},
                                "generation": {"type": "integer", "minimum": 0},
                            },
                            "required": ["restored", "generation"],
                            "additionalProperties": False,
                        },
                    },
                    "required": ["done", "reason"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "fork": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "checkpoint": {"type": "integer", "minimum": 0},
                "new_branch": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "checkpoint", "new_branch"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": True},
                        "generation": {"type": "integer", "minimum": 0},
                    },
                    "required": ["done", "generation"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "reason"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "drop": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {"branch": {"type": "integer", "minimum": 0}},
            "required": ["branch"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "checkpoints": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {"branch": {"type": "integer", "minimum": 0}},
            "required": ["branch"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "checkpoints": {
                    "maxItems": 4096,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "step": {"type": "integer", "minimum": 0},
                            "pid": {"type": "integer", "minimum": 0},
                        },
                        "required": ["step", "pid"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["checkpoints"],
            "additionalProperties": False,
        },
    },
    "output": {
        "link": "init",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "generation": {"type": "integer", "minimum": 0},
                "step": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "stream": {"enum": ["stdout", "stderr"]},
                "text": {"type": "string"},
                "seq": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "generation", "step", "stream", "text", "seq"],
            "additionalProperties": False,
        },
    },
    "settled": {
        "link": "init",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "generation": {"type": "integer", "minimum": 0},
                "step": {"type": "integer", "minimum": 0},
                "seq": {"type": "integer", "minimum": 0},
                "omitted": {
                    "type": "object",
                    "properties": {
                        "stdout": {"type": "integer", "minimum": 0},
                        "stderr": {"type": "integer", "minimum": 0},
                    },
                    "required": ["stdout", "stderr"],
                    "additionalProperties": False,
                },
                "processes": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "generation", "step", "seq", "omitted", "processes"],
            "additionalProperties": False,
        },
    },
    "parked": {
        "link": "init",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "step": {"type": "integer", "minimum": 0},
                "lost": {
                    "maxItems": 64,
                    "type": "array",
                    "items": {"type": "string", "maxLength": 4096},
                },
            },
            "required": ["branch", "step", "lost"],
            "additionalProperties": False,
        },
    },
    "died": {
        "link": "init",
        "from": "inside",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "generation": {"type": "integer", "minimum": 0},
                "step": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "cause": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {
                                "kind": {"const": "exit"},
                                "code": {"type": "integer"},
                            },
                            "required": ["kind", "code"],
                            "additionalProperties": False,
                        },
                        {
                            "type": "object",
                            "properties": {
                                "kind": {"const": "signal"},
                                "signal": {"type": "integer"},
                            },
                            "required": ["kind", "signal"],
                            "additionalProperties": False,
                        },
                        {
                            "type": "object",
                            "properties": {"kind": {"const": "oom"}},
                            "required": ["kind"],
                            "additionalProperties": False,
                        },
                        {
                            "type": "object",
                            "properties": {"kind": {"const": "killed"}},
                            "required": ["kind"],
                            "additionalProperties": False,
                        },
                    ],
                },
                "restored": {"type": "integer", "minimum": 0},
                "next_generation": {"type": "integer", "minimum": 0},
            },
            "required": [
                "branch",
                "generation",
                "step",
                "cause",
                "restored",
                "next_generation",
            ],
            "additionalProperties": False,
        },
    },
    "capture": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "checkpoint": {"type": "integer", "minimum": 0},
                "writer": {"type": "integer", "minimum": 0},
                "max_bytes": {"type": "integer", "minimum": 0},
                "private": {"type": "boolean"},
                "strict": {"type": "boolean"},
            },
            "required": ["branch", "checkpoint", "writer", "max_bytes", "private", "strict"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"done": {"const": True}},
                    "required": ["done"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "reason"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "lend_writer": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "branch": {"type": "integer", "minimum": 0},
                "writer": {"type": "integer", "minimum": 0},
            },
            "required": ["branch", "writer"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {"done": {"type": "boolean"}},
            "required": ["done"],
            "additionalProperties": False,
        },
    },
    "lend_state": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {"branch": {"type": "integer", "minimum": 0}},
            "required": ["branch"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"done": {"const": True}},
                    "required": ["done"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "reason"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "write_state": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "file": {"type": "string", "maxLength": 4096},
                "writer": {"type": "integer", "minimum": 0},
                "max_bytes": {"type": "integer", "minimum": 0},
                "private": {"type": "boolean"},
                "strict": {"type": "boolean"},
            },
            "required": ["writer", "max_bytes", "private", "strict"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "forked": {"type": "boolean"},
                "manifest": {
                    "type": "object",
                    "properties": {
                        "format": {"type": "integer", "minimum": 0},
                        "python": {"type": "string", "maxLength": 4096},
                        "codec": {"type": "string", "maxLength": 4096},
                        "libraries": {
                            "type": "object",
                            "propertyNames": {"type": "string", "maxLength": 4096},
                            "additionalProperties": {"type": "string", "maxLength": 4096},
                        },
                        "variables": {
                            "maxItems": 10000,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": {
                                        "type": "string",
                                        "minLength": 1,
                                        "maxLength": 512,
                                    },
                                    "type": {"type": "string", "maxLength": 4096},
                                    "kept": {"type": "boolean"},
                                    "size": {"type": "integer", "minimum": 0},
                                    "reason": {"type": "string", "maxLength": 4096},
                                    "advice": {"type": "string", "maxLength": 4096},
                                },
                                "required": ["name", "type", "kept"],
                                "additionalProperties": False,
                            },
                        },
                        "omitted": {"type": "integer", "minimum": 0},
                    },
                    "required": [
                        "format",
                        "python",
                        "codec",
                        "libraries",
                        "variables",
                        "omitted",
                    ],
                    "additionalProperties": False,
                },
                "written": {
                    "type": "object",
                    "properties": {
                        "bytes": {"type": "integer", "minimum": 0},
                        "crc32": {"type": "integer", "minimum": 0},
                    },
                    "required": ["bytes", "crc32"],
                    "additionalProperties": False,
                },
            },
            "required": ["forked"],
            "additionalProperties": False,
        },
    },
    "state_part": {
        "link": "writer",
        "from": "inside",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "attachments": {
                    "minItems": 1,
                    "maxItems": 1,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"bytes": {"type": "integer", "minimum": 0}},
                        "required": ["bytes"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["attachments"],
            "additionalProperties": False,
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "end_writer": {
        "link": "init",
        "from": "host",
        "kind": "notification",
        "params": {
            "type": "object",
            "properties": {"writer": {"type": "integer", "minimum": 0}},
            "required": ["writer"],
            "additionalProperties": False,
        },
    },
    "state_end": {
        "link": "writer",
        "from": "inside",
        "kind": "request",
        "params": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": True},
                        "manifest": {
                            "type": "object",
                            "properties": {
                                "format": {"type": "integer", "minimum": 0},
                                "python": {"type": "string", "maxLength": 4096},
                                "codec": {"type": "string", "maxLength": 4096},
                                "libraries": {
                                    "type": "object",
                                    "propertyNames": {"type": "string", "maxLength": 4096},
                                    "additionalProperties": {
                                        "type": "string",
                                        "maxLength": 4096,
                                    },
                                },
                                "variables": {
                                    "maxItems": 10000,
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "name": {
                                                "type": "string",
                                                "minLength": 1,
                                                "maxLength": 512,
                                            },
                                            "type": {"type": "string", "maxLength": 4096},
                                            "kept": {"type": "boolean"},
                                            "size": {"type": "integer", "minimum": 0},
                                            "reason": {"type": "string", "maxLength": 4096},
                                            "advice": {"type": "string", "maxLength": 4096},
                                        },
                                        "required": ["name", "type", "kept"],
                                        "additionalProperties": False,
                                    },
                                },
                                "omitted": {"type": "integer", "minimum": 0},
                            },
                            "required": [
                                "format",
                                "python",
                                "codec",
                                "libraries",
                                "variables",
                                "omitted",
                            ],
                            "additionalProperties": False,
                        },
                        "written": {
                            "type": "object",
                            "properties": {
                                "bytes": {"type": "integer", "minimum": 0},
                                "crc32": {"type": "integer", "minimum": 0},
                            },
                            "required": ["bytes", "crc32"],
                            "additionalProperties": False,
                        },
                    },
                    "required": ["done", "manifest", "written"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "reason"],
                    "additionalProperties": False,
                },
            ],
        },
        "result": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "restore": {
        "link": "head",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "file": {"type": "string", "maxLength": 4096},
                "step": {"type": "integer", "minimum": 0},
                "checkpoint": {"enum": ["always", "idle", "off"]},
                "rest_ms": {"type": "integer", "minimum": 0},
            },
            "required": ["step", "checkpoint"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "report": {
                    "type": "object",
                    "properties": {
                        "restored": {
                            "maxItems": 10000,
                            "type": "array",
                            "items": {"type": "string", "minLength": 1, "maxLength": 512},
                        },
                        "lost": {
                            "maxItems": 10000,
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": {
                                        "type": "string",
                                        "minLength": 1,
                                        "maxLength": 512,
                                    },
                                    "reason": {"type": "string", "maxLength": 4096},
                                    "advice": {"type": "string", "maxLength": 4096},
                                },
                                "required": ["name", "reason"],
                                "additionalProperties": False,
                            },
                        },
                        "warnings": {
                            "maxItems": 64,
                            "type": "array",
                            "items": {"type": "string", "maxLength": 4096},
                        },
                    },
                    "required": ["restored", "lost", "warnings"],
                    "additionalProperties": False,
                },
                "checkpoint": {
                    "type": "object",
                    "properties": {
                        "planned": {"type": "boolean"},
                        "reason": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["planned"],
                    "additionalProperties": False,
                },
            },
            "required": ["report", "checkpoint"],
            "additionalProperties": False,
        },
    },
    "list_files": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {"type": "object", "properties": {}, "additionalProperties": False},
        "result": {
            "type": "object",
            "properties": {
                "files": {
                    "maxItems": 10000,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "minLength": 1, "maxLength": 4096},
                            "bytes": {"type": "integer", "minimum": 0},
                            "modified": {"type": "integer"},
                            "kind": {"enum": ["file", "folder", "link", "other"]},
                        },
                        "required": ["path", "bytes", "modified", "kind"],
                        "additionalProperties": False,
                    },
                },
                "cut": {"type": "boolean"},
            },
            "required": ["files", "cut"],
            "additionalProperties": False,
        },
    },
    "open_file": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 4096},
                "mode": {"enum": ["read", "write"]},
                "max_bytes": {"type": "integer", "minimum": 0},
                "max_files": {"type": "integer", "minimum": 0},
            },
            "required": ["path", "mode", "max_bytes", "max_files"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": True},
                        "file": {"type": "integer", "minimum": 0},
                        "bytes": {"type": "integer", "minimum": 0},
                    },
                    "required": ["done", "file", "bytes"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "problem": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "problem"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "read_file": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {"file": {"type": "integer", "minimum": 0}},
            "required": ["file"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"done": {"const": True}, "data": {"type": "string"}},
                    "required": ["done", "data"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "problem": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "problem"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "write_file": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "file": {"type": "integer", "minimum": 0},
                "attachments": {
                    "minItems": 1,
                    "maxItems": 1,
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"bytes": {"type": "integer", "minimum": 0}},
                        "required": ["bytes"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["file", "attachments"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"done": {"const": True}},
                    "required": ["done"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "problem": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "problem"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "close_file": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "file": {"type": "integer", "minimum": 0},
                "keep": {"type": "boolean"},
            },
            "required": ["file", "keep"],
            "additionalProperties": False,
        },
        "result": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"done": {"const": True}},
                    "required": ["done"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "done": {"const": False},
                        "problem": {"type": "string", "maxLength": 4096},
                    },
                    "required": ["done", "problem"],
                    "additionalProperties": False,
                },
            ],
        },
    },
    "check_writable": {
        "link": "init",
        "from": "host",
        "kind": "request",
        "params": {
            "type": "object",
            "properties": {
                "paths": {"maxItems": 1024, "type": "array", "items": {"type": "string"}},
            },
            "required": ["paths"],
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "properties": {
                "refused": {
                    "maxItems": 1024,
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0},
                },
            },
            "required": ["refused"],
            "additionalProperties": False,
        },
    },
}
