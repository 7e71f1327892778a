#include "codegen/vector_math.h"
namespace polyte::codegen {
llvm::Value* VectorMath::emit(ir::UnaryOp op, llvm::Value*) { undefined_operation(to_string(op), DType::F32); }
}  // namespace polyte::codegen
