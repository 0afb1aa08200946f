"""Checks over a plan, a recording or an assembly, one file per family of rules; each returns findings."""
