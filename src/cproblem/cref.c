#include "cproblem/cref.h"

#include "base/parallel.h"

#define CALL_NS_MAX (60 * KF_NS_PER_S)	/* slower ones cannot be judged */
#define PREPARE_NS (30 * KF_NS_PER_S)
#define PROCESS_NS (60 * KF_NS_PER_S)	/* beside its calls */
#define WORDS_MAX 96
#define PART (INT64_C(1) << 20)	/* elements for one thread */

const char *const kf_cref_command[] = {
	"{compiler}", "-std=gnu11", "-O2", "-ffp-contract=off", "-fopenmp",
	"-fPIC", "-shared", "-Werror=implicit-function-declaration",
	"-Wl,-z,defs", "-I", "{include}", "-o", "{output}", "{source}", "-lm",
	NULL
};

/* --- shapes -------------------------------------------------------------- */

static struct kf_tensor_info *infos_of(const struct kf_ctensors *list,
				       enum kf_dtype real)
{
	struct kf_tensor_info *info = kf_alloc((list->count + 1) *
					       sizeof(*info));

	for (size_t i = 0; i < list->count; i++) {
		info[i] = list->at[i].info;
		if (list->at[i].real)
			info[i].dtype = real;
		info[i].bytes = (size_t)info[i].numel *
			kf_dtype_bytes(info[i].dtype);
	}
	return info;
}

void kf_cref_shapes(const struct kf_cproblem *problem,
			 enum kf_dtype real, struct kf_bundle *out)
{
	*out = (struct kf_bundle) {
		.in = infos_of(&problem->in, real),
		.weight = infos_of(&problem->weight, real),
		.out = infos_of(&problem->out, real),
		.in_count = problem->in.count,
		.weight_count = problem->weight.count,
		.out_count = problem->out.count,
		.scalar = problem->scalar,
		.scalar_count = problem->scalar_count,
	};
}

void kf_cref_shapes_release(struct kf_bundle *shapes)
{
	free(shapes->in);
	free(shapes->weight);
	free(shapes->out);
	*shapes = (struct kf_bundle) { 0 };
}

/* --- compiling ----------------------------------------------------------- */

/* The command with -DKF_REAL and the sizes before the source. */
struct words { char *word[WORDS_MAX + 1]; size_t count; };

static void take_word(struct words *w, char *word)
{
	if (w->count < WORDS_MAX)
		w->word[w->count++] = word;
	else
		free(word);
}

static void make_words(const struct kf_cref_build *build,
		       struct words *out)
{
	const struct kf_cproblem *p = build->problem;

	for (size_t i = 0; build->command[i]; i++) {
		if (strcmp(build->command[i], "{source}") == 0) {
			take_word(out, kf_format("-DKF_REAL=%s", build->real ==
						 KF_F64 ? "double" : "float"));
			for (size_t k = 0; k < p->size_count; k++)
				take_word(out, kf_format("-D%s=%lld%s",
					p->size[k].name,
					(long long)p->size[k].value,
					p->size[k].value > INT32_MAX ? "L" :
					""));
		}
		take_word(out, kf_strdup(build->command[i]));
	}
}

/* The compiler's first line with an error in it, else its first line. */
static char *first_error(const struct kf_build *build)
{
	const char *log = kf_buf_str(&build->log);
	const char *found = strstr(log, "error");
	const char *line = found ? found : log;

	while (line > log && line[-1] != '\n')
		line--;
	return kf_strndup(line, strcspn(line, "\n"));
}

static enum kf_code build_with(const struct kf_cref_build *build,
			       char **command, struct kf_artefact *out,
			       struct kf_err *err)
{
	static char name[] = KF_CPROBLEM_CODE, language[] = "c";
	struct kf_platform_file file = { name, language, true };
	struct kf_platform platform = *build->platform;
	struct kf_build_job job = {
		.platform = &platform, .source_dir = build->folder,
		.work_dir = build->folder, .tier_min = build->tier_min,
		.cancel = build->cancel,
	};
	struct kf_build done = { .log.max = KF_BUILD_LOG_BYTES };
	enum kf_code code;
	char *line;

