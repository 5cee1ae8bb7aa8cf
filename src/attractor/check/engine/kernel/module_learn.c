/* How Python fills the tries: which steps are missing, and what they do. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static int32_t read_leaf(Kernel *kernel, PyObject *leaf) {
    if (leaf == Py_None) return CHILD_FALSE;
    if (PyLong_Check(leaf)) return PyObject_IsTrue(leaf) ? CHILD_TRUE : CHILD_FALSE;
    Vector numbers = {0};
    if (!read_numbers(leaf, &numbers)) {
        vector_free(&numbers);
        return CHILD_MISSING;
    }
    size_t count = numbers.length / 2;
    Write *writes = malloc((count + 1) * sizeof *writes);
    const int32_t *pairs = numbers.data;
    for (size_t i = 0; writes && i < count; i++) writes[i] = (Write){pairs[2 * i], (uint32_t)pairs[2 * i + 1]};
    int32_t child = writes ? tries_add_leaf(&kernel->tries, writes, (uint32_t)count) : CHILD_MISSING;
    if (child == CHILD_MISSING) PyErr_NoMemory();
    free(writes);
    vector_free(&numbers);
    return child;
}

/* learn(instance, path, leaf) -> whether it agrees with what was known */
PyObject *kernel_learn(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    unsigned int number;
    PyObject *path, *leaf;
    if (!PyArg_ParseTuple(args, "IOO", &number, &path, &leaf)) return NULL;
    if (number >= kernel->tries.instances.length) return PyErr_Format(PyExc_IndexError, "no instance %u", number);
    int32_t child = read_leaf(kernel, leaf);
    if (child == CHILD_MISSING) return NULL;
    Vector numbers = {0};
    int learnt = -1;
    bool done = read_numbers(path, &numbers);
    uint32_t trie = ((Instance *)kernel->tries.instances.data)[number].trie;
    if (done) learnt = tries_learn(&kernel->tries, trie, numbers.data, numbers.length / 2, child);
    vector_free(&numbers);
    if (!done) return NULL;
    if (learnt < 0) return PyErr_NoMemory();
    return PyBool_FromLong(learnt == 0);
}

/* learn_update(update, before, after): what an update makes of a value */
PyObject *kernel_learn_update(PyObject *self, PyObject *args) {
    unsigned int update, before, after;
    if (!PyArg_ParseTuple(args, "III", &update, &before, &after)) return NULL;
    if (!tries_learn_update(&KERNEL(self)->tries, update, before, after)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Give an instance a trie of its own. */
PyObject *kernel_separate(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    unsigned long number = PyLong_AsUnsignedLong(arg);
    if (PyErr_Occurred()) return NULL;
    if (number >= kernel->tries.instances.length) return PyErr_Format(PyExc_IndexError, "no instance %lu", number);
    Instance *instance = (Instance *)kernel->tries.instances.data + number;
    if (!tries_add(&kernel->tries, instance->trie)) return PyErr_NoMemory();
    instance->trie = (uint32_t)kernel->tries.roots.length - 1;
    Py_RETURN_NONE;
}

PyObject *kernel_forget(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    unsigned long number = PyLong_AsUnsignedLong(arg);
    if (PyErr_Occurred()) return NULL;
    if (number >= kernel->tries.instances.length) return PyErr_Format(PyExc_IndexError, "no instance %lu", number);
    tries_forget(&kernel->tries, ((Instance *)kernel->tries.instances.data)[number].trie);
    Py_RETURN_NONE;
}

typedef struct {
    const Tries *tries;
    const uint32_t *before;
    const int32_t *binding;
    bool lacks; /* an update of a value */
    uint32_t update, value;
} Reached;

/* Whether all that a leaf writes is known for the state at hand. */
static bool reach_leaf(void *context, uint32_t number) {
    Reached *reached = context;
    const Leaf *leaf = (const Leaf *)reached->tries->leaves.data + number;
    const Write *writes = (const Write *)reached->tries->writes.data + leaf->first;
    for (uint32_t i = 0; i < leaf->count; i++) {
        int32_t slot = writes[i].ref < 0 ? reached->binding[-1 - writes[i].ref] : writes[i].ref;
        uint32_t value;
        if (written_value(reached->tries, writes[i], (uint32_t)slot, reached->before, &value)) continue;
        reached->lacks = true;
        reached->update = writes[i].value ^ WRITE_UPDATE;
        reached->value = reached->before[slot];
        return false;
    }
    return true;
}

static bool still_missing(const Kernel *kernel, uint32_t instance, const uint32_t *before, const uint32_t *after,
                          Reached *reached) {
    View view = {before, after, NULL, 0, 0, NULL, NULL};
    const Tries *tries = &kernel->tries;
    if (instance >= tries->actions) return walk_predicate(tries, instance, &view) == WALK_MISS;
    int32_t root = ((int32_t *)tries->roots.data)[((Instance *)tries->instances.data)[instance].trie];
    *reached = (Reached){tries, before, ((Instance *)tries->instances.data)[instance].binding, false, 0, 0};
    return walk_action(tries, instance, root, &view, reach_leaf, reached) == WALK_MISS;
}

/* next_miss() -> (instance, values, values after or None), skipping what was learnt meanwhile; or (update, value) where
 * only what an update makes of a value is missing; None at the end */
PyObject *kernel_next_miss(PyObject *self, PyObject *unused) {
    (void)unused;
    KernelObject *object = (KernelObject *)self;
    Kernel *kernel = &object->kernel;
    uint32_t slots = kernel->layout.slots;
    for (; object->miss_worker < kernel->threads; object->miss_worker++, object->miss_at = 0) {
        Vector *missed = &kernel->workers[object->miss_worker].missed;
        while (object->miss_at < missed->length) {
            const uint32_t *record = (uint32_t *)missed->data + object->miss_at;
            const uint32_t *before = record + 2, *after = record[1] ? record + 2 + slots : NULL;
            Reached reached = {0};
            bool missing = still_missing(kernel, record[0], before, after, &reached);
            if (missing && reached.lacks) return Py_BuildValue("II", reached.update, reached.value);
            object->miss_at += 2 + (size_t)slots * (after ? 2 : 1);
            if (!missing) continue;
            PyObject *one = tuple_of(before, slots);
            PyObject *other = after ? tuple_of(after, slots) : Py_NewRef(Py_None);
            if (one == NULL || other == NULL) {
                Py_XDECREF(one);
                Py_XDECREF(other);
                return NULL;
            }
            return Py_BuildValue("INN", record[0], one, other);
        }
        missed->length = 0;
    }
    object->miss_worker = 0;
    Py_RETURN_NONE;
}

PyObject *kernel_learned(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    if (kernel->tries.reaches_changed && !reads_rebuild(kernel)) return PyErr_NoMemory();
    if (kernel->tries.roots_changed && !dispatches_rebuild(kernel)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
