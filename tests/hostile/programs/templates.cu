/* A template that needs two of its kind, each of which needs two.
 *
 * class: compiler, endless
 * limits: build_s=5 build_mib=2048
 * compile_cu: compilation_failure compile_timeout|compile_resource|refused
 */
template<int N, unsigned long long M> struct two {
	static constexpr int value = two<N - 1, 2 * M>::value +
		two<N - 1, 2 * M + 1>::value;
};
template<unsigned long long M> struct two<0, M> {
	static constexpr int value = 1;
};
__device__ int large = two<60, 1>::value;
