"""The parser of a command's options whose errors are one line, without the whole usage."""

import argparse
from typing import NoReturn


class CommandParser(argparse.ArgumentParser):
    """Exits with status 2 after the error and a pointer to --help."""

    def error(self, message: str) -> NoReturn:
        """Print `message` and exit."""
        self.exit(2, f"{self.prog}: {message}\n(see {self.prog} --help)\n")
        raise AssertionError("exit does not return")
