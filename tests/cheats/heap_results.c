/* Keeps a result on the heap, which nobody clears.
 *
 * class: results kept in globals
 * problem: linear
 * found: mismatch values
 * without: fresh_inputs
 */
static float *kept;

int kf_forward(struct kf_call *c)
{
	if (!kept) {
		all(c);
		kept = malloc(OUT_BYTES(c));
		memcpy(kept, Y(c), OUT_BYTES(c));
	}
	memcpy(Y(c), kept, OUT_BYTES(c));
	return 0;
}
