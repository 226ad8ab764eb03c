#!/usr/bin/env python3
"""Programs for CUDA devices, from two files to a verdict. The compiler is
NVRTC, without which this is skipped; the device is the stand-in for NVIDIA's
driver library, or a real one with KF_DEVICE=real."""

import json
import os
import pathlib
import sys

from harness import BUILD, EXIT, ROOT, kforge, run_tests

PROBLEM = str(ROOT / "problems" / "c" / "axpby")
PROGRAM = ROOT / "tests" / "data" / "programs" / "axpby"
KERNELS = (PROGRAM / "kernels.cu").read_text()
HOST = (PROGRAM / "host.c").read_text()
REAL = os.environ.get("KF_DEVICE") == "real"
NVRTC = pathlib.Path(os.environ.get("KFORGE_NVRTC",
                                    "/usr/local/cuda/lib64/libnvrtc.so"))
ASSEMBLER = (NVRTC.parent.parent / "bin" / "ptxas").exists()
STANDIN = {} if REAL else {
    "KFORGE_CUDA_DRIVER": str(BUILD / "tests" / "standin" / "libcuda.so.1")}
FAST = ("--platform", "cuda", "--size", "test", "--calls", "20",
        "--baseline", "none", "--json")


def verify(scratch, kernels=KERNELS, host=HOST, options=FAST, env=None,
           problem=PROBLEM):
    (scratch / "kernels.cu").write_text(kernels)
    (scratch / "host.c").write_text(host)
    return kforge("verify", problem, scratch / "kernels.cu", scratch / "host.c",
                  *options, env={**STANDIN, **(env or {})})


def clocks(script):
    """The stand-in for NVIDIA's management library, which tells these."""
    return {"KFORGE_NVML": str(BUILD / "tests" / "standin" /
                               "libnvidia-ml.so.1"), "STANDIN_CLOCKS": script}


def reason(result):
    verdict = result.json()
    return f"{verdict['state']}: {verdict['reason']}" if verdict["reason"] \
        else verdict["state"]


def test_a_right_program_is_correct(scratch):
    result = verify(scratch)
    assert result.status == EXIT["good"], result
    assert result.json()["state"] == "correct", result


def test_half_of_the_work_is_a_mismatch(scratch):
    result = verify(scratch, host=HOST.replace("n + 255", "n / 2 + 255"))
    assert result.status == EXIT["mismatch"], result


def test_large_outputs_are_filled_on_the_device(scratch):
    options = ("--set", "COUNT=300001",
               *(word for word in FAST if word not in ("--size", "test")))
    result = verify(scratch, options=options)
    assert result.json()["state"] == "correct", result
    if not REAL:    # whose cache keeps all of it
        floor_ns = result.json()["evidence"]["timing"]["floor_ns"]
        written = 4 * 300001 - (1 << 20)
        assert abs(floor_ns - 0.75 * written / 3352.32) < 0.1, floor_ns
    result = verify(scratch, options=options,
                    host=HOST.replace("n + 255", "n / 2 + 255"))
    assert reason(result) == "mismatch: unwritten", result
    assert "149985 of 300001 elements were not written" in result.out, result


def test_large_outputs_are_added_up_on_the_device(scratch):
    """All of them comes back only where something is wrong."""
    few = {"KFORGE_BUNDLE_GB": "0"}
    options = ("--set", "COUNT=300002", "-v", "-v",
               *(word for word in FAST if word not in ("--size", "test")))
    result = verify(scratch, options=options, env=few)
    verdict = result.json()
    assert verdict["state"] == "correct", result
    assert verdict["evidence"]["judged_by"] == "samples", result
    assert ", sums " in result.err, result
    assert "download of all" not in result.err, result
    result = verify(scratch, options=options, env=few,
                    host=HOST.replace("n + 255", "n / 2 + 255"))
    assert reason(result) == "mismatch: unwritten", result
    assert "149986 of 300002 elements were not written" in \
        result.json()["text"], result
    assert "download of all" in result.err, result


POKE = """
extern "C" __global__ void poke(unsigned char *p, long long offset, int value)
{
	p[offset] = (unsigned char)value;
}
"""


