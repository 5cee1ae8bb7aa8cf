/* The graph of all steps, and queries about whole runs on it. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

PyObject *kernel_forget_edges(PyObject *self, PyObject *unused) {
    (void)unused;
    edges_give_up(KERNEL(self));
    Py_RETURN_NONE;
}

PyObject *kernel_build_graph_(PyObject *self, PyObject *unused) {
    (void)unused;
    Advanced advanced;
    Py_BEGIN_ALLOW_THREADS
    advanced = kernel_build_graph(KERNEL(self));
    Py_END_ALLOW_THREADS
    if (advanced == ADVANCED_MEMORY) return PyErr_NoMemory();
    return PyLong_FromLong(advanced);
}

/* The edges in the order of their states. */
static void copy_graph(const Kernel *kernel, size_t states, uint64_t *offsets, uint32_t *targets, uint32_t *actions) {
    offsets[0] = 0;
    for (size_t i = 0; i < states; i++) {
        size_t size = kernel->edge_degrees[i] * sizeof(uint32_t);
        if (size) memcpy(targets + offsets[i], kernel->edge_targets + kernel->edge_offsets[i], size);
        if (size) memcpy(actions + offsets[i], kernel->edge_actions + kernel->edge_offsets[i], size);
        offsets[i + 1] = offsets[i] + kernel->edge_degrees[i];
    }
}

/* graph() -> (offsets, targets, actions) */
PyObject *kernel_graph(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    if (!kernel->has_graph) return PyErr_Format(PyExc_RuntimeError, "build_graph comes first");
    size_t states = kernel_count(kernel);
    PyObject *offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((states + 1) * sizeof(uint64_t)));
    PyObject *targets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(kernel->edge_count * sizeof(uint32_t)));
    PyObject *actions = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(kernel->edge_count * sizeof(uint32_t)));
    if (offsets && targets && actions)
        copy_graph(kernel, states, (uint64_t *)PyBytes_AS_STRING(offsets), (uint32_t *)PyBytes_AS_STRING(targets),
                   (uint32_t *)PyBytes_AS_STRING(actions));
    PyObject *result = offsets && targets && actions ? PyTuple_Pack(3, offsets, targets, actions) : NULL;
    Py_XDECREF(offsets);
    Py_XDECREF(targets);
    Py_XDECREF(actions);
    return result;
}

#define MAX_VISITS 8

typedef struct {
    Py_buffer allowed, starts, strong, offsets, numbers, visits[MAX_VISITS];
    uint32_t visit_count;
    const uint8_t *visit_data[MAX_VISITS];
    Vector initial;
    FairnessTable fairness;
    FairQuery query;
} GraphArguments;

static void free_arguments(GraphArguments *given) {
    PyBuffer_Release(&given->allowed);
    PyBuffer_Release(&given->starts);
    PyBuffer_Release(&given->strong);
    PyBuffer_Release(&given->offsets);
    PyBuffer_Release(&given->numbers);
    for (uint32_t v = 0; v < given->visit_count; v++) PyBuffer_Release(&given->visits[v]);
    vector_free(&given->initial);
}

/* (allowed, starts, visits, initial, (strong, offsets, numbers)) */
static bool read_arguments(Kernel *kernel, PyObject *args, GraphArguments *given) {
    PyObject *visits, *initial;
    memset(given, 0, sizeof *given);
    if (!PyArg_ParseTuple(args, "y*y*O!O(y*y*y*)", &given->allowed, &given->starts, &PyTuple_Type, &visits, &initial,
                          &given->strong, &given->offsets, &given->numbers))
        return false;
    bool done = read_numbers(initial, &given->initial);
    if (done && PyTuple_GET_SIZE(visits) > MAX_VISITS) {
        PyErr_Format(PyExc_ValueError, "at most %d visit sets", MAX_VISITS);
        done = false;
    }
    for (Py_ssize_t v = 0; done && v < PyTuple_GET_SIZE(visits); v++) {
        done = PyObject_GetBuffer(PyTuple_GET_ITEM(visits, v), &given->visits[v], PyBUF_SIMPLE) == 0;
        if (done) given->visit_data[given->visit_count++] = given->visits[v].buf;
    }
    size_t states = kernel_count(kernel);
    if (done && (!kernel->has_graph || (size_t)given->allowed.len < states || (size_t)given->starts.len < states)) {
        PyErr_SetString(PyExc_ValueError, "build_graph comes first, and masks have one byte for each state");
        done = false;
    }
    given->fairness = (FairnessTable){(uint32_t)given->strong.len, given->strong.buf, given->offsets.buf, given->numbers.buf};
    given->query = (FairQuery){given->allowed.buf, given->starts.buf, given->visit_data, given->visit_count};
    if (!done) free_arguments(given);
    return done;
}

