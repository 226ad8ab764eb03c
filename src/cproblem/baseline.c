/* The baseline of a C problem: reference.c as the platform compiles programs,
 * in a worker as programs are, called in turn with them. */
#include <sys/stat.h>
#include <unistd.h>

#include "cproblem/oracle.h"
#include "evaluate/expect.h"
#include "problem/baseline.h"
#include "problem/case.h"

#define PLATFORM "cpu"			/* where there is no better one */
#define LIFE_NS (24 * 3600 * KF_NS_PER_S)	/* longest a process may live */
#define WARM_CALLS 3u
#define WARM_CALLS_MAX 1000u
#define WARM_NS (50 * KF_NS_PER_MS)

struct live {
	struct kf_baseline_process base;
	struct kf_problem_spec spec;	/* borrowed members */
	const struct kf_bundle *bundle;
	struct kf_cproblem problem;	/* owned */
	char *code;			/* owned; text of reference.c */
	struct kf_platform *loaded;	/* owned; NULL: the spec's is used */
	struct kf_cref reference;	/* owned */
	char *folder;			/* owned; NULL: not made yet */
	const void **weight;		/* that it holds; borrowed */
	void **made;			/* owned; inputs of a condensed case; NULL:
					   none was needed yet */
	uint64_t weights_id, start_ns;
	bool ready;
};

/* Does it build programs of one C file that run in its runner's process? Then
 * the reference is built and run just as they are. */
static bool can_run(const struct kf_platform *p)
{
	return p && p->driver->in_process && p->compiler_count &&
		p->command[0] && p->file_count &&
		strcmp(p->file[0].language, "c") == 0;
}

/* The spec's platform, or the processor; *loaded is what must be freed. */
static enum kf_code choose_platform(const struct kf_problem_spec *spec,
				    struct kf_platform **loaded,
				    struct kf_platform **out,
				    struct kf_err *err)
{
	enum kf_code code = KF_OK;

	*loaded = NULL;
	/* kf_cref borrows it and changes nothing. */
	*out = (struct kf_platform *)(uintptr_t)spec->platform;
	if (can_run(*out))
		return KF_OK;
	code = kf_platform_load(PLATFORM, loaded, err);
	*out = *loaded;
	return code;
}

enum kf_code kf_cproblem_describe(const struct kf_problem_spec *spec,
				  json_t *about, struct kf_err *err)
{
	struct kf_platform *loaded, *platform;
	char *version = NULL;
	json_t *command;
	enum kf_code code = choose_platform(spec, &loaded, &platform, err);

	if (!code)
		code = kf_build_compiler(platform, &version, err);
	if (!code) {
		command = json_array();
		for (size_t i = 0; platform->command[i]; i++)
			json_array_append_new(command,
				json_string(platform->command[i]));
		json_object_set_new(about, "command", command);
		json_object_set_new(about, "compiler", version ?
				    json_string(version) : json_null());
	}
	free(version);
	kf_platform_free(loaded);
	return code;
}

/* --- calls --------------------------------------------------------------- */

static enum kf_code fail(const struct live *b, const struct kf_cref_end *end,
			 struct kf_err *err)
{
	return kf_fail(err, end->code, "problem %s: the baseline: %s",
		       b->base.name, end->text);
}

/* The inputs of a case, which a condensed bundle does not keep. */
static void *const *inputs_of(struct live *b, const struct kf_case *kase)
{
	const struct kf_bundle *bundle = b->bundle;

	if (!bundle->condensed)
		return (void *const *)kase->in;
	if (!b->made)
		b->made = kf_data_new(&b->problem.in);
	for (size_t i = 0; i < bundle->in_count; i++)
		kf_case_input(bundle, kase, i, b->made[i]);
	return b->made;
}

static enum kf_code time_case(struct kf_baseline_process *process,
			      const struct kf_case *kase, uint64_t *time_ns,
			      uint64_t *delay_ns, struct kf_err *err)
{
	struct live *b = (struct live *)process;
	const void **weight = kase->weight ? kase->weight :
		b->bundle->weight_data;
	struct kf_cref_data data = { .in = inputs_of(b, kase),
				     .weight = (void *const *)weight };
	struct kf_cref_end end;
	enum kf_code code;

	if (weight != b->weight || !b->weights_id)
		b->weights_id++;
	b->weight = weight;
	data.weights_id = b->weights_id;
	b->reference.deadline_ns = kf_now_ns() + b->spec.timeout_ns;
	b->reference.evict = process->evict;
	code = kf_cref_call(&b->reference, &data, &end, err);
	if (!code && end.code)
		code = fail(b, &end, err);
	*time_ns = b->reference.time_ns ? b->reference.time_ns : 1;
	*delay_ns = b->reference.delay_ns;
	return code;
}

/* The worst element, or which sums are off. */
static void say_where(const struct kf_tensor_info *info,
		      const struct kf_compare *found, char *out, size_t size)
{
	char index[128];

	if (!found->worst_count) {
		snprintf(out, size, ": %s", found->pattern);
		return;
	}
	kf_compare_index(info->rank, info->shape, found->worst[0].index,
			 index);
	snprintf(out, size, " at %s is %.9g, not %.9g", index,
		 found->worst[0].got, found->worst[0].expect);
}