def poking(where, offset, value):
    """A host.c that sets one byte when all is done."""
    host = HOST.replace("\treturn kf_launch(", "\tint rc = kf_launch(")
    assert host != HOST, HOST
    return host.rstrip()[:-1] + f"""
	if (!rc)
		rc = kf_launch(c, "poke", KF_DIM(1), KF_DIM(1), 0,
			       KF_BUF({where}), KF_I64({offset}),
			       KF_I32({value}));
	return rc;
}}
"""


def summed(scratch, count, host, there=False, kernels=KERNELS,
           problem=PROBLEM):
    """With room for it, inputs are made on the device: a real one has it."""
    options = ("--set", f"COUNT={count}", "-v", "-v",
               *(word for word in FAST if word not in ("--size", "test")))
    room = {**clocks(""), "STANDIN_FREE_GIB": "64"} if there is not False else {}
    result = verify(scratch, kernels=kernels + POKE, host=host,
                    options=options, problem=problem,
                    env={"KFORGE_BUNDLE_GB": "0", **({} if REAL else room)})
    if there is not None:
        assert ("bases " in result.err) == (there or REAL), result
    return result


def test_large_inputs_are_made_on_the_device(scratch):
    """Of all kinds of data; the last chunk is not whole."""
    result = summed(scratch, 3000001, HOST, there=True)
    assert result.json()["state"] == "correct", result
    assert "download of all" not in result.err, result
    for kind in ("declared", "changed", "zero_mean", "tail", "large", "stock"):
        assert f"({kind}): " in result.err, result
    result = summed(scratch, 3000001, HOST.replace("n + 255", "n / 2 + 255"),
                    there=True)
    assert reason(result) == "mismatch: unwritten", result


MIXED = ({
    "kforge_problem": 1,
    "sizes": {"COUNT": 70001, "COLUMNS": 11},
    "inputs": [
        {"name": "x", "shape": ["COUNT", "COLUMNS"], "dtype": "real",
         "values": {"kind": "normal", "mean": 0, "std": 1}},
        {"name": "chosen", "shape": ["COUNT", "COLUMNS"], "dtype": "bool",
         "values": {"kind": "bernoulli", "p": 0.5}}],
    "weights": [
        {"name": "gain", "shape": ["COLUMNS"], "dtype": "real",
         "values": {"kind": "normal", "mean": 0, "std": 1}}],
    "outputs": [
        {"name": "y", "shape": ["COUNT", "COLUMNS"], "dtype": "real"}],
}, """
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data, *gain = kf_weight(c, "gain")->data;
	const unsigned char *chosen = c->in[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++)
		y[i] = chosen[i] ? gain[i % COLUMNS] * x[i] : x[i];
	return 0;
}
""")
CHOOSE = ("""
extern "C" __global__ void choose(const float *x, const unsigned char *k,
				  const float *w, float *y, long long n,
				  long long columns)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = k[i] ? w[i % columns] * x[i] : x[i];
}
""", """
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);

	return kf_launch(c, "choose", KF_DIM((n + 255) / 256), KF_DIM(256), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->in[1]),
			 KF_BUF(kf_weight(c, "gain")), KF_BUF(c->out[0]),
			 KF_I64(n), KF_I64(11));
}
""")


def test_inputs_of_which_only_some_are_made_on_the_device(scratch):
    """A mask and weights come as they are, in every call and every set."""
    problem = scratch / "mixed"
    problem.mkdir()
    (problem / "problem.json").write_text(json.dumps(MIXED[0]))
    (problem / "reference.c").write_text(MIXED[1])
    kernels, host = CHOOSE
    for given, wanted in (
            (host, "correct"),
            (host.replace("in[1]", "in[0]"), "mismatch: values"),
            (host.replace("KF_I64(11)", "KF_I64(1)"), "mismatch: values")):
        result = summed(scratch, 70001, given, True, kernels, problem)
        assert reason(result) == wanted, result


def test_inputs_are_made_here_where_the_device_lacks_room(scratch):
    """The stand-in has 1 GiB; that it has more is what it says."""
    keep = HOST.replace("\treturn kf_launch(", """
	if (!kf_temp(c, 967 << 20))
		return 1;
	return kf_launch(""")
    assert keep != HOST, HOST
    result = summed(scratch, 3000001, keep, there=None)
    assert result.json()["state"] == "correct", result
    assert "inputs are made here and not on the device: " in result.err, result
    assert "bases " not in result.err, result


