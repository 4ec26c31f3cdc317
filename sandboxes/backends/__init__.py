"""Ways to hold a program: one module each."""
