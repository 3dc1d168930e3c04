/* The runtime behind cuda_runtime.h of this folder; SHIM_ROBOT is the namespace whose dynamic shared memory it is. */
#include "cuda_runtime.h"

#include <stdio.h>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

const size_t SHARED = 232448, GUARD = 256, STACK = 1 << 20;
const unsigned char EMPTY = 0xff, FENCE = 0xa5;

enum Place { READY, AT_WARP, AT_BLOCK, DONE };

struct Fiber {
    ucontext_t context;
    unsigned char *stack;
    Place place;
};


ucontext_t scheduler;
std::vector<Fiber> fibers;
size_t running;
shim_call *work;
std::mt19937 order;
unsigned first_block, most_blocks = ~0u;  // of each launch that are run
long countdown = -1;  // calls of the runtime that succeed before one fails; negative: none fails
int faults;           // what a GPU would have punished silently or not at all
std::map<void *, std::pair<size_t, bool>> held;
std::map<const void *, int> allowed;

bool fails() { return countdown >= 0 && countdown-- == 0; }

void fault(const char *what)
{
    fprintf(stderr, "shim: %s\n", what);
    faults++;
}

void thread_main()
{
    (*work)();
    fibers[running].place = DONE;
    swapcontext(&fibers[running].context, &scheduler);
}

void wait_at(Place place)
{
    const size_t me = running;
    fibers[me].place = place;
    swapcontext(&fibers[me].context, &scheduler);
}

/* Lets those go on who wait for nobody any more; threads that left while others wait are a fault. */
bool release(size_t first, size_t last, Place place)
{
    size_t waiting = 0, done = 0;
    for (size_t k = first; k < last; k++) {
        waiting += fibers[k].place == place;
        done += fibers[k].place == DONE;
    }
    if (waiting == 0 || waiting + done < last - first) {
        return false;
    }
    if (done) {
        fault("threads left before a barrier that others reached");
    }
    for (size_t k = first; k < last; k++) {
        fibers[k].place = fibers[k].place == DONE ? DONE : READY;
    }
    return true;
}

void run_threads(size_t count)
{
    std::vector<size_t> turn(count);
    for (size_t k = 0; k < count; k++) {
        turn[k] = k;
        fibers[k].place = READY;
        getcontext(&fibers[k].context);
        fibers[k].context.uc_stack.ss_sp = fibers[k].stack;
        fibers[k].context.uc_stack.ss_size = STACK;
        fibers[k].context.uc_link = nullptr;
        makecontext(&fibers[k].context, thread_main, 0);
    }
    for (bool moved = true; moved;) {
        moved = false;
        std::shuffle(turn.begin(), turn.end(), order);
        for (size_t k : turn) {
            if (fibers[k].place == READY) {
                running = k;
                threadIdx = dim3(unsigned(k), 0, 0);
                swapcontext(&scheduler, &fibers[k].context);
                moved = true;
            }
        }
        for (size_t first = 0; first < count; first += 32) {
            moved = release(first, std::min(first + 32, count), AT_WARP) || moved;
        }
        moved = release(0, count, AT_BLOCK) || moved;
    }
    for (size_t k = 0; k < count; k++) {
        if (fibers[k].place != DONE) {
            fault("a barrier that not all threads reached");
            return;
        }
    }
}

bool is_inside(const void *pointer, size_t bytes, bool device)
{
    for (auto &entry : held) {
        const char *start = (const char *)entry.first, *at = (const char *)pointer;
        if (entry.second.second == device && at >= start && at + bytes <= start + entry.second.first) {
            return true;
        }
    }
    return false;
}

}  // namespace

namespace SHIM_ROBOT {
unsigned char shared[SHARED] __attribute__((aligned(16)));
}

void __syncwarp(unsigned) { wait_at(AT_WARP); }
void __syncthreads() { wait_at(AT_BLOCK); }

