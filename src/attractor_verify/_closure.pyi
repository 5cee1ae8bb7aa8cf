# The library of _closure.c; its functions are called through ctypes.
