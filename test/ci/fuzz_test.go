// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parser has a fuzz test whose target fails as BODY says. The seed that makes it fail is the last one.
const parser = `package parser

import (
	"os"
	"testing"
)

func FuzzGood(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {})
}

func FuzzFaulty(f *testing.F) {
	f.Add("harmless")
	f.Fuzz(func(t *testing.T, text string) {
		if text != "harmless" {
			BODY
		}
	})
}
`

// TestFuzzParsers runs hack/fuzz-parsers.sh on a module of its own: a target that fails, in whatever way, fails the stage, its input is printed, and
// what make test shows at the end has it.
func TestFuzzParsers(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"none":  {`_ = os.Args`, []string{"fuzz-parsers: 2 targets, no failure"}},
		"fails": {`_ = os.Args; t.Fatal("wrong")`, []string{"wrong", "FAIL: parser/FuzzFaulty\n"}},
		"panic": {`_ = os.Args; panic("worse")`, []string{"worse", "FAIL: parser/FuzzFaulty\n"}},
		"ends":  {`os.Exit(3)`, []string{"terminated unexpectedly", "FAIL: parser/FuzzFaulty\n"}},
		"build": {`undefined()`, []string{"undefined: undefined", "FAIL: parser/FuzzFaulty (does not build)\n", "FAIL: parser/FuzzGood (does not build)\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t, "hack/fuzz-parsers.sh", "hack/fuzz-log.sh", "hack/show-failures.sh")
			c.write("go.mod", "module example.org/faulty\n\ngo 1.24\n")
			c.write("parser/fuzz_test.go", strings.Replace(parser, "BODY", test.body, 1))
			cmd := exec.Command(filepath.Join(c.dir, "hack/fuzz-parsers.sh"))
			cmd.Env = append(os.Environ(), "FUZZTIME=1000x", "FUZZWORKERS=1")
			out, err := cmd.CombinedOutput()
			require.Equal(t, name == "none", err == nil, "%v\n%s", err, out)
			for _, words := range test.want {
				require.Contains(t, string(out), words)
			}
			if name == "none" || name == "build" {
				return
			}
			kept, err := filepath.Glob(filepath.Join(c.dir, "parser/testdata/fuzz/FuzzFaulty/*"))
			require.NoError(t, err)
			require.Len(t, kept, 1, string(out))
			input, err := os.ReadFile(kept[0])
			require.NoError(t, err)
			require.Contains(t, string(out), "\n"+string(input))
			log := filepath.Join(c.dir, "log")
			require.NoError(t, os.WriteFile(log, out, 0o644))
			shown, err := exec.Command(filepath.Join(c.dir, "hack/show-failures.sh"), log).CombinedOutput()
			require.NoError(t, err, string(shown))
			require.Contains(t, string(shown), "==> failed: FuzzFaulty\n")
			require.Contains(t, string(shown), "\n"+string(input))
		})
	}
}

// TestStarvedFuzzing: a worker that has not answered is not a failure if its input passes alone. Then the input is removed.
func TestStarvedFuzzing(t *testing.T) {
	const input = "testdata/fuzz/FuzzFaulty/0123"
	for name, test := range map[string]struct {
		body, log string
		want      bool
	}{
		"no processor":    {`_ = os.Args`, "fuzzing process hung or terminated unexpectedly: exit status 2", true},
		"fails alone":     {`_ = os.Args; t.Fatal("wrong")`, "fuzzing process hung or terminated unexpectedly: exit status 2", false},
		"another failure": {`_ = os.Args`, "wrong", false},
		"does not build":  {`undefined()`, "fuzzing process hung or terminated unexpectedly: exit status 2", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t, "hack/fuzz-log.sh")
			c.write("go.mod", "module example.org/faulty\n\ngo 1.24\n")
			c.write("parser/fuzz_test.go", strings.Replace(parser, "BODY", test.body, 1))
			c.write("parser/"+input, "go test fuzz v1\nstring(\"other\")\n")
			c.write("log", "--- FAIL: FuzzFaulty (1s)\n    "+test.log+"\n    Failing input written to "+input+"\n")
			cmd := exec.Command("bash", "-c", ". hack/fuzz-log.sh; starved log parser")
			cmd.Dir = c.dir
			out, err := cmd.CombinedOutput()
			require.Equal(t, test.want, err == nil, "%v\n%s", err, out)
			_, err = os.Stat(filepath.Join(c.dir, "parser", input))
			require.Equal(t, test.want, os.IsNotExist(err))
		})
	}
}
