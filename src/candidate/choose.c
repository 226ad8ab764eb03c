#include "candidate/choose.h"

#include <ctype.h>
#include <strings.h>

#include "platform/platform.h"

enum rank {			/* how a block says which file it is */
	RANK_NONE,
	RANK_GUESS,		/* it defines the entry; the tag is no help */
	RANK_TAG,		/* the file's language */
	RANK_NAME,		/* the file's name */
};

struct claim {
	struct kf_block *block;
	enum rank rank;
	struct kf_facts facts;
};

struct claims {
	struct claim *item;	/* owned */
	size_t count;
	bool entry;		/* one of them defines the entry */
	enum rank broken;	/* the highest of those that end in a comment */
};

static bool same_tag(const struct kf_platform *platform, size_t i,
		     const char *tag)
{
	return kf_language_has_tag(platform->file[i].language, tag);
}

/* Files that a block tagged like file i could be. */
static size_t files_of_language(const struct kf_platform *platform, size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < platform->file_count; k++)
		count += strcasecmp(platform->file[k].language,
				    platform->file[i].language) == 0;
	return count;
}

static bool names_file(const struct kf_block *block, const char *name)
{
	if (block->info_name)
		return strcasecmp(block->info_name, name) == 0;
	return kf_text_names(block->near_line, strcspn(block->near_line, "\n"),
			     name) ||
	       (strchr(block->near_line, '\n') &&
		kf_text_names(strchr(block->near_line, '\n'),
			      strlen(strchr(block->near_line, '\n')), name)) ||
	       kf_source_names(block->text, block->len, name);
}

static bool names_other_file(const struct kf_block *block,
			     const struct kf_platform *platform, size_t i)
{
	for (size_t k = 0; k < platform->file_count; k++)
		if (k != i && names_file(block, platform->file[k].name))
			return true;
	return false;
}

static const char *const edit_marks[] = { "<<<<<<< ", ">>>>>>> ",
					  "@@ -", "*** Begin Patch" };

