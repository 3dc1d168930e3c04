"""`python -m condyle` is the command line."""

import sys

from condyle.cli import main

sys.exit(main())
