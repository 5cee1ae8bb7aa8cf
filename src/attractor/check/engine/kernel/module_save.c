/* What was found so far as Python values, to be taken up by a later process. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }

/* dump() -> everything found so far, tries excepted */
PyObject *kernel_dump(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    PyObject *shards = PyList_New(0);
    for (uint32_t s = 0; shards && s < kernel->threads; s++) {
        const Shard *shard = &kernel->shards[s];
        PyObject *row = Py_BuildValue("NNnnn", bytes_of(shard->states, shard->count * kernel->layout.words * 8),
                                      bytes_of(shard->parents, shard->count * 4), (Py_ssize_t)shard->low, (Py_ssize_t)shard->high,
                                      (Py_ssize_t)shard->next);
        if (row == NULL || PyList_Append(shards, row) < 0) Py_CLEAR(shards);
        Py_XDECREF(row);
    }
    PyObject *found = PyList_New(0);
    for (uint32_t f = 0; found && f < kernel->findings; f++) {
        const Found *each = &kernel->found[f];
        if (each->state == NO_STATE) continue;
        PyObject *after = each->after ? tuple_of(each->after, kernel->layout.slots) : Py_NewRef(Py_None);
        PyObject *row = Py_BuildValue("IIIN", f, each->state, each->action, after);
        if (row == NULL || PyList_Append(found, row) < 0) Py_CLEAR(found);
        Py_XDECREF(row);
    }
    uint64_t generated = 0;
    for (uint32_t t = 0; t < kernel->threads; t++) generated += kernel->workers[t].generated;
    if (shards == NULL || found == NULL) {
        Py_XDECREF(shards);
        Py_XDECREF(found);
        return NULL;
    }
    return Py_BuildValue("{s:N,s:N,s:K,s:N,s:N,s:I,s:n,s:n}", "shards", shards, "found", found, "generated",
                         (unsigned long long)generated, "taken", kernel_taken(self, NULL), "redo",
                         bytes_of(kernel->redo.data, kernel->redo.length * 4), "depth", kernel->depth, "level_size",
                         (Py_ssize_t)kernel->level_size, "level_done", (Py_ssize_t)kernel->level_done);
}

static bool restore_shard(Kernel *kernel, uint32_t s, PyObject *row) {
    Py_buffer states, parents;
    Py_ssize_t low, high, next;
    if (!PyArg_ParseTuple(row, "y*y*nnn", &states, &parents, &low, &high, &next)) return false;
    Shard *shard = &kernel->shards[s];
    size_t count = (size_t)parents.len / 4;
    bool done = (size_t)states.len == count * kernel->layout.words * 8 && shard_reserve(shard, kernel->layout.words, count + 1);
    if (done) {
        memcpy(shard->states, states.buf, (size_t)states.len);
        memcpy(shard->parents, parents.buf, (size_t)parents.len);
        shard->count = count;
        shard->low = (size_t)low;
        shard->high = (size_t)high;
        shard->next = (size_t)next;
    }
    PyBuffer_Release(&states);
    PyBuffer_Release(&parents);
    if (!done) PyErr_SetString(PyExc_ValueError, "the saved states do not fit, or memory ran out");
    return done;
}

static bool restore_found(Kernel *kernel, PyObject *row) {
    unsigned int finding, state, action;
    PyObject *after;
    if (!PyArg_ParseTuple(row, "IIIO", &finding, &state, &action, &after)) return false;
    if (finding >= kernel->findings) return PyErr_Format(PyExc_ValueError, "no finding %u", finding), false;
    Vector values = {0};
    if (after != Py_None && !read_state(kernel, after, &values)) return false;
    kernel->found[finding] = (Found){state, action, values.data};
    kernel->settled[finding] = 1;
    return true;
}

/* restore(shards, found, generated, taken, redo, depth, level_size, level_done) */
PyObject *kernel_restore(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shards", "found", "generated", "taken", "redo", "depth", "level_size", "level_done", NULL};
    Kernel *kernel = KERNEL(self);
    PyObject *shards, *found, *taken;
    Py_buffer redo;
    unsigned long long generated;
    Py_ssize_t level_size, level_done;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!KO!y*Inn", names, &PyList_Type, &shards, &PyList_Type, &found,
                                     &generated, &PyList_Type, &taken, &redo, &kernel->depth, &level_size, &level_done))
        return NULL;
    bool done = PyList_GET_SIZE(shards) == kernel->threads && PyList_GET_SIZE(taken) == kernel->tries.actions;
    if (!done) PyErr_SetString(PyExc_ValueError, "saved with another number of threads or actions");
    for (uint32_t s = 0; done && s < kernel->threads; s++) done = restore_shard(kernel, s, PyList_GET_ITEM(shards, s));
    if (done && !kernel_index(kernel, kernel_count(kernel) * 3 / 2 + 2048)) {
        PyErr_NoMemory();
        done = false;
    }
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(found); i++) done = restore_found(kernel, PyList_GET_ITEM(found, i));
    for (uint32_t a = 0; done && a < kernel->tries.actions; a++)
        kernel->workers[0].taken[a] = PyLong_AsUnsignedLongLong(PyList_GET_ITEM(taken, a));
    kernel->workers[0].generated = generated;
    kernel->level_size = (size_t)level_size;
    kernel->level_done = (size_t)level_done;
    if (done && redo.len && !vector_reserve(&kernel->redo, sizeof(uint32_t), (size_t)redo.len / 4)) {
        PyErr_NoMemory();
        done = false;
    }
    if (done && redo.len) {
        memcpy(kernel->redo.data, redo.buf, (size_t)redo.len);
        kernel->redo.length = (size_t)redo.len / 4;
    }
    PyBuffer_Release(&redo);
    if (!done || PyErr_Occurred()) return NULL;
    kernel->tries.roots_changed = true;
    Py_RETURN_NONE;
}
