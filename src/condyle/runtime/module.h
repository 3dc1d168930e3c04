/* What the extension modules share: how they and their types are made. */
#ifndef CONDYLE_MODULE_H
#define CONDYLE_MODULE_H
#include <Python.h>

#ifdef Py_MOD_GIL_NOT_USED
#define NO_LOCK {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define NO_LOCK
#endif

/* A module that needs no lock of the interpreter's, filled by module_exec. */
#define MODULE(name, doc, methods)                                                                                     \
    static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, NO_LOCK{0, NULL}};                           \
    static PyModuleDef module_def = {PyModuleDef_HEAD_INIT, #name, doc, 0, methods, module_slots, NULL, NULL, NULL};   \
    PyMODINIT_FUNC PyInit_##name(void)                                                                                 \
    {                                                                                                                  \
        return PyModuleDef_Init(&module_def);                                                                          \
    }

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
