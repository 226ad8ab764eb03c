/* A constant that takes the compiler for ever to compute.
 *
 * class: compiler, endless
 * limits: build_s=5
 * compile_cu: compilation_failure compile_timeout|compile_resource|refused
 */
constexpr unsigned long long slow(unsigned n)
{
	return n < 2 ? n : slow(n - 1) + slow(n - 2);
}
__device__ unsigned long long large = slow(90);
