/* List scheduling: within a window of the order, the operation that is ready first is next.
 * tests/backends/cpu/plain_schedule.py is the same algorithm in Python; a test compares the two. */
#include <string.h>

typedef struct {
    double ready;
    int32_t place;
} Entry;

/* A heap: its top is the operation that is ready first, of several the first in the order. */
typedef struct {
    Entry *at;
    int32_t count;
} Heap;

static int before(Entry a, Entry b)
{
    return a.ready < b.ready || (a.ready == b.ready && a.place < b.place);
}

static void push(Heap *heap, double ready, int32_t place)
{
    const Entry new = {ready, place};
    int32_t k = heap->count++;
    for (; k > 0 && before(new, heap->at[(k - 1) / 2]); k = (k - 1) / 2) {
        heap->at[k] = heap->at[(k - 1) / 2];
    }
    heap->at[k] = new;
}

static Entry pop(Heap *heap)
{
    const Entry first = heap->at[0], last = heap->at[--heap->count];
    int32_t k = 0, child;
    for (; (child = 2 * k + 1) < heap->count; k = child) {
        child += child + 1 < heap->count && before(heap->at[child + 1], heap->at[child]);
        if (!before(heap->at[child], last)) {
            break;
        }
        heap->at[k] = heap->at[child];
    }
    heap->at[k] = last;
    return first;
}

/* Operations by their place in the order. first, user: the users of each; missing: number of operands not yet computed. */
typedef struct {
    int32_t length;
    int32_t *first, *user, *missing, *place;
    double *ready, *latency;
    char *done;
    Heap now, later;
} Queue;

/* The place of operand i of a node in the order; -1 if it has none or is also an earlier operand; -2 with an exception. */
static int32_t place_of_operand(const Queue *q, PyObject *node, Py_ssize_t i, Py_ssize_t n)
{
    const int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(node, i));
    if (value < 0 || value >= n) {
        PyErr_SetString(PyExc_ValueError, "schedule: a node uses what is not there");
        return -2;
    }
    for (Py_ssize_t j = 1; j < i; j++) {
        if (PyLong_AsLongLong(PyTuple_GET_ITEM(node, j)) == value) {
            return -1;
        }
    }
    return q->place[value];
}

/* Counts the users of each operation, or, in a second call, stores them. */
static int read_users(Queue *q, PyObject *nodes, PyObject *order, int note)
{
    for (int32_t k = 0; k < q->length; k++) {
        PyObject *node = PyTuple_GET_ITEM(nodes, PyLong_AsSsize_t(PyList_GET_ITEM(order, k)));
        for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(node); i++) {
            const int32_t used = place_of_operand(q, node, i, PyTuple_GET_SIZE(nodes));
            if (used == -2) {
                return -1;
            }
            if (used >= 0 && note) {
                q->user[q->first[used]++] = k;
                q->missing[k]++;
            } else if (used >= 0) {
                q->first[used + 1]++;
            }
        }
    }
    return 0;
}

