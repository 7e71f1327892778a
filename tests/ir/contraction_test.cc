// Contractions of every shape, and index notation's roles and extents.
#include "ir/contraction.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name;
  return text.empty() ? "-" : text;
}

// "a b c | m n k batch | lane" of the first update, every size bound to its own small number.
std::string classify(const std::string& notation) {
  Program p = parse_index_notation(notation, DType::F32);
  Values sizes;
  for (const std::string& param : p.params)
    sizes[param] = 3 + static_cast<std::int64_t>(sizes.size());
  p = ir::bind(p, sizes);
  for (const Statement& s : p.statements) {
    if (s.combiner == Combiner::None) continue;
    const auto c = classify_contraction(p, s);
    if (!c) return c.error().reason;
    return c->a + c->b + c->c + " | " + join(c->m) + " " + join(c->n) + " " + join(c->k) + " " +
           join(c->batch) + " | " + c->lane;
  }
  return "no update";
}

}  // namespace

TEST_CASE("classification") {
  CHECK(classify("C[m,n] = sum[k] A[m,k]*B[k,n]") == "ABC | m n k - | n");
  CHECK(classify("C[n,m] = sum[k] A[m,k]*B[k,n]") == "BAC | n m k - | m");
  CHECK(classify("C[b,m,n] = sum[k] A[b,m,k]*B[b,k,n]") == "ABC | m n k b | n");
  CHECK(classify("C[a,b,c,d] = sum[e,f] A[a,e,b,f]*B[c,f,d,e]") == "ABC | ab cd ef - | d");
  CHECK(classify("O[n,f,p,q] = sum[c,r,s] I[n,c,p+r,q+s]*W[f,c,r,s]") == "WIO | f npq crs - | q");
  CHECK(classify("O[n,p,q,f] = sum[c,r,s] I[n,p+r,q+s,c]*W[r,s,c,f]") == "IWO | npq f crs - | f");
  CHECK(classify("O[c,p,q] = sum[r,s] I[c,p+r,q+s]*W[c,r,s]") == "WIO | - pq rs c | q");
  CHECK(classify("y[m] = sum[k] A[m,k]*x[k]") == "xAy | - m k - | m");
}

TEST_CASE("what is no contraction") {
  CHECK(classify("y[m] = max[k] A[m,k]") == "statement 'y.update' is no sum: its combiner is max");
  CHECK(classify("y[m] = sum[k] A[m,k]") ==
        "the summand of statement 'y.update' is no product of two tensors");
  CHECK(classify("y[m] = sum[k] A[m,k]*B[m,k]") ==
        "statement 'y.update' has no iterator that is in one operand and the result only");
  CHECK(classify("y[m,n] = sum[k] A[m,k]*B[m,k]") ==
        "iterator n of statement 'y.update' is in neither operand");
}

TEST_CASE("strides") {
  const Program p =
      ir::bind(parse_index_notation("O[f,p,q] = sum[c,r,s] I[c,2*p+r,q+s]*W[f,c,r,s]", DType::F32),
               {{"f", 2}, {"p", 3}, {"q", 4}, {"c", 5}, {"r", 3}, {"s", 3}});
  const Statement& update = p.statement("O.update");
  const std::vector<const Load*> loads = loads_of(update.values[0]);
  CHECK(constant_shape(p.buffer("I")) == std::vector<std::int64_t>{5, 7, 6});
  CHECK(stride_of(p, update.writes[0], "f") == 12);
  CHECK(stride_of(p, *loads[0], "p") == 12);
  CHECK(stride_of(p, *loads[0], "s") == 1);
  CHECK(stride_of(p, *loads[0], "f") == 0);
  const Program g = parse_program(
      "program g(N)\n  in x: f32[N]\n  in i: i32[N]\n  out y: f32[N]\n  y[n] = x[i[n]] + x[n//2]",
      "t");
  const std::vector<const Load*> reads = loads_of(g.statements[0].values[0]);
  CHECK(!stride_of(g, *reads[0], "n"));
  CHECK(!stride_of(g, *reads[2], "n"));
}

TEST_CASE("index notation: roles, extents and types follow from use") {
  CHECK(print(parse_index_notation("T[m,n] = sum[k] A[m,k]*B[k,n]\nC[m,n] = max(T[m,n] + b[n], 0)",
                                   DType::F64)) ==
        R"(program op(M, N, K)
  in    A: f64[M, K]
  in    B: f64[K, N]
  in    b: f64[N]
  out   C: f64[M, N]
  temp  T: f64[M, N]

  T[m, n] = sum[k in 0..K] A[m, k] * B[k, n]  for m in 0..M, n in 0..N
  C[m, n] = max(T[m, n] + b[n], 0)  for m in 0..M, n in 0..N
)");
  CHECK(print(parse_index_notation("y[i] = (x[i-1] else 0) + x[i]", DType::I32)) ==
        "program op(I)\n  in    x: i32[I]\n  out   y: i32[I]\n\n"
        "  y[i] = (x[i - 1] else 0) + x[i]  for i in 0..I\n");
  CHECK(print(parse_index_notation("C[m,n] += A[m,k]*B[k,n]", DType::F32))
            .find("inout C: f32[M, N]") != std::string::npos);
  // Divisions and remainders, of which the greatest is not where all iterators are.
  const auto inputs = [](const std::string& text) {
    const std::string program = print(parse_index_notation(text, DType::F32));
    return program.substr(program.find("  in    "),
                          program.find("  out") - program.find("  in    "));
  };
  CHECK(inputs("y[i] = A[i // 2]") == "  in    A: f32[(I + 1)//2]\n");
  CHECK(inputs("y[i] = A[i % 4, 2*(i // 8) + i % 2]") == "  in    A: f32[4, 2*((I + 7)//8)]\n");
  CHECK(inputs("y[i, j] = A[i - j + 7] for i in 0..9, j in 0..8") == "  in    A: f32[16]\n");
  const Program clash = parse_index_notation("C[c] = A[c]", DType::F32);
  CHECK(clash.params == std::vector<std::string>{"Nc"});
  CHECK(find_param(clash, "c") == "Nc");
  CHECK(constant_shape(ir::bind(clash, {{"c", 4}}).buffers[0]) == std::vector<std::int64_t>{4});
}
