#include "candidate/candidate.h"

#include <ctype.h>
#include <strings.h>

#include "candidate/choose.h"
#include "platform/platform.h"

#define REFUSAL_BYTES 1500	/* a longer text is an explanation */

const char *kf_extract_name(enum kf_extract_end end)
{
	static const char *const name[] = {
		[KF_EXTRACT_GOOD] = "good",
		[KF_EXTRACT_EMPTY] = "empty",
		[KF_EXTRACT_NO_CODE] = "no_code",
		[KF_EXTRACT_AMBIGUOUS] = "ambiguous",
		[KF_EXTRACT_CUT_OFF] = "cut_off",
		[KF_EXTRACT_REFUSED] = "refused",
		[KF_EXTRACT_NO_ENTRY] = "no_entry",
		[KF_EXTRACT_TOO_LARGE] = "too_large",
		[KF_EXTRACT_FORBIDDEN] = "forbidden",
		[KF_EXTRACT_UNCHANGED] = "unchanged",
	};

	return (size_t)end < KF_COUNT(name) ? name[end] : "unknown";
}

/* --- the candidate -------------------------------------------------------- */

void kf_candidate_refuse(struct kf_candidate *candidate,
			 enum kf_extract_end end, const char *fmt, ...)
{
	va_list ap;

	if (candidate->end != KF_EXTRACT_GOOD)
		return;
	candidate->end = end;
	va_start(ap, fmt);
	vsnprintf(candidate->text, sizeof(candidate->text), fmt, ap);
	va_end(ap);
	/* Cut between characters, for the text goes into JSON. */
	candidate->text[kf_utf8_cut(candidate->text,
				    strlen(candidate->text))] = '\0';
}

void kf_candidate_note(struct kf_candidate *candidate, const char *fmt, ...)
{
	size_t len = strlen(candidate->note);
	va_list ap;

	if (len && len + 3 < sizeof(candidate->note)) {
		memcpy(candidate->note + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(candidate->note + len, sizeof(candidate->note) - len, fmt,
		  ap);
	va_end(ap);
	candidate->note[kf_utf8_cut(candidate->note,
				    strlen(candidate->note))] = '\0';
}

void kf_candidate_add(struct kf_candidate *candidate, const char *name,
		      const char *text, size_t len)
{
	struct kf_source_file *file;

	candidate->file = kf_realloc(candidate->file,
		(candidate->file_count + 1) * sizeof(candidate->file[0]));
	file = &candidate->file[candidate->file_count++];
	file->name = kf_strdup(name);
	file->text = kf_strndup(text, len);
	file->len = len;
}

static void drop_files(struct kf_candidate *candidate)
{
	for (size_t i = 0; i < candidate->file_count; i++) {
		free(candidate->file[i].name);
		free(candidate->file[i].text);
	}
	free(candidate->file);
	candidate->file = NULL;
	candidate->file_count = 0;
}

void kf_candidate_release(struct kf_candidate *candidate)
{
	drop_files(candidate);
	*candidate = (struct kf_candidate) { 0 };
}

void kf_platform_files_text(const struct kf_platform *platform,
			    char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < platform->file_count && len + 1 < size; i++) {
		snprintf(out + len, size - len, "%s%s", i ? " and " : "",
			 platform->file[i].name);
		len = strlen(out);
	}
}

/* --- the screen ----------------------------------------------------------- */

static const char *const entry_words[] = {
	[KF_ENTRY_ABSENT] = "is nowhere in it",
	[KF_ENTRY_MENTIONED] = "is named in it but not defined at file scope",
	[KF_ENTRY_DECLARED] = "is declared but not defined",
	[KF_ENTRY_STATIC] = "is static and so cannot be found",
};

static size_t platform_index(const struct kf_platform *platform,
			     const char *name)
{
	size_t i = 0;

	while (i + 1 < platform->file_count &&
	       strcmp(platform->file[i].name, name) != 0)
		i++;
	return i;
}

/* A platform with a file whose language has no checks may hide the entry. */
static void check_entry(struct kf_candidate *candidate,
			const struct kf_platform *platform)
{
	enum kf_entry best = KF_ENTRY_ABSENT;
	bool visible = true;

	for (size_t i = 0; i < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];
		size_t k = platform_index(platform, file->name);
		struct kf_facts facts;

		visible &= kf_language_by_name(platform->file[k].language) !=
			   NULL;
		kf_file_facts(platform, k, file->text, file->len, &facts);
		if (facts.entry > best)
			best = facts.entry;
	}
	if (best != KF_ENTRY_DEFINED && visible)
		kf_candidate_refuse(candidate, KF_EXTRACT_NO_ENTRY,
			"the program must define int " KF_ENTRY_NAME
			"(struct kf_call *c) at file scope, but " KF_ENTRY_NAME
			" %s; give the complete file with it",
			entry_words[best]);
}

