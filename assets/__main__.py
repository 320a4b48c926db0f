"""`python -m assets`: materialize everything on this home, headless, and print the paper's tables for it."""

from assets.headless.run import main

if __name__ == "__main__":
    main()
