"""``python -m calibrant`` is the command ``calibrant``."""

import os
import sys


def main() -> None:
    """Run the command; who ends it while it is being loaded gets a sentence as well."""
    try:
        from calibrant.cli import main as run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        sys.stderr.write("calibrant: interrupted.\n")
        sys.stderr.flush()
        os._exit(130)


if __name__ == "__main__":
    main()
