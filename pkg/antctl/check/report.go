// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check answers whether a cluster is ready for Antrea (Cluster), what it would lose when it comes from upstream Antrea (Migration), and
// whether an installed one works (Installation), for antctl check. The first two only read objects of the Kubernetes API. Installation also asks the agents, and sends traffic between
// Pods that it makes and removes, some of which must take the fast path.
package check

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Formats of a Report.
const (
	FormatText = "text"
	FormatJSON = "json"
	// FormatJUnit is the XML that CI systems read: a test case per result, where only failed ones are failures.
	FormatJUnit = "junit"
)

// Report prints the results of checks: as text, one per line, as they come; in the other formats all of them at the end.
type Report struct {
	Out io.Writer
	// Format is one of the formats; empty for text.
	Format           string
	results          []result
	failed, warnings int
}

const verdictFailed = "failed"

// result is the answer of one check.
type result struct {
	Verdict string `json:"verdict"`
	Check   string `json:"check"`
	Message string `json:"message"`
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
	r.line(verdictFailed, check, format, args...)
}

func (r *Report) line(verdict, check, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	r.results = append(r.results, result{verdict, check, text})
	if r.isText() {
		fmt.Fprintf(r.Out, "%-8s %-16s %s\n", verdict, check, text)
	}
}

// Err is nil unless a check has failed.
func (r *Report) Err() error {
	if r.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d checks failed, see docs/operate/troubleshooting.md", r.failed)
}

func (r *Report) isText() bool { return r.Format == "" || r.Format == FormatText }

// End prints what the format has at its end: how many results need attention, or all results.
func (r *Report) End() error {
	switch r.Format {
	case FormatJSON:
		encoder := json.NewEncoder(r.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(map[string]any{"failed": r.failed, "warnings": r.warnings, "results": r.results})
	case FormatJUnit:
		return r.writeJUnit()
	default:
		_, err := fmt.Fprintf(r.Out, "%d failed, %d warnings\n", r.failed, r.warnings)
		return err
	}
}

// testCase is an element of JUnit's XML.
type testCase struct {
	Name    string `xml:"name,attr"`
	Failure *text  `xml:"failure"`
	Output  string `xml:"system-out,omitempty"`
}

type text struct {
	Message string `xml:"message,attr"`
}

func (r *Report) writeJUnit() error {
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testCase `xml:"testcase"`
	}{Name: "antctl check", Tests: len(r.results), Failures: r.failed}
	for _, each := range r.results {
		c := testCase{Name: each.Check}
		if each.Verdict == verdictFailed {
			c.Failure = &text{each.Message}
		} else {
			c.Output = each.Verdict + ": " + each.Message
		}
		suite.Cases = append(suite.Cases, c)
	}
	body, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err = fmt.Fprintf(r.Out, "%s%s\n", xml.Header, body)
	return err
}