test_inputs_are_made_here_where_the_device_lacks_room.skip = \
    "a device has the room that it says" if REAL else None


def test_what_is_written_to_inputs_made_there_is_told(scratch):
    result = summed(scratch, 3000001, poking("c->in[0]", 8000003, 7), True)
    assert reason(result).endswith("input_changed"), result
    assert "at byte 8000003" in result.json()["text"], result


def test_one_wrong_element_of_many_shows_in_sums(scratch):
    """2 of 3 elements are in no window; where these are is a secret."""
    for number in (700000, 1900001, 3000000):
        # Its exponent: the element becomes 32 to 128, or that less than 0.
        result = summed(scratch, 3000001,
                        poking("c->out[0]", 4 * number + 3, 0x42))
        assert reason(result) == "mismatch: values", result
        assert "download of all" in result.err, result


def test_what_is_wrong_beside_sums_is_told(scratch):
    for where, offset, why in (("c->out[0]", 4 * 300003, "out_of_bounds"),
                               ("c->in[0]", 67, "input_changed")):
        result = summed(scratch, 300003, poking(where, offset, 7))
        assert reason(result).endswith(why), result
        assert "download of all" not in result.err, result


REFUSED = """extern "C" __global__ void axpby(float *y)
{
	__shared__ float s[80000];

	s[threadIdx.x] = clock();
	__syncthreads();
	y[0] = s[5];
}
"""


def test_what_the_assembler_refuses_is_told(scratch):
    """Its own words, in the sandbox, where there is one beside NVRTC."""
    (scratch / "kernels.cu").write_text(REFUSED)
    (scratch / "host.c").write_text(HOST)
    result = kforge("build", PROBLEM, scratch / "kernels.cu",
                    scratch / "host.c", "-p", "cuda", "-o", scratch / "job",
                    env=STANDIN)
    assert "kernels.cu: error: the assembler" in result.out, result
    assert "a launch can have more, as shared_bytes" in result.out, result
    if ASSEMBLER:
        assert "uses too much shared data" in result.out, result


def test_wrong_arguments_are_told(scratch):
    result = verify(scratch, host=HOST.replace("KF_I64(n)", "KF_I32(n)"))
    assert result.status == EXIT["runtime_error"], result
    assert reason(result) == "runtime_error: launch", result
    assert "has 4 bytes and the kernel's parameter has 8" in result.out, result


def test_a_fault_is_told(scratch):
    kernels = KERNELS + ('extern "C" __global__ void illegal(float *y)\n'
                         "{\n\ty[1ll << 44] = 1;\n}\n")
    host = HOST.replace("return kf_launch", (
        'kf_launch(c, "illegal", KF_DIM(1), KF_DIM(1), 0, '
        "KF_BUF(c->out[0]));\n\treturn kf_launch"))
    result = verify(scratch, kernels, host)
    assert result.status == EXIT["runtime_error"], result
    assert reason(result) == "runtime_error: device_fault", result
    assert "illegal address" in result.out, result


def test_forged_stamps_bring_no_time(scratch):
    kernels = KERNELS + 'extern "C" __global__ void forges() {}\n'
    host = HOST.replace("return kf_launch", (
        'kf_launch(c, "forges", KF_DIM(1), KF_DIM(1), 0);\n'
        "\treturn kf_launch"))
    verdict = verify(scratch, kernels, host).json()
    timing = verdict["evidence"]["timing"]
    assert verdict["state"] == "correct", verdict
    assert timing["clock_doubted"] == timing["calls"], verdict
    assert verdict["time_ns"] > 3e6, verdict
    assert not verdict["conclusive"], verdict
    assert any("clock lagged" in note
               for note in verdict["evidence"]["notes"]), verdict


if REAL:
    test_forged_stamps_bring_no_time.skip = "a stand-in's stamps are in reach"


def test_a_pair_of_blocks_at_another_speed_is_taken_again(scratch):
    options = [word for word in FAST if word not in ("--calls", "20")]
    verdict = verify(scratch, options=options, env=clocks(
        "1980,2619,0,40 1500,2619,0,41 1980,2619,0,42")).json()
    timing = verdict["evidence"]["timing"]
    assert verdict["state"] == "correct", verdict
    assert timing["clocks"]["unsteady"] == 1, timing
    assert timing["clocks"]["core_mhz"] == [1500, 1980], timing
    assert timing["disturbed"] >= 1, timing
    assert timing["clocks"]["pairs"] == timing["blocks"] + \
        timing["disturbed"], timing


