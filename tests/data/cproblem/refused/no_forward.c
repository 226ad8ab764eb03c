/* input: kf_forward */
#include <kforge/reference.h>

int kf_backward(void);
int kf_backward(void)
{
	return 0;
}
