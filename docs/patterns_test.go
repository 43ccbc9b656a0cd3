// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testPattern matches the beginning of an expression for the names of tests: ^TestA, or ^Test(A|B).
var testPattern = regexp.MustCompile(`\^Test(?:(\w+)|\(([\w|]+)\))`)

// patternsOf returns the beginnings of the names of tests that a text selects.
func patternsOf(text string) (out []string) {
	for _, m := range testPattern.FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[1]+m[2], "|") {
			out = append(out, "Test"+name)
		}
	}
	return out
}

// TestSelectedTestsExist: go test passes if it is told to run tests that do not exist, so a renamed one would silently not run any more.
func TestSelectedTestsExist(t *testing.T) {
	makefile, tests := read(t, "Makefile"), testNames(t)
	prefixes := patternsOf(makefile)
	require.Contains(t, prefixes, "TestNeighbors")
	for _, prefix := range prefixes {
		require.True(t, slices.ContainsFunc(tests, func(name string) bool { return strings.HasPrefix(name, prefix) }), "Makefile: no test has a name that begins with %s", prefix)
	}
	smoke := regexp.MustCompile(`(?m)^smoke := (.*)$`).FindStringSubmatch(makefile)
	require.NotNil(t, smoke)
	cases := sources(t, "test/acceptance", isTest) + read(t, "test/acceptance/policycases/upstream.txt")
	for _, name := range regexp.MustCompile(`[\w-]{3,}`).FindAllString(smoke[1], -1) {
		require.Regexp(t, strings.ReplaceAll(name, "_", "."), cases, "Makefile: smoke selects cases that test/acceptance does not have")
	}
}

func testNames(t *testing.T) (names []string) {
	for _, folder := range []string{"cmd", "multicluster", "pkg", "test"} {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(sources(t, folder, isTest), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func TestPatternsOf(t *testing.T) {
	require.Equal(t, []string{"TestA", "TestB", "TestB", "TestLong"}, patternsOf(`-run '^Test(A|B)$$/^Case$$' -skip '^TestB|^TestLong$$'`))
}
