#ifndef CEMBRA_TYPES
#define CEMBRA_TYPES
#include <stdint.h>

/* An array: its first element, and for each axis the size and the bytes from one element to the next. Rows have one axis, and may be
   missing; elements of other arrays are all there. */
typedef struct {
    void *data;
    int64_t shape[6];
    int64_t strides[6];
    uint8_t *validity;    /* of rows: a bitmap of those that are there, lowest bit first; NULL if all are */
    int64_t offset;       /* the bit of the first row */
} cembra_array;

/* Why a call has failed. */
typedef struct {
    int32_t category;     /* one of the numbers below */
    int32_t routine;      /* where in the program */
    int32_t instruction;
    int32_t line;         /* where in the source; 0 if unknown */
    const char *message;  /* what the program says about it, or NULL; lives as long as the library */
    uint64_t operands[4]; /* bits of the operands; of an index: index, axis, size */
} cembra_error;