	platform.file = &file;
	platform.file_count = 1;
	platform.command = command;
	code = kf_build_run(&job, &done, out, err);
	if (!code && done.end != KF_BUILD_DONE) {
		line = first_error(&done);
		code = kf_fail(err, KF_E_INPUT, "problem %s: the compiler "
			       "refuses its reference: %.600s", build->name,
			       line);
		free(line);
	}
	kf_build_release(&done);
	return code;
}

enum kf_code kf_cref_compile(const struct kf_cref_build *build,
				  struct kf_artefact *out, struct kf_err *err)
{
	char *path = kf_path_join(build->folder, KF_CPROBLEM_CODE);
	struct words words = { 0 };
	enum kf_code code;

	*out = (struct kf_artefact) { 0 };
	make_words(build, &words);
	code = kf_file_write(path, build->code, strlen(build->code), err);
	if (!code)
		code = build_with(build, words.word, out, err);
	for (size_t i = 0; i < words.count; i++)
		free(words.word[i]);
	free(path);
	return code;
}

/* --- calling ------------------------------------------------------------- */

enum kf_code kf_cref_init(struct kf_cref *r,
			  const struct kf_problem_spec *spec,
			  const struct kf_cproblem *problem,
			  struct kf_platform *platform, enum kf_dtype real,
			  struct kf_err *err)
{
	struct kf_device_info device = { 0 };
	size_t count = 0;
	enum kf_code code;

	*r = (struct kf_cref) {
		.spec = spec, .problem = problem, .platform = platform,
		.real = real, .deadline_ns = kf_now_ns() + spec->timeout_ns,
		.life_ns = spec->timeout_ns + PROCESS_NS,
	};
	kf_cref_shapes(problem, real, &r->shapes);
	code = kf_driver_find(platform->driver, &device, 1, false, &count,
			      err);
	if (!code && !count)
		code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no device "
			       "here, and references run on it",
			       platform->name);
	snprintf(r->device_id, sizeof(r->device_id), "%s", device.id);
	if (!code)
		kf_device_info_release(&device);
	return code;
}

static uint64_t limited(uint64_t ns, uint64_t most)
{
	return ns < most ? ns : most;
}

static enum kf_code fail_end(struct kf_cref_end *end,
			     const struct kf_call_end *call)
{
	end->code = call->state == KF_CALL_MEMORY ? KF_E_LIMIT :
		call->state == KF_CALL_TIMEOUT || call->state == KF_CALL_CPU ?
		KF_E_TIMEOUT : KF_E_INPUT;
	snprintf(end->text, sizeof(end->text), "%s", call->text);
	return KF_OK;
}

static enum kf_code start(struct kf_cref *r, struct kf_cref_end *end,
			  struct kf_err *err)
{
	const struct kf_problem_spec *about = r->spec;
	struct kf_worker_spec spec = {
		.platform = r->platform,
		.device_id = r->device_id,
		.artefact_path = r->artefact.path,
		.bundle = &r->shapes,
		.threads = about->threads,
		.tier_min = about->tier_min,
		.limits = r->platform->run_limits,
		.handshakes = about->handshakes,
		.cancel = about->cancel,
	};
	struct kf_call_end call;
	enum kf_code code;

	if (about->memory_bytes)
		spec.limits.memory_bytes = about->memory_bytes;
	spec.limits.wall_ns = r->life_ns;
	spec.limits.cpu_ns = spec.limits.wall_ns * about->threads;
	r->weights_id = 0;
	code = kf_worker_start(&spec, &r->worker, &call, err);
	if (!code && call.state != KF_CALL_GOOD)
		code = fail_end(end, &call);
	return code;
}

struct widening { double *to; const float *from; };

static void widen_part(void *arg, int64_t first, int64_t end)
{
	const struct widening *w = arg;

	for (int64_t i = first; i < end; i++)
		w->to[i] = (double)w->from[i];
}

/* Widens where the reference's type is the wider one. */
static void write_tensor(void *to, const struct kf_tensor_info *as,
			 const void *from, const struct kf_tensor_info *own)
{
	struct widening w = { to, from };

	if (as->dtype == own->dtype)
		kf_parallel_copy(to, from, own->bytes);
	else
		kf_parallel_parts(own->numel, PART, widen_part, &w);
}

