"""``python -m extractbench_nb`` is the command ``extractbench-nb``."""

from extractbench_nb.cli import main

if __name__ == "__main__":
    main()
