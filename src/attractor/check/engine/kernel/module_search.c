/* Going on with the search, and asking for what was found. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

PyObject *kernel_advance_(PyObject *self, PyObject *args) {
    double seconds;
    int last_level;
    Kernel *kernel = KERNEL(self);
    if (!PyArg_ParseTuple(args, "dp", &seconds, &last_level)) return NULL;
    Advanced advanced;
    kernel->mode = last_level ? MODE_LAST_LEVEL : MODE_EXPLORE;
    Py_BEGIN_ALLOW_THREADS
    advanced = kernel_advance(kernel, seconds);
    Py_END_ALLOW_THREADS
    if (advanced == ADVANCED_MEMORY) return PyErr_NoMemory();
    return PyLong_FromLong(advanced);
}

PyObject *kernel_counts(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    uint64_t generated = 0;
    size_t tables = kernel->index.buckets * sizeof *kernel->index.entries, edges = 0;
    bool could_go_on = false;
    for (uint32_t t = 0; t < kernel->threads; t++) {
        generated += kernel->workers[t].generated;
        could_go_on |= kernel->workers[t].could_go_on;
        tables += shard_bytes(&kernel->shards[t], kernel->layout.words);
        edges += edges_bytes(&kernel->workers[t].edges);
    }
    return Py_BuildValue("{s:n,s:K,s:I,s:n,s:n,s:n,s:n,s:n,s:I,s:O}", "distinct", (Py_ssize_t)kernel_count(kernel), "generated",
                         (unsigned long long)generated, "depth", kernel->depth, "level", (Py_ssize_t)kernel->level_size,
                         "level_done", (Py_ssize_t)kernel->level_done, "table_bytes", (Py_ssize_t)tables, "trie_bytes",
                         (Py_ssize_t)kernel->tries.bytes, "edge_bytes", (Py_ssize_t)edges, "words", kernel->layout.words, "could_go_on",
                         could_go_on ? Py_True : Py_False);
}

PyObject *kernel_taken(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    PyObject *list = PyList_New(kernel->tries.actions);
    for (uint32_t a = 0; list && a < kernel->tries.actions; a++) {
        uint64_t sum = 0;
        for (uint32_t t = 0; t < kernel->threads; t++) sum += kernel->workers[t].taken[a];
        PyObject *number = PyLong_FromUnsignedLongLong(sum);
        if (number == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, a, number);
    }
    return list;
}

static bool read_dense(Kernel *kernel, PyObject *arg, size_t *dense) {
    *dense = PyLong_AsSize_t(arg);
    if (PyErr_Occurred()) return false;
    if (*dense < kernel_count(kernel)) return true;
    PyErr_Format(PyExc_IndexError, "no state %zu", *dense);
    return false;
}

PyObject *kernel_state(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    dense_bases(kernel);
    layout_unpack(&kernel->layout, state_words(kernel, interleaved_of(kernel, dense)), kernel->workers[0].before);
    return tuple_of(kernel->workers[0].before, kernel->layout.slots);
}

PyObject *kernel_parent(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    dense_bases(kernel);
    uint32_t number = interleaved_of(kernel, dense);
    uint32_t parent = parent_of(kernel, number);
    if (parent == NO_STATE) Py_RETURN_NONE;
    return PyLong_FromSize_t(dense_of(kernel, parent));
}

PyObject *kernel_find(PyObject *self, PyObject *values) {
    Kernel *kernel = KERNEL(self);
    Vector vector = {0};
    if (!read_state(kernel, values, &vector)) {
        vector_free(&vector);
        return NULL;
    }
    Worker *worker = &kernel->workers[0];
    if (kernel->symmetry.length) kernel_canonical(kernel, vector.data, worker->scratch);
    layout_pack(&kernel->layout, vector.data, worker->words);
    vector_free(&vector);
    dense_bases(kernel);
    uint32_t number = kernel_lookup(kernel, worker->words, hash_words(worker->words, kernel->layout.words));
    if (number == NO_STATE) Py_RETURN_NONE;
    return PyLong_FromSize_t(dense_of(kernel, number));
}

/* found() -> [(finding, state, action or None, values after or None)] */
PyObject *kernel_found(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    PyObject *list = PyList_New(0);
    dense_bases(kernel);
    for (uint32_t f = 0; list && f < kernel->findings; f++) {
        const Found *found = &kernel->found[f];
        if (found->state == NO_STATE) continue;
        PyObject *action = found->action == NO_STATE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(found->action);
        PyObject *after = found->after ? tuple_of(found->after, kernel->layout.slots) : Py_NewRef(Py_None);
        PyObject *row = action && after ? Py_BuildValue("InNN", f, (Py_ssize_t)dense_of(kernel, found->state), action, after) : NULL;
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* Whether a state is like its predecessor in all that an instance was ever seen to read, and that one is before it. */
static bool is_like_parent(const Kernel *kernel, uint32_t instance, uint32_t number, size_t at, size_t *parent_at) {
    uint32_t words = kernel->layout.words;
    uint32_t parent = parent_of(kernel, number);
    if (parent == NO_STATE || kernel->reads == NULL || (*parent_at = dense_of(kernel, parent)) >= at) return false;
    const uint64_t *reads = kernel->reads + (size_t)instance * words;
    const uint64_t *here = state_words(kernel, number), *there = state_words(kernel, parent);
    for (uint32_t w = 0; w < words; w++)
        if ((here[w] ^ there[w]) & reads[w]) return false;
    return true;
}

/* mask(predicate, mask, from, within) -> the first state whose value is not known yet, or the number of states

States outside the mask `within`, if there is one, are left alone. */
PyObject *kernel_mask(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    unsigned int predicate;
    Py_buffer mask, wanted;
    Py_ssize_t from;
    if (!PyArg_ParseTuple(args, "Iw*nz*", &predicate, &mask, &from, &wanted)) return NULL;
    size_t states = kernel_count(kernel), at = (size_t)from;
    Worker *worker = &kernel->workers[0];
    dense_bases(kernel);
    const uint8_t *within = wanted.buf;
    bool known = (size_t)mask.len >= states && predicate < kernel->predicates;
    known = known && (within == NULL || (size_t)wanted.len >= states);
    for (; known && at < states; at++) {
        if (within && !within[at]) continue;
        uint32_t number = interleaved_of(kernel, at);
        size_t parent_at;
        if (is_like_parent(kernel, kernel->tries.actions + predicate, number, at, &parent_at) &&
            (within == NULL || within[parent_at])) {
            ((uint8_t *)mask.buf)[at] = ((uint8_t *)mask.buf)[parent_at];
            continue;
        }
        layout_unpack(&kernel->layout, state_words(kernel, number), worker->before);
        View view = {worker->before, NULL, worker->recalled, ++worker->stamp, 0, NULL, NULL};
        Walked walked = evaluate(&kernel->tries, predicate, &view);
        if (walked == WALK_MISS) {
            worker->missed.length = 0;
            uint32_t record[2] = {view.missed, 0};
            known = view.missed != NO_INSTANCE;
            known = known && vector_reserve(&worker->missed, sizeof(uint32_t), 2 + kernel->layout.slots);
            if (!known) break;
            memcpy(worker->missed.data, record, sizeof record);
            memcpy((uint32_t *)worker->missed.data + 2, worker->before, kernel->layout.slots * sizeof(uint32_t));
            worker->missed.length = 2 + kernel->layout.slots;
            break;
        }
        ((uint8_t *)mask.buf)[at] = walked == WALK_YES;
    }
    PyBuffer_Release(&mask);
    PyBuffer_Release(&wanted);
    if (!known) return PyErr_Format(PyExc_ValueError, "no such predicate of one state, a mask too small, or no memory");
    return PyLong_FromSize_t(at);
}

/* successors(state) -> [(action, values)], or None where something is not known yet (see next_miss) */
PyObject *kernel_successors(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    Worker *worker = &kernel->workers[0];
    dense_bases(kernel);
    kernel->mode = MODE_GRAPH;
    expand_afresh(worker);
    if (!expand(worker, interleaved_of(kernel, dense))) {
        if (worker->failed) return PyErr_NoMemory();
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < worker->steps.length; i++) {
        const uint64_t *step = (uint64_t *)worker->steps.data + i * STEP_WORDS(kernel->layout.words);
        layout_unpack(&kernel->layout, step + 1, worker->after);
        PyObject *values = tuple_of(worker->after, kernel->layout.slots);
        PyObject *row = values ? Py_BuildValue("IN", (unsigned int)*step, values) : NULL;
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
