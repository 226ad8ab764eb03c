/*
 * form_json.h - the forms of programs in platform.json. Part of platform.c.
 *
 *	"form": "c",			the default one; its members are the
 *					file's own
 *	"forms": { "torch": { ... } }	members in which another one differs
 */
#ifndef KF_PLATFORM_FORM_JSON_H
#define KF_PLATFORM_FORM_JSON_H

#include "base/json.h"

struct kf_forms {
	char **name;		/* owned; the default one first */
	size_t count;
};
void kf_forms_release(struct kf_forms *forms);

/* The description with one form (asked; NULL: the default one): its members
 * alone, without "form" and "forms". New reference. A form that is not there is
 * KF_E_INPUT, as is a malformed one; file is named in the sentence. */
KF_MUST_CHECK enum kf_code kf_form_choose(const json_t *description,
		const char *file, const char *asked, struct kf_forms *forms,
		json_t **out, struct kf_err *err);

#endif