def test_times_of_a_device_that_is_throttled_are_not_conclusive(scratch):
    verdict = verify(scratch, env=clocks("1200,2619,20,90")).json()
    told = verdict["evidence"]["timing"]["clocks"]
    assert verdict["state"] == "correct", verdict
    assert told["throttled"] == ["heat"] and told["unsteady"], told
    assert not verdict["conclusive"], verdict
    assert any("slowed down for heat" in note
               for note in verdict["evidence"]["notes"]), verdict


ILLEGAL = (KERNELS + 'extern "C" __global__ void illegal(float *y)\n'
           "{\n\ty[1ll << 44] = 1;\n}\n",
           HOST.replace("return kf_launch", (
               'kf_launch(c, "illegal", KF_DIM(1), KF_DIM(1), 0, '
               "KF_BUF(c->out[0]));\n\treturn kf_launch")))


def test_a_driver_that_hangs_when_clocks_are_asked_holds_nobody_up(scratch):
    hangs = {**clocks("1980,2619,0,40"),
             "STANDIN_NVML_HANGS": "nvmlDeviceGetClockInfo"}
    words = "NVML did not answer within 5 s"
    result = verify(scratch, env=hangs)
    timing = result.json()["evidence"]["timing"]
    assert result.json()["state"] == "correct", result
    assert words in timing["clocks"]["not_watched"], timing
    assert timing["clocks"]["pairs"] == 0, timing
    found = kforge("doctor", "--json", env={**STANDIN, **hangs}).json()
    assert any(words in line["text"] for line in found), found
    result = verify(scratch, env={**hangs,
                                  "STANDIN_NVML_HANGS": "nvmlInit_v2"})
    assert result.json()["state"] == "correct", result
    assert "NVML did not answer within 20 s" in result.out, result


def test_a_device_that_does_not_recover_goes_into_quarantine(scratch):
    cache = ("--cache", str(scratch / "cache"))
    ill = {"STANDIN_ILL": "1"}
    files = list((scratch / "cache" / "devices").glob("*.quarantine"))
    assert not files, files
    # A fault from which it recovers leaves nothing behind.
    result = verify(scratch, *ILLEGAL, options=(*FAST, *cache))
    assert reason(result) == "runtime_error: device_fault", result
    assert verify(scratch, options=(*FAST, *cache)).status == EXIT["good"]
    # One from which it does not is a verdict still, and the last one.
    result = verify(scratch, *ILLEGAL, options=(*FAST, *cache), env=ill)
    assert reason(result) == "runtime_error: device_fault", result
    for _ in range(2):
        result = verify(scratch, options=(*FAST, *cache))
        assert result.status == EXIT["unavailable"] and not result.out, result
        assert "cuda:0 is in quarantine since 20" in result.err, result
        assert "wrong result" in result.err, result
        assert "`kforge doctor --release cuda:0`" in result.err, result
    found = kforge("doctor", "--json", *cache, env=STANDIN).json()
    assert any(line["finding"] == "bad" and "in quarantine" in line["text"]
               for line in found), found
    for words in ("is out of quarantine", "is not in quarantine"):
        result = kforge("doctor", "--release", "cuda:0", *cache, env=STANDIN)
        assert result.status == 0 and words in result.out, result
    assert verify(scratch, options=(*FAST, *cache)).status == EXIT["good"]


def test_doctor_tells_of_clock_rates(_):
    rows = ((clocks("1980,2619,0,40"), "cuda:0 runs at 1980 MHz"),
            (clocks("990,2619,20,91"), "slowed down for heat"),
            (clocks("none"), "NVML tells nothing of cuda:0: Not Found"),
            ({"KFORGE_NVML": "/nowhere/libnvidia-ml.so.1"},
             "cuda:0 are not watched while it is timed: there is no /nowhere"))
    for env, words in rows:
        result = kforge("doctor", "--json", env={**STANDIN, **env})
        assert any(words in found["text"] for found in result.json()), result