/* lasso(...) -> (prefix, cycle) or None */
PyObject *kernel_lasso(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    GraphArguments given;
    if (!read_arguments(kernel, args, &given)) return NULL;
    LassoResult lasso = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = find_lasso(kernel, &given.fairness, &given.query, given.initial.data, given.initial.length, &lasso);
    Py_END_ALLOW_THREADS
    PyObject *result = NULL;
    if (!done) PyErr_NoMemory();
    else if (!lasso.found) result = Py_NewRef(Py_None);
    else {
        PyObject *prefix = tuple_of(lasso.prefix.data, lasso.prefix.length);
        PyObject *cycle = tuple_of(lasso.cycle.data, lasso.cycle.length);
        result = prefix && cycle ? Py_BuildValue("NN", prefix, cycle) : NULL;
    }
    vector_free(&lasso.prefix);
    vector_free(&lasso.cycle);
    free_arguments(&given);
    return result;
}

/* A mask of the fair components among `allowed`, and with `backwards` of the states there that lead to one. */
static PyObject *fair_mask(PyObject *self, PyObject *args, bool backwards) {
    Kernel *kernel = KERNEL(self);
    GraphArguments given;
    if (!read_arguments(kernel, args, &given)) return NULL;
    size_t states = kernel_count(kernel);
    PyObject *mask = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)states);
    uint32_t *component = malloc((states + 1) * sizeof *component);
    bool done = mask && component;
    if (done) {
        uint8_t *marked = (uint8_t *)PyByteArray_AS_STRING(mask);
        Py_BEGIN_ALLOW_THREADS
        done = fair_components(kernel, &given.fairness, &given.query, component);
        for (size_t i = 0; done && i < states; i++) marked[i] = component[i] != 0;
        done = done && (!backwards || mark_backwards(kernel, given.query.allowed, marked));
        Py_END_ALLOW_THREADS
    }
    free(component);
    free_arguments(&given);
    if (done) return mask;
    Py_XDECREF(mask);
    return PyErr_NoMemory();
}

/* fair_from(...) -> a mask of the states from which a fair run stays among `allowed` */
PyObject *kernel_fair_from(PyObject *self, PyObject *args) { return fair_mask(self, args, true); }

/* fair_core(...) -> a mask of the states to which a fair run can come back again and again, among `allowed` */
PyObject *kernel_fair_core(PyObject *self, PyObject *args) { return fair_mask(self, args, false); }

/* shortest(...) -> a path through allowed states to one of the visit set, or None */
PyObject *kernel_shortest(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    GraphArguments given;
    if (!read_arguments(kernel, args, &given)) return NULL;
    size_t states = kernel_count(kernel);
    uint32_t *goal = calloc(states + 1, sizeof *goal);
    Vector prefix = {0};
    bool found = false, done = goal != NULL;
    for (size_t i = 0; done && i < states; i++) goal[i] = given.visit_count && given.visit_data[0][i];
    done = done && shortest_to(kernel, &given.query, given.initial.data, given.initial.length, goal, &prefix, &found);
    PyObject *result = NULL;
    if (!done) PyErr_NoMemory();
    else result = found ? tuple_of(prefix.data, prefix.length) : Py_NewRef(Py_None);
    vector_free(&prefix);
    free(goal);
    free_arguments(&given);
    return result;
}

PyObject *kernel_ever_enabled(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    GraphArguments given;
    if (!read_arguments(kernel, args, &given)) return NULL;
    PyObject *mask = PyByteArray_FromStringAndSize(NULL, given.fairness.conditions);
    if (mask) {
        memset(PyByteArray_AS_STRING(mask), 0, given.fairness.conditions);
        conditions_ever_enabled(kernel, &given.fairness, (uint8_t *)PyByteArray_AS_STRING(mask));
    }
    free_arguments(&given);
    return mask;
}
