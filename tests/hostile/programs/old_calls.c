/* Makes its system calls by the door for programs of 32 bits, whose numbers
 * mean something else: 5 is open there.
 *
 * class: files
 * run: runtime_error violation|signal
 * record: runtime_error violation|signal
 */
static int harm(void)
{
#if defined(__x86_64__)
	long got = 2;	/* fork */

	__asm__ volatile("int $0x80" : "+a"(got) : : "memory");
	return got >= 0;
#else
	__builtin_trap();
#endif
}
