"""Checks of source code."""

import json
import subprocess
import sys

from .inputs import text

LONGEST = 1_000_000
SECONDS = 25
#: Faults, not questions of taste; the same in each version of ruff.
RULES = ("E4", "E7", "F")


def lint_python(code, select=RULES, ignore=()) -> dict:
    """What ruff finds in Python code."""
    import ruff  # noqa: F401  The program is started below; this says if it is not installed.

    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--output-format=json", "--exit-zero"]
    for option, rules in (("--select", select), ("--ignore", ignore)):
        if rules:
            command.append("{}={}".format(option, ",".join(_rules(rules, option[2:]))))
    done = subprocess.run(
        [*command, "--stdin-filename=code.py", "-"],
        input=text(code, "code", LONGEST),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode != 0:
        last = done.stderr.strip().split("\n")[-1]
        raise ValueError("ruff failed: {}".format(last))
    problems = [_problem(found) for found in json.loads(done.stdout)]
    return {"problems": problems, "count": len(problems)}


def _rules(rules, name):
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, str) and rule.isalnum() for rule in rules):
        raise ValueError("{} must be a list of rules such as ['F', 'E501']".format(name))
    return rules


def _problem(found):
    return {
        "code": found["code"] or "syntax",
        "message": found["message"],
        "line": found["location"]["row"],
        "column": found["location"]["column"],
        "fixable": found["fix"] is not None,
    }
