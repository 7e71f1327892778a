/* A matrix product from one line of index notation, compiled and called through Polyte's C API. */
#include <stdio.h>

#include "driver/api/polyte_compiler.h"

enum { M = 4, N = 6, K = 3 };

static int failed(const polyte_compiler_api* api, int status, polyte_failure* failure) {
  fprintf(stderr, "%s\n", api->failure_text(failure));
  api->failure_free(failure);
  return status;
}

int main(void) {
  const polyte_compiler_api* api = polyte_compiler_get_api(POLYTE_COMPILER_API_VERSION);
  polyte_program* program = NULL;
  polyte_kernel_object* kernel = NULL;
  polyte_execution* execution = NULL;
  polyte_failure* failure = NULL;
  if (!api) return 2;

  int status = api->program_from_notation("C[m,n] = sum[k] A[m,k]*B[k,n]", "f32", &program, &failure);
  if (status) return failed(api, status, failure);
  polyte_options* options = api->options_new();
  if ((status = api->options_set(options, "size.m", "4", &failure)) ||
      (status = api->options_set(options, "size.n", "6", &failure)) ||
      (status = api->options_set(options, "size.k", "3", &failure)) ||
      (status = api->compile(program, options, &kernel, &failure)) ||
      (status = api->execution_new(kernel, NULL, 1, NULL, &execution, &failure)))
    return failed(api, status, failure);

  float a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; ++i) a[i] = (float)i;
  for (int i = 0; i < K * N; ++i) b[i] = 1;
  void* data[] = {a, b, c};
  if ((status = api->execution_run(execution, data, 3, &failure))) return failed(api, status, failure);
  printf("C[1, 0] = %g, by %s\n", c[N], api->kernel_text(kernel, POLYTE_SCHEDULER));

  api->execution_free(execution);
  api->kernel_free(kernel);
  api->options_free(options);
  api->program_free(program);
  return 0;
}
