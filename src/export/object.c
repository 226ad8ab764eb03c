/*
 * What a compiled program says about itself: the writable variables that its
 * calls share, and the functions by which it gets memory of its own.
 */
#include "export/internal.h"

#include <elf.h>

#define OBJECT_BYTES	(256u << 20)

static const char *const allocators[] = {
	"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc",
	"posix_memalign", "memalign", "valloc", "free", "mmap", "mmap64",
	"munmap", "sbrk", "strdup", "pthread_create", "_mm_malloc",
};

struct object {
	const char *bytes;
	size_t len;
	const Elf64_Shdr *section;
	size_t section_count;
};

/* Do count items of that size lie whole in the file from there? */
static bool inside(const struct object *o, uint64_t at, uint64_t count,
		   size_t size)
{
	return at <= o->len && count <= (o->len - at) / size;
}

static bool read_sections(struct object *o)
{
	const Elf64_Ehdr *h = (const void *)o->bytes;

	if (o->len < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL ||
	    h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
	    !inside(o, h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr)))
		return false;
	o->section = (const void *)(o->bytes + h->e_shoff);
	o->section_count = h->e_shnum;
	return true;
}

/* The text at that offset of a section of strings; "" if there is none. */
static const char *string_at(const struct object *o, uint32_t link,
			     uint32_t at)
{
	const Elf64_Shdr *s = link < o->section_count ? &o->section[link]
						      : NULL;
	const char *text;

	if (!s || s->sh_type != SHT_STRTAB || at >= s->sh_size ||
	    !inside(o, s->sh_offset, s->sh_size, 1))
		return "";
	text = o->bytes + s->sh_offset + at;
	return memchr(text, '\0', s->sh_size - at) ? text : "";
}

static uint64_t shared_bytes(const struct object *o)
{
	const Elf64_Ehdr *h = (const void *)o->bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < o->section_count; i++) {
		const Elf64_Shdr *s = &o->section[i];
		const char *name = string_at(o, h->e_shstrndx, s->sh_name);
		bool variables = (s->sh_flags & SHF_WRITE) &&
				 (s->sh_flags & SHF_ALLOC) &&
				 !(s->sh_flags & SHF_TLS) &&
				 (s->sh_type == SHT_PROGBITS ||
				  s->sh_type == SHT_NOBITS);

		/* Constants that hold addresses. */
		if (variables && strncmp(name, ".data.rel.ro", 12) != 0)
			sum += s->sh_size;
	}
	return sum;
}

static void note_undefined(const char *name, struct kf_object_facts *out)
{
	if (strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "omp_", 4) == 0 ||
	    strncmp(name, "__kmpc_", 7) == 0)
		out->openmp = true;
	for (size_t i = 0; i < KF_COUNT(allocators); i++)
		if (strcmp(allocators[i], name) == 0 &&
		    out->allocate_count < KF_COUNT(out->allocates))
			out->allocates[out->allocate_count++] = allocators[i];
}

static void read_symbols(const struct object *o, const Elf64_Shdr *s,
			 struct kf_object_facts *out)
{
	uint64_t count = s->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbol;

	if (s->sh_offset % 8 ||
	    !inside(o, s->sh_offset, count, sizeof(*symbol)))
		return;
	symbol = (const void *)(o->bytes + s->sh_offset);
	for (size_t i = 0; i < count; i++) {
		const char *name = string_at(o, s->sh_link, symbol[i].st_name);

		if (symbol[i].st_shndx == SHN_UNDEF)
			note_undefined(name, out);
		else if (strcmp(name, "kf_prepare") == 0)
			out->prepares = true;
	}
}

enum kf_code kf_object_read(const char *path, struct kf_object_facts *out,
			    struct kf_err *err)
{
	struct kf_buf bytes = { .max = OBJECT_BYTES };
	enum kf_code code = kf_file_read(path, &bytes, err);
	struct object o = { 0 };

	*out = (struct kf_object_facts) { 0 };
	if (code)
		goto out;
	o.bytes = kf_buf_str(&bytes);
	o.len = bytes.len;
	if (!read_sections(&o)) {
		code = kf_fail(err, KF_E_UNAVAIL, "the compiler made something "
			       "other than an ELF object of 64 bits, and "
			       "nothing else can be exported");
		goto out;
	}
	out->static_bytes = shared_bytes(&o);
	for (size_t i = 0; i < o.section_count; i++)
		if (o.section[i].sh_type == SHT_SYMTAB)
			read_symbols(&o, &o.section[i], out);
out:
	kf_buf_release(&bytes);
	return code;
}
