/* What is explored: instances, watches, constraints, symmetries, and how slots are packed. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static bool add_instance(Kernel *kernel, PyObject *pair) {
    PyObject *bound;
    unsigned int trie;
    if (!PyArg_ParseTuple(pair, "IO", &trie, &bound)) return false;
    Vector refs = {0};
    if (!read_numbers(bound, &refs)) {
        vector_free(&refs);
        return false;
    }
    Instance instance = {trie, (uint32_t)refs.length, refs.data};
    while (kernel->tries.roots.length <= trie)
        if (!tries_add(&kernel->tries, NO_TRIE)) return PyErr_NoMemory() != NULL;
    return push_bytes(&kernel->tries.instances, &instance, sizeof instance);
}

static bool add_instances(Kernel *kernel, PyObject *list) {
    PyObject *iterator = PyObject_GetIter(list), *item;
    bool done = iterator != NULL;
    while (done && (item = PyIter_Next(iterator)) != NULL) {
        done = add_instance(kernel, item);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return done && !PyErr_Occurred();
}

static bool add_watches(Kernel *kernel, PyObject *list, bool on_steps) {
    PyObject *iterator = PyObject_GetIter(list), *item;
    bool done = iterator != NULL;
    while (done && (item = PyIter_Next(iterator)) != NULL) {
        unsigned int action = 0, predicate, finding;
        int wanted = 0;
        done = on_steps ? PyArg_ParseTuple(item, "III", &action, &predicate, &finding)
                        : PyArg_ParseTuple(item, "IIp", &predicate, &finding, &wanted);
        Watch watch = {predicate, finding, (uint8_t)wanted};
        done = done && push_bytes(on_steps ? &kernel->judges[action] : &kernel->watches, &watch, sizeof watch);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return done && !PyErr_Occurred();
}

static bool add_symmetry(Kernel *kernel, PyObject *list) {
    PyObject *iterator = PyObject_GetIter(list), *item;
    bool done = iterator != NULL;
    while (done && (item = PyIter_Next(iterator)) != NULL) {
        unsigned int keys, width;
        PyObject *slots;
        Vector numbers = {0};
        done = PyArg_ParseTuple(item, "IIO", &keys, &width, &slots) && read_numbers(slots, &numbers);
        Columns columns = {keys, width, numbers.data};
        done = done && push_bytes(&kernel->symmetry, &columns, sizeof columns);
        if (!done) vector_free(&numbers);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return done && !PyErr_Occurred();
}

PyObject *kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"actions", "predicates", "watches", "judges", "constraints", "terminal", "symmetry",
                            "deadlock", "findings", "edges", NULL};
    Kernel *kernel = KERNEL(self);
    PyObject *actions, *predicates, *watches, *judges, *constraints, *terminal, *symmetry;
    int deadlock, edges;
    unsigned int findings;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOOOpIp", names, &actions, &predicates, &watches, &judges,
                                     &constraints, &terminal, &symmetry, &deadlock, &findings, &edges))
        return NULL;
    if (!add_instances(kernel, actions)) return NULL;
    kernel->tries.actions = (uint32_t)kernel->tries.instances.length;
    if (!add_instances(kernel, predicates)) return NULL;
    kernel->predicates = (uint32_t)kernel->tries.instances.length - kernel->tries.actions;
    kernel->check_deadlock = deadlock;
    kernel->findings = findings;
    kernel->judges = calloc(kernel->tries.actions + 1, sizeof *kernel->judges);
    kernel->found = calloc(findings + 1, sizeof *kernel->found);
    kernel->settled = calloc(findings + 1, 1);
    if (!kernel->judges || !kernel->found || !kernel->settled) return PyErr_NoMemory();
    for (uint32_t f = 0; f < findings; f++) kernel->found[f].state = NO_STATE;
    if (!add_watches(kernel, watches, false) || !add_watches(kernel, judges, true) ||
        !read_numbers(constraints, &kernel->constraints) || !read_numbers(terminal, &kernel->terminal) ||
        !add_symmetry(kernel, symmetry))
        return NULL;
    kernel->inspects = kernel->constraints.length || kernel->symmetry.length || PyObject_IsTrue(judges) > 0;
    kernel->tries.roots_changed = true;
    kernel->notes_edges = edges;
    Py_RETURN_NONE;
}

PyObject *kernel_fit(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    Py_buffer bits;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "y*O", &bits, &list)) return NULL;
    Vector defaults = {0};
    bool done = read_numbers(list, &defaults);
    for (uint32_t t = 0; kernel->workers && t < kernel->threads; t++) kernel->workers[t].missed.length = 0;
    ((KernelObject *)self)->miss_worker = 0;
    ((KernelObject *)self)->miss_at = 0;
    bool fits = done && kernel_repack(kernel, bits.buf, (uint32_t)bits.len, defaults.data);
    vector_free(&defaults);
    PyBuffer_Release(&bits);
    if (!done) return NULL;
    if (!fits) return PyErr_NoMemory();
    kernel->tries.roots_changed = kernel->tries.reaches_changed = true;
    return PyLong_FromUnsignedLong(kernel->layout.words);
}

PyObject *kernel_add_initial_(PyObject *self, PyObject *values) {
    Vector vector = {0};
    bool added = false, done = read_state(KERNEL(self), values, &vector);
    bool fits = done && kernel_add_initial(KERNEL(self), vector.data, &added);
    vector_free(&vector);
    if (!done) return NULL;
    if (!fits) return PyErr_NoMemory();
    return PyBool_FromLong(added);
}
