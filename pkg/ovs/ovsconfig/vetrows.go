// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/google/uuid"
)

// maxInteger is the largest magnitude of a number that libovsdb, which reads numbers as float64, keeps exactly.
const maxInteger = 1 << 53

// modelColumns are the columns of each table that are monitored.
var modelColumns = func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for table, row := range tables() {
		all[table] = map[string]bool{"_uuid": true}
		t := reflect.TypeOf(row).Elem()
		for i := range t.NumField() {
			all[table][t.Field(i).Tag.Get("ovsdb")] = true
		}
	}
	return all
}()

// checkRows refuses content in the rows of a table update that libovsdb accepts but misreads: columns that were not
// requested, numbers that a float64 cannot hold, and values that violate RFC 7047, 5.1.
func checkRows(table string, raw json.RawMessage) error {
	// UUID of the row, member (initial, insert, modify, delete, new, old), column.
	var rows map[string]map[string]map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&rows); err != nil {
		return fmt.Errorf("%.200s: %w", raw, err)
	}
	for id, members := range rows {
		if err := uuid.Validate(id); err != nil {
			return fmt.Errorf("row %.50q: %w", id, err)
		}
		if len(members) == 0 {
			return fmt.Errorf("row %s: it is empty", id)
		}
		for _, columns := range members {
			for column, value := range columns {
				if !modelColumns[table][column] {
					return fmt.Errorf("row %s: column %s was not requested", id, column)
				}
				if err := checkValue(value); err != nil {
					return fmt.Errorf("row %s: column %s: %w", id, column, err)
				}
			}
		}
	}
	return nil
}

// checkValue checks a <value>: an atom, a set, or a map.
func checkValue(value any) error {
	array, ok := value.([]any)
	if !ok || len(array) != 2 || (array[0] != "set" && array[0] != "map") {
		return checkAtom(value)
	}
	elements, ok := array[1].([]any)
	if !ok {
		return fmt.Errorf("%.100v is not a %v: want an array in it", value, array[0])
	}
	for _, element := range elements {
		if array[0] == "set" {
			if err := checkAtom(element); err != nil {
				return err
			}
			continue
		}
		pair, ok := element.([]any)
		if !ok || len(pair) != 2 {
			return fmt.Errorf("%.100v is not a pair of a map", element)
		}
		for _, atom := range pair {
			if err := checkAtom(atom); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkAtom(value any) error {
	switch v := value.(type) {
	case string, bool:
		return nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err != nil || n > maxInteger || n < -maxInteger {
			return fmt.Errorf("the number %.50s is not an integer between -2^53 and 2^53", v)
		}
		return nil
	case []any:
		if id, ok := at(v, 1).(string); ok && len(v) == 2 && v[0] == "uuid" {
			return uuid.Validate(id)
		}
	}
	return fmt.Errorf("%.100v is not a value", value)
}

func at(array []any, i int) any {
	if i >= len(array) {
		return nil
	}
	return array[i]
}
