/* Python values into numbers and back. */
#include "module.h"

#include <string.h>

bool read_numbers(PyObject *sequence, Vector *vector) {
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

PyObject *tuple_of(const uint32_t *numbers, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(numbers[i]);
        if (number == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, number);
    }
    return tuple;
}

bool push_bytes(Vector *vector, const void *element, size_t size) {
    if (!vector_reserve(vector, size, vector->length + 1)) {
        PyErr_NoMemory();
        return false;
    }
    memcpy((char *)vector->data + vector->length++ * size, element, size);
    return true;
}

bool read_state(const Kernel *kernel, PyObject *values, Vector *vector) {
    if (!read_numbers(values, vector)) return false;
    if (vector->length == kernel->layout.slots) return true;
    PyErr_Format(PyExc_ValueError, "a state has %u values, not %zu", kernel->layout.slots, vector->length);
    return false;
}
