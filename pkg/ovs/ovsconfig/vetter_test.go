// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// vetterWithSchema returns a vetter that waits for the answer to a request of one method, with the id 1.
func vetterWithSchema(t testing.TB, method string) *vetter {
	schema, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Skipf("needs the database schema: %v", err)
	}
	m, err := newDatabaseModel()
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	v := newVetter(m, done)
	require.NoError(t, v.schema(schema))
	require.NoError(t, v.request(json.RawMessage(`{"id":1,"method":"`+method+`","params":["Open_vSwitch",{"id":"m"},{}]}`)))
	return v
}

const someRow = `"11111111-1111-1111-1111-111111111111"`

func TestVetterAccepts(t *testing.T) {
	for _, tc := range []struct{ name, method, message string }{
		{"no rows", "monitor_cond_since", `{"id":1,"result":[false,"t",{}],"error":null}`},
		{"rows", "monitor_cond_since", `{"id":1,"result":[false,"t",{"Interface":{` + someRow + `:{"initial":{"name":"p","ofport":-1,
			"options":["map",[["a","b"]]]}}}}],"error":null}`},
		{"rows of an older server", "monitor_cond", `{"id":1,"result":{"Bridge":{` + someRow + `:{"initial":{"name":"b",
			"ports":["set",[["uuid",` + someRow + `]]]}}}},"error":null}`},
		{"rows of a much older server", "monitor", `{"id":1,"result":{"Bridge":{` + someRow + `:{"new":{"name":"b"}}}},"error":null}`},
		{"an error", "monitor_cond_since", `{"id":1,"result":null,"error":"unknown method"}`},
		{"results", "transact", `{"id":1,"result":[{},{"uuid":["uuid",` + someRow + `]},null],"error":null}`},
		{"an echo request", "transact", `{"id":"echo","method":"echo","params":[]}`},
		{"an update", "monitor_cond_since", `{"id":null,"method":"update3","params":[{"id": "m"},"t",{"Port":{` + someRow + `:{"insert":{"name":"p"}}}}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			concerns, err := vetterWithSchema(t, tc.method).message(json.RawMessage(tc.message))
			require.NoError(t, err)
			require.True(t, concerns)
		})
	}
	v := vetterWithSchema(t, "transact")
	concerns, err := v.message(json.RawMessage(`{"id":` + echoID + `,"result":[],"error":null}`))
	require.NoError(t, err)
	require.False(t, concerns, "libovsdb does not get answers to the guard's requests")
}

// FuzzVetter feeds arbitrary messages to the vetter, which applies them to a copy of the database. A panic of libovsdb's
// code counts as an error of the message.
func FuzzVetter(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":[false,"t",{"Interface":{` + someRow + `:{"initial":{"name":"p","ofport":7,"options":["map",[["a","b"]]]}}}}],"error":null}`))
	f.Add([]byte(`{"id":1,"result":[false,"t",{"Bridge":{` + someRow + `:{"insert":{"ports":["set",[["uuid",` + someRow + `]]]}}}}],"error":null}`))
	f.Add([]byte(`{"id":1,"result":[false,"t",{"Port":{` + someRow + `:null}}],"error":null}`))
	f.Add([]byte(`{"id":1,"result":[false,"t",{"Port":{` + someRow + `:{"modify":{"name":["set"]}}}}],"error":null}`))
	f.Add([]byte(`{"id":null,"method":"update3","params":[{"id":"m"},"t",{"Port":{` + someRow + `:{"delete":null}}}]}`))
	f.Add([]byte(`{"id":null,"method":"update2","params":[{"id":"m"},{"Flow_Table":{` + someRow + `:{"initial":{"name":["uuid",1]}}}}]}`))
	f.Add([]byte(`{"id":null,"method":"update","params":[{"id":"m"},{"Mirror":{` + someRow + `:{"old":{},"new":{"select_all":5}}}}]}`))
	v := vetterWithSchema(f, "monitor_cond_since")
	f.Fuzz(func(t *testing.T, message []byte) {
		// The vetter is reused, because reading the schema takes long.
		v.copy.Purge(v.copy.DatabaseModel())
		v.methods = map[string]string{"1": "monitor_cond_since"}
		if !json.Valid(message) {
			// The guard's decoder would have refused it earlier.
			return
		}
		for range 2 {
			_, _ = v.message(message)
		}
		for table := range modelColumns {
			require.LessOrEqual(t, v.copy.Table(table).Len(), len(message), "no more is kept than was received")
		}
	})
}
