// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// liar stands in front of a real ovsdb-server and changes its messages.
type liar struct {
	socket string

	mu sync.Mutex
	// lie returns the replacement of a message of the server, and whether the connection ends after it. method is the
	// method of the request that the message answers, or the message's own.
	lie func(method string, message []byte) (instead []byte, end bool)
	// clients are the open connections.
	clients map[net.Conn]bool
}

func newLiar(t *testing.T, server string) *liar {
	dir, err := os.MkdirTemp("", "liar")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &liar{socket: filepath.Join(dir, "s"), clients: map[net.Conn]bool{}}
	listener, err := net.Listen("unix", l.socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(client, server)
		}
	}()
	return l
}

func (l *liar) serve(client net.Conn, path string) {
	defer client.Close()
	server, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.clients[client] = true
	l.mu.Unlock()
	var mu sync.Mutex
	methods := map[string]string{}
	go func() {
		defer server.Close()
		decoder := json.NewDecoder(client)
		for {
			var raw json.RawMessage
			if decoder.Decode(&raw) != nil {
				return
			}
			var m rpc
			_ = json.Unmarshal(raw, &m)
			if m.Method != nil {
				mu.Lock()
				methods[string(m.ID)] = *m.Method
				mu.Unlock()
			}
			_, _ = server.Write(raw)
		}
	}()
	decoder := json.NewDecoder(server)
	for {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return
		}
		var m rpc
		_ = json.Unmarshal(raw, &m)
		mu.Lock()
		method := methods[string(m.ID)]
		mu.Unlock()
		if m.Method != nil {
			method = *m.Method
		}
		instead, end := []byte(raw), false
		l.mu.Lock()
		if l.lie != nil {
			instead, end = l.lie(method, raw)
		}
		l.mu.Unlock()
		if _, err := client.Write(instead); err != nil || end {
			return
		}
	}
}

