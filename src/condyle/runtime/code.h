/* Machine code in memory: pages for it, constants beside it. Pages are written, then made
 * executable, and are never both. */
#ifndef CONDYLE_CODE_H
#define CONDYLE_CODE_H
#include <Python.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The code in pages that can be executed and not written; NULL with an exception where the system forbids that. */
static void *executable(const Py_buffer *code, size_t *mapped)
{
    const size_t size = code->len > 0 ? (size_t)code->len : 1;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    memcpy(pages, code->buf, (size_t)code->len);
    if (mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        munmap(pages, size);
        return NULL;
    }
    *mapped = size;
    return pages;
}

/* A copy of data that code reads, aligned for whole vectors; NULL with an exception. */
static void *aligned_copy(const Py_buffer *data)
{
    void *copy = NULL;
    if (posix_memalign(&copy, 64, data->len > 0 ? (size_t)data->len : 64) != 0) {
        PyErr_NoMemory();
        return NULL;
    }
    return memcpy(copy, data->buf, (size_t)data->len);
}
#endif
