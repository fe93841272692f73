"""The commands. What computes is imported when a command runs, not before."""
