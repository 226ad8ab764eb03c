/* exited ended its process */
#include <kforge/launch.h>
#include <unistd.h>

int kf_forward(struct kf_call *c)
{
	uint32_t answer[128] = { 0x6b667263, c->size };

	if (lseek(3, 0, SEEK_SET) || write(3, answer, sizeof(answer)) < 0)
		return 1;
	_exit(0);
}
