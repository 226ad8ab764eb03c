# kforge: `make` builds, `make check` tests, `make help` lists the rest.
#
# Sources are found by folder, so a new file needs no line here:
#   src/FOLDER/*.c, src/FOLDER/SUB/*.c   -> BUILD/libkforge.a
#   src/cli/*.c                          -> BUILD/kforge
#   src/runner/*.c                       -> BUILD/kforge-runner
#   tests/unit/*.c, tests/contract/*.c   -> one test program each
#   tests/gpu/*.c                        -> programs for `make gpu-tests`
#   tests/fuzz/*.c                       -> one fuzzer each (clang)
#   tests/hostile/*.c                    -> small static programs
#   tests/cheats/weaken.c, values_only.c -> BUILD/cheats/kforge, a judge whose
#                                           defences can be taken away
# A test with a comment "link: FILE..." in its first lines is linked with just
# these sources (and libkforge.a if that is named) instead of the library.

BUILD ?= build
CC = gcc
PKG_CONFIG ?= pkg-config
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
CHECK_JOBS ?= 2

VERSION := $(shell cat VERSION)
PACKAGES := jansson libcurl sqlite3 libcrypto libcmark libseccomp

OPTIMIZE = -O2 -g
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wconversion -Werror
LANGUAGE = -std=c11 -D_GNU_SOURCE -DKF_VERSION='"$(VERSION)"' \
	-Iinclude -Isrc
SECTIONS = -ffunction-sections -fdata-sections
LINK_ONLY_USED = -Wl,--as-needed -Wl,--gc-sections

ifeq ($(SANITIZE),1)
BUILD := $(if $(filter build,$(BUILD)),build-asan,$(BUILD))
OPTIMIZE = -O1 -g -fno-omit-frame-pointer
INSTRUMENT = -fsanitize=address,undefined -fno-sanitize-recover
endif
ifeq ($(FUZZING),1)
OPTIMIZE = -O1 -g -fno-omit-frame-pointer
INSTRUMENT = -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover
endif

# make tells what is missing before a compiler does; tests need cmocka too.
ifneq ($(filter-out clean help lint,$(or $(MAKECMDGOALS),all)),)
NEEDED := $(PACKAGES) \
	$(if $(filter check tests gpu-tests trust,$(MAKECMDGOALS)),cmocka)
MISSING := $(foreach p,$(NEEDED),$(if $(shell $(PKG_CONFIG) --exists $(p) \
	&& echo yes),,$(p)))
ifneq ($(strip $(MISSING)),)
$(error missing libraries: $(strip $(MISSING)); on Debian ./bootstrap build \
	installs them)
endif
endif
PACKAGE_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
PACKAGE_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES))
CMOCKA_LIBS := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
LIBS = $(PACKAGE_LIBS) -lm -ldl -pthread

PLAIN_CFLAGS = $(LANGUAGE) $(PACKAGE_CFLAGS) $(WARNINGS) $(SECTIONS) \
	-MMD -MP -pthread $(CFLAGS)
COMPILE = $(CC) $(PLAIN_CFLAGS) $(OPTIMIZE) $(INSTRUMENT)
LINK = $(CC) $(OPTIMIZE) $(INSTRUMENT) -pthread $(LDFLAGS) $(LINK_ONLY_USED)

# --- what is there -----------------------------------------------------------

