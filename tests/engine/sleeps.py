"""What a fork runs in tests: says its words, then ends with a status or goes on."""

import sys
import time

if __name__ == "__main__":
    print(sys.argv[1:], flush=True)
    if sys.argv[1:2] == ["end"]:
        sys.exit(int(sys.argv[2]))
    time.sleep(600)
