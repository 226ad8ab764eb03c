__attribute__((constructor)) static void at_load(void)
{
	if (harm())
		_Exit(66);
}
