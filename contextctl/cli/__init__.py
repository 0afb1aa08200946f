"""The command line: arguments in, one report on stdout, an exit code that CI can trust."""