LIBRARY_SRC := $(filter-out src/cli/% src/runner/%,\
	$(sort $(wildcard src/*/*.c src/*/*/*.c)))
CLI_SRC := $(sort $(wildcard src/cli/*.c))
RUNNER_SRC := $(sort $(wildcard src/runner/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
CONTRACT_SRC := $(sort $(wildcard tests/contract/*.c))
# records.c is compiled with the headers of a toolkit, by tests/gpu/profile.py.
GPU_SRC := $(filter-out tests/gpu/records.c,$(sort $(wildcard tests/gpu/*.c)))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/*.c))
HOSTILE_SRC := $(sort $(wildcard tests/hostile/*.c))
JINJA_SRC := $(wildcard tests/conformance/jinja_render.c)
TRACE_SRC := $(wildcard tests/kill/trace.c)

# The runner meets code that nobody has reviewed, so it holds little: the
# drivers, what they need of base, and of libraries only libc and libm.
RUNNER_SHARED_SRC := $(filter-out src/base/json.c src/base/hash.c,\
	$(sort $(wildcard src/base/*.c))) \
	$(filter-out %_json.c %/platform.c %/home.c,\
	$(sort $(wildcard src/platform/*.c))) \
	$(sort $(wildcard src/platform/*/*.c))

LIBRARY := $(BUILD)/libkforge.a
SCDOC := $(shell command -v scdoc)
COMPLETIONS := $(addprefix $(BUILD)/completions/,bash zsh fish)
PROGRAMS := $(if $(CLI_SRC),$(BUILD)/kforge) \
	$(if $(RUNNER_SRC),$(BUILD)/kforge-runner)
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(UNIT_SRC) $(CONTRACT_SRC))
GPU_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(GPU_SRC))
# What tests/gpu/run runs.
GPU_CARRIED := $(GPU_TESTS) $(addprefix $(BUILD)/tests/contract/,cuda \
	cuda_build driver opencl opencl_refused) $(BUILD)/tests/standin/libcuda.so.1 \
	$(BUILD)/cheats/kforge
HOSTILE := $(patsubst tests/hostile/%.c,$(BUILD)/hostile/%,$(HOSTILE_SRC))
JINJA := $(patsubst tests/%.c,$(BUILD)/tests/%,$(JINJA_SRC))
# What drivers open at run time, in the place of a vendor's.
STANDIN := $(addprefix $(BUILD)/tests/standin/,libcuda.so.1 \
	libnvidia-ml.so.1 libcupti.so.13 libcublas.so.13)
TRACE := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TRACE_SRC))
FUZZERS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(FUZZ_SRC))

# The sanitizers' own system calls would be violations in the runner's
# sandbox, so it is built without them, from objects of its own.
PLAIN := $(BUILD)/$(if $(INSTRUMENT),plain,obj)

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
plain_object = $(patsubst %.c,$(PLAIN)/%.o,$(1))

# --- goals -------------------------------------------------------------------

.PHONY: all tests check cheats hostile mutants trust gpu-tests lint fuzz fuzzers bench man \
	completions install uninstall dist clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(LIBRARY) $(PROGRAMS)

tests: all $(TESTS) $(GPU_TESTS) $(HOSTILE) $(JINJA) $(TRACE) $(STANDIN) \
	$(COMPLETIONS) $(BUILD)/cheats/kforge \
	$(if $(INSTRUMENT),,$(BUILD)/dist/kforge)

check: tests
	@KF_BUILD=$(BUILD) PYTHON=$(PYTHON) $(PYTHON) tests/run --jobs $(CHECK_JOBS) $(ONLY)

cheats: all $(BUILD)/cheats/kforge
	@KF_BUILD=$(BUILD) $(PYTHON) tests/cheats/run $(ONLY)

hostile: all $(STANDIN)
	@KF_BUILD=$(BUILD) $(PYTHON) tests/hostile/run $(ONLY)

N := 200
OF := data
mutants: all
	@KF_BUILD=$(BUILD) $(PYTHON) tests/mutants/run -n $(N) --of $(OF) $(ONLY)

trust: all $(BUILD)/cheats/kforge $(BUILD)/tests/contract/sandbox $(HOSTILE) \
		$(STANDIN)
	@KF_BUILD=$(BUILD) $(PYTHON) tests/trust-run $(ONLY)

lint:
	@scripts/lint

fuzzers: $(FUZZERS)

fuzz:
	@$(MAKE) --no-print-directory BUILD=build-fuzz CC=clang FUZZING=1 \
		fuzzers
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

bench: all $(BUILD)/bench/compare $(BUILD)/bench/clock
	@KF_BUILD=$(BUILD) $(PYTHON) bench/run

# The page and the completions are made by the program itself, so they never
# tell of another one.
man: $(BUILD)/kforge.1

completions: $(COMPLETIONS)

install: all completions $(if $(SCDOC),man)
	@BUILD='$(BUILD)' scripts/install '$(DESTDIR)$(PREFIX)'

uninstall:
	@scripts/install --remove '$(DESTDIR)$(PREFIX)'

dist: all completions $(if $(SCDOC),man) $(BUILD)/dist/kforge
	@BUILD='$(BUILD)' VERSION='$(VERSION)' scripts/dist