static enum kf_code prepare(struct kf_cref *r,
			    const struct kf_cref_data *data,
			    struct kf_cref_end *end, struct kf_err *err)
{
	const struct kf_ctensors *weight = &r->problem->weight;
	struct kf_call_end call;
	enum kf_code code;

	if (r->weights_id == data->weights_id)
		return KF_OK;
	for (size_t i = 0; i < weight->count; i++)
		write_tensor(kf_worker_weight(r->worker, i),
			     &r->shapes.weight[i], data->weight[i],
			     &weight->at[i].info);
	r->weights_id = data->weights_id;
	code = kf_worker_prepare(r->worker, PREPARE_NS, &call, err);
	if (!code && call.state != KF_CALL_GOOD)
		code = fail_end(end, &call);
	return code;
}

/* A guard that was overwritten says where. */
static void check_guards(struct kf_cref *r, struct kf_cref_end *end)
{
	int64_t offset = 0;
	size_t which = 0;

	if (kf_worker_guards(r->worker, &which, &offset))
		return;
	end->code = KF_E_INPUT;
	snprintf(end->text, sizeof(end->text), "it writes outside of output "
		 "%s, %lld bytes %s", r->shapes.out[which].name,
		 (long long)(offset < 0 ? -offset : offset), offset < 0 ?
		 "before it" : "behind it");
}

static enum kf_code forward(struct kf_cref *r,
			    const struct kf_cref_data *data,
			    struct kf_cref_end *end, struct kf_err *err)
{
	const struct kf_ctensors *in = &r->problem->in;
	uint64_t now_ns = kf_now_ns();
	struct kf_call_end call;
	enum kf_code code;

	if (now_ns >= r->deadline_ns) {
		end->code = KF_E_TIMEOUT;
		snprintf(end->text, sizeof(end->text), "all its calls, and "
			 "making the data for them, took longer than %.3g s",
			 (double)r->spec->timeout_ns / 1e9);
		return KF_OK;
	}
	kf_worker_poison(r->worker);
	for (size_t i = 0; i < in->count; i++)
		write_tensor(kf_worker_in(r->worker, i), &r->shapes.in[i],
			     data->in[i], &in->at[i].info);
	for (size_t i = 0; r->evict && i < in->count; i++)
		r->evict(kf_worker_in(r->worker, i), r->shapes.in[i].bytes);
	code = kf_worker_forward(r->worker, limited(r->deadline_ns - now_ns,
						    CALL_NS_MAX), &call, err);
	r->time_ns = call.time_ns;
	r->delay_ns = call.delay_ns;
	if (!code && call.state != KF_CALL_GOOD)
		return fail_end(end, &call);
	if (!code)
		check_guards(r, end);
	return code;
}

enum kf_code kf_cref_call(struct kf_cref *r,
			       const struct kf_cref_data *data,
			       struct kf_cref_end *end,
			       struct kf_err *err)
{
	struct kf_call_end call = { .state = KF_CALL_GOOD };
	enum kf_code code = KF_OK;

	*end = (struct kf_cref_end) { .code = KF_OK };
	if (r->spec->cancel && *r->spec->cancel)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	if (!r->worker)
		code = start(r, end, err);
	if (!code && !end->code)
		code = kf_worker_tidy(r->worker, &call, err);
	if (!code && call.state != KF_CALL_GOOD)
		code = fail_end(end, &call);
	if (!code && !end->code)
		code = prepare(r, data, end, err);
	if (!code && !end->code)
		code = forward(r, data, end, err);
	/* Whatever it did, the next call gets a process of its own. */
	if (code || end->code)
		kf_cref_stop(r);
	return code;
}

const void *kf_cref_out(const struct kf_cref *r, size_t i)
{
	return kf_worker_out(r->worker, i);
}

void kf_cref_stop(struct kf_cref *r)
{
	kf_worker_free(r->worker);
	r->worker = NULL;
	r->weights_id = 0;
}

void kf_cref_release(struct kf_cref *r)
{
	kf_cref_stop(r);
	kf_artefact_release(&r->artefact);
	kf_cref_shapes_release(&r->shapes);
}
