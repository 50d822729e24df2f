"""What people see at a terminal: the console and the progress bar."""