/* It is compiled as programs are, not as the expected values were: one that
 * computes something else, or computes nothing, is no measure of them. */
static enum kf_code check_values(const struct live *b,
				 const struct kf_case *kase,
				 struct kf_err *err)
{
	const struct kf_bundle *bundle = b->bundle;

	for (size_t i = 0; i < bundle->out_count; i++) {
		struct kf_compare_request req = kf_expect(bundle, kase, i,
						kf_cref_out(&b->reference, i));
		const struct kf_tensor_info *info = &bundle->out[i];
		struct kf_compare found;
		char where[KF_COMPARE_PATTERN + 128];

		kf_expect_compare(kase, i, &req, false, &found);
		if (found.end == KF_COMPARE_GOOD)
			continue;
		say_where(info, &found, where, sizeof(where));
		return kf_fail(err, KF_E_UNAVAIL, "problem %s: its reference, "
			       "compiled as programs are, gives other values "
			       "than are expected: output %s%s; make it "
			       "independent of the compiler's flags, or judge "
			       "with --baseline none", b->base.name,
			       info->name, where);
	}
	return KF_OK;
}

static enum kf_code warm(struct live *b, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns(), time_ns, delay_ns;
	enum kf_code code = KF_OK;

	for (unsigned i = 0; i < WARM_CALLS_MAX && !code; i++) {
		if (i >= WARM_CALLS && kf_now_ns() - start_ns > WARM_NS)
			break;
		code = time_case(&b->base, &b->bundle->set[0], &time_ns,
				 &delay_ns, err);
		if (!code && i == 0)
			code = check_values(b, &b->bundle->set[0], err);
	}
	return code;
}

/* --- start and end ------------------------------------------------------- */

static enum kf_code make_folder(struct live *b, struct kf_err *err)
{
	char *cache;
	enum kf_code code = kf_cache_folder(b->spec.cache_path, &cache, err);

	if (code)
		return code;
	b->folder = kf_format("%s/baseline-XXXXXX", cache);
	free(cache);
	if (mkdtemp(b->folder) && chmod(b->folder, 0755) == 0)
		return KF_OK;
	code = kf_fail_errno(err, "cannot make folder %s", b->folder);
	free(b->folder);
	b->folder = NULL;
	return code;
}

static enum kf_code compile(struct live *b, struct kf_err *err)
{
	struct kf_platform *platform = b->reference.platform;
	struct kf_cref_build build = {
		.platform = platform,
		.command = (const char *const *)platform->command,
		.problem = &b->problem,
		.name = b->base.name,
		.code = b->code,
		.real = b->problem.real,
		.folder = b->folder,
		.tier_min = b->spec.tier_min,
		.cancel = b->spec.cancel,
	};
	enum kf_code code = kf_cref_compile(&build, &b->reference.artefact,
					    err);

	if (!code && b->reference.artefact.compiler)
		snprintf(b->base.info.version, sizeof(b->base.info.version),
			 "%s", b->reference.artefact.compiler);
	return code;
}

/* A program that does not compile never gets here, so this waits for the first
 * block of calls. */
static enum kf_code be_ready(struct kf_baseline_process *process,
			     struct kf_err *err)
{
	struct live *b = (struct live *)process;
	enum kf_code code;

	if (b->ready)
		return KF_OK;
	code = make_folder(b, err);
	if (!code)
		code = compile(b, err);
	if (!code)
		code = warm(b, err);
	b->base.info.ready_ns = kf_now_ns() - b->start_ns;
	b->ready = !code;
	return code;
}

static void release(struct kf_baseline_process *process)
{
	struct live *b = (struct live *)process;

	kf_cref_release(&b->reference);
	kf_data_free(b->made, b->problem.in.count);
	if (b->folder && kf_remove_tree(b->folder, NULL))
		kf_logf(b->spec.log, KF_LOG_WARN, "cannot remove %s",
			b->folder);
	free(b->folder);
	free(b->code);
	kf_platform_free(b->loaded);
	kf_cproblem_release(&b->problem);
	free(b);
}

static const struct kf_baseline_table table = {
	.ready = be_ready,
	.time = time_case,
	.free = release,
};

enum kf_code kf_cproblem_baseline(const struct kf_problem_spec *spec,
				  const struct kf_problem *problem,
				  const struct kf_bundle *bundle,
				  struct kf_baseline_process **out,
				  struct kf_err *err)
{
	struct live *b = kf_alloc(sizeof(*b));
	struct kf_platform *platform = NULL;
	const char *code_text;
	enum kf_code code;

	*out = NULL;
	b->base = (struct kf_baseline_process) {
		.table = &table, .name = kf_strdup(problem->name),
		.info = { .threads = spec->threads },
	};
	b->spec = *spec;
	b->bundle = bundle;
	b->start_ns = kf_now_ns();
	code = kf_cproblem_from_source(problem, &b->problem, &code_text, err);
	if (!code)
		code = choose_platform(spec, &b->loaded, &platform, err);
	if (!code)
		code = kf_cref_init(&b->reference, &b->spec, &b->problem,
				    platform, b->problem.real, err);
	if (code) {
		kf_baseline_process_free(&b->base);
		return code;
	}
	b->code = kf_strdup(code_text);
	b->reference.life_ns = LIFE_NS;
	*out = &b->base;
	return KF_OK;
}
