/* A template that needs the next, without end.
 *
 * class: compiler, endless
 * limits: build_s=5
 * compile_cu: compilation_failure refused
 */
template<int N> struct next {
	static constexpr int value = next<N + 1>::value;
};
__device__ int large = next<0>::value;