void kf_candidate_rehash(struct kf_candidate *candidate)
{
	struct kf_buf all = { .max = SIZE_MAX / 4 };

	for (size_t i = 0; i < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];

		/* Lengths keep names and texts apart. */
		kf_buf_printf(&all, "%s %zu\n", file->name, file->len);
		kf_buf_add(&all, file->text, file->len);
	}
	kf_hash_hex(kf_buf_str(&all), all.len, candidate->hash);
	kf_buf_release(&all);
}

static bool check_size(struct kf_candidate *candidate)
{
	for (size_t i = 0; i < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];

		if (file->len <= KF_SOURCE_BYTES)
			continue;
		kf_candidate_refuse(candidate, KF_EXTRACT_TOO_LARGE,
			"%s has %zu bytes, more than the %u allowed; compute "
			"tables instead of writing them out", file->name,
			file->len, KF_SOURCE_BYTES);
		drop_files(candidate);
		return false;
	}
	return true;
}

/* A two-part program's file in C is the one that launches. */
static bool is_host_part(const struct kf_platform *platform,
			 const struct kf_language *language)
{
	return platform->driver && platform->driver->two_part &&
	       language->facts == kf_c_facts;
}

static bool screen_file(const struct kf_source_file *file,
			const struct kf_platform *platform, char *why,
			size_t why_size)
{
	size_t k = platform_index(platform, file->name);
	const struct kf_language *language =
		kf_language_by_name(platform->file[k].language);

	if (!language)
		return true;
	if (is_host_part(platform, language))
		return kf_host_screen(file->name, file->text, file->len, why,
				      why_size);
	return language->screen(file->name, file->text, file->len, why,
				why_size);
}

static void screen_files(struct kf_candidate *candidate,
			 const struct kf_platform *platform)
{
	char why[400];

	for (size_t i = 0; i < candidate->file_count; i++)
		if (!screen_file(&candidate->file[i], platform, why,
				 sizeof(why)))
			kf_candidate_refuse(candidate, KF_EXTRACT_FORBIDDEN,
					    "%s", why);
}

void kf_candidate_screen(struct kf_candidate *candidate,
			 const struct kf_platform *platform,
			 const char *previous_hash)
{
	if (!candidate->file_count || !check_size(candidate))
		return;
	kf_candidate_rehash(candidate);
	check_entry(candidate, platform);
	screen_files(candidate, platform);
	if (previous_hash && strcmp(previous_hash, candidate->hash) == 0)
		kf_candidate_refuse(candidate, KF_EXTRACT_UNCHANGED,
			"the program is the same as the one before, byte for "
			"byte; change it as asked and give the whole of it");
}

/* --- replies -------------------------------------------------------------- */

static size_t required_count(const struct kf_platform *platform, size_t *which)
{
	size_t count = 0;

	for (size_t i = 0; i < platform->file_count; i++) {
		if (!platform->file[i].required)
			continue;
		*which = i;
		count++;
	}
	return count;
}

/* A reply that is a file and nothing else, without a fence. True if it was
 * one, or half of one. */
static bool read_bare(const struct kf_extract_request *req, const char *text,
		      size_t len, struct kf_candidate *out)
{
	struct kf_facts facts;
	size_t i = 0;

	if (required_count(req->platform, &i) != 1 ||
	    !kf_language_by_name(req->platform->file[i].language))
		return false;
	kf_file_facts(req->platform, i, text, len, &facts);
	if (!facts.starts)
		return false;
	if (facts.whole && facts.ends && req->finish != KF_FINISH_LENGTH) {
		kf_candidate_note(out, "the reply had no fence; took all of "
				  "it as %s", req->platform->file[i].name);
		kf_candidate_add(out, req->platform->file[i].name, text, len);
		kf_candidate_screen(out, req->platform, req->previous_hash);
		return true;
	}
	kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "the reply looks like %s "
		"without a fence, and it is not complete; give the whole file "
		"in one fenced block that begins with ```%s %s",
		req->platform->file[i].name, req->platform->file[i].language,
		req->platform->file[i].name);
	return true;
}

static const char *const decline_words[] = {
	"i can't", "i cannot", "i can not", "i'm unable", "i am unable",
	"i won't", "i will not", "i'm not able", "i am not able", "i must decline",
	"can't help", "cannot help", "can't assist", "cannot assist",
	"unable to help", "unable to assist", "can\xe2\x80\x99t help",
	"i can\xe2\x80\x99t", "i\xe2\x80\x99m unable", "i\xe2\x80\x99m not able",
	"can\xe2\x80\x99t assist", "i won\xe2\x80\x99t", "i decline",
};

