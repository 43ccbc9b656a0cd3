// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tc := range []struct {
		name string
		list []string
		want string
	}{
		{"nothing", nil, ""},
		{"one", []string{"a"}, "a"},
		{"one that is too long", []string{long}, long},
		{"all fit", []string{"10.10.0.2", "fd00:10::2"}, "10.10.0.2,fd00:10::2"},
		{"exactly 50", []string{strings.Repeat("a", 24), strings.Repeat("b", 25)}, strings.Repeat("a", 24) + "," + strings.Repeat("b", 25)},
		{"some fit", []string{"10.10.0.1", "10.10.0.2", "10.10.0.3", "10.10.0.4", "10.10.0.5", "10.10.0.6"}, "10.10.0.1,10.10.0.2,10.10.0.3 + 3 more..."},
		{"first too long", []string{long, "a", "b"}, long + " + 2 more..."},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, Summary(tc.list)) })
	}
}

func TestTable(t *testing.T) {
	table := Table{Header: []string{"NAME", "N"}, Rows: [][]string{{"bb", "2"}, {"aaaaaa", ""}, {"bb", "1"}}}
	require.Equal(t, "NAME   N\naaaaaa <NONE>\nbb     1\nbb     2\n", table.String())
	require.Equal(t, []string{"bb", "2"}, table.Rows[0], "the table itself must not change")
	table.Unsorted = true
	require.Equal(t, "NAME   N\nbb     2\naaaaaa <NONE>\nbb     1\n", table.String())
	require.Equal(t, "\n", Table{Header: []string{"NAME"}}.String())
}

type point struct{ X, Y int }

func TestResponseForAndTransform(t *testing.T) {
	x := Column[point]{"X", func(p point) string { return fmt.Sprint(p.X) }}
	y := Column[point]{"Y", func(p point) string { return fmt.Sprint(p.Y) }}
	double := func(p point) (point, error) {
		if p.X < 0 {
			return p, errors.New("negative")
		}
		return point{2 * p.X, 2 * p.Y}, nil
	}
	endpoint := &Endpoint{Path: "/points", ResponseFor: func(query url.Values) Response {
		if query.Get("view") == "double" {
			return Transform(double, Object(x, y))
		}
		return Object(x)
	}}
	d := &Definition{Use: "points", Group: Get, Args: []Arg{{Name: "view"}}, Agent: endpoint}
	body := `{"X":1,"Y":2}`
	execute := func(args ...string) (string, error) {
		cmd := newSubcommand(d, endpoint, func(context.Context, url.Values) ([]byte, error) { return []byte(body), nil })
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceUsage = true
		cmd.SetArgs(args)
		err := cmd.Execute()
		return out.String(), err
	}
	out, err := execute()
	require.NoError(t, err)
	require.Equal(t, "X\n1\n", out)
	out, err = execute("double")
	require.NoError(t, err)
	require.Equal(t, "X Y\n2 4\n", out)
	body = `{"X":-1}`
	_, err = execute("double")
	require.ErrorContains(t, err, "negative")
	body = `[]`
	_, err = execute("double")
	require.ErrorContains(t, err, "decoding")
}

func TestFormats(t *testing.T) {
	result := Result{Data: []point{{1, 2}, {3, 4}}, Table: Table{Header: []string{"X"}, Rows: [][]string{{"3"}, {"1"}}}}
	for format, want := range map[Format]string{
		"table": "X\n1\n3\n", formatRows: "1\n3\n",
		"jsonpath={[*].X}": "1 3\n",
		"jsonpath={range [*]}{.X}{\"/\"}{.Y}{\"\\n\"}{end}": "1/2\n3/4\n\n",
		"jsonpath=constant": "constant\n",
	} {
		var out strings.Builder
		require.NoError(t, write(&out, result, format))
		require.Equal(t, want, out.String(), format)
	}
	var out strings.Builder
	require.ErrorContains(t, write(&out, result, "jsonpath={.Z}"), "--output: ")
	require.NoError(t, write(&out, Result{Table: Table{Header: []string{"X"}}}, formatRows))
	require.Empty(t, out.String(), "nothing is left of a table without rows")

	_, err := parseFormat("jsonpath={.X")
	require.ErrorContains(t, err, `--output: "{.X" is not a JSONPath template such as {.version}: `)
	_, err = parseFormat("xml")
	require.EqualError(t, err, `--output: "xml" is not a format; allowed: table, json, yaml, jsonpath=TEMPLATE`)
}
