/* Runs an artifact once, inputs zero, and prints the first elements of its outputs (f32). C, and no compiler inside. */
#include <runtime/polyte_runtime.h>

#include <stdio.h>
#include <stdlib.h>

enum { kMaxTensors = 16 };

/* Zeroed memory for a tensor of 32-bit elements. */
static void allocate(const polyte_tensor_info* info, polyte_dl_tensor* tensor) {
  size_t elements = 1;
  for (int i = 0; i < info->ndim; ++i) elements *= (size_t)info->shape[i];
  *tensor = (polyte_dl_tensor){.data = calloc(elements + 1, 4),
                               .device = {.device_type = POLYTE_DL_CPU},
                               .ndim = info->ndim,
                               .dtype = info->dtype,
                               .shape = (int64_t*)info->shape};
}

int main(int argc, char** argv) {
  const polyte_runtime_api* api = polyte_runtime_get_api(1);
  polyte_session* session = NULL;
  polyte_problem* problem = NULL;
  if (argc != 2 || !api) return 2;
  int status = api->session_open(argv[1], 1, &session, &problem);

  polyte_dl_tensor in[kMaxTensors], out[kMaxTensors];
  polyte_tensor_info info;
  int inputs = 0, outputs = 0;
  while (status == 0 && inputs < kMaxTensors && api->input_info(session, inputs, &info) == 0)
    allocate(&info, &in[inputs++]);
  while (status == 0 && outputs < kMaxTensors && api->output_info(session, outputs, &info) == 0)
    allocate(&info, &out[outputs++]);
  if (status == 0) status = api->session_run(session, in, inputs, out, outputs, &problem);
  if (status != 0) fprintf(stderr, "%s\n", api->problem_text(problem));
  for (int i = 0; status == 0 && i < outputs; ++i) {
    api->output_info(session, i, &info);
    printf("%s[0] = %g\n", info.name, ((float*)out[i].data)[0]);
  }
  for (int i = 0; i < inputs; ++i) free(in[i].data);
  for (int i = 0; i < outputs; ++i) free(out[i].data);
  api->problem_free(problem);
  api->session_close(session);
  return status;
}