/* A change to a file, not a file. */
static bool is_edit(const struct kf_block *block)
{
	const char *line = block->text;

	if (kf_tag_is_diff(block->tag))
		return true;
	while (line) {
		for (size_t i = 0; i < KF_COUNT(edit_marks); i++)
			if (strncmp(line, edit_marks[i],
				    strlen(edit_marks[i])) == 0)
				return true;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

void kf_file_facts(const struct kf_platform *platform, size_t i,
		   const char *text, size_t len, struct kf_facts *out)
{
	const struct kf_language *language =
		kf_language_by_name(platform->file[i].language);

	*out = (struct kf_facts) { .whole = true, .starts = true,
				   .ends = true };
	if (language)
		language->facts(text, len, KF_ENTRY_NAME, out);
}

static enum rank rank_of(const struct kf_block *block,
			 const struct kf_facts *facts,
			 const struct kf_platform *platform, size_t i)
{
	bool defines = facts->entry >= KF_ENTRY_STATIC;
	bool alone = files_of_language(platform, i) == 1;

	if (is_edit(block))
		return RANK_NONE;
	if (names_file(block, platform->file[i].name))
		return RANK_NAME;
	if (names_other_file(block, platform, i) || !alone)
		return RANK_NONE;
	if (block->info_name)	/* a name of the model's own */
		return defines && !facts->cplusplus ? RANK_GUESS : RANK_NONE;
	if (same_tag(platform, i, block->tag))
		return RANK_TAG;
	if (defines && (kf_tag_is_neutral(block->tag) ||
			(kf_language_related(platform->file[i].language,
					     block->tag) &&
			 !facts->cplusplus)))
		return RANK_GUESS;
	return RANK_NONE;
}

static void claims_find(struct kf_blocks *blocks,
			const struct kf_platform *platform, size_t i,
			struct claims *out)
{
	*out = (struct claims) {
		.item = kf_alloc((blocks->count + 1) * sizeof(out->item[0])),
	};
	for (size_t k = 0; k < blocks->count; k++) {
		struct claim claim = { .block = &blocks->item[k] };

		kf_file_facts(platform, i, claim.block->text, claim.block->len,
			      &claim.facts);
		claim.rank = rank_of(claim.block, &claim.facts, platform, i);
		if (!claim.rank)
			continue;
		out->item[out->count++] = claim;
		out->entry |= claim.facts.entry >= KF_ENTRY_STATIC;
		if (claim.facts.open_comment && claim.rank > out->broken)
			out->broken = claim.rank;
	}
}

/* --- the rules that leave one of several ---------------------------------- */

static bool defines_entry(const struct claim *claim)
{
	return claim->facts.entry >= KF_ENTRY_STATIC;
}

static bool stands(const struct claim *claim)
{
	return claim->block->tone != KF_TONE_SET_ASIDE;
}

static bool is_named(const struct claim *claim)
{
	return claim->rank == RANK_NAME;
}

static bool is_tagged(const struct claim *claim)
{
	return claim->rank >= RANK_TAG;
}

/* Keeps the claims for which the rule holds, unless that leaves none. */
static bool narrow(struct claims *claims, bool (*rule)(const struct claim *))
{
	size_t kept = 0, before = claims->count;

	for (size_t i = 0; i < before; i++)
		kept += rule(&claims->item[i]);
	if (!kept || kept == before)
		return false;
	claims->count = 0;
	for (size_t i = 0; i < before; i++)
		if (rule(&claims->item[i]))
			claims->item[claims->count++] = claims->item[i];
	return true;
}

static bool all_same(const struct claims *claims)
{
	const struct kf_block *first = claims->item[0].block;

	for (size_t i = 1; i < claims->count; i++) {
		const struct kf_block *it = claims->item[i].block;

		if (it->len != first->len ||
		    memcmp(it->text, first->text, it->len) != 0)
			return false;
	}
	return true;
}

/* The block for file i, or NULL with claims->count telling why. */
static const struct claim *choose_one(struct claims *claims, const char *name,
				      struct kf_candidate *out)
{
	const struct claim *last;

	narrow(claims, defines_entry);
	if (narrow(claims, stands))
		kf_candidate_note(out, "left out a block for %s that the "
				  "reply calls old or alternative", name);
	narrow(claims, is_tagged);
	narrow(claims, is_named);
	if (!claims->count)
		return NULL;
	last = &claims->item[claims->count - 1];
	if (claims->count == 1 || all_same(claims))
		return last;
	if (!is_named(last) && last->block->tone != KF_TONE_REVISION)
		return NULL;
	kf_candidate_note(out, "took the last of %zu blocks for %s",
			  claims->count, name);
	return last;
}

static void note_guess(const struct claim *claim, const char *name,
		       struct kf_candidate *out)
{
	const struct kf_block *block = claim->block;

	if (claim->rank != RANK_GUESS)
		return;
	if (block->info_name)
		kf_candidate_note(out, "took %.60s as %s", block->info_name,
				  name);
	else
		kf_candidate_note(out, "took a block tagged '%.20s' as %s",
				  block->tag, name);
}

/* --- blocks without an end ------------------------------------------------ */

static bool is_blank_text(const struct kf_block *block)
{
	for (size_t i = 0; i < block->len; i++)
		if (!isspace((unsigned char)block->text[i]))
			return false;
	return true;
}

/* Whether the block could be file i, were it finished. */
static bool could_be(const struct kf_block *block,
		     const struct kf_platform *platform, size_t i)
{
	if (names_file(block, platform->file[i].name))
		return true;
	if (block->info_name || is_edit(block))
		return false;
	return same_tag(platform, i, block->tag) ||
	       kf_language_related(platform->file[i].language, block->tag) ||
	       kf_tag_is_neutral(block->tag);
}

static bool is_whole_file(const struct kf_block *block,
			  const struct kf_platform *platform, size_t i)
{
	struct kf_facts facts;

	kf_file_facts(platform, i, block->text, block->len, &facts);
	return kf_language_by_name(platform->file[i].language) &&
	       facts.whole && facts.ends && facts.entry >= KF_ENTRY_STATIC;
}

/* Judges a block without its closing fence; false ends the search. */
static bool check_open(struct kf_block *block, bool is_last,
		       const struct kf_platform *platform,
		       enum kf_finish finish, struct kf_candidate *out)
{
	bool possible = false;

	if (finish == KF_FINISH_LENGTH) {
		kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "the reply was "
			"cut off at the token limit inside a block of code, so "
			"the file is not complete; answer again with the "
			"complete files, shorter, and with less text around "
			"them");
		return false;
	}
	for (size_t i = 0; i < platform->file_count; i++) {
		if (!could_be(block, platform, i))
			continue;
		possible = true;
		if (is_last && is_whole_file(block, platform, i)) {
			block->closed = true;
			kf_candidate_note(out, "the last block had no closing "
					  "fence but is whole");
			return true;
		}
	}
	if (!possible) {
		kf_candidate_note(out, "left out an unfinished block that is "
				  "none of the files");
		return true;
	}
	kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "a block of code has no "
		"closing fence and is not a complete file; answer again with "
		"the complete files, each between a fence of its own and a "
		"closing fence on a line of its own");
	return false;
}

