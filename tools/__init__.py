"""Scripts for developers: nothing here is installed."""