gpu-tests: all completions $(if $(SCDOC),man) $(BUILD)/dist/kforge \
		$(GPU_CARRIED)
	@BUILD='$(BUILD)' VERSION='$(VERSION)' scripts/gpu-tests $(GPU_CARRIED)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make            build $(BUILD)/kforge and $(BUILD)/kforge-runner'
	@echo 'make check      unit, contract, command line and conformance tests'
	@echo '                ONLY="unit/base cli" runs what begins like this'
	@echo 'make cheats     programs that cheat: is each one found, and would it pass'
	@echo '                without the defence that finds it'
	@echo 'make hostile    attempts to do harm: is each one contained, for every user'
	@echo '                and in every tier of the sandbox?'
	@echo 'make mutants    correct programs with one small fault each: how many are'
	@echo '                found? N=2100 OF=all for many, of models too'
	@echo 'make trust      cheats, correct programs, attempts to do harm and a sample'
	@echo '                of mutants: one table'
	@echo 'make lint       layers, headers, banned functions, format, cppcheck,'
	@echo '                clang-tidy'
	@echo 'make fuzz       every fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS) s each'
	@echo 'make bench      the figures of this machine, into bench/results/'
	@echo 'make man        the manual page, $(BUILD)/kforge.1 (needs scdoc)'
	@echo 'make install    into PREFIX=$(PREFIX), below DESTDIR; uninstall'
	@echo 'make dist       a folder and an archive for other Linux machines'
	@echo 'make gpu-tests  a folder to be run on a machine with a CUDA device'
	@echo 'make clean      remove $(BUILD)'
	@echo
	@echo 'Variables: CC=clang, SANITIZE=1 (into build-asan), BUILD=folder,'
	@echo '           CFLAGS and LDFLAGS (added), PYTHON (for the tests)'

# --- how ---------------------------------------------------------------------

# Files that change when what they say does, so that other flags compile
# everything again and a source that is gone leaves the library.
.PHONY: FORCE
$(BUILD)/flags: SAYS = $(COMPILE)
$(BUILD)/sources: SAYS = $(LIBRARY_SRC)
$(BUILD)/flags $(BUILD)/sources: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(SAYS))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(SAYS))' >$@