static bool declines(const char *text, size_t len)
{
	bool found = false;
	char *copy;

	if (len > REFUSAL_BYTES)
		return false;
	copy = kf_strndup(text, len);
	for (size_t i = 0; i < KF_COUNT(decline_words); i++)
		found |= strcasestr(copy, decline_words[i]) != NULL;
	free(copy);
	return found;
}

static void without_blocks(const struct kf_extract_request *req,
			   const char *text, size_t len,
			   struct kf_candidate *out)
{
	const struct kf_platform_file *file = &req->platform->file[0];
	char files[128];

	if (read_bare(req, text, len, out))
		return;
	kf_platform_files_text(req->platform, files, sizeof(files));
	if (req->finish == KF_FINISH_LENGTH)
		kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "the reply was "
			"cut off at the token limit before any code; answer "
			"with %s first and little text", files);
	else if (declines(text, len))
		kf_candidate_refuse(out, KF_EXTRACT_REFUSED, "the reply "
			"declines and has no code; what is wanted is %s, a "
			"program that computes the problem's outputs", files);
	else
		kf_candidate_refuse(out, KF_EXTRACT_NO_CODE, "the reply has "
			"no fenced block of code; give %s, each file in one "
			"block that begins with a line such as ```%s %s and "
			"ends with ``` on a line of its own", files,
			file->language, file->name);
}

/* Ends that another way to read the fences may mend. */
static bool may_be_misread(const struct kf_candidate *candidate)
{
	return candidate->end == KF_EXTRACT_NO_CODE ||
	       candidate->end == KF_EXTRACT_NO_ENTRY ||
	       candidate->end == KF_EXTRACT_CUT_OFF;
}

static void choose_and_screen(const struct kf_extract_request *req,
			      struct kf_blocks *blocks,
			      struct kf_candidate *out)
{
	kf_choose(blocks, req->platform, req->finish, out);
	if (out->end == KF_EXTRACT_GOOD)
		kf_candidate_screen(out, req->platform, req->previous_hash);
	else
		drop_files(out);
}

/* CommonMark first; where that leads nowhere, line by line. The second
 * reading counts only if it finds every file. */
static void read_answer(const struct kf_extract_request *req, const char *text,
			size_t len, struct kf_candidate *out)
{
	struct kf_candidate flat = { 0 };
	struct kf_blocks blocks, lines;

	kf_blocks_read(text, len, &blocks);
	kf_blocks_read_flat(text, len, &lines);
	if (blocks.count)
		choose_and_screen(req, &blocks, out);
	else if (!lines.count)
		without_blocks(req, text, len, out);
	else
		out->end = KF_EXTRACT_NO_CODE;
	if (may_be_misread(out) && lines.count) {
		choose_and_screen(req, &lines, &flat);
		if (!blocks.count || !may_be_misread(&flat)) {
			struct kf_candidate old = *out;

			*out = flat;
			flat = old;
		}
	}
	kf_candidate_release(&flat);
	kf_blocks_release(&lines);
	kf_blocks_release(&blocks);
}

static void read_reply(const struct kf_extract_request *req, const char *text,
		       size_t len, struct kf_candidate *out)
{
	size_t begin = kf_reply_answer(text, len);

	while (begin < len && isspace((unsigned char)text[begin]))
		begin++;
	if (begin < len) {
		/* The spaces before the first line may indent a list. */
		while (begin && text[begin - 1] == ' ')
			begin--;
		read_answer(req, text + begin, len - begin, out);
	} else if (req->finish == KF_FINISH_LENGTH) {
		kf_candidate_refuse(out, KF_EXTRACT_EMPTY, "the reply has no "
			"answer: the token limit was reached after %zu bytes "
			"of reasoning; reason less and answer with the code",
			len);
	} else {
		kf_candidate_refuse(out, KF_EXTRACT_EMPTY, len ?
			"the reply holds %zu bytes of reasoning or blanks and "
			"no answer; give the code after the reasoning" :
			"the reply is empty (%zu bytes); answer with the code",
			len);
	}
}

void kf_candidate_extract(const struct kf_extract_request *req,
			  struct kf_candidate *out)
{
	struct kf_buf text = { .max = 3 * (size_t)KF_REPLY_BYTES_MAX };

	*out = (struct kf_candidate) { 0 };
	if (req->finish == KF_FINISH_REFUSED) {
		kf_candidate_refuse(out, KF_EXTRACT_REFUSED, "the service "
			"says that the model declined to answer or that a "
			"filter stopped it");
		return;
	}
	if (req->reply_len > KF_REPLY_BYTES_MAX) {
		kf_candidate_refuse(out, KF_EXTRACT_TOO_LARGE, "the reply has "
			"%zu bytes, more than the %u allowed; give the files "
			"and little text", req->reply_len, KF_REPLY_BYTES_MAX);
		return;
	}
	kf_reply_clean(req->reply, req->reply_len, &text);
	read_reply(req, kf_buf_str(&text), text.len, out);
	kf_buf_release(&text);
}
