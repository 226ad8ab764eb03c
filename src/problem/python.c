#include "problem/python.h"

#include <sys/stat.h>
#include <unistd.h>

#include "problem/problem.h"

#define PROBE_NS (30 * KF_NS_PER_S)
#define PROBE_BYTES (256u << 10)
#define FOLDERS_MAX 64

/* Torch is found and its version read without importing it, which would take
 * seconds. The folder this starts in must not become a place of modules. */
static const char probe_source[] =
	"import importlib.util, json, os, re, sys\n"
	"sys.path = [p for p in sys.path if p]\n"
	"spec = importlib.util.find_spec('torch')\n"
	"version = ''\n"
	"folders = []\n"
	"if spec and spec.submodule_search_locations:\n"
	"    folders = list(spec.submodule_search_locations)\n"
	"    try:\n"
	"        text = open(os.path.join(folders[0], 'version.py')).read()\n"
	"        found = re.search(r'__version__\\s*=\\s*[\"\\']([^\"\\']+)', text)\n"
	"        version = found.group(1) if found else ''\n"
	"    except OSError:\n"
	"        pass\n"
	"paths = [p for p in sys.path if os.path.exists(p)]\n"
	"exe = os.path.abspath(sys.executable)\n"
	"folders += [sys.prefix, sys.base_prefix, sys.exec_prefix,\n"
	"            os.path.dirname(exe),\n"
	"            os.path.dirname(os.path.realpath(exe))] + paths\n"
	"folders += [os.path.realpath(f) for f in folders]\n"
	"print(json.dumps({'executable': exe, 'version': version,\n"
	"    'good': sys.version_info >= (3, 8), 'path': ':'.join(paths),\n"
	"    'folders': [os.path.abspath(f) for f in folders]}))\n";

/* What a Python with its libraries needs of any Linux. */
static const char *const usual_folder[] = {
	"/usr", "/lib", "/lib64", "/bin", "/etc/alternatives",
	"/etc/ld.so.cache", "/sys/devices/system/cpu",
};

static bool is_inside(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
		(path[len] == '/' || !path[len]);
}

/* Adds a folder unless one that holds it is there; "/" is never bound. */
static void add_folder(struct kf_python *python, const char *path)
{
	if (path[0] != '/' || !path[1] || python->folder_count == FOLDERS_MAX)
		return;
	for (size_t i = 0; i < python->folder_count; i++)
		if (is_inside(path, python->folder[i]))
			return;
	python->folder[python->folder_count++] = kf_strdup(path);
}

static enum kf_code take_answer(const char *program, const json_t *answer,
				struct kf_python *out, struct kf_err *err)
{
	const char *version = kf_json_str(answer, "version", "");
	const json_t *folders = json_object_get(answer, "folders");

	if (!kf_json_bool(answer, "good", false))
		return kf_fail(err, KF_E_UNAVAIL,
			       "%s is older than Python 3.8", program);
	if (!version[0])
		return kf_fail(err, KF_E_UNAVAIL, "%s has no torch", program);
	snprintf(out->torch, sizeof(out->torch), "%s", version);
	out->program = kf_strdup(kf_json_str(answer, "executable", program));
	out->search = kf_strdup(kf_json_str(answer, "path", ""));
	out->folder = kf_alloc(FOLDERS_MAX * sizeof(out->folder[0]));
	for (size_t i = 0; i < KF_COUNT(usual_folder); i++)
		add_folder(out, usual_folder[i]);
	for (size_t i = 0; i < json_array_size(folders); i++) {
		const json_t *folder = json_array_get(folders, i);

		if (json_is_string(folder))
			add_folder(out, json_string_value(folder));
	}
	return KF_OK;
}

/* Runs the probe. *answer is a new reference; NULL on failure. */
static enum kf_code ask(const char *program, json_t **answer,
			struct kf_err *err)
{
	const char *argv[] = { program, "-B", "-c", probe_source, NULL };
	struct kf_proc_spec spec = {
		.argv = argv, .cwd = "/", .timeout_ns = PROBE_NS,
	};
	struct kf_buf text = { .max = PROBE_BYTES };
	struct kf_proc_end end;
	enum kf_code code = kf_proc_run(&spec, &text, NULL, &end, err);

	*answer = NULL;
	if (!code && (end.timed_out || end.signal || end.exit_code ||
		      kf_json_parse(kf_buf_str(&text), text.len, program,
				    answer, NULL)))
		code = kf_fail(err, KF_E_UNAVAIL, "%s is not a working Python",
			       program);
	kf_buf_release(&text);
	return code;
}

/* --- an answer is kept with what it depends on --------------------------- */

static json_int_t changed_at(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	return (json_int_t)st.st_mtim.tv_sec * 1000000000 +
		st.st_mtim.tv_nsec;
}

static void watch_path(json_t *watched, const char *path)
{
	json_object_set_new(watched, path, json_integer(changed_at(path)));
}