func (l *liar) set(lie func(method string, message []byte) ([]byte, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lie = lie
}

// say sends the liar's own message to all clients.
func (l *liar) say(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for client := range l.clients {
		_, _ = io.WriteString(client, message)
	}
}

// replaced lies about the messages of one method.
func replaced(method, old, instead string) func(string, []byte) ([]byte, bool) {
	return func(m string, message []byte) ([]byte, bool) {
		if m != method {
			return message, false
		}
		return bytes.Replace(message, []byte(old), []byte(instead), 1), false
	}
}

// always replaces the messages of one method by the same text.
func always(method, instead string, end bool) func(string, []byte) ([]byte, bool) {
	return func(m string, message []byte) ([]byte, bool) {
		if m != method {
			return message, false
		}
		var r rpc
		_ = json.Unmarshal(message, &r)
		return []byte(strings.ReplaceAll(instead, "ID", string(r.ID))), end
	}
}

// newDatabaseWithPort has a bridge with an internal port that has OpenFlow port 7.
func newDatabaseWithPort(t *testing.T) *database {
	d := newDatabase(t)
	d.start()
	require.NoError(t, exec.Command("ovs-vsctl", "--db=unix:"+d.socket, "--timeout=10", "--no-wait", "add-br", bridge, "--",
		"add-port", bridge, "p1", "--", "set", "interface", "p1", "type=internal", "ofport=7").Run())
	return d
}

// attemptAt connects once.
func attemptAt(ctx context.Context, t *testing.T, socket string) (*guarded, error) {
	m, err := newDatabaseModel()
	require.NoError(t, err)
	c := &Connection{address: "unix:" + socket, model: m, changed: make(chan struct{})}
	g, err := c.attempt(ctx)
	if err == nil {
		t.Cleanup(func() { g.end(errConnectionClosed) })
	}
	return g, err
}

// TestMalformedAnswersWhenConnecting: no panic and no success, but an error that says what is wrong, before the context ends.
func TestMalformedAnswersWhenConnecting(t *testing.T) {
	d := newDatabaseWithPort(t)
	l := newLiar(t, d.socket)
	const monitor = "monitor_cond_since"
	for _, tc := range []struct {
		name string
		lie  func(string, []byte) ([]byte, bool)
		err  string
	}{
		{"garbage", always("list_dbs", "}{", false), "invalid character"},
		{"no JSON-RPC", always("list_dbs", "17\n", false), "cannot unmarshal number"},
		{"truncated, then closed", always(monitor, `{"id":ID,"result":[false,"`, true), "unexpected EOF"},
		{"closed at once", always("get_schema", "", true), "EOF"},
		{"an answer to nothing", always("list_dbs", `{"id":99,"result":[],"error":null}`, false), "which no request has"},
		{"databases are null", always("list_dbs", `{"id":ID,"result":null,"error":null}`, false), "answer to list_dbs: it has no result"},
		{"databases are numbers", always("list_dbs", `{"id":ID,"result":[1],"error":null}`, false), "answer to list_dbs"},
		{"no database", always("list_dbs", `{"id":ID,"result":[],"error":null}`, false), "Open_vSwitch not found"},
		{"schema is null", always("get_schema", `{"id":ID,"result":null,"error":null}`, false), "answer to get_schema: it has no result"},
		{"schema is empty", always("get_schema", `{"id":ID,"result":{},"error":null}`, false), "Interface"},
		{"schema lacks a column", replaced("get_schema", `"ofport_request":`, `"ofport_bequest":`), "ofport_request"},
		{"column has another type", replaced("get_schema", `"next_cfg":{"type":"integer"}`, `"next_cfg":{"type":"string"}`), "next_cfg"},
		{"column has an unknown type", replaced("get_schema", `"next_cfg":{"type":"integer"}`, `"next_cfg":{"type":"void"}`), "get_schema"},
		{"rows are null", always(monitor, `{"id":ID,"result":null,"error":null}`, false), "answer to monitor_cond_since"},
		{"rows are a string", always(monitor, `{"id":ID,"result":"x","error":null}`, false), "want an array of 3"},
		{"rows are too few", always(monitor, `{"id":ID,"result":[false],"error":null}`, false), "want an array of 3"},
		{"tables are null", always(monitor, `{"id":ID,"result":[false,"x",null],"error":null}`, false), "no result"},
		{"unknown table", always(monitor, `{"id":ID,"result":[false,"x",{"Nonsense":{}}],"error":null}`, false), "table Nonsense: was not requested"},
		{"row is null", always(monitor, `{"id":ID,"result":[false,"x",{"Port":{"11111111-1111-1111-1111-111111111111":null}}],"error":null}`, false), "table Port"},
		{"row is empty", always(monitor, `{"id":ID,"result":[false,"x",{"Port":{"11111111-1111-1111-1111-111111111111":{}}}],"error":null}`, false), "table Port"},
		{"change of a row that is not there", always(monitor, `{"id":ID,"result":[false,"x",{"Port":{"11111111-1111-1111-1111-111111111111":{"modify":{"name":"p"}}}}],"error":null}`, false), "table Port: "},
		{"name is a number", replaced(monitor, `"name":"p1"`, `"name":5`), "table "},
		{"number is a string", replaced(monitor, `"ofport":7`, `"ofport":"seven"`), "table Interface"},
		{"number is a map", replaced(monitor, `"ofport":7`, `"ofport":["map",[["a","b"]]]`), "table Interface"},
		{"number is too large", replaced(monitor, `"ofport":7`, `"ofport":1e300`), "column ofport: the number 1e300 is not an integer"},
		{"number is far too large", replaced(monitor, `"ofport":7`, `"ofport":1e999`), "1e999"},
		{"number has a fraction", replaced(monitor, `"ofport":7`, `"ofport":7.5`), "column ofport: the number 7.5"},
		{"set is not a set", replaced(monitor, `"ofport":7`, `"ofport":["set"]`), "index out of range"},
		{"UUID is a number", replaced(monitor, `["uuid","`, `["uuid",1,"`), "table "},
		{"unknown column", replaced(monitor, `"ofport":7`, `"nonsense":7`), "table Interface"},
		{"another request", always(monitor, `{"id":1,"method":"steal","params":[]}`, false), `the request "steal"`},
		{"update before the rows", always(monitor, `{"id":null,"method":"update3","params":[]}`, false), "update3 with 0 parameters"},
		{"update of another monitor", always(monitor, `{"id":null,"method":"update3","params":["x","y",{}]}`, false), "there is no such monitor"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l.set(tc.lie)
			_, err := attemptAt(testContext(t), t, l.socket)
			require.ErrorContains(t, err, tc.err)
		})
	}
	t.Run("truth", func(t *testing.T) {
		l.set(nil)
		conn, err := NewOVSDBConnection(testContext(t), "unix:"+l.socket)
		require.NoError(t, err)
		defer conn.Close()
		port, found, err := NewBridgeClient(conn, bridge).GetPort("p1")
		require.NoError(t, err)
		require.True(t, found)
		require.EqualValues(t, 7, port.OFPort)
	})
}

