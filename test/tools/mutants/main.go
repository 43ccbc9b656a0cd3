// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	only := flag.String("only", "", "only mutants whose names begin with this")
	check := flag.Bool("check", false, "only check that each mutant fits the sources")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Args(), *only, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, only string, check bool) error {
	if len(files) == 0 {
		return errors.New("name at least one file of mutants")
	}
	repository, err := repositoryRoot()
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		mutants, err := parse(file, string(text))
		if err != nil {
			return err
		}
		if check {
			for _, m := range mutants {
				if m.file == "" {
					continue
				}
				if _, err := m.original(repository); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", file, err))
				}
			}
			continue
		}
		if err := runFile(ctx, repository, file, mutants, only); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// runFile runs the mutants of a file whose names begin with only.
func runFile(ctx context.Context, repository, file string, mutants []*mutant, only string) error {
	mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return !strings.HasPrefix(m.name, only) })
	if len(mutants) == 0 {
		return fmt.Errorf("%s contains no mutant whose name begins with %q", file, only)
	}
	s, remove, err := newSuite(repository, os.Stdout)
	if err != nil {
		return err
	}
	defer remove()
	missed, err := s.all(ctx, mutants, only == "")
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err == nil {
		fmt.Printf("mutants: %s: %d mutants, %d not found\n", file, len(mutants), missed)
	}
	if missed > 0 {
		err = errors.Join(err, fmt.Errorf("the suite did not find %d of %d mutants", missed, len(mutants)))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