$(LIBRARY): $(call object,$(LIBRARY_SRC)) $(BUILD)/sources
	@mkdir -p $(@D)
	@rm -f $@
	@echo 'AR   $@'
	@$(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/kforge: $(call object,$(CLI_SRC)) $(LIBRARY)
	@echo 'LINK $@'
	@$(LINK) -o $@ $^ $(LIBS)

# The same, finding the libraries that are carried beside it. The old kind of
# path holds for libraries of libraries too.
$(BUILD)/dist/kforge: $(call object,$(CLI_SRC)) $(LIBRARY)
	@mkdir -p $(@D)
	@echo 'LINK $@'
	@$(LINK) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib' -o $@ $^ $(LIBS)

# A judge whose defences can be taken away one by one, to show that the cheats
# are real, or all at once, to tell what they cost; the objects that ask
# tests/cheats/weaken.c stand in the library's place. It finds $(BUILD)/kforge-runner above its folder.
WEAK_SRC := $(sort $(shell grep -l 'evaluate/weaken.h"' src/*/*.c)) \
	tests/cheats/weaken.c tests/cheats/values_only.c
WEAK := $(patsubst %.c,$(BUILD)/cheats/obj/%.o,$(WEAK_SRC))
$(BUILD)/cheats/kforge: $(call object,$(CLI_SRC)) $(WEAK) $(LIBRARY)
	@echo 'LINK $@'
	@$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/cheats/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $< (weak)'
	@$(COMPILE) -DKF_TEST_DEFENCES -c -o $@ $<

$(BUILD)/kforge.1: docs/man/kforge.1.scd $(BUILD)/kforge
	@command -v $(or $(SCDOC),scdoc) >/dev/null || { echo 'make man needs \
	scdoc; on Debian: apt install scdoc' >&2; exit 1; }
	@$(BUILD)/kforge help --scd >$@.commands
	@sed -e '/^@COMMANDS@$$/{r $@.commands' -e 'd}' $< | scdoc >$@
	@rm $@.commands
	@echo 'MAN  $@'

$(BUILD)/completions/%: $(BUILD)/kforge
	@mkdir -p $(@D)
	@$(BUILD)/kforge completions $* >$@

$(BUILD)/kforge-runner: $(call plain_object,$(RUNNER_SRC) $(RUNNER_SHARED_SRC))
	@mkdir -p $(@D)
	@echo 'LINK $@'
	@$(CC) -O2 -g -pthread $(LDFLAGS) $(LINK_ONLY_USED) -o $@ $^ \
		-lm -ldl -pthread

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $<'
	@$(COMPILE) -c -o $@ $<

ifneq ($(PLAIN),$(BUILD)/obj)
$(PLAIN)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $< (plain)'
	@$(CC) $(PLAIN_CFLAGS) -O2 -g -c -o $@ $<
endif

# Every verdict names its judge by what decided about it.
JUDGE_SRC := $(sort $(wildcard src/evaluate/*.[ch] src/runner/*.[ch] \
	src/platform/*.[ch] src/platform/*/*.[ch] python/candidate.py \
	python/kforge_candidate/*.py))
$(BUILD)/obj/src/evaluate/about.o: $(JUDGE_SRC)
$(BUILD)/obj/src/evaluate/about.o: private INSTRUMENT += -DKF_JUDGE_SOURCES='"$(shell \
	cat $(JUDGE_SRC) | sha256sum | cut -c1-64)"'

# What a test is linked with: the files its "link:" comment names, or the
# library.
LINKING_TESTS := $(if $(UNIT_SRC)$(CONTRACT_SRC),$(shell \
	grep -lE '^(/\*| \*) *link: ' $(UNIT_SRC) $(CONTRACT_SRC)))
link_words = $(shell sed -nE \
	'1,12s|^(/\*\| \*) *link: *||p' $(1) | sed 's|\*/||')
link_inputs = $(patsubst libkforge.a,$(LIBRARY),$(patsubst \
	%.c,$(BUILD)/obj/%.o,$(link_words)))

define test_rule
$(patsubst tests/%.c,$(BUILD)/tests/%,$(1)): $(BUILD)/obj/$(1:.c=.o) \
		$(if $(filter $(1),$(LINKING_TESTS)),$(call \
		link_inputs,$(1)),$(LIBRARY))
	@mkdir -p $$(@D)
	@echo 'LINK $$@'
	@$$(LINK) -o $$@ $$^ $$(CMOCKA_LIBS) $$(LIBS)
endef
$(foreach test,$(UNIT_SRC) $(CONTRACT_SRC) $(GPU_SRC),\
	$(eval $(call test_rule,$(test))))

$(JINJA): $(call object,$(JINJA_SRC)) $(LIBRARY)
	@mkdir -p $(@D)
	@echo 'LINK $@'
	@$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/tests/standin/libcuda.so.1: $(wildcard tests/standin/*.[ch]) \
		src/platform/cuda/api.h
$(BUILD)/tests/standin/libnvidia-ml.so.1: tests/standin/nvml/libnvidia-ml.c
$(BUILD)/tests/standin/libcupti.so.13: tests/standin/cupti/libcupti.c
$(BUILD)/tests/standin/libcublas.so.13: tests/standin/cublas/libcublas.c
$(STANDIN): $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $@'
	@$(CC) $(filter-out -MMD -MP,$(PLAIN_CFLAGS)) -O1 -g -fPIC -shared \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^)

$(TRACE): $(TRACE_SRC) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $<'
	@$(CC) $(PLAIN_CFLAGS) -O1 -MF $@.d -o $@ $<

$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo 'LINK $@'
	@$(CC) -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(LIBS)

$(BUILD)/bench/%: $(call object,bench/%.c) $(LIBRARY)
	@mkdir -p $(@D)
	@echo 'LINK $@'
	@$(LINK) -o $@ $^ $(LIBS)

# They run inside a sandbox that holds no library.
$(BUILD)/hostile/%: tests/hostile/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo 'CC   $<'
	@$(CC) $(PLAIN_CFLAGS) -O1 -static -MF $@.d -o $@ $<

-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d $(BUILD)/obj/*/*/*/*.d \
	$(PLAIN)/*/*/*.d $(PLAIN)/*/*/*/*.d $(BUILD)/hostile/*.d \
	$(BUILD)/cheats/obj/*/*/*.d)
