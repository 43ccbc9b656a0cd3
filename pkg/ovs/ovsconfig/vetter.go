// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/cache"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// vetter checks the messages of one connection to ovsdb-server (RFC 7047 and ovsdb-server(7)). It applies updates to a
// copy of the database with libovsdb's own code, so that faults of that code, even panics, show here first.
type vetter struct {
	client model.ClientDBModel
	// done ends the copy's goroutine.
	done <-chan struct{}

	mu sync.Mutex
	// methods are the methods of unanswered requests, by id as it was sent; cookies are the cookies of monitors.
	methods map[string]string
	cookies map[string]bool
	// copy is nil until the schema is known.
	copy *cache.TableCache
}

func newVetter(client model.ClientDBModel, done <-chan struct{}) *vetter {
	return &vetter{client: client, done: done, methods: map[string]string{}, cookies: map[string]bool{}}
}

// knowsSchema reports whether an answer with a good schema has been vetted.
func (v *vetter) knowsSchema() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.copy != nil
}

// rpc is a JSON-RPC 1.0 message of any kind.
type rpc struct {
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// request records a message of libovsdb.
func (v *vetter) request(raw json.RawMessage) error {
	var m rpc
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("message of libovsdb: %w", err)
	}
	if m.Method == nil || isNull(m.ID) {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.methods[string(m.ID)] = *m.Method
	switch *m.Method {
	case ovsdb.MonitorRPC, ovsdb.ConditionalMonitorRPC, ovsdb.ConditionalMonitorSinceRPC:
		var params []json.RawMessage
		if err := json.Unmarshal(m.Params, &params); err != nil || len(params) < 2 {
			return fmt.Errorf("request %s of libovsdb has the parameters %s: want at least 2", *m.Method, m.Params)
		}
		v.cookies[canonical(params[1])] = true
	}
	return nil
}

// message returns an error when a message of the server must not reach libovsdb, and whether it is meant for libovsdb at
// all.
func (v *vetter) message(raw json.RawMessage) (concernsLibrary bool, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("libovsdb cannot process the message %.200s: %v", raw, reason)
		}
	}()
	v.mu.Lock()
	defer v.mu.Unlock()
	var m rpc
	if err := json.Unmarshal(raw, &m); err != nil {
		return false, fmt.Errorf("the message %.200s: %w", raw, err)
	}
	if m.Method != nil {
		return true, v.notification(*m.Method, &m)
	}
	if string(m.ID) == echoID {
		return false, nil
	}
	method, asked := v.methods[string(m.ID)]
	if !asked {
		return false, fmt.Errorf("an answer with the id %.50s, which no request has", m.ID)
	}
	delete(v.methods, string(m.ID))
	if !isNull(m.Error) {
		return true, nil
	}
	if err := v.result(method, m.Result); err != nil {
		return false, fmt.Errorf("the answer to %s: %w", method, err)
	}
	return true, nil
}

// notification vets a message that the server sends on its own.
func (v *vetter) notification(method string, m *rpc) error {
	var params []json.RawMessage
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return fmt.Errorf("%s with the parameters %.200s: %w", method, m.Params, err)
	}
	want := map[string]int{"update": 2, "update2": 2, "update3": 3}[method]
	switch {
	case method == "echo":
		return nil
	case want == 0:
		return fmt.Errorf("the request %.50q: want echo or an update", method)
	case len(params) != want:
		return fmt.Errorf("%s with %d parameters: want %d", method, len(params), want)
	case !v.cookies[canonical(params[0])]:
		return fmt.Errorf("%s for the monitor %.200s: there is no such monitor", method, params[0])
	}
	if method == "update3" {
		var transaction string
		if err := json.Unmarshal(params[1], &transaction); err != nil {
			return fmt.Errorf("%s for the transaction %.200s: %w", method, params[1], err)
		}
	}
	if err := v.updates(params[want-1], method == "update"); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// result vets the answer to a request.
func (v *vetter) result(method string, result json.RawMessage) error {
	switch method {
	case "list_dbs":
		return into(result, &[]string{})
	case "get_schema":
		return v.schema(result)
	case "transact":
		return into(result, &[]ovsdb.OperationResult{})
	case ovsdb.MonitorRPC:
		return v.updates(result, true)
	case ovsdb.ConditionalMonitorRPC:
		return v.updates(result, false)
	case ovsdb.ConditionalMonitorSinceRPC:
		var parts []json.RawMessage
		if err := json.Unmarshal(result, &parts); err != nil || len(parts) != 3 {
			return fmt.Errorf("%.200s: want an array of 3 elements", result)
		}
		if err := into(result, &ovsdb.MonitorCondSinceReply{}); err != nil {
			return err
		}
		return v.updates(parts[2], false)
	}
	return nil
}

func (v *vetter) schema(raw json.RawMessage) error {
	var schema ovsdb.DatabaseSchema
	if err := into(raw, &schema); err != nil {
		return err
	}
	database, errs := model.NewDatabaseModel(schema, v.client)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	logger := logr.Discard()
	table, err := cache.NewTableCache(database, nil, &logger)
	if err != nil {
		return err
	}
	v.copy = table
	// Run empties the queue of events, which are not used here.
	go table.Run(v.done)
	return nil
}

// updates applies table updates to the copy, one table after the other, so that an error can name the table. first selects the
// format of the method monitor; the later methods have another one.
func (v *vetter) updates(raw json.RawMessage, first bool) error {
	if v.copy == nil {
		return errors.New("comes before the schema")
	}
	var updates map[string]json.RawMessage
	if err := into(raw, &updates); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(updates)) {
		if err := v.table(table, updates[table], first); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return nil
}

func (v *vetter) table(name string, raw json.RawMessage, first bool) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("libovsdb cannot process %.200s: %v", raw, reason)
		}
	}()
	if v.copy.Table(name) == nil {
		return errors.New("was not requested")
	}
	if err := checkRows(name, raw); err != nil {
		return err
	}
	if first {
		var update ovsdb.TableUpdate
		if err := into(raw, &update); err != nil {
			return err
		}
		return v.copy.Populate(ovsdb.TableUpdates{name: update})
	}
	var update ovsdb.TableUpdate2
	if err := into(raw, &update); err != nil {
		return err
	}
	return v.copy.Populate2(ovsdb.TableUpdates2{name: update})
}

// into decodes raw, which must not be null.
func into(raw json.RawMessage, value any) error {
	if isNull(raw) {
		return errors.New("it has no result")
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("%.200s: %w", raw, err)
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// canonical returns equal texts for equal JSON values.
func canonical(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
