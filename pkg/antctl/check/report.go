// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check answers whether a cluster is ready for Antrea (Cluster), what it would lose when it comes from upstream Antrea (Migration), and
// whether an installed one works (Installation), for antctl check. The first two only read objects of the Kubernetes API. Installation also asks the agents, and sends traffic between
// Pods that it makes and removes, some of which must take the fast path.
package check

import (
	"fmt"
	"io"
	"strings"
)

// Report prints the results of checks as they come, one per line.
type Report struct {
	Out              io.Writer
	failed, warnings int
}

// OK reports a check that has found nothing wrong.
func (r *Report) OK(check, format string, args ...any) { r.line("ok", check, format, args...) }

// Warn reports something that the cluster works without.
func (r *Report) Warn(check, format string, args ...any) {
	r.warnings++
	r.line("warning", check, format, args...)
}

// Fail reports something that must be changed.
func (r *Report) Fail(check, format string, args ...any) {
	r.failed++
	r.line("failed", check, format, args...)
}

func (r *Report) line(verdict, check, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	fmt.Fprintf(r.Out, "%-8s %-16s %s\n", verdict, check, text)
}

// Err is nil unless a check has failed.
func (r *Report) Err() error {
	if r.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d checks failed, see docs/operate/troubleshooting.md", r.failed)
}

// End prints how many results there were that need attention.
func (r *Report) End() {
	fmt.Fprintf(r.Out, "%d failed, %d warnings\n", r.failed, r.warnings)
}