/* A Python and every folder in which torch could appear or change. */
static void watch_python(json_t *watched, const char *program,
			 const json_t *answer)
{
	const char *path = kf_json_str(answer, "path", "");
	const json_t *torch = json_array_get(
		json_object_get(answer, "folders"), 0);

	watch_path(watched, program);
	while (*path) {
		size_t len = strcspn(path, ":");
		char *folder = kf_strndup(path, len);

		watch_path(watched, folder);
		free(folder);
		path += len + (path[len] == ':');
	}
	if (json_is_string(torch))	/* replaced in place by an update */
		watch_path(watched, json_string_value(torch));
}

static char *kept_path(const char *cache_folder, const char *asked)
{
	const char *path = getenv("PATH");
	char *here = getcwd(NULL, 0);	/* names may be relative */
	char *key = kf_format("%s\n%s\n%s\n%s", asked ? asked : "",
			      here ? here : "", path ? path : "",
			      probe_source);
	char hash[KF_HASH_HEX];

	kf_hash_hex(key, strlen(key), hash);
	free(key);
	free(here);
	return kf_format("%s/python-%.32s.json", cache_folder, hash);
}

static bool take_kept(const char *kept, struct kf_python *out)
{
	json_t *file = NULL, *then;
	const char *path;
	bool good = kf_path_exists(kept) &&
		kf_json_read(kept, &file, NULL) == KF_OK;

	json_object_foreach(json_object_get(file, "watched"), path, then)
		good = good && json_integer_value(then) == changed_at(path);
	if (good && take_answer(kf_json_str(file, "program", ""),
				json_object_get(file, "answer"), out, NULL)) {
		kf_python_release(out);
		good = false;
	}
	json_decref(file);
	return good;
}

/* A cache that cannot be written costs time, nothing else. */
static void keep(const char *kept, const char *program, json_t *answer,
		 json_t *watched)
{
	json_t *file = json_pack("{s:s, s:O, s:O}", "program", program,
				 "answer", answer, "watched", watched);

	if (file && kf_json_write(kept, file, NULL))
		unlink(kept);
	json_decref(file);
}

static enum kf_code try_one(const char *name, const char *kept,
			    json_t *watched, struct kf_python *out,
			    struct kf_err *err)
{
	char *program = kf_proc_which(name);
	json_t *answer = NULL;
	enum kf_code code;

	if (!program)
		return kf_fail(err, KF_E_UNAVAIL, "there is no program %s",
			       name);
	if (program[0] != '/') {	/* it will be started elsewhere */
		char *here = getcwd(NULL, 0);
		char *full = kf_path_join(here ? here : "/", program);

		free(here);
		free(program);
		program = full;
	}
	code = ask(program, &answer, err);
	watch_python(watched, program, answer);
	if (!code)
		code = take_answer(program, answer, out, err);
	if (!code && kept)
		keep(kept, program, answer, watched);
	json_decref(answer);
	free(program);
	return code;
}

enum kf_code kf_python_probe(const char *asked, const char *cache_folder,
			     struct kf_python *out, struct kf_err *err)
{
	static const char *const usual[] = { "python3", "/usr/bin/python3" };
	const char *from_env = getenv("KFORGE_PYTHON");
	json_t *watched = json_object();
	enum kf_code code = KF_E_UNAVAIL;
	char *kept = NULL;

	*out = (struct kf_python) { 0 };
	if (!asked && from_env && from_env[0])
		asked = from_env;
	if (cache_folder)
		kept = kept_path(cache_folder, asked);
	if (kept && take_kept(kept, out))
		code = KF_OK;
	else if (asked)
		code = try_one(asked, kept, watched, out, err);
	else
		for (size_t i = 0; code && i < KF_COUNT(usual); i++)
			code = try_one(usual[i], kept, watched, out, NULL);
	if (code && !asked)
		kf_fail(err, code, "no Python with torch was found; "
			"install one (on Debian: apt install python3-torch "
			"libopenblas0-pthread) or name it with --python or "
			"KFORGE_PYTHON");
	else if (code)
		kf_advise(err, "name a Python that has torch with --python or "
			  "KFORGE_PYTHON");
	json_decref(watched);
	free(kept);
	return code;
}

void kf_python_release(struct kf_python *python)
{
	for (size_t i = 0; i < python->folder_count; i++)
		free(python->folder[i]);
	free(python->folder);
	free(python->program);
	free(python->search);
	*python = (struct kf_python) { 0 };
}

enum kf_code kf_python_find(const char *asked, char **path,
			    char torch_version[32], struct kf_err *err)
{
	struct kf_python python;
	enum kf_code code = kf_python_probe(asked, NULL, &python, err);

	*path = code ? NULL : kf_strdup(python.program);
	snprintf(torch_version, 32, "%s", code ? "" : python.torch);
	kf_python_release(&python);
	return code;
}
