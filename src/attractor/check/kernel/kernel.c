/* The whole kernel as one translation unit, so that the compiler can inline a walk into the search that walks. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "trie.c"
#include "table.c"
#include "search.c"
#include "graph.c"
#include "module.c"
