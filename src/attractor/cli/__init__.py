"""The command line: parsing and printing only; data on stdout, everything else on stderr."""
