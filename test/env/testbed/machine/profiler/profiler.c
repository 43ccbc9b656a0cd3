/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright 2026 The antrea-oncache Authors. */
/* A plugin of QEMU that counts how often each block of instructions is executed, all of them, between two marks that a
 * program of the guest sets (test/env/testbed/marker). It writes "ADDRESS INSTRUCTIONS EXECUTIONS" for each block of
 * the n-th interval to the file n in the directory given as out=DIRECTORY. Interface: QEMU, docs/devel/tcg-plugins and
 * qemu-plugin.h, of which the declarations below are used. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
struct qemu_plugin_scoreboard;
typedef void (*translated)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*executed)(unsigned int cpu, void *data);
enum { NO_REGISTERS };
enum { ADD };
struct counter {
	struct qemu_plugin_scoreboard *all;
	size_t offset; /* bytes */
};

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated call);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *all, unsigned int cpu);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int operation, struct counter counter,
						       uint64_t operand);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed call, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t length);

/* The oldest version of the interface that has all of it; newer ones accept it as long as none of it has changed. */
EXPORT int qemu_plugin_version = 3;

/* Blocks by number. Their counters are one element of a scoreboard, which translated code adds to without a call. */
struct block {
	uint64_t address;
	uint64_t instructions;
	int next; /* with the same hash, -1: none */
};

#define HASH_BITS 18
#define BLOCKS (1 << 20)
static struct block blocks[BLOCKS];
static int hashed[1 << HASH_BITS];
static int used;
static struct qemu_plugin_scoreboard *counters;
static const char *directory;
static int intervals;

/* find returns the number of a block. One that is translated again, or is another process's at the same address, is the same. */
static int find(uint64_t address, uint64_t instructions)
{
	int *head = &hashed[((address ^ instructions) * 0x9e3779b97f4a7c15u) >> (64 - HASH_BITS)];

	for (int i = *head; i >= 0; i = blocks[i].next)
		if (blocks[i].address == address && blocks[i].instructions == instructions)
			return i;
	if (used == BLOCKS) {
		fprintf(stderr, "profiler: there are more than %d blocks of code: BLOCKS must be larger\n", BLOCKS);
		exit(1);
	}
	blocks[used] = (struct block){address, instructions, *head};
	return *head = used++;
}

static void begin(unsigned int cpu, void *data)
{
	memset(qemu_plugin_scoreboard_find(counters, cpu), 0, BLOCKS * sizeof(uint64_t));
}

static void end(unsigned int cpu, void *data)
{
	const uint64_t *executions = qemu_plugin_scoreboard_find(counters, cpu);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", directory, intervals++);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return;
	}
	for (int i = 0; i < used; i++)
		if (executions[i])
			fprintf(f, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", blocks[i].address, blocks[i].instructions, executions[i]);
	if (fclose(f))
		perror(path);
}

/* A mark is an instruction that does nothing, with a number in its operand: nopl NUMBER(%rax). */
static const uint8_t marks[][7] = {{0x0f, 0x1f, 0x80, 'O', 'N', 'C', 1}, {0x0f, 0x1f, 0x80, 'O', 'N', 'C', 2}};

static void translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	static const executed calls[] = {begin, end};
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint8_t code[sizeof(marks[0])];

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
		tb, ADD, (struct counter){counters, find(qemu_plugin_tb_vaddr(tb), n) * sizeof(uint64_t)}, 1);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_data(insn, code, sizeof(code)) != sizeof(code))
			continue;
		for (size_t m = 0; m < sizeof(marks) / sizeof(marks[0]); m++)
			if (!memcmp(code, marks[m], sizeof(code)))
				qemu_plugin_register_vcpu_insn_exec_cb(insn, calls[m], NO_REGISTERS, NULL);
	}
}

EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			directory = strdup(argv[i] + 4);
	if (!directory) {
		fprintf(stderr, "profiler: out=DIRECTORY is missing\n");
		return -1;
	}
	memset(hashed, 0xff, sizeof(hashed));
	counters = qemu_plugin_scoreboard_new(BLOCKS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