static int read_order(Queue *q, PyObject *nodes, PyObject *order, PyObject *latency)
{
    memset(q->place, 0xff, (size_t)PyTuple_GET_SIZE(nodes) * sizeof *q->place);
    for (int32_t k = 0; k < q->length; k++) {
        const Py_ssize_t node = PyLong_AsSsize_t(PyList_GET_ITEM(order, k));
        PyObject *takes;
        if (node < 0 || node >= PyTuple_GET_SIZE(nodes) || !PyTuple_Check(PyTuple_GET_ITEM(nodes, node)) ||
            PyTuple_GET_SIZE(PyTuple_GET_ITEM(nodes, node)) == 0) {
            PyErr_SetString(PyExc_ValueError, "schedule: the order holds what is no node");
            return -1;
        }
        q->place[node] = k;
        takes = PyDict_GetItemWithError(latency, PyTuple_GET_ITEM(PyTuple_GET_ITEM(nodes, node), 0));
        q->latency[k] = takes == NULL ? 4.0 : PyFloat_AsDouble(takes);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_queue(Queue *q, PyObject *nodes, PyObject *order, PyObject *latency)
{
    if (read_order(q, nodes, order, latency) != 0 || read_users(q, nodes, order, 0) != 0) {
        return -1;
    }
    for (int32_t k = 0; k < q->length; k++) {
        q->first[k + 1] += q->first[k];
    }
    q->user = malloc(((size_t)q->first[q->length] + 1) * sizeof *q->user);
    if (q->user == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (read_users(q, nodes, order, 1) != 0) {
        return -1;
    }
    memmove(q->first + 1, q->first, (size_t)q->length * sizeof *q->first); /* each was moved to the next one's start */
    q->first[0] = 0;
    return 0;
}

/* The next operation; -1 if none can ever start. */
static int32_t next_one(Queue *q, double *time)
{
    if (q->now.count == 0) {
        if (q->later.count == 0) {
            PyErr_SetString(PyExc_ValueError, "schedule: an operand comes after its use");
            return -1;
        }
        *time = q->later.at[0].ready > *time ? q->later.at[0].ready : *time;
    }
    while (q->later.count > 0 && q->later.at[0].ready <= *time) {
        push(&q->now, 0.0, pop(&q->later).place);
    }
    return pop(&q->now).place;
}

static void finish(Queue *q, int32_t k, double end, int32_t seen)
{
    for (int32_t u = q->first[k]; u < q->first[k + 1]; u++) {
        const int32_t user = q->user[u];
        q->ready[user] = q->ready[user] > end ? q->ready[user] : end;
        if (--q->missing[user] == 0 && user < seen) {
            push(&q->later, q->ready[user], user);
        }
    }
}

static PyObject *scheduled(Queue *q, PyObject *order, long long window, double issue)
{
    PyObject *result = PyList_New(q->length);
    int32_t head = 0, seen = 0, count = 0;
    double time = 0.0;
    while (result != NULL && head < q->length) {
        const int32_t end = window < q->length - head ? head + (int32_t)window : q->length;
        int32_t k;
        for (; seen < end; seen++) {
            if (q->missing[seen] == 0) {
                push(&q->later, q->ready[seen], seen);
            }
        }
        k = next_one(q, &time);
        if (k < 0) {
            Py_CLEAR(result);
            break;
        }
        PyList_SET_ITEM(result, count++, Py_NewRef(PyList_GET_ITEM(order, k)));
        q->done[k] = 1;
        finish(q, k, time + q->latency[k], seen);
        while (head < q->length && q->done[head]) {
            head++;
        }
        time += 1.0 / issue;
    }
    return result;
}

static PyObject *schedule(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *nodes, *order, *latency, *answer = NULL;
    Queue q = {0};
    long long window;
    double issue;
    size_t length;
    if (!PyArg_ParseTuple(args, "O!O!LdO!", &PyTuple_Type, &nodes, &PyList_Type, &order, &window, &issue, &PyDict_Type,
                          &latency)) {
        return NULL;
    }
    if (window < 1 || !(issue > 0.0) || PyList_GET_SIZE(order) > INT32_MAX / 8) {
        PyErr_SetString(PyExc_ValueError, "schedule: an argument is out of range");
        return NULL;
    }
    q.length = (int32_t)PyList_GET_SIZE(order), length = (size_t)q.length + 1;
    q.first = calloc(length + 1, sizeof *q.first), q.missing = calloc(length, sizeof *q.missing);
    q.place = malloc(((size_t)PyTuple_GET_SIZE(nodes) + 1) * sizeof *q.place);
    q.ready = calloc(length, sizeof *q.ready), q.latency = calloc(length, sizeof *q.latency);
    q.done = calloc(length, 1);
    q.now.at = calloc(length, sizeof *q.now.at), q.later.at = calloc(length, sizeof *q.later.at);
    if (q.first && q.missing && q.place && q.ready && q.latency && q.done && q.now.at && q.later.at) {
        answer = read_queue(&q, nodes, order, latency) == 0 ? scheduled(&q, order, window, issue) : NULL;
    } else {
        PyErr_NoMemory();
    }
    free(q.first), free(q.user), free(q.missing), free(q.place), free(q.ready), free(q.latency), free(q.done);
    free(q.now.at), free(q.later.at);
    return answer;
}
