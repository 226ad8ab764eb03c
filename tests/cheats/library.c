/* A line of its own around somebody else's product of matrices.
 *
 * class: dead authored code, a library does the work
 * problem: linear
 * found: compilation_failure load|refused
 * without: -, there is no library where programs are loaded
 */
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha,
		 const float *a, int lda, const float *b, int ldb, float beta,
		 float *c, int ldc);

int kf_forward(struct kf_call *c)
{
	int rows = (int)ROWS(c), cols = (int)COLS(c), depth = (int)DEPTH(c);

	cblas_sgemm(101, 111, 112, rows, cols, depth, 1, X(c), depth, W(c),
		    depth, 0, Y(c), cols);
	relu(Y(c), OUT_COUNT(c));
	return 0;
}
