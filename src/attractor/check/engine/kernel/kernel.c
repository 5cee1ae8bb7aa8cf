/* The whole kernel as one translation unit, so that the compiler can inline a walk into the search that walks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* mremap; before any header of the system */
#endif
#include "module.h"

#include "pages.c"
#include "trie.c"
#include "table.c"
#include "dispatch.c"
#include "worker.c"
#include "expand.c"
#include "edges.c"
#include "states.c"
#include "rounds.c"
#include "crew.c"
#include "graph.c"
#include "module_values.c"
#include "module_configure.c"
#include "module_learn.c"
#include "module_search.c"
#include "module_save.c"
#include "module_graph.c"
#include "interposition.c"
#include "module.c"