/* Takes the open blocks out, or gives up. */
static bool check_ends(struct kf_blocks *blocks,
		       const struct kf_platform *platform,
		       enum kf_finish finish, struct kf_candidate *out)
{
	for (size_t i = 0; i < blocks->count; i++) {
		struct kf_block *block = &blocks->item[i];

		if (block->closed)
			continue;
		if (!(is_blank_text(block) && !block->tag[0]) &&
		    !check_open(block, i + 1 == blocks->count, platform,
				finish, out))
			return false;
		if (block->closed)
			continue;
		/* Not a claimant: an empty text claims nothing. */
		block->len = 0;
		block->text[0] = '\0';
		free(block->info_name);
		block->info_name = kf_strdup("unfinished");
		block->near_line[0] = '\0';
	}
	return true;
}

/* --- all files ------------------------------------------------------------ */

static bool any_edit(const struct kf_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		if (is_edit(&blocks->item[i]))
			return true;
	return false;
}

static void refuse_missing(const struct kf_blocks *blocks,
			   const struct kf_platform *platform, size_t i,
			   enum kf_finish finish, struct kf_candidate *out)
{
	const char *name = platform->file[i].name;
	const char *language = platform->file[i].language;

	if (finish == KF_FINISH_LENGTH)
		kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "the reply was "
			"cut off at the token limit before %s; answer again "
			"with the complete files and less text around them",
			name);
	else if (any_edit(blocks))
		kf_candidate_refuse(out, KF_EXTRACT_NO_CODE, "the reply holds "
			"changes (a diff, or blocks to search and replace), "
			"not %s; give the whole file, from its first line to "
			"its last, in one block that begins with ```%s %s",
			name, language, name);
	else
		kf_candidate_refuse(out, KF_EXTRACT_NO_CODE, "no block of "
			"code in the reply is %s; give the whole file in one "
			"fenced block that begins with ```%s %s and ends with "
			"``` on a line of its own", name, language, name);
}

/* Several blocks were left for file i. */
static void refuse_several(const struct claims *claims,
			   const struct kf_platform *platform, size_t i,
			   struct kf_candidate *out)
{
	const char *name = platform->file[i].name;
	const char *language = platform->file[i].language;

	if (claims->entry || platform->file_count > 1)
		kf_candidate_refuse(out, KF_EXTRACT_AMBIGUOUS, "%zu different "
			"blocks could be %s; give one block only, or write "
			"the file's name after the language in its opening "
			"fence (```%s %s)", claims->count, name, language,
			name);
	else
		kf_candidate_refuse(out, KF_EXTRACT_NO_ENTRY, "none of the "
			"%zu blocks of code defines " KF_ENTRY_NAME "; give "
			"the complete %s in one block that begins with "
			"```%s %s", claims->count, name, language, name);
}

/* A fence inside a comment ends the block, and what follows looks like another
 * block: never that one instead of the file itself. */
static bool is_cut_by_its_own_fence(const struct claims *claims,
				    const struct claim *chosen)
{
	if (!claims->broken)
		return false;
	return !chosen || chosen->facts.open_comment ||
	       chosen->rank < claims->broken;
}

static void choose_file(struct kf_blocks *blocks,
			const struct kf_platform *platform, size_t i,
			enum kf_finish finish, struct kf_candidate *out)
{
	const char *name = platform->file[i].name;
	const struct claim *claim;
	struct claims claims;

	claims_find(blocks, platform, i, &claims);
	claim = choose_one(&claims, name, out);
	if (is_cut_by_its_own_fence(&claims, claim)) {
		kf_candidate_refuse(out, KF_EXTRACT_CUT_OFF, "a line of fence "
			"marks inside a comment of %s ends its block, so the "
			"file is not complete; leave such lines out of the "
			"code, or fence it with more marks (````)", name);
	} else if (claim) {
		note_guess(claim, name, out);
		kf_candidate_add(out, name, claim->block->text,
				 claim->block->len);
	} else if (claims.count) {
		refuse_several(&claims, platform, i, out);
	} else if (platform->file[i].required) {
		refuse_missing(blocks, platform, i, finish, out);
	}
	free(claims.item);
}

void kf_choose(struct kf_blocks *blocks, const struct kf_platform *platform,
	       enum kf_finish finish, struct kf_candidate *out)
{
	if (blocks->more) {
		kf_candidate_refuse(out, KF_EXTRACT_TOO_LARGE, "the reply has "
			"more than %d blocks of code; give the files only",
			KF_BLOCKS_MAX);
		return;
	}
	if (!check_ends(blocks, platform, finish, out))
		return;
	for (size_t i = 0; i < platform->file_count; i++)
		choose_file(blocks, platform, i, finish, out);
	if (finish == KF_FINISH_LENGTH && out->end == KF_EXTRACT_GOOD)
		kf_candidate_note(out, "the reply was cut off after its files");
}
