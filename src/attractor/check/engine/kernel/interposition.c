/* Builtin functions that ask before they answer, whoever calls them: also compiled code, of which no hook is told.
 *
 * A builtin function is an object that points to its definition, which points to the C function. `interpose` lets the
 * definition point to one of ours instead, of the same calling convention, for as long as the process lives. That one
 * asks the `judge` of this thread, if there is one, and goes on to the first. What was handed around before (a default
 * factory, a partial function, a bound method) has the same definition, and so asks, too.
 */
#include <Python.h>

#define PLACES 64 /* of each calling convention */

typedef PyObject *(*OneCall)(PyObject *, PyObject *);
typedef PyObject *(*NamedCall)(PyObject *, PyObject *, PyObject *);
typedef PyObject *(*FastCall)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*FastNamedCall)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *(*MethodCall)(PyObject *, PyTypeObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef void (*AnyCall)(void);
enum convention { ONE, NAMED, FAST, FAST_NAMED, METHOD, CONVENTIONS };

static struct interposed {
    PyMethodDef *definition;
    AnyCall first;
    PyObject *function;
} interposed[CONVENTIONS][PLACES];
static int interposed_count[CONVENTIONS];
static PyObject *call_judge;              /* NULL: nobody asks */
static unsigned long call_judge_thread;   /* whose calls it judges */

static int is_let_through(const struct interposed *place, PyObject *self) {
    if (call_judge == NULL || PyThread_get_thread_ident() != call_judge_thread) return 1;
    PyObject *asked = call_judge;
    call_judge = NULL; /* what the judge itself calls is not judged */
    PyObject *said = PyObject_CallFunctionObjArgs(asked, place->function, self ? self : Py_None, NULL);
    call_judge = asked;
    Py_XDECREF(said);
    return said != NULL;
}

#define THROUGH(convention, place, call, ...)                                                                          \
    const struct interposed *at = &interposed[convention][place];                                                      \
    return is_let_through(at, self) ? ((call)at->first)(__VA_ARGS__) : NULL;
#define STANDINS(n)                                                                                                    \
    static PyObject *one_##n(PyObject *self, PyObject *arg) { THROUGH(ONE, n, OneCall, self, arg) }                    \
    static PyObject *named_##n(PyObject *self, PyObject *args, PyObject *names) {                                      \
        THROUGH(NAMED, n, NamedCall, self, args, names)                                                                \
    }                                                                                                                  \
    static PyObject *fast_##n(PyObject *self, PyObject *const *args, Py_ssize_t count) {                               \
        THROUGH(FAST, n, FastCall, self, args, count)                                                                  \
    }                                                                                                                  \
    static PyObject *fast_named_##n(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {        \
        THROUGH(FAST_NAMED, n, FastNamedCall, self, args, count, names)                                                \
    }                                                                                                                  \
    static PyObject *method_##n(PyObject *self, PyTypeObject *kind, PyObject *const *args, Py_ssize_t count,           \
                                PyObject *names) {                                                                     \
        THROUGH(METHOD, n, MethodCall, self, kind, args, count, names)                                                 \
    }
#define EIGHT(what, n)                                                                                                 \
    what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)
#define ALL(what) /* octal, so that the names are numbers of 64 places */                                             \
    EIGHT(what, 00) EIGHT(what, 01) EIGHT(what, 02) EIGHT(what, 03) EIGHT(what, 04) EIGHT(what, 05) EIGHT(what, 06)    \
    EIGHT(what, 07)
#define ROW(n)                                                                                                         \
    {(AnyCall)one_##n, (AnyCall)named_##n, (AnyCall)fast_##n, (AnyCall)fast_named_##n, (AnyCall)method_##n},

ALL(STANDINS)
static const AnyCall standins[PLACES][CONVENTIONS] = {ALL(ROW)};

static PyMethodDef *definition_of(PyObject *function) {
    if (PyCFunction_Check(function)) return ((PyCFunctionObject *)function)->m_ml;
    if (PyObject_TypeCheck(function, &PyMethodDescr_Type) || PyObject_TypeCheck(function, &PyClassMethodDescr_Type))
        return ((PyMethodDescrObject *)function)->d_method;
    return NULL;
}

static enum convention convention_of(int flags) {
    switch (flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) {
    case METH_NOARGS:
    case METH_O:
    case METH_VARARGS: return ONE;
    case METH_VARARGS | METH_KEYWORDS: return NAMED;
    case METH_FASTCALL: return FAST;
    case METH_FASTCALL | METH_KEYWORDS: return FAST_NAMED;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS: return METHOD;
    default: return CONVENTIONS;
    }
}

static PyObject *interpose(PyObject *Py_UNUSED(module), PyObject *function) {
    PyMethodDef *definition = definition_of(function);
    enum convention convention = definition ? convention_of(definition->ml_flags) : CONVENTIONS;
    if (convention == CONVENTIONS || interposed_count[convention] == PLACES) Py_RETURN_FALSE;
    for (int each = 0; each < interposed_count[convention]; each++)
        if (interposed[convention][each].definition == definition) Py_RETURN_TRUE;
    int place = interposed_count[convention]++;
    interposed[convention][place] = (struct interposed){definition, (AnyCall)definition->ml_meth, Py_NewRef(function)};
    definition->ml_meth = (PyCFunction)standins[place][convention];
    Py_RETURN_TRUE;
}

static PyObject *set_judge(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *before = call_judge ? call_judge : Py_NewRef(Py_None);
    call_judge = given == Py_None ? NULL : Py_NewRef(given);
    call_judge_thread = PyThread_get_thread_ident();
    return before;
}

static PyMethodDef functions[] = {
    {"interpose", interpose, METH_O, "Let a builtin function ask the judge before it answers; False if it cannot."},
    {"set_judge", set_judge, METH_O, "Who is asked of calls of this thread, or None; answers who was before."},
    {NULL, NULL, 0, NULL},
};
