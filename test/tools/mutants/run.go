// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endTimeout limits the time in which a command ends what it has started, after SIGTERM.
const endTimeout = time.Minute

// suite runs mutants in a repository.
type suite struct {
	repository string
	// tree is the copy of the repository, work the directory that contains it, and OUT and FRESH.
	tree, work string
	out        io.Writer
	// once and built are the commands of that kind that ran last; built is "" if OUT has no program of what is in the tree.
	once, built string
}

// newSuite makes the directories; remove removes them.
func newSuite(repository string, out io.Writer) (s *suite, remove func(), err error) {
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, nil, err
	}
	s = &suite{repository: repository, work: work, tree: filepath.Join(work, "tree"), out: out}
	remove = func() { os.RemoveAll(work) }
	if err = os.Mkdir(filepath.Join(work, "out"), 0o755); err == nil {
		err = copyTree(repository, s.tree)
	}
	if err != nil {
		remove()
	}
	return s, remove, err
}

// all runs the mutants, the combined ones first, and returns how many the suite did not find. An error says for which mutants a verdict was
// impossible.
func (s *suite) all(ctx context.Context, mutants []*mutant, clean bool) (missed int, err error) {
	if err := s.combine(mutants); err != nil {
		return 0, err
	}
	together := slices.DeleteFunc(slices.Clone(mutants), (*mutant).alone)
	alone := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return !m.alone() })
	if clean && mutants[0].clean {
		if err := s.passes(ctx, mutants[0]); err != nil {
			return 0, err
		}
	}
	var unjudged []error
	for i, m := range append(together, alone...) {
		if i == len(together) {
			if err := s.separate(together); err != nil {
				return missed, err
			}
		}
		if err := s.runOnce(ctx, m); err != nil {
			return missed, err
		}
		found, err := s.one(ctx, m)
		switch {
		case ctx.Err() != nil:
			return missed, ctx.Err()
		case err != nil && m.number > 0 && s.built == "":
			return missed, err // The others need the same programs.
		case err != nil:
			s.say(m, "NO VERDICT")
			unjudged = append(unjudged, fmt.Errorf("%s: %w", m.name, err))
		case !found:
			missed++
		}
	}
	return missed, errors.Join(unjudged...)
}

// runOnce runs the command that precedes a mutant and those below it.
func (s *suite) runOnce(ctx context.Context, m *mutant) error {
	if m.once == s.once {
		return nil
	}
	s.once = m.once
	if output, err := s.command(ctx, m, m.once, s.repository); err != nil {
		return fmt.Errorf("once: %w\n%s", err, output)
	}
	return nil
}

// build builds what is in the tree, unless the programs in OUT are from it.
func (s *suite) build(ctx context.Context, m *mutant) error {
	if m.build == s.built {
		return nil
	}
	s.built = ""
	began := time.Now()
	if output, err := s.command(ctx, m, m.build, s.tree); err != nil {
		return fmt.Errorf("build: %w\n%s", err, output)
	}
	if s.built = m.build; m.number > 0 {
		fmt.Fprintf(s.out, "built for all mutants in Go functions after %3.0f s\n", time.Since(began).Seconds())
	}
	return nil
}

// passes runs the suite without a fault. It must pass.
func (s *suite) passes(ctx context.Context, m *mutant) error {
	if err := errors.Join(s.runOnce(ctx, m), s.build(ctx, m)); err != nil {
		return err
	}
	sound := *m
	sound.name, sound.number = "no fault", 0
	began := time.Now()
	if output, err := s.command(ctx, &sound, sound.run, s.repository); err != nil {
		return fmt.Errorf("%s\nthe suite fails without any fault: %w", output, err)
	}
	s.say(&sound, "passed after %3.0f s", time.Since(began).Seconds())
	return nil
}

// one reports whether the suite finds a mutant.
func (s *suite) one(ctx context.Context, m *mutant) (found bool, err error) {
	if m.alone() {
		restore, err := s.put(m)
		if err != nil {
			return false, err
		}
		defer restore()
	}
	if err := s.build(ctx, m); err != nil {
		return false, err
	}
	if err := os.RemoveAll(s.reachedFile()); err != nil {
		return false, err
	}
	began := time.Now()
	output, err := s.command(ctx, m, m.run, s.repository)
	seconds := time.Since(began).Seconds()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	_, unreached := os.Stat(s.reachedFile())
	said, complete := m.said(output)
	switch {
	case err == nil && m.number > 0 && unreached != nil:
		s.say(m, "NOT REACHED after %3.0f s", seconds)
		return false, nil
	case err == nil:
		s.say(m, "NOT FOUND after %3.0f s", seconds)
		return false, nil
	case m.number > 0 && unreached != nil:
		return false, fmt.Errorf("the run failed (%w), but it did not reach the mutant:\n%s", err, output)
	case !complete:
		return false, fmt.Errorf("the run failed (%w), and its output does not match %v:\n%s", err, m.found, output)
	}
	s.say(m, "found after %3.0f s: %s", seconds, said)
	return true, nil
}

// reachedFile is made by a combined mutant when its place is reached.
func (s *suite) reachedFile() string { return filepath.Join(s.work, "reached") }

// put writes the mutant's file into the tree, whose programs are then no longer what is built. restore writes the original one.
func (s *suite) put(m *mutant) (restore func(), err error) {
	original, err := m.original(s.repository)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.tree, m.file)
	restore = func() {
		_ = os.WriteFile(path, []byte(original), 0o644)
		s.built = ""
	}
	s.built = ""
	return restore, os.WriteFile(path, []byte(strings.Replace(original, m.from, m.to, 1)), 0o644)
}

// said returns what the output says about the fault, and whether each expression has matched.
func (m *mutant) said(output string) (said string, complete bool) {
	var parts []string
	for _, expression := range m.found {
		match := expression.FindStringSubmatch(output)
		if match == nil {
			return "", false
		}
		if len(match) > 1 {
			match = match[1:]
		}
		parts = append(parts, match...)
	}
	return strings.Join(parts, "; "), true
}

// command runs a command in a directory and returns its output.
func (s *suite) command(ctx context.Context, m *mutant, text, dir string) (output string, err error) {
	if text == "" {
		return "", nil
	}
	fresh := filepath.Join(s.work, "fresh")
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return "", err
	}
	var all bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &all, &all
	cmd.Env = append(os.Environ(), "OUT="+filepath.Join(s.work, "out"), "FRESH="+fresh, "MUTANT="+m.name, "WITH="+m.with, "PWD="+dir,
		actsVariable+"="+strconv.Itoa(m.number), reachedVariable+"="+s.reachedFile())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endTimeout
	err = cmd.Run()
	return all.String(), err
}

func (s *suite) say(m *mutant, format string, args ...any) {
	fmt.Fprintf(s.out, "%-30s %s\n", m.name, fmt.Sprintf(format, args...))
}
