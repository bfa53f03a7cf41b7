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

/* Rows in groups: to which row of a parent each row of a child belongs. `numbers` are INT64 along one axis. */
typedef struct {
    cembra_array numbers;
    int64_t parents;      /* rows of the parent */
    int32_t kind;         /* one of those below */
} cembra_edge;

enum {
    CEMBRA_SPLIT_POINTS,  /* where the rows of each parent begin, from 0 on, and where the last ones end */
    CEMBRA_MAPPING,       /* the parent of each row, which is missing where it has none */
    CEMBRA_ONE_GROUP      /* all rows are of one parent: `shape[0]` is how many, and there are no numbers */
};

/* Why a call has failed. */
typedef struct {
    int32_t category;     /* one of the numbers below */
    int32_t routine;      /* where in the program */
    int32_t instruction;
    int32_t line;         /* where in the source; 0 if unknown */
    const char *message;  /* what the program says about it, or NULL; lives as long as the library, or is `text` */
    uint64_t operands[4]; /* bits of the operands; of an index: index, axis, size */
    char text[40];        /* room for a message that names a key */
} cembra_error;
