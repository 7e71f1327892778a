// Every code that a call returns, and that the first five leave the result alone.
#include <stdio.h>
#include <string.h>

#include "rows.h"

static float table[9 * 7], y[6 * 7 + 1];
static int64_t id[7];

static int expect(const char* what, int got, int wanted) {
  if (got == wanted) return 0;
  printf("%s: code %d (%s), expected %d\n", what, got, polyte_error(got), wanted);
  return 1;
}

int main(void) {
  polyte_threads nobody;
  int wrong = 0, i;
  nobody.workers = 0, nobody.self = 0, nobody.parallel_for = 0;
  for (i = 0; i < 9 * 7; ++i) table[i] = (float)i;
  for (i = 0; i < 7; ++i) id[i] = i;
  y[0] = -1;
  wrong += expect("null", rows(0, id, y, 0, 0), POLYTE_BAD_POINTER);
  wrong += expect("misaligned", rows(table, (const int64_t*)((const char*)id + 4), y, 0, 0), POLYTE_BAD_POINTER);
  wrong += expect("overlap", rows(table, id, table + 9 * 7 - 1, 0, 0), POLYTE_OVERLAP);
  wrong += expect("no workers", rows(table, id, y, 0, &nobody), POLYTE_BAD_THREADS);
  nobody.workers = 2;
  wrong += expect("no parallel_for", rows(table, id, y, 0, &nobody), POLYTE_BAD_THREADS);
  if (y[0] != -1) wrong += expect("the result of a refused call is written", 0, 1);
  wrong += expect("right", rows(table, id, y, 0, 0), 0);
  if (y[7 * 5] != table[7 * 5]) wrong += expect("row 5 is not that of the table", 0, 1);
  id[3] = 9;
  wrong += expect("a row that is not there", rows(table, id, y, 0, 0), POLYTE_OUT_OF_BOUNDS);
  if (strstr(polyte_error(POLYTE_OVERLAP), "shares") == 0) wrong += expect("the words of a code", 0, 1);
  return wrong;
}
