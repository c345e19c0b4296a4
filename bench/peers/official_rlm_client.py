"""Runs the official package's loop: reads a request per line, answers with the result and its time."""

import json
import sys
import time

from rlm import RLM

TURNS = 30


def run(request):
    """The answer, and milliseconds from the call to it."""
    began = time.perf_counter()
    loop = RLM(
        backend="openai",
        backend_kwargs={
            "model_name": request["model"],
            "base_url": request["base_url"],
            "api_key": "none",
        },
        environment="local",
        max_iterations=TURNS,
    )
    result = loop.completion(request["context"], root_prompt=request["query"])
    return {"answer": result.response, "ms": (time.perf_counter() - began) * 1000}


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
