"""What every wmo executable shares: CLI frame, exit codes, atomic files, configuration, child processes."""
