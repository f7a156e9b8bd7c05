"""python -m dispatch.simulator --port 0 --latency 1 --rpm 600"""

import argparse

from . import add_arguments, options_from, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m dispatch.simulator")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    add_arguments(parser)
    namespace = parser.parse_args()
    try:
        options = options_from(namespace)
    except ValueError as error:
        parser.error(str(error))
    run(options, namespace.host, namespace.port)


if __name__ == "__main__":
    main()
