/* What Python sees of the kernel: one class, `Kernel`. Its Python side is native.py, which knows what the numbers mean. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    Kernel kernel;
    uint32_t miss_worker;
    size_t miss_at;
} KernelObject;

#define KERNEL(self) (&((KernelObject *)(self))->kernel)

/* ---- reading Python values ---- */

static bool read_numbers(PyObject *sequence, Vector *vector) {
    PyObject *fast = PySequence_Fast(sequence, "a sequence of numbers is needed");
    if (fast == NULL) return false;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    bool done = vector_reserve(vector, sizeof(uint32_t), vector->length + (size_t)count + 1);
    if (!done) PyErr_NoMemory();
    for (Py_ssize_t i = 0; done && i < count; i++) {
        long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, i));
        done = number != -1 || !PyErr_Occurred();
        ((int32_t *)vector->data)[vector->length++] = (int32_t)number;
    }
    Py_DECREF(fast);
    return done;
}

static PyObject *tuple_of(const uint32_t *numbers, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(numbers[i]);
        if (number == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, number);
    }
    return tuple;
}

static bool push_bytes(Vector *vector, const void *element, size_t size) {
    if (!vector_reserve(vector, size, vector->length + 1)) {
        PyErr_NoMemory();
        return false;
    }
    memcpy((char *)vector->data + vector->length++ * size, element, size);
    return true;
}

/* ---- life ---- */

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"threads", NULL};
    unsigned int threads;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I", names, &threads)) return NULL;
    if (threads < 1 || threads > 256) return PyErr_Format(PyExc_ValueError, "threads must be 1 to 256, not %u", threads);
    KernelObject *self = (KernelObject *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Kernel *kernel = &self->kernel;
    kernel->threads = threads;
    kernel->shards = calloc(threads, sizeof *kernel->shards);
    kernel->dense_base = calloc(threads, sizeof *kernel->dense_base);
    if (!kernel->shards || !kernel->dense_base || !tries_init(&kernel->tries) ||
        pthread_mutex_init(&kernel->gate, NULL) != 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void kernel_dealloc(PyObject *self) {
    Kernel *kernel = KERNEL(self);
    kernel_free_graph(kernel);
    workers_free(kernel);
    dispatch_free(&kernel->dispatch);
    dispatch_free(&kernel->lookout);
    free(kernel->reads);
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
    free(kernel->dense_base);
    free(kernel->found);
    free(kernel->settled);
    Py_TYPE(self)->tp_free(self);
}

/* ---- configuration ---- */

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

static PyObject *kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"actions", "predicates", "watches", "judges", "constraints", "terminal", "symmetry",
                            "deadlock", "findings", NULL};
    Kernel *kernel = KERNEL(self);
    PyObject *actions, *predicates, *watches, *judges, *constraints, *terminal, *symmetry;
    int deadlock;
    unsigned int findings;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOOOpI", names, &actions, &predicates, &watches, &judges,
                                     &constraints, &terminal, &symmetry, &deadlock, &findings))
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
    kernel->tries.roots_changed = true;
    Py_RETURN_NONE;
}

