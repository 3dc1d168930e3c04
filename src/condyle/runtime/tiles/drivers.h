/* All drivers of tiles for one instruction set and precision, which the file that includes this one defines. */
#include "../instruction_sets.h"
#include "plan.h"
#include "single.h"
#include "repeat.h"
#define TILES_ENTRY DRIVER_OF(tiles_)
#define REPEAT_ENTRY DRIVER_OF(repeat_)
#define REPEAT_SINGLE_ENTRY DRIVER_OF(repeat_single_)
#define SINGLE_ENTRY DRIVER_OF(single_)
#define COLUMNS_ENTRY DRIVER_OF(columns_)
#if IS_COMPILED
COMPILE_FOR_SET
#include "driver.h"
#include "steps.h"
#include "repeat_run.h"
#include "repeat_lone.h"
#endif
