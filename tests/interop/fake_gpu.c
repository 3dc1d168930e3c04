/* What stands for libcuda and for XLA on a GPU: launches go to a function of the test, and a handler is called by a frame
 * of the test, or by XLA on the processor, whose frame gets a stream. */
#include <stdint.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

typedef int (*launched_t)(void *function, unsigned grid, unsigned block, unsigned shared, void *stream, void **parameters);
typedef void (*moved_t)(int entered, void *stream, int64_t count, void **data, int64_t *bytes);

static launched_t launched;
static moved_t moved;
static XLA_FFI_Handler *handler;
static void *stream, *context, *current[8];
static int depth;

void set_up(launched_t on_launch, moved_t on_move, XLA_FFI_Handler *called, void *its_stream, void *its_context)
{
    launched = on_launch, moved = on_move, handler = called, stream = its_stream, context = its_context;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *where, void **parameters, void **extra)
{
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra != NULL || depth == 0 || current[depth - 1] != context) {
        return 1;
    }
    return launched(function, gx, bx, shared, where, parameters);
}

int cuCtxPushCurrent_v2(void *pushed)
{
    current[depth++] = pushed;
    return 0;
}

int cuCtxPopCurrent_v2(void **popped)
{
    *popped = current[--depth];
    return 0;
}

int cuStreamGetCtx(void *asked, void **its)
{
    *its = context;
    return asked == stream ? 0 : 400;
}

int cuGetErrorName(int status, const char **name)
{
    *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : status == 400 ? "CUDA_ERROR_INVALID_HANDLE" : NULL;
    return *name == NULL;
}

int depth_now(void)
{
    return depth;
}

static XLA_FFI_Error *give_stream(XLA_FFI_Stream_Get_Args *args)
{
    args->stream = stream;
    return NULL;
}

/* For platform CPU of XLA: the handler as XLA calls it on a GPU, on the processor's memory. */
XLA_FFI_Error *through(XLA_FFI_CallFrame *frame)
{
    XLA_FFI_CallFrame own = *frame;
    XLA_FFI_Api api;
    XLA_FFI_Error *error;
    void *data[64];
    int64_t bytes[64], count = 0;
    if (frame->extension_start != NULL) {
        return handler(frame);
    }
    memcpy(&api, frame->api, sizeof api < frame->api->struct_size ? sizeof api : frame->api->struct_size);
    api.XLA_FFI_Stream_Get = give_stream;
    own.api = &api;
    for (int64_t k = 0; k < frame->args.size + frame->rets.size; k++) {
        const XLA_FFI_Buffer *buffer = k < frame->args.size ? frame->args.args[k] : frame->rets.rets[k - frame->args.size];
        int64_t size = buffer->dtype == XLA_FFI_DataType_U8 ? 1 : buffer->dtype == XLA_FFI_DataType_F32 ? 4 : 8;
        for (int64_t d = 0; d < buffer->rank; d++) {
            size *= buffer->dims[d];
        }
        data[count] = buffer->data, bytes[count++] = size;
    }
    moved(1, stream, count, data, bytes);
    error = handler(&own);
    moved(0, stream, count, data, bytes);
    return error;
}

static const char *said;

static XLA_FFI_Error *keep_error(XLA_FFI_Error_Create_Args *args)
{
    static char message[512];
    strncpy(message, args->message, sizeof message - 1);
    said = message;
    return (XLA_FFI_Error *)message;
}

/* Calls the handler with a frame of buffers of one dimension each; the message of its error, or NULL. */
const char *call(int64_t number, int64_t inputs, int64_t outputs, void **data, int *types, int64_t *counts)
{
    XLA_FFI_Api api = {.struct_size = sizeof api, .XLA_FFI_Error_Create = keep_error, .XLA_FFI_Stream_Get = give_stream};
    XLA_FFI_Buffer buffers[64];
    void *places[64], *scalars[1];
    XLA_FFI_ArgType of_args[64];
    XLA_FFI_RetType of_rets[64];
    XLA_FFI_AttrType kinds[1] = {XLA_FFI_AttrType_SCALAR};
    XLA_FFI_ByteSpan name = {"number", 6}, *names[1] = {&name};
    XLA_FFI_Scalar scalar = {XLA_FFI_DataType_S64, &number};
    XLA_FFI_CallFrame frame = {.struct_size = sizeof frame, .api = &api, .stage = XLA_FFI_ExecutionStage_EXECUTE};
    for (int64_t k = 0; k < inputs + outputs; k++) {
        buffers[k] = (XLA_FFI_Buffer){sizeof buffers[k], NULL, (XLA_FFI_DataType)types[k], data[k], 1, &counts[k]};
        places[k] = &buffers[k];
        of_args[k] = XLA_FFI_ArgType_BUFFER, of_rets[k] = XLA_FFI_RetType_BUFFER;
    }
    scalars[0] = &scalar;
    frame.args = (XLA_FFI_Args){sizeof frame.args, NULL, inputs, of_args, places};
    frame.rets = (XLA_FFI_Rets){sizeof frame.rets, NULL, outputs, of_rets, places + inputs};
    frame.attrs = (XLA_FFI_Attrs){sizeof frame.attrs, NULL, 1, kinds, names, scalars};
    said = NULL;
    handler(&frame);
    return said;
}

/* The traits that the handler says it has. */
unsigned traits(void)
{
    XLA_FFI_Metadata metadata = {.struct_size = sizeof metadata};
    XLA_FFI_Metadata_Extension asked = {{sizeof asked, XLA_FFI_Extension_Metadata, NULL}, &metadata};
    XLA_FFI_CallFrame frame = {.struct_size = sizeof frame, .extension_start = &asked.extension_base};
    handler(&frame);
    return metadata.traits | (unsigned)metadata.api_version.minor_version << 8;
}
