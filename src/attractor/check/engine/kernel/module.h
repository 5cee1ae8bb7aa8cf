/* What the files of the Python module share. */
#ifndef ATTRACTOR_MODULE_H
#define ATTRACTOR_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernel.h"

typedef struct {
    PyObject_HEAD
    Kernel kernel;
    uint32_t miss_worker;
    size_t miss_at;
} KernelObject;

#define KERNEL(self) (&((KernelObject *)(self))->kernel)

/* module_values.c: false or NULL with a Python error set */
bool read_numbers(PyObject *sequence, Vector *vector);
bool read_state(const Kernel *kernel, PyObject *values, Vector *vector);
PyObject *tuple_of(const uint32_t *numbers, size_t count);
bool push_bytes(Vector *vector, const void *element, size_t size);

/* module_configure.c */
PyObject *kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *kernel_fit(PyObject *self, PyObject *args);
PyObject *kernel_add_initial_(PyObject *self, PyObject *values);
/* module_learn.c */
PyObject *kernel_learn(PyObject *self, PyObject *args);
PyObject *kernel_learn_update(PyObject *self, PyObject *args);
PyObject *kernel_separate(PyObject *self, PyObject *arg);
PyObject *kernel_forget(PyObject *self, PyObject *arg);
PyObject *kernel_next_miss(PyObject *self, PyObject *unused);
PyObject *kernel_learned(PyObject *self, PyObject *unused);
/* module_search.c */
PyObject *kernel_advance_(PyObject *self, PyObject *args);
PyObject *kernel_counts(PyObject *self, PyObject *unused);
PyObject *kernel_taken(PyObject *self, PyObject *unused);
PyObject *kernel_state(PyObject *self, PyObject *arg);
PyObject *kernel_parent(PyObject *self, PyObject *arg);
PyObject *kernel_find(PyObject *self, PyObject *values);
PyObject *kernel_found(PyObject *self, PyObject *unused);
PyObject *kernel_mask(PyObject *self, PyObject *args);
PyObject *kernel_successors(PyObject *self, PyObject *arg);
/* module_save.c */
PyObject *kernel_dump(PyObject *self, PyObject *unused);
PyObject *kernel_restore(PyObject *self, PyObject *args, PyObject *kwargs);
/* module_graph.c */
PyObject *kernel_forget_edges(PyObject *self, PyObject *unused);
PyObject *kernel_build_graph_(PyObject *self, PyObject *unused);
PyObject *kernel_graph(PyObject *self, PyObject *unused);
PyObject *kernel_lasso(PyObject *self, PyObject *args);
PyObject *kernel_fair_from(PyObject *self, PyObject *args);
PyObject *kernel_fair_core(PyObject *self, PyObject *args);
PyObject *kernel_shortest(PyObject *self, PyObject *args);
PyObject *kernel_ever_enabled(PyObject *self, PyObject *args);

#endif
