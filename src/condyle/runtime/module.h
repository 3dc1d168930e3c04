/* What the extension modules share: their slots and their types. */
#ifndef CONDYLE_MODULE_H
#define CONDYLE_MODULE_H
#include <Python.h>

/* The slots of a module that needs no lock of the interpreter's. */
#ifdef Py_MOD_GIL_NOT_USED
#define MODULE_SLOTS(exec) {{Py_mod_exec, exec}, {Py_mod_gil, Py_MOD_GIL_NOT_USED}, {0, NULL}}
#else
#define MODULE_SLOTS(exec) {{Py_mod_exec, exec}, {0, NULL}}
#endif

/* Adds a type to a module; `kept`, unless NULL, keeps the first one made. */
static inline int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **kept)
{
    PyObject *type = PyType_FromSpec(spec);
    int status;
    if (type == NULL) {
        return -1;
    }
    status = PyModule_AddObjectRef(module, name, type);
    if (kept != NULL && *kept == NULL) {
        *kept = (PyTypeObject *)Py_NewRef(type);
    }
    Py_DECREF(type);
    return status;
}
#endif
