// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

// The programs are compiled with the clang of Debian 12 and committed, so that building the agent needs no clang;
// `make verify-generated` compiles them again and compares.
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel -output-stem oncache -type onc_flow4 -type onc_flow6 -type onc_validity -type onc_seen -type onc_passed -type onc_retired -type onc_translation -type onc_translation4 -type onc_keys -type onc_restore -type onc_egress -type onc_egress4 -type onc_ingress -type onc_ingress4 -type onc_endpoint -type onc_node -type onc_ticket -type onc_control -type onc_count -type onc_limit -type onc_opening -type onc_untracked -type onc_bars -type onc_prefix4 -type onc_prefix6 -type onc_reason -type onc_program Bpf ../../../../../../bpf/oncache/oncache.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
