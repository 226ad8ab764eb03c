/* Makes a link of its output's name to where it thinks that right results lie.
 *
 * class: symlinked output
 * problem: linear
 * found: runtime_error violation
 * without: -, no program sees the folders of outputs or may make files
 */
#include <unistd.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	return symlink("/oracle/set-00.safetensors", "/out0") != 0;
}
