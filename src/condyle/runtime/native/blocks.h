/* Blocks: memory for large arrays, which is kept for reuse when it is freed. Of kept blocks beyond MANY_BYTES the system may
 * reclaim the pages (MADV_FREE). */

static void count_block(const Block *block, int sign)
{
    kept.bytes += (size_t)sign * block->bytes;
    kept.held += block->offered ? 0 : (size_t)sign * block->bytes;
}

static void drop_oldest(void)
{
    Block **link = &kept.newest;
    Block *oldest;
    while ((*link)->older != NULL) {
        link = &(*link)->older;
    }
    oldest = *link;
    *link = NULL;
    count_block(oldest, -1);
    munmap(oldest, oldest->bytes);
}

static Block *take_block(size_t bytes)
{
    Block *found = NULL;
    pthread_mutex_lock(&kept.lock);
    for (Block **link = &kept.newest; *link != NULL; link = &(*link)->older) {
        if ((*link)->bytes >= bytes && (*link)->bytes - bytes <= bytes / 4) {
            found = *link;
            *link = found->older;
            count_block(found, -1);
            break;
        }
    }
    pthread_mutex_unlock(&kept.lock);
    return found;
}

static void drop_all(void)
{
    pthread_mutex_lock(&kept.lock);
    while (kept.newest != NULL) {
        drop_oldest();
    }
    pthread_mutex_unlock(&kept.lock);
}

static Block *map_block(size_t bytes)
{
    Block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_BYTES) {
        madvise(block, bytes, MADV_HUGEPAGE);
    }
#endif
    block->bytes = bytes;
    return block;
}

static void *block_malloc(void *unused, size_t size)
{
    const size_t bytes = (size + BLOCK_HEAD + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    Block *block;
    (void)unused;
    if (bytes < size) {
        return NULL;
    }
    block = take_block(bytes);
    if (block == NULL) {
        block = map_block(bytes);
    }
    if (block == NULL) {
        drop_all();
        block = map_block(bytes);
    }
    return block == NULL ? NULL : (char *)block + BLOCK_HEAD;
}

/* Lets the system reclaim all pages but the first, which has the header; until then they are used without a page fault. */
static void offer_pages(Block *block)
{
#ifdef MADV_FREE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    madvise((char *)block + page, block->bytes - page, MADV_FREE);
#else
    (void)block;
#endif
}

static void block_free(void *unused, void *memory, size_t size)
{
    Block *block;
    (void)unused;
    (void)size;
    if (memory == NULL) {
        return;
    }
    block = (Block *)((char *)memory - BLOCK_HEAD);
    pthread_mutex_lock(&kept.lock);
    block->offered = kept.held + block->bytes > MANY_BYTES;
    pthread_mutex_unlock(&kept.lock);
    if (block->offered) {
        offer_pages(block);
    }
    pthread_mutex_lock(&kept.lock);
    block->older = kept.newest;
    kept.newest = block;
    count_block(block, 1);
    while (kept.bytes > kept.limit) {
        drop_oldest();
    }
    pthread_mutex_unlock(&kept.lock);
}

static void *block_calloc(void *unused, size_t count, size_t size)
{
    void *memory;
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    memory = block_malloc(unused, count * size);
    return memory == NULL ? NULL : memset(memory, 0, count * size);
}

static void *block_realloc(void *unused, void *memory, size_t size)
{
    void *larger = block_malloc(unused, size);
    if (larger != NULL && memory != NULL) {
        const size_t old = ((Block *)((char *)memory - BLOCK_HEAD))->bytes - BLOCK_HEAD;
        memcpy(larger, memory, old < size ? old : size);
        block_free(unused, memory, 0);
    }
    return larger;
}

static PyDataMem_Handler block_handler = {
    "condyle", 1, {NULL, block_malloc, block_calloc, block_realloc, block_free},
};
static PyObject *block_capsule;

/* An array with memory from the blocks, not initialised; takes no reference to `dtype`. */
static PyObject *new_array(PyArray_Descr *dtype, int nd, const npy_intp *shape, npy_intp bytes)
{
    PyObject *before, *own, *array;
    Py_INCREF(dtype);
    if (bytes < LARGE_BYTES) {
        return PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    }
    before = PyDataMem_SetHandler(block_capsule);
    if (before == NULL) {
        Py_DECREF(dtype);
        return NULL;
    }
    array = PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    if (array == NULL) {
        PyErr_Clear();
    }
    own = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (own == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    Py_DECREF(own);
    if (array == NULL) { /* NumPy gets it elsewhere, or says what is wrong */
        Py_INCREF(dtype);
        array = PyArray_NewFromDescr(&PyArray_Type, dtype, nd, shape, NULL, NULL, 0, NULL);
    }
    return array;
}
