// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/jsonpath"
)

// Format is a value of the flag --output: one of the constants, or jsonpath=TEMPLATE as kubectl has it.
type Format string

const (
	FormatTable Format = "table"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
	// formatRows is FormatTable with --no-headers.
	formatRows Format = "rows"
)

const jsonPathPrefix = "jsonpath="

// addOutputFlags adds the flags that outputFormat reads.
func addOutputFlags(flags *pflag.FlagSet, format Format) {
	flags.StringP("output", "o", string(format), "Output format: json, table, yaml or jsonpath=TEMPLATE")
	flags.Bool("no-headers", false, "Print tables without their header")
}

// outputFormat returns the format that the user has chosen.
func outputFormat(flags *pflag.FlagSet) (Format, error) {
	value, err := flags.GetString("output")
	if err != nil {
		return "", err
	}
	format, err := parseFormat(value)
	if err != nil {
		return "", err
	}
	if bare, err := flags.GetBool("no-headers"); err != nil || !bare || format != FormatTable {
		return format, err
	}
	return formatRows, nil
}

func parseFormat(s string) (Format, error) {
	if template, found := strings.CutPrefix(s, jsonPathPrefix); found {
		_, err := parseTemplate(template)
		return Format(s), err
	}
	if f := Format(strings.ToLower(s)); f == FormatTable || f == FormatJSON || f == FormatYAML {
		return f, nil
	}
	return "", fmt.Errorf("--output: %q is not a format; allowed: table, json, yaml, jsonpath=TEMPLATE", s)
}

func parseTemplate(template string) (*jsonpath.JSONPath, error) {
	parsed := jsonpath.New("output")
	if err := parsed.Parse(template); err != nil {
		return nil, fmt.Errorf("--output: %q is not a JSONPath template such as {.version}: %w", template, err)
	}
	return parsed, nil
}

// writeJSONPath prints the parts of data's JSON that a template selects.
func writeJSONPath(w io.Writer, data any, template string) error {
	parsed, err := parseTemplate(template)
	if err != nil {
		return err
	}
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	var plain any
	if err := json.Unmarshal(body, &plain); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, plain); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = io.WriteString(w, cleanText(text.String())+"\n")
	return err
}
