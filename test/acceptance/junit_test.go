// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var junitFlag = flag.String("junit", "", "file for the results of the cases as JUnit's XML")

// junitCase is a case in JUnit's XML.
type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds float64       `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *struct{}     `xml:"skipped"`
}

type junitMessage struct {
	Text string `xml:"message,attr"`
}

// newJUnitCase describes a case that has ended. Its output is in the log only.
func newJUnitCase(name string, took time.Duration, failed, skipped bool) junitCase {
	class, rest, _ := strings.Cut(name, "/")
	c := junitCase{Class: class, Name: rest, Seconds: took.Seconds()}
	switch {
	case failed:
		c.Failure = &junitMessage{"see the output of " + name}
	case skipped:
		c.Skipped = &struct{}{}
	}
	return c
}

// addSuite adds a failed case if the program fails and no case has: what tests do outside of cases may have failed.
func (n *tally) addSuite(code int) {
	if code != 0 && n.failed == 0 {
		n.failed++
		n.cases = append(n.cases, junitCase{Class: "acceptance", Name: "suite", Failure: &junitMessage{"no case has failed, but the program: see the end of its output"}})
	}
}

// writeJUnit writes the cases into a file.
func (n *tally) writeJUnit(file string) error {
	body, err := xml.MarshalIndent(struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}{Name: "acceptance", Tests: len(n.cases), Failures: n.failed, Skipped: n.skipped, Cases: n.cases}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(xml.Header), body...), 0o644)
}

// TestJUnit needs no cluster.
func TestJUnit(t *testing.T) {
	n := &tally{failed: 1, skipped: 1, passed: 1, cases: []junitCase{
		newJUnitCase("TestBasic/testDeletePod", 1500*time.Millisecond, false, false),
		newJUnitCase("TestONCache/fragments", time.Second, true, false),
		newJUnitCase("TestLoadBalancer/a<b", 0, false, true),
	}}
	file := filepath.Join(t.TempDir(), "junit.xml")
	require.NoError(t, n.writeJUnit(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, xml.Header+`<testsuite name="acceptance" tests="3" failures="1" skipped="1">
  <testcase classname="TestBasic" name="testDeletePod" time="1.5"></testcase>
  <testcase classname="TestONCache" name="fragments" time="1">
    <failure message="see the output of TestONCache/fragments"></failure>
  </testcase>
  <testcase classname="TestLoadBalancer" name="a&lt;b" time="0">
    <skipped></skipped>
  </testcase>
</testsuite>`, string(text))
}

// TestJUnitSuite needs no cluster: a failure outside of cases is in the results, and no other is added.
func TestJUnitSuite(t *testing.T) {
	for _, tc := range []struct{ code, failed, want int }{{0, 0, 0}, {1, 0, 1}, {1, 2, 0}} {
		n := &tally{failed: tc.failed}
		n.addSuite(tc.code)
		require.Len(t, n.cases, tc.want)
		require.Equal(t, tc.failed+tc.want, n.failed)
	}
}
