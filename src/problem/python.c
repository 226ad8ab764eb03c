#include "problem/python.h"

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

static enum kf_code ask(const char *program, struct kf_python *out,
			struct kf_err *err)
{
	const char *argv[] = { program, "-B", "-c", probe_source, NULL };
	struct kf_proc_spec spec = {
		.argv = argv, .cwd = "/", .timeout_ns = PROBE_NS,
	};
	struct kf_buf text = { .max = PROBE_BYTES };
	struct kf_proc_end end;
	json_t *answer = NULL;
	enum kf_code code = kf_proc_run(&spec, &text, NULL, &end, err);

	if (!code && (end.timed_out || end.signal || end.exit_code ||
		      kf_json_parse(kf_buf_str(&text), text.len, program,
				    &answer, NULL)))
		code = kf_fail(err, KF_E_UNAVAIL, "%s is not a working Python",
			       program);
	if (!code)
		code = take_answer(program, answer, out, err);
	json_decref(answer);
	kf_buf_release(&text);
	return code;
}

static enum kf_code try_one(const char *name, struct kf_python *out,
			    struct kf_err *err)
{
	char *program = kf_proc_which(name);
	enum kf_code code;

	if (!program)
		return kf_fail(err, KF_E_UNAVAIL, "there is no program %s",
			       name);
	if (program[0] != '/') {	/* it will be started elsewhere */
		char *full = realpath(program, NULL);

		free(program);
		program = full ? full : kf_strdup(name);
	}
	code = ask(program, out, err);
	free(program);
	return code;
}

enum kf_code kf_python_probe(const char *asked, struct kf_python *out,
			     struct kf_err *err)
{
	static const char *const usual[] = { "python3", "/usr/bin/python3" };
	const char *from_env = getenv("KFORGE_PYTHON");

	*out = (struct kf_python) { 0 };
	if (!asked && from_env && from_env[0])
		asked = from_env;
	if (asked)
		return try_one(asked, out, err);
	for (size_t i = 0; i < KF_COUNT(usual); i++)
		if (try_one(usual[i], out, NULL) == KF_OK)
			return KF_OK;
	return kf_fail(err, KF_E_UNAVAIL, "no Python with torch was found; "
		       "install one (on Debian: apt install python3-torch "
		       "libopenblas0-pthread) or name it with --python or "
		       "KFORGE_PYTHON");
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
	enum kf_code code = kf_python_probe(asked, &python, err);

	*path = code ? NULL : kf_strdup(python.program);
	snprintf(torch_version, 32, "%s", code ? "" : python.torch);
	kf_python_release(&python);
	return code;
}
