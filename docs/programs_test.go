// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	maxFunctionLines  = 60
	maxFunctionParams = 8
)

// functionOfC matches the beginning of a C function that clang-format has formatted, up to its opening brace: its name and its parameters.
var functionOfC = regexp.MustCompile(`(?m)^(?:SEC\("\w+"\) |static |int |void |struct )[^;={}#/]*?(\w+)\(([^;={}]*)\)\n\{\n`)

// TestFunctionsOfThePrograms fails for a function of the eBPF programs that has too many lines or parameters.
func TestFunctionsOfThePrograms(t *testing.T) {
	functions := 0
	require.NoError(t, filepath.WalkDir("../bpf", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".h") && !strings.HasSuffix(path, ".c") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := functionsOfC(string(text))
		require.Equal(t, strings.Count("\n"+string(text), "\n{\n"), len(found), "%s: functions in the form that this test reads", path)
		for _, f := range found {
			if f.lines > maxFunctionLines || f.params > maxFunctionParams {
				t.Errorf("%s: %s has %d lines and %d parameters, want at most %d and %d",
					path, f.name, f.lines, f.params, maxFunctionLines, maxFunctionParams)
			}
		}
		functions += len(found)
		return nil
	}))
	require.NotZero(t, functions)
}

type cFunction struct {
	name          string
	lines, params int
}

func functionsOfC(text string) (out []cFunction) {
	for _, m := range functionOfC.FindAllStringSubmatchIndex(text, -1) {
		f := cFunction{name: text[m[2]:m[3]], params: 1 + strings.Count(text[m[4]:m[5]], ",")}
		whole, _, _ := strings.Cut(text[m[0]:], "\n}")
		f.lines = strings.Count(whole, "\n") + 2
		out = append(out, f)
	}
	return out
}

func TestFunctionsOfC(t *testing.T) {
	long := "static __always_inline int long_one(\n\t\tint a, int b)\n{\n" + strings.Repeat("\tif (a) {\n\t}\n", 30) + "}\n"
	require.Equal(t, []cFunction{{"short_one", 4, 1}, {"long_one", 64, 2}},
		functionsOfC("/* A comment. */\nSEC(\"tc\") int short_one(struct __sk_buff *skb)\n{\n\treturn 0;\n}\n\n"+long))
}
