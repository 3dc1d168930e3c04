// GRiD's kernels with arrays on the GPU: answers at known states, then microseconds a batch by graphs and events.
//     grid INPUTS FOLDER      INPUTS: rows of q, qd, u in float; FOLDER: one file of answers for each function
#include <cstdint>
#include "grid.cuh"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using Launch = std::function<void(int n, int threads, cudaStream_t stream)>;

static void ended(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        std::exit(1);
    }
}

static float graph_us(const Launch &launch, int n, int threads)
{
    const int launches = n <= 1024 ? 50 : n <= 4096 ? 10 : 2;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t begin, end;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    ended(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (int k = 0; k < launches; k++) {
        launch(n, threads, stream);
    }
    ended(cudaStreamEndCapture(stream, &graph), "end of capture");
    ended(cudaGraphInstantiate(&ready, graph, 0), "graph");
    cudaGraphLaunch(ready, stream);
    std::vector<float> times(5);
    for (float &time : times) {
        cudaEventRecord(begin, stream);
        cudaGraphLaunch(ready, stream);
        cudaEventRecord(end, stream);
        ended(cudaEventSynchronize(end), "launch");
        cudaEventElapsedTime(&time, begin, end);
    }
    std::sort(times.begin(), times.end());
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return 1e3f * times[2] / launches;
}

int main(int, char **words)
{
    using namespace grid;
    const int most = 65536, joints = NUM_JOINTS, row = 3 * joints;
    const float gravity = 9.81f;
    std::ifstream file(words[1], std::ios::binary | std::ios::ate);
    const int states = int(file.tellg() / (row * sizeof(float)));
    std::vector<float> known(size_t(states) * row), inputs(size_t(most) * row), answers(size_t(states) * 2 * joints * joints);
    file.seekg(0).read(reinterpret_cast<char *>(known.data()), known.size() * sizeof(float));
    for (size_t k = 0; k < inputs.size(); k++) {
        inputs[k] = known[k % known.size()];
    }
    float *in, *out;
    const size_t bytes = size_t(most) * 2 * joints * joints * sizeof(float);
    ended(cudaMalloc(&in, inputs.size() * sizeof(float)), "memory");
    ended(cudaMalloc(&out, bytes), "memory");
    ended(cudaMemcpy(in, inputs.data(), inputs.size() * sizeof(float), cudaMemcpyHostToDevice), "copy");
    robotModel<float> *model = init_robotModel<float>();
    init_grid<float>();
    struct Function {
        std::string name;
        int size;
        Launch launch;
    };
#define LAUNCH(kernel, shared, ...) \
    [&](int n, int threads, cudaStream_t stream) { kernel<float><<<n, threads, (shared) * sizeof(float), stream>>>(out, in, row, model, ##__VA_ARGS__, n); }
    const std::vector<Function> functions = {
        {"id", joints, LAUNCH(inverse_dynamics_kernel, ID_DYNAMIC_SHARED_MEM_COUNT, gravity)},
        {"minv", joints * joints, LAUNCH(direct_minv_kernel, MINV_DYNAMIC_SHARED_MEM_COUNT)},
        {"fd", joints, LAUNCH(forward_dynamics_kernel, FD_DYNAMIC_SHARED_MEM_COUNT, gravity)},
        {"did", 2 * joints * joints, LAUNCH(inverse_dynamics_gradient_kernel, ID_DU_MAX_SHARED_MEM_COUNT, gravity)},
        {"dfd", 2 * joints * joints, LAUNCH(forward_dynamics_gradient_kernel, FD_DU_MAX_SHARED_MEM_COUNT, gravity)},
    };
    for (const Function &function : functions) {
        ended(cudaMemset(out, 0xFF, bytes), "poison");
        function.launch(states, SUGGESTED_THREADS, 0);
        ended(cudaMemcpy(answers.data(), out, sizeof(float) * states * function.size, cudaMemcpyDeviceToHost), "answers");
        std::ofstream(std::string(words[2]) + "/" + function.name, std::ios::binary)
            .write(reinterpret_cast<char *>(answers.data()), std::streamsize(sizeof(float)) * states * function.size);
        for (int n : {1, 16, 128, 256, 1024, 4096, 16384, 65536}) {
            for (int threads : {64, 128, 256, int(SUGGESTED_THREADS)}) {
                if (n <= 4096 || threads == 128) {
                    std::printf("{\"function\": \"%s\", \"n\": %d, \"threads\": %d, \"us\": %.3f}\n", function.name.c_str(), n,
                                threads, graph_us(function.launch, n, threads));
                }
            }
        }
    }
    return 0;
}