static PyObject *kernel_fit(PyObject *self, PyObject *args) {
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

static bool read_state(const Kernel *kernel, PyObject *values, Vector *vector) {
    if (!read_numbers(values, vector)) return false;
    if (vector->length == kernel->layout.slots) return true;
    PyErr_Format(PyExc_ValueError, "a state has %u values, not %zu", kernel->layout.slots, vector->length);
    return false;
}

static PyObject *kernel_add_initial_(PyObject *self, PyObject *values) {
    Vector vector = {0};
    bool added = false, done = read_state(KERNEL(self), values, &vector);
    bool fits = done && kernel_add_initial(KERNEL(self), vector.data, &added);
    vector_free(&vector);
    if (!done) return NULL;
    if (!fits) return PyErr_NoMemory();
    return PyBool_FromLong(added);
}

/* ---- learning ---- */

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
static PyObject *kernel_learn(PyObject *self, PyObject *args) {
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
static PyObject *kernel_learn_update(PyObject *self, PyObject *args) {
    unsigned int update, before, after;
    if (!PyArg_ParseTuple(args, "III", &update, &before, &after)) return NULL;
    if (!tries_learn_update(&KERNEL(self)->tries, update, before, after)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Give an instance a trie of its own. */
static PyObject *kernel_separate(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    unsigned long number = PyLong_AsUnsignedLong(arg);
    if (PyErr_Occurred()) return NULL;
    if (number >= kernel->tries.instances.length) return PyErr_Format(PyExc_IndexError, "no instance %lu", number);
    Instance *instance = (Instance *)kernel->tries.instances.data + number;
    if (!tries_add(&kernel->tries, instance->trie)) return PyErr_NoMemory();
    instance->trie = (uint32_t)kernel->tries.roots.length - 1;
    Py_RETURN_NONE;
}

static PyObject *kernel_forget(PyObject *self, PyObject *arg) {
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
    View view = {before, after, NULL, 0, 0};
    const Tries *tries = &kernel->tries;
    if (instance >= tries->actions) return walk_predicate(tries, instance, &view) == WALK_MISS;
    int32_t root = ((int32_t *)tries->roots.data)[((Instance *)tries->instances.data)[instance].trie];
    *reached = (Reached){tries, before, ((Instance *)tries->instances.data)[instance].binding, false, 0, 0};
    return walk_action(tries, instance, root, &view, reach_leaf, reached) == WALK_MISS;
}

/* next_miss() -> (instance, values, values after or None), skipping what was learnt meanwhile; or (update, value) where
 * only what an update makes of a value is missing; None at the end */
static PyObject *kernel_next_miss(PyObject *self, PyObject *unused) {
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

static PyObject *kernel_learned(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    if (kernel->tries.roots_changed && !dispatches_rebuild(kernel)) return PyErr_NoMemory();
    if (kernel->tries.reaches_changed && !reads_rebuild(kernel)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* ---- searching ---- */

static PyObject *kernel_advance_(PyObject *self, PyObject *args) {
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

static PyObject *kernel_counts(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    uint64_t generated = 0;
    size_t tables = 0;
    bool could_go_on = false;
    for (uint32_t t = 0; t < kernel->threads; t++) {
        generated += kernel->workers[t].generated;
        could_go_on |= kernel->workers[t].could_go_on;
        tables += shard_bytes(&kernel->shards[t], kernel->layout.words);
    }
    return Py_BuildValue("{s:n,s:K,s:I,s:n,s:n,s:n,s:n,s:I,s:O}", "distinct", (Py_ssize_t)kernel_count(kernel), "generated",
                         (unsigned long long)generated, "depth", kernel->depth, "level", (Py_ssize_t)kernel->level_size,
                         "level_done", (Py_ssize_t)kernel->level_done, "table_bytes", (Py_ssize_t)tables, "trie_bytes",
                         (Py_ssize_t)kernel->tries.bytes, "words", kernel->layout.words, "could_go_on",
                         could_go_on ? Py_True : Py_False);
}

static PyObject *kernel_taken(PyObject *self, PyObject *unused) {
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

static PyObject *kernel_state(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    dense_bases(kernel);
    layout_unpack(&kernel->layout, state_words(kernel, interleaved_of(kernel, dense)), kernel->workers[0].before);
    return tuple_of(kernel->workers[0].before, kernel->layout.slots);
}

static PyObject *kernel_parent(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    dense_bases(kernel);
    uint32_t number = interleaved_of(kernel, dense);
    uint32_t parent = kernel->shards[number % kernel->threads].parents[number / kernel->threads];
    if (parent == NO_STATE) Py_RETURN_NONE;
    return PyLong_FromSize_t(dense_of(kernel, parent));
}

static PyObject *kernel_find(PyObject *self, PyObject *values) {
    Kernel *kernel = KERNEL(self);
    Vector vector = {0};
    if (!read_state(kernel, values, &vector)) {
        vector_free(&vector);
        return NULL;
    }
    Worker *worker = &kernel->workers[0];
    if (kernel->symmetry.length) kernel_canonical(kernel, vector.data, worker->scratch);
    layout_pack(&kernel->layout, vector.data, worker->words);
    uint32_t owner = shard_of(weighted_sum(&kernel->layout, vector.data), kernel->threads), local;
    vector_free(&vector);
    dense_bases(kernel);
    if (!shard_find(&kernel->shards[owner], kernel->layout.words, worker->words,
                    hash_words(worker->words, kernel->layout.words), &local))
        Py_RETURN_NONE;
    return PyLong_FromSize_t(kernel->dense_base[owner] + local);
}

/* found() -> [(finding, state, action or None, values after or None)] */
static PyObject *kernel_found(PyObject *self, PyObject *unused) {
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

/* mask(predicate, mask, from) -> the first state whose value is not known yet, or the number of states */
static PyObject *kernel_mask(PyObject *self, PyObject *args) {
    Kernel *kernel = KERNEL(self);
    unsigned int predicate;
    Py_buffer mask;
    Py_ssize_t from;
    if (!PyArg_ParseTuple(args, "Iw*n", &predicate, &mask, &from)) return NULL;
    size_t states = kernel_count(kernel), at = (size_t)from;
    Worker *worker = &kernel->workers[0];
    dense_bases(kernel);
    bool known = (size_t)mask.len >= states && predicate < kernel->predicates;
    for (; known && at < states; at++) {
        layout_unpack(&kernel->layout, state_words(kernel, interleaved_of(kernel, at)), worker->before);
        View view = {worker->before, NULL, worker->recalled, ++worker->stamp, 0};
        Walked walked = evaluate(&kernel->tries, predicate, &view);
        if (walked == WALK_MISS) {
            worker->missed.length = 0;
            uint32_t record[2] = {view.missed, 0};
            known = vector_reserve(&worker->missed, sizeof(uint32_t), 2 + kernel->layout.slots);
            if (!known) break;
            memcpy(worker->missed.data, record, sizeof record);
            memcpy((uint32_t *)worker->missed.data + 2, worker->before, kernel->layout.slots * sizeof(uint32_t));
            worker->missed.length = 2 + kernel->layout.slots;
            break;
        }
        ((uint8_t *)mask.buf)[at] = walked == WALK_YES;
    }
    PyBuffer_Release(&mask);
    if (!known) return PyErr_Format(PyExc_ValueError, "no such predicate, a mask too small, or no memory");
    return PyLong_FromSize_t(at);
}

/* successors(state) -> [(action, values)], or None where something is not known yet (see next_miss) */
static PyObject *kernel_successors(PyObject *self, PyObject *arg) {
    Kernel *kernel = KERNEL(self);
    size_t dense;
    if (!read_dense(kernel, arg, &dense)) return NULL;
    Worker *worker = &kernel->workers[0];
    dense_bases(kernel);
    kernel->mode = MODE_GRAPH;
    if (!expand(worker, interleaved_of(kernel, dense))) {
        if (worker->failed) return PyErr_NoMemory();
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < worker->labels.length; i++) {
        layout_unpack(&kernel->layout, (uint64_t *)worker->steps.data + i * kernel->layout.words, worker->after);
        PyObject *values = tuple_of(worker->after, kernel->layout.slots);
        PyObject *row = values ? Py_BuildValue("IN", ((uint32_t *)worker->labels.data)[i] & ~OUTSIDE_BIT, values) : NULL;
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* ---- saving ---- */

static PyObject *bytes_of(const void *data, size_t size) { return PyBytes_FromStringAndSize(data, (Py_ssize_t)size); }

/* dump() -> everything found so far, tries excepted */
static PyObject *kernel_dump(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    PyObject *shards = PyList_New(0);
    for (uint32_t s = 0; shards && s < kernel->threads; s++) {
        const Shard *shard = &kernel->shards[s];
        PyObject *row = Py_BuildValue("NNnn", bytes_of(shard->states, shard->count * kernel->layout.words * 8),
                                      bytes_of(shard->parents, shard->count * 4), (Py_ssize_t)shard->low, (Py_ssize_t)shard->high);
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
    Py_ssize_t low, high;
    if (!PyArg_ParseTuple(row, "y*y*nn", &states, &parents, &low, &high)) return false;
    Shard *shard = &kernel->shards[s];
    size_t count = (size_t)parents.len / 4;
    bool done = (size_t)states.len == count * kernel->layout.words * 8 && shard_reserve(shard, kernel->layout.words, count + 1);
    if (done) {
        memcpy(shard->states, states.buf, (size_t)states.len);
        memcpy(shard->parents, parents.buf, (size_t)parents.len);
        shard->count = count;
        shard->low = (size_t)low;
        shard->high = (size_t)high;
        shard->restored = count;
        done = shard_rehash(shard, kernel->layout.words, count * 3 / 2 + 2048);
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
static PyObject *kernel_restore(PyObject *self, PyObject *args, PyObject *kwargs) {
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

/* ---- the graph ---- */

static PyObject *kernel_build_graph_(PyObject *self, PyObject *unused) {
    (void)unused;
    Advanced advanced;
    Py_BEGIN_ALLOW_THREADS
    advanced = kernel_build_graph(KERNEL(self));
    Py_END_ALLOW_THREADS
    if (advanced == ADVANCED_MEMORY) return PyErr_NoMemory();
    return PyLong_FromLong(advanced);
}

static PyObject *kernel_graph(PyObject *self, PyObject *unused) {
    (void)unused;
    Kernel *kernel = KERNEL(self);
    if (kernel->edge_offsets == NULL) return PyErr_Format(PyExc_RuntimeError, "build_graph comes first");
    size_t states = kernel_count(kernel), edges = kernel->edge_offsets[states];
    return Py_BuildValue("y#y#y#", kernel->edge_offsets, (Py_ssize_t)((states + 1) * 8), kernel->edge_targets,
                         (Py_ssize_t)(edges * 4), kernel->edge_actions, (Py_ssize_t)(edges * 4));
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
    if (done && (kernel->edge_offsets == NULL || (size_t)given->allowed.len < states || (size_t)given->starts.len < states)) {
        PyErr_SetString(PyExc_ValueError, "build_graph comes first, and masks have one byte for each state");
        done = false;
    }
    given->fairness = (FairnessTable){(uint32_t)given->strong.len, given->strong.buf, given->offsets.buf, given->numbers.buf};
    given->query = (FairQuery){given->allowed.buf, given->starts.buf, given->visit_data, given->visit_count};
    if (!done) free_arguments(given);
    return done;
}

/* lasso(...) -> (prefix, cycle) or None */
static PyObject *kernel_lasso(PyObject *self, PyObject *args) {
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

/* fair_from(...) -> a mask of the states from which a fair run stays among `allowed` */
static PyObject *kernel_fair_from(PyObject *self, PyObject *args) {
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
        done = done && mark_backwards(kernel, given.query.allowed, marked);
        Py_END_ALLOW_THREADS
    }
    free(component);
    free_arguments(&given);
    if (done) return mask;
    Py_XDECREF(mask);
    return PyErr_NoMemory();
}

/* shortest(...) -> a path through allowed states to one of the visit set, or None */
static PyObject *kernel_shortest(PyObject *self, PyObject *args) {
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

static PyObject *kernel_ever_enabled(PyObject *self, PyObject *args) {
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

/* ---- the module ---- */

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
    {"build_graph", kernel_build_graph_, METH_NOARGS, "Collect the edges between all states."},
    {"graph", kernel_graph, METH_NOARGS, "The edges as three arrays of bytes."},
    {"lasso", kernel_lasso, METH_VARARGS, "A fair run that answers a query."},
    {"fair_from", kernel_fair_from, METH_VARARGS, "Where a fair run among allowed states can begin."},
    {"shortest", kernel_shortest, METH_VARARGS, "A shortest path through allowed states."},
    {"ever_enabled", kernel_ever_enabled, METH_VARARGS, "Which fairness conditions are enabled anywhere."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "attractor.check._kernel.Kernel",
    .tp_basicsize = sizeof(KernelObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Tries, states and the search over them.",
    .tp_new = kernel_new,
    .tp_dealloc = kernel_dealloc,
    .tp_methods = kernel_methods,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The native engine of the checker.", -1,
                                        NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) {
    if (PyType_Ready(&kernel_type) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddObjectRef(module, "Kernel", (PyObject *)&kernel_type) < 0) Py_CLEAR(module);
    return module;
}
