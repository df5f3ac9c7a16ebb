// exp of a vector, within 2 ulp; 0 where the result would be below the least normal number and for
// -inf; NaN for NaN.
//   exp(x) = 2^n exp(r)    n = round(x / ln 2)    r = x - n ln 2, in two parts
// Source: the polynomial of Cephes' expf (Moshier, 1989).

inline Float broadcast(float value) { return Floats::broadcast(value); }

inline Float exp_of(Float x) {
  typedef uint32_t Words __attribute__((vector_size(sizeof(Float))));
  const Float magic = broadcast(12582912.0f);  // 1.5 * 2^23: the last bits of the sum are n
  const Float shifted = Floats::multiply_add(x, broadcast(1.44269504089f), magic);
  const Float n = shifted - magic;
  Float r = Floats::multiply_add(n, broadcast(-0.693359375f), x);
  r = Floats::multiply_add(n, broadcast(2.12194440e-4f), r);
  Float p = broadcast(1.9875691500e-4f);
  p = Floats::multiply_add(p, r, broadcast(1.3981999507e-3f));
  p = Floats::multiply_add(p, r, broadcast(8.3334519073e-3f));
  p = Floats::multiply_add(p, r, broadcast(4.1665795894e-2f));
  p = Floats::multiply_add(p, r, broadcast(1.6666665459e-1f));
  p = Floats::multiply_add(p, r, broadcast(5.0000001201e-1f));
  p = Floats::multiply_add(p, r * r, r + broadcast(1.0f));
  Float y = (Float)((Words)p + ((Words)shifted << 23));
  y = x < broadcast(-87.33f) ? Floats::zero() : y;
  return x <= broadcast(88.37f) ? y : x + broadcast(std::numeric_limits<float>::infinity());
}

inline Float larger(Float x, Float y) { return x > y ? x : y; }
