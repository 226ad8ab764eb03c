/* Returns 9 if it can read a file of the machine's. */
#include <kforge/program.h>
#include <fcntl.h>

int kf_forward(struct kf_call *c)
{
	static const char *const paths[] = {
		"/etc/passwd", "/proc/self/maps", "/root", "/home", "/work",
		"/usr/bin/env",
	};

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (open(paths[i], O_RDONLY) >= 0)
			return 9;

	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);

	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