if REAL:
    test_a_pair_of_blocks_at_another_speed_is_taken_again.skip = \
        test_times_of_a_device_that_is_throttled_are_not_conclusive.skip = \
        test_doctor_tells_of_clock_rates.skip = \
        test_a_driver_that_hangs_when_clocks_are_asked_holds_nobody_up.skip = \
        test_a_device_that_does_not_recover_goes_into_quarantine.skip = \
        "a device follows no script"


def test_a_number_of_another_kind_is_told(scratch):
    """It is as wide as the right one, so the driver does not mind."""
    beta = "KF_F32(c->scalar[1].f)"
    assert beta in HOST, HOST
    result = verify(scratch, host=HOST.replace(beta, "KF_I32(3)"))
    assert reason(result) == "runtime_error: launch", result
    assert "a launch of axpby: argument 5: the kernel takes a float (.f32 in " \
        "PTX), and host.c passes KF_I32; pass KF_F32" in \
        result.json()["text"], result


KINDS = """
#include <cuda_fp16.h>
struct one { float a; };
struct two { float a; int b; };
enum word { FEW, MANY };
enum class byte : unsigned char { LOW };
extern "C" __global__ void kinds(word e, byte low, bool yes, char c, one s1,
	two s2, __half h, __half2 h2, float f, float *null, void *p,
	unsigned long long address, float4 f4, short s)
{
}
"""
LAUNCH = """
	struct { float a; int b; } two = { 1, 2 };
	float one = 1, four[4] = { 1, 2, 3, 4 };
	int rc = kf_launch(c, "kinds", KF_DIM(1), KF_DIM(1), 0, KF_I32(1),
			   KF_U8(1), KF_I8(1), KF_I8('c'), KF_F32(1),
			   KF_BYTES(&two, sizeof(two)), KF_I16(0x3c00),
			   KF_U32(0x3c003c00), KF_BYTES(&one, sizeof(one)),
			   KF_I64(0), KF_BUF(c->in[0]), KF_BUF(c->out[0]),
			   KF_BYTES(four, sizeof(four)), KF_I16(7));

	if (rc)
		return rc;
	return kf_launch("""


def test_right_arguments_of_all_kinds_are_taken(scratch):
    host = HOST.replace("\treturn kf_launch(", LAUNCH)
    assert host != HOST, HOST
    result = verify(scratch, kernels=KERNELS + KINDS, host=host)
    assert result.json()["state"] == "correct", result


def test_an_error_in_either_file_is_told_with_its_line(scratch):
    for kernels, host, words in (
            (KERNELS.replace("z[i]", "q[i]"), HOST, "kernels.cu:7"),
            (KERNELS, HOST.replace("int64_t n", "int64_t m"), "host.c:8")):
        result = verify(scratch, kernels, host)
        assert result.status == EXIT["compilation_failure"], result
        assert words in result.out, (words, result)


def test_a_broken_driver_hides_no_other_platform(_):
    broken = {"KFORGE_CUDA_DRIVER": "libm.so.6"}
    result = kforge("platforms", "--json", env=broken)
    listed = {p["name"]: p for p in result.json()}
    assert "has no cuInit" in listed["cuda"]["trouble"], result
    assert listed["cpu"]["devices"] and not listed["cpu"]["trouble"], result
    assert "no device can be used: libm.so.6" in \
        kforge("platforms", env=broken).out, result


def the_example_is_correct(_):
    folder = ROOT / "platforms" / "cuda" / "example"
    result = kforge("verify", folder / "example.py", folder / "kernels.cu",
                    folder / "host.c", "--platform", "cuda", timeout=200)
    print("# " + result.out.replace("\n", "\n# "))
    assert result.status == EXIT["good"], result


if REAL:    # the stand-in has not its kernel
    test_the_example_is_correct = the_example_is_correct


def no_compiler():
    """Why nothing here can be run, or None."""
    result = kforge("platforms", "--json", env=STANDIN)
    return "no NVRTC here: set CUDA_HOME" if "compiler: none" in result.out \
        else None


if __name__ == "__main__":
    why = no_compiler()
    for name, test in list(globals().items()):
        if why and name.startswith("test_"):
            test.skip = why
    sys.exit(run_tests(sys.modules[__name__]))
