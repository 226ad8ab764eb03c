/* elf.h - the little that we read from executables. */
#ifndef KF_SANDBOX_ELF_H
#define KF_SANDBOX_ELF_H

/* The loader that a program names (its PT_INTERP), or NULL: static, not an
 * ELF file of this machine's word size, unreadable. The caller frees. */
char *kf_elf_loader(const char *path);

#endif
