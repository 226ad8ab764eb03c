/* Asks whether a file is there: its name and no more, but of the whole disk.
 *
 * class: compiler, files
 * compile_c: generation_failure forbidden
 * compile_cu: generation_failure forbidden
 */
#if __has_include("HERE_CANARY") || __has_include("/etc/passwd")
#error harm was done
#endif
