"""The inside of the namespace backend: code that runs in the zygote, in the jail's init, and beside the program.

Nothing here imports anything outside the standard library, so that the zygote stays small and forks fast.
"""
