// The C that a Program is timed beside: `void kernel(BUFFERS)`, the Program's interface buffers
// in their order, every extent a macro of the command line (-DN=2000), and so is the element
// type (-DDATA_TYPE=float; else double). Compile with peers/call.c and -DBUFFERS=NUMBER,
// and call `seconds`.
#pragma once

#include <stdint.h>
#include <tgmath.h>

#ifndef DATA_TYPE
#define DATA_TYPE double
#endif