// TestSilentServerWhenConnecting: the client does not wait beyond the context for a server that leaves one of the requests
// unanswered.
func TestSilentServerWhenConnecting(t *testing.T) {
	d := newDatabaseWithPort(t)
	l := newLiar(t, d.socket)
	for _, method := range []string{"list_dbs", "get_schema", "monitor_cond_since"} {
		l.set(always(method, "", false))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := NewOVSDBConnection(ctx, "unix:"+l.socket)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// TestMalformedUpdates starts with a good connection: an invalid message of the server ends it, and no part of the message
// is used.
func TestMalformedUpdates(t *testing.T) {
	d := newDatabaseWithPort(t)
	l := newLiar(t, d.socket)
	for _, tc := range []struct{ name, say, err string }{
		{"no parameters", `{"id":null,"method":"update3","params":[]}`, "update3 with 0 parameters: want 3"},
		{"no parameters of an old method", `{"id":null,"method":"update","params":[]}`, "update with 0 parameters: want 2"},
		{"parameters are null", `{"id":null,"method":"update2","params":null}`, "update2 with"},
		{"parameters are a string", `{"id":null,"method":"update2","params":"x"}`, "update2 with the parameters"},
		{"unknown monitor", `{"id":null,"method":"update2","params":[{"databaseName":"Open_vSwitch","id":"x"},{}]}`, "there is no such monitor"},
		{"another database", `{"id":null,"method":"update2","params":[{"databaseName":"x","id":"x"},{}]}`, "there is no such monitor"},
		{"garbage", "\x00\x01", "invalid character"},
		{"endless nesting", strings.Repeat("[", 20000), "exceeded max depth"},
		{"an answer to nothing", `{"id":12345,"result":{},"error":null}`, "which no request has"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := NewOVSDBConnection(testContext(t), "unix:"+l.socket)
			require.NoError(t, err)
			defer conn.Close()
			// The connection must not be made again before the test has looked.
			l.set(always("list_dbs", "", false))
			defer l.set(nil)
			l.say(tc.say)
			require.Eventually(t, func() bool { cl, _ := conn.snapshot(); return cl == nil }, 10*time.Second, time.Millisecond)
			require.ErrorContains(t, conn.disconnected(), tc.err)
		})
	}
}

// TestEmptyTableIsNotADeletion: missing rows are an error for operations that need them, not the absence of ports.
func TestEmptyTableIsNotADeletion(t *testing.T) {
	d := newDatabaseWithPort(t)
	l := newLiar(t, d.socket)
	for _, table := range []string{"Interface", "Port", "Bridge"} {
		t.Run(table, func(t *testing.T) {
			l.set(func(method string, message []byte) ([]byte, bool) {
				if method != "monitor_cond_since" {
					return message, false
				}
				var m map[string]any
				_ = json.Unmarshal(message, &m)
				delete(m["result"].([]any)[2].(map[string]any), table)
				message, _ = json.Marshal(m)
				return message, false
			})
			conn, err := NewOVSDBConnection(testContext(t), "unix:"+l.socket)
			require.NoError(t, err)
			defer conn.Close()
			b := NewBridgeClient(conn, bridge).(*bridgeClient)
			b.timeout = 50 * time.Millisecond
			ports, err := b.ListPorts()
			require.Error(t, err, "%v", ports)
			require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(table))
			_, found, err := b.GetPort("p1")
			require.Falsef(t, err == nil, "found: %v", found)
		})
	}
}

// TestAsksForSignsOfLife: a connection asks the server for a sign of life by itself.
func TestAsksForSignsOfLife(t *testing.T) {
	d := newDatabase(t)
	d.start()
	l := newLiar(t, d.socket)
	answered := make(chan struct{}, 1)
	l.set(func(_ string, message []byte) ([]byte, bool) {
		if bytes.Contains(message, []byte(echoID)) {
			select {
			case answered <- struct{}{}:
			default:
			}
		}
		return message, false
	})
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+l.socket)
	require.NoError(t, err)
	defer conn.Close()
	select {
	case <-answered:
	case <-time.After(echoInterval + 20*time.Second):
		require.Fail(t, "no request for a sign of life")
	}
}

// TestHungDatabase stops a real ovsdb-server: operations that wait for it fail, one line is logged, and operations succeed again
// when it resumes.
func TestHungDatabase(t *testing.T) {
	lines := logtest.Capture(t)
	ovs := ovstest.Start(t)
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+ovs.DBSocket)
	require.NoError(t, err)
	defer conn.Close()
	c := NewBridgeClient(conn, bridge)
	require.NoError(t, c.SetOVSOtherConfig(map[string]string{"k": "before"}))

	ovs.HangDB()
	// Only from here on silence is short: before, a busy machine is not taken for a hang.
	cl, _ := conn.snapshot()
	require.NotNil(t, cl)
	go cl.(*guarded).guard.echo(500 * time.Millisecond)
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- c.SetOVSOtherConfig(map[string]string{"k": "after"}) }()
	require.Error(t, <-done)
	require.Less(t, time.Since(began), operationTimeout)
	require.Eventually(t, func() bool { cl, _ := conn.snapshot(); return cl == nil }, 10*time.Second, time.Millisecond)
	require.ErrorContains(t, conn.disconnected(), "ovsdb-server has not answered an echo for 3s")

	ovs.ResumeDB()
	require.NoError(t, c.SetOVSOtherConfig(map[string]string{"k": "after"}))
	require.Eventually(t, func() bool { return len(lines("OVSDB can be reached again")) == 1 }, 30*time.Second, 10*time.Millisecond)
	require.Len(t, lines("OVSDB cannot be reached"), 1)
}
