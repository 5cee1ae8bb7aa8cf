/* What Python sees of the kernel: one class, `Kernel`. Its Python side is native.py, which knows what the numbers mean.
 * The methods are in module_*.c, one file for each thing that Python asks for.
 */
#include "module.h"

#include <stdlib.h>

#define SHARED_FROM 256

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"threads", "shared_from", NULL};
    unsigned int threads, shared_from = SHARED_FROM;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|I", names, &threads, &shared_from)) return NULL;
    if (threads < 1 || threads > 256) return PyErr_Format(PyExc_ValueError, "threads must be 1 to 256, not %u", threads);
    KernelObject *self = (KernelObject *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Kernel *kernel = &self->kernel;
    kernel->threads = threads;
    kernel->shared_from = shared_from;
    kernel->shards = calloc_apart(threads, sizeof *kernel->shards);
    kernel->lanes = calloc_apart(threads, sizeof *kernel->lanes);
    kernel->dense_base = calloc(threads, sizeof *kernel->dense_base);
    if (!kernel->shards || !kernel->lanes || !kernel->dense_base || !tries_init(&kernel->tries)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void kernel_dealloc(PyObject *self) {
    Kernel *kernel = KERNEL(self);
    crew_stop(kernel);
    kernel_free_graph(kernel);
    workers_free(kernel);
    dispatch_free(&kernel->dispatch);
    dispatch_free(&kernel->lookout);
    free(kernel->reads);
    free(kernel->watched);
    for (uint32_t a = 0; kernel->judges && a < kernel->tries.actions; a++) vector_free(&kernel->judges[a]);
    free(kernel->judges);
    tries_free(&kernel->tries);
    for (uint32_t s = 0; kernel->shards && s < kernel->threads; s++) shard_free(&kernel->shards[s]);
    for (size_t i = 0; i < kernel->symmetry.length; i++) free(((Columns *)kernel->symmetry.data)[i].slots);
    for (uint32_t f = 0; kernel->found && f < kernel->findings; f++) free(kernel->found[f].after);
    layout_free(&kernel->layout);
    vector_free(&kernel->watches);
    vector_free(&kernel->constraints);
    vector_free(&kernel->terminal);
    vector_free(&kernel->symmetry);
    vector_free(&kernel->redo);
    free(kernel->shards);
    free(kernel->lanes);
    pages_free((void *)kernel->index.entries);
    free(kernel->dense_base);
    free(kernel->found);
    free(kernel->settled);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef kernel_methods[] = {
    {"configure", (PyCFunction)(void (*)(void))kernel_configure, METH_VARARGS | METH_KEYWORDS, "Say what is explored."},
    {"fit", kernel_fit, METH_VARARGS, "Make room: bits for each slot, and the defaults of new slots; misses are dropped."},
    {"add_initial", kernel_add_initial_, METH_O, "Add an initial state; True if it is new."},
    {"learn", kernel_learn, METH_VARARGS, "Remember one path of an instance; False if it contradicts another."},
    {"learn_update", kernel_learn_update, METH_VARARGS, "Remember what an update makes of a value."},
    {"separate", kernel_separate, METH_O, "Give an instance a trie of its own."},
    {"forget", kernel_forget, METH_O, "Empty the trie of an instance."},
    {"next_miss", kernel_next_miss, METH_NOARGS, "The next (instance, state, state after) that has no answer yet."},
    {"learned", kernel_learned, METH_NOARGS, "Take note that learning has paused."},
    {"advance", kernel_advance_, METH_VARARGS, "Explore for some seconds, a level, or until something is missing."},
    {"counts", kernel_counts, METH_NOARGS, "What was counted so far."},
    {"taken", kernel_taken, METH_NOARGS, "How often each action instance was taken."},
    {"state", kernel_state, METH_O, "The values of a state."},
    {"parent", kernel_parent, METH_O, "The state from which a state was first reached, or None."},
    {"find", kernel_find, METH_O, "The number of a state, or None."},
    {"found", kernel_found, METH_NOARGS, "The findings so far."},
    {"mask", kernel_mask, METH_VARARGS, "Evaluate a predicate in every state."},
    {"successors", kernel_successors, METH_O, "The steps out of a state, or None if some are not known yet."},
    {"dump", kernel_dump, METH_NOARGS, "Everything found so far, to be restored later."},
    {"restore", (PyCFunction)(void (*)(void))kernel_restore, METH_VARARGS | METH_KEYWORDS, "Take up what was dumped."},
    {"forget_edges", kernel_forget_edges, METH_NOARGS, "Free those that were noted on the way, and note no more."},
    {"build_graph", kernel_build_graph_, METH_NOARGS, "Collect the edges between all states."},
    {"graph", kernel_graph, METH_NOARGS, "The edges as three arrays of bytes."},
    {"lasso", kernel_lasso, METH_VARARGS, "A fair run that answers a query."},
    {"fair_from", kernel_fair_from, METH_VARARGS, "Where a fair run among allowed states can begin."},
    {"fair_core", kernel_fair_core, METH_VARARGS, "The states to which a fair run can come back again and again."},
    {"shortest", kernel_shortest, METH_VARARGS, "A shortest path through allowed states."},
    {"ever_enabled", kernel_ever_enabled, METH_VARARGS, "Which fairness conditions are enabled anywhere."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "attractor.check.engine._kernel.Kernel",
    .tp_basicsize = sizeof(KernelObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Tries, states and the search over them.",
    .tp_new = kernel_new,
    .tp_dealloc = kernel_dealloc,
    .tp_methods = kernel_methods,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The native engine of the checker.", -1,
                                        functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) {
    if (PyType_Ready(&kernel_type) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddObjectRef(module, "Kernel", (PyObject *)&kernel_type) < 0) Py_CLEAR(module);
    return module;
}