cudaError_t shim_launch(const void *kernel, dim3 grid, dim3 block, size_t shared, shim_call &call)
{
    if (fails()) {
        return cudaErrorLaunchFailure;
    }
    const size_t limit = allowed.count(kernel) ? size_t(allowed[kernel]) : 48 * 1024;
    if (grid.x == 0 || block.x == 0 || block.x > 128 || shared > limit) {
        return cudaErrorInvalidConfiguration;
    }
    while (fibers.size() < block.x) {
        fibers.push_back({ucontext_t(), (unsigned char *)malloc(STACK), DONE});
    }
    std::vector<unsigned> blocks(std::min(grid.x - first_block, most_blocks));
    for (unsigned k = 0; k < blocks.size(); k++) {
        blocks[k] = first_block + k;
    }
    std::shuffle(blocks.begin(), blocks.end(), order);
    work = &call;
    gridDim = grid;
    blockDim = block;
    for (unsigned k : blocks) {
        blockIdx = dim3(k, 0, 0);
        memset(SHIM_ROBOT::shared, EMPTY, SHARED);
        run_threads(block.x);
        for (size_t at = shared; at < SHARED; at++) {
            if (SHIM_ROBOT::shared[at] != EMPTY) {
                fault("a write beyond the shared memory of the launch");
                break;
            }
        }
    }
    return cudaSuccess;
}

cudaError_t shim_allow(const void *kernel, int shared)
{
    if (fails() || shared > int(SHARED)) {
        return cudaErrorInvalidValue;
    }
    allowed[kernel] = shared;
    return cudaSuccess;
}

cudaError_t shim_allocate(void **pointer, size_t bytes, bool device)
{
    if (fails() || bytes > (size_t(1) << 34)) {
        return cudaErrorMemoryAllocation;
    }
    unsigned char *raw = (unsigned char *)aligned_alloc(GUARD, (bytes + 3 * GUARD - 1) / GUARD * GUARD);
    memset(raw, FENCE, GUARD);
    memset(raw + GUARD, EMPTY, bytes);
    memset(raw + GUARD + bytes, FENCE, GUARD);
    *pointer = raw + GUARD;
    held[*pointer] = {bytes, device};
    return cudaSuccess;
}

cudaError_t shim_release(void *pointer, bool device)
{
    if (pointer == nullptr) {
        return cudaSuccess;
    }
    auto found = held.find(pointer);
    if (found == held.end() || found->second.second != device) {
        fault("freed what was not allocated");
        return cudaErrorInvalidValue;
    }
    unsigned char *raw = (unsigned char *)pointer - GUARD;
    for (size_t k = 0; k < GUARD; k++) {
        if (raw[k] != FENCE || raw[GUARD + found->second.first + k] != FENCE) {
            fault("a write outside of an allocation");
            break;
        }
    }
    held.erase(found);
    free(raw);
    return fails() ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t)
{
    if (fails()) {
        return cudaErrorInvalidValue;
    }
    const bool up = kind == cudaMemcpyHostToDevice;
    if (!is_inside(to, bytes, up) || !is_inside(from, bytes, !up)) {
        fault("a copy outside of allocations");
        return cudaErrorInvalidValue;
    }
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return fails() ? cudaErrorLaunchFailure : cudaSuccess; }

/* For the tests: seed of all orders, which call of the runtime fails, and what was found. */
extern "C" void shim_seed(unsigned seed) { order.seed(seed); }
extern "C" void shim_fail_after(long calls) { countdown = calls; }
extern "C" void shim_blocks(unsigned first, unsigned most) { first_block = first, most_blocks = most; }
extern "C" int shim_faults() { return faults; }
extern "C" size_t shim_held() { return held.size(); }

/* Writes one byte too far; the number of faults afterwards, this one forgotten. */
extern "C" int shim_test_write_outside(void **place)
{
    const int before = faults;
    cudaMalloc(place, 10);
    ((char *)*place)[10] = 0;
    cudaFree(*place);
    const int after = faults;
    faults = before;
    return after;
}
