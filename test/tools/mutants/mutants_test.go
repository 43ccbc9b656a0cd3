// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// example is a suite that compares the text of a file, and fails with a message.
const example = `
# A comment.
once: echo once >>log
build: cp number $OUT/number
run: grep -q 42 $OUT/number ||
	{ echo "wrong: $(cat $OUT/number) with $WITH"; ls $FRESH; touch $FRESH/left; exit 1; }
clean: yes
found: ^wrong: (\d*)
found: with (\w+)
with: one

mutant: another number
in: number
- 42
+ 43

mutant: two lines
in: number
- 42
- 7
+ 44
+ 8

with: two
mutant: nothing
in: number
- 42
+

mutant: not found
in: number
- 7
+ 8

found: sabotage
run: echo "$MUTANT: sabotage"; false
mutant: own
`

func repository(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "number"), []byte("42\n7\n42\n"), 0o644))
	require.NoError(t, exec.Command("git", "-C", dir, "init", "-q").Run())
	return dir
}

func TestEachMutantIsFoundOrNot(t *testing.T) {
	mutants, err := parse("x", example)
	require.NoError(t, err)
	require.Len(t, mutants, 5)
	dir := repository(t)
	var out bytes.Buffer
	s, remove, err := newSuite(dir, &out)
	require.NoError(t, err)
	// The first place is replaced in the copy only; the second 42 is still there.
	mutants[0].run = `cmp $OUT/number <(printf '43\n7\n42\n') && cmp number <(printf '42\n7\n42\n') && echo "wrong: 43 with $WITH"; exit 1`
	mutants[2].run = `cmp $OUT/number <(printf '\n7\n42\n'); echo "wrong: with $WITH"; exit 1`
	mutants[1].run = `cmp $OUT/number <(printf '44\n8\n42\n'); echo "wrong: 44 with $WITH"; exit 1`
	mutants[0].clean = false
	missed, err := s.all(t.Context(), mutants, true)
	require.NoError(t, err, out.String())
	require.Equal(t, 1, missed)
	require.Regexp(t, `(?s)^own +found after +0 s: sabotage
another number +found after +0 s: 43; one
two lines +found after +0 s: 44; one
nothing +found after +0 s: ; two
not found +NOT FOUND`, out.String())
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	require.Equal(t, "once\n", string(log))
	remove()
	require.NoDirExists(t, s.work)
}

// program has places in functions of several shapes, and one outside.
const program = `package main

import (
	"fmt"
	"os"
)

const limit = 3

type list[T any] []T

func (l list[T]) last() (last T, _ error) {
	for i := range l {
		last = l[i]
	}
	return last, nil
}

func check(ok bool) {
	if !ok {
		fmt.Println("wrong: check")
		os.Exit(1)
	}
}

func never() { fmt.Println("never") }

func labeled() int {
out:
	for i := range 10 {
		switch i {
		case 5:
			break out
		}
	}
	return 5
}

func main() {
	l := list[int]{1, 2, 3}
	last, _ := l.last()
	check(last == 3)
	check(limit == 3)
	check(labeled() == 5)
	switch {
	case last == 2:
		check(false)
	}
	if len(os.Args) > 1 {
		never()
	}
}
`

const combined = `
build: ${GO:-go} build -o $OUT/program . && echo build >>$LOG
run: $OUT/program
clean: yes
found: ^wrong: (.*)

mutant: generic
in: main.go
- last = l[i]
+ _ = i

mutant: no result
in: main.go
- if !ok {
+ if ok {

mutant: clause
in: main.go
- case last == 2:
+ case last == 3:

mutant: never reached
in: main.go
- fmt.Println("never")
+ panic("never")

mutant: constant
in: main.go
- limit = 3
+ limit = 4

mutant: label
in: main.go
- return 5
+ return 6

mutant: equal
in: main.go
- if len(os.Args) > 1 {
+ if len(os.Args) > 2 {

run: $OUT/program; echo "wrong: without it"; exit 1
mutant: not reached, and wrong
in: main.go
- fmt.Println("never")
+ panic("never")
`

func TestMutantsInFunctionsShareAProgram(t *testing.T) {
	dir := repository(t)
	log := filepath.Join(dir, "log")
	t.Setenv("LOG", log)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n\ngo 1.24\n"), 0o644))
	mutants, err := parse("x", combined)
	require.NoError(t, err)
	var out bytes.Buffer
	s, remove, err := newSuite(dir, &out)
	require.NoError(t, err)
	defer remove()
	missed, err := s.all(t.Context(), mutants, true)
	require.ErrorContains(t, err, "not reached, and wrong: the run failed (exit status 1), but it did not reach the mutant")
	require.Equal(t, 2, missed)
	require.Regexp(t, `(?s)no fault +passed.*
generic +found after +0 s: check
no result +found after +0 s: check
clause +found after +0 s: check
never reached +NOT REACHED.*
equal +NOT FOUND.*
not reached, and wrong +NO VERDICT
constant +found after +0 s: check
label +found after +0 s: check
$`, out.String())
	built, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "build\nbuild\nbuild\n", string(built), "one for the six in functions, one for each of the others")
}

func TestASuiteThatFailsForAnotherReasonProvesNothing(t *testing.T) {
	mutants, err := parse("x", "build: true\nrun: echo no machine; exit 1\nfound: ^wrong\nmutant: m\n")
	require.NoError(t, err)
	s, remove, err := newSuite(repository(t), &bytes.Buffer{})
	require.NoError(t, err)
	defer remove()
	_, err = s.all(t.Context(), mutants, true)
	require.ErrorContains(t, err, "no machine")

	mutants[0].clean = true
	_, err = s.all(t.Context(), mutants, true)
	require.ErrorContains(t, err, "fails without any fault")

	// The others are judged nevertheless.
	other := *mutants[0]
	other.clean, other.name, other.run = false, "other", "true"
	missed, err := s.all(t.Context(), []*mutant{mutants[0], &other}, false)
	require.ErrorContains(t, err, "m: the run failed")
	require.Equal(t, 1, missed)

	mutants[0].build = "echo no compiler; false"
	_, err = s.all(t.Context(), mutants, false)
	require.ErrorContains(t, err, "no compiler")
}

func TestMutantsThatNoLongerFit(t *testing.T) {
	m := mutant{name: "m", file: "number", from: "41", to: "43"}
	_, err := m.original(repository(t))
	require.ErrorContains(t, err, `m: number no longer contains "41"`)
}

func TestInvalidFiles(t *testing.T) {
	for text, message := range map[string]string{
		"":                       "no mutant",
		"run: true\nspeed: 1\n":  `x:2: "speed" is unknown`,
		"run: true\nsome text\n": "x:2:",
		"run: true\nfound: (\n":  "x:2:",
		"- a\n":                  "belongs to no file",
		"in: a\n":                "belongs to no mutant",
		"run: true\nmutant: m\n": "lacks",
		"run: true\nfound: x\nmutant: m\nin: f\n":      "changes nothing",
		"run: a\nfound: x\nmutant: m\nin: f\n- a\n+ a": "changes nothing",
	} {
		_, err := parse("x", text)
		require.ErrorContains(t, err, message, text)
	}
}
