"""A stem that loads nothing."""

from batchboard.supervisor import forking

if __name__ == "__main__":
    words = forking.serve()
    if words is not None:
        forking.run(words)
