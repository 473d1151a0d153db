"""`python -m mindseye`: the command line, for where its script is not on the path."""

from mindseye.cli import main

if __name__ == "__main__":
    main()
