// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"encoding/json"
	"fmt"
)

// Response makes a Result from a server's answer.
type Response interface {
	Read(body []byte) (Result, error)
}

// Result is an answer ready for output.
type Result struct {
	// Data is the content for JSON and YAML.
	Data any
	// Table is the content for tables.
	Table Table
	// Text is the output of commands with TextOnly, and takes the place of Table if it is not empty.
	Text string
}

// Table is text in rows and columns. All rows are as long as Header.
type Table struct {
	Header []string
	Rows   [][]string
	// Unsorted keeps the server's order of rows.
	Unsorted bool
}

// Column is one column of a table of T.
type Column[T any] struct {
	Header string
	Value  func(T) string
}

// Layout is a Response whose JSON body is a D, shown unchanged.
type Layout[D any] struct {
	result func(D) Result
}

// Read decodes body. It fails when body is not JSON of a D.
func (l Layout[D]) Read(body []byte) (Result, error) {
	var data D
	if err := json.Unmarshal(body, &data); err != nil {
		return Result{}, fmt.Errorf("decoding the server's answer: %w", err)
	}
	return l.result(data), nil
}

// List lays out a list, one row per element, sorted.
func List[T any](columns ...Column[T]) Layout[[]T] {
	return Layout[[]T]{func(data []T) Result {
		if data == nil {
			data = []T{}
		}
		return Result{Data: data, Table: table(columns, data)}
	}}
}

// UnsortedList is List in the server's order.
func UnsortedList[T any](columns ...Column[T]) Layout[[]T] {
	sorted := List(columns...).result
	return Layout[[]T]{func(data []T) Result {
		result := sorted(data)
		result.Table.Unsorted = true
		return result
	}}
}

// Object lays out one object as one row.
func Object[T any](columns ...Column[T]) Layout[T] {
	return Layout[T]{func(data T) Result {
		return Result{Data: data, Table: table(columns, []T{data})}
	}}
}

// Text formats the answer for commands with TextOnly, and for commands whose table is not one.
func Text[D any](text func(D) string) Layout[D] {
	return Layout[D]{func(data D) Result { return Result{Data: data, Text: text(data)} }}
}

type transformed[In, Out any] struct {
	transform func(In) (Out, error)
	layout    Layout[Out]
}

// Transform decodes the body as In, applies transform, and lays out the result.
func Transform[In, Out any](transform func(In) (Out, error), layout Layout[Out]) Response {
	return transformed[In, Out]{transform, layout}
}

func (t transformed[In, Out]) Read(body []byte) (Result, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return Result{}, fmt.Errorf("decoding the server's answer: %w", err)
	}
	out, err := t.transform(in)
	if err != nil {
		return Result{}, err
	}
	return t.layout.result(out), nil
}

func table[T any](columns []Column[T], data []T) Table {
	var t Table
	for _, column := range columns {
		t.Header = append(t.Header, column.Header)
	}
	for _, item := range data {
		row := make([]string, 0, len(columns))
		for _, column := range columns {
			row = append(row, column.Value(item))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
